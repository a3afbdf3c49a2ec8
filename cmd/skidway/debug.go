package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
)

// debugCommand returns the hidden command "debug".
func debugCommand(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "debug",
		Short:   "Shows internals, for the development of Skidway",
		Long:    "Shows internals, for the development of Skidway.",
		Example: "  skidway debug script queue/fetch",
		Hidden:  true,
	})
	c.AddCommand(&cobra.Command{
		Use:   "script [NAME]",
		Short: "Prints a script as it is sent to Redis",
		Long: `Prints a script as it is sent to Redis, with the line numbers of Redis's errors.
Without NAME it lists the names of all scripts.`,
		Example: "  skidway debug script\n  skidway debug script queue/fetch",
		Args:    cobra.MaximumNArgs(1),
		RunE: cli.Action(func(_ *cobra.Command, args []string) error {
			text := strings.Join(rdb.ScriptNames(), "\n") + "\n"
			if len(args) == 1 {
				var known bool
				if text, known = rdb.ScriptText(args[0]); !known {
					return cli.WrongUsage("unknown script %q: \"skidway debug script\" lists them", args[0])
				}
			}
			_, err := io.WriteString(a.Out, text)
			return err
		}),
	})
	return c
}
