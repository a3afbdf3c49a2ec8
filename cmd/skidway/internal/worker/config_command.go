package worker

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
)

// ConfigCommand returns the command "config".
func ConfigCommand(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "config",
		Short:   "Checks the configuration of a worker",
		Long:    "The configuration of \"skidway worker\": a YAML file, and the environment.",
		Example: "  skidway config check /etc/skidway.yaml",
	})
	c.AddCommand(configCheck(a), configVariables(a))
	return c
}

func configCheck(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Checks a configuration without using it",
		Long: `Checks a configuration and the environment as a worker would: names, types,
secrets, folders, expressions of schedules. What is wrong is told with its line.
It does not look at Redis.

The exit code is 1 when the configuration can't be used; "skidway worker" that
is started with it ends with 2.`,
		Example: "  skidway config check /etc/skidway.yaml",
		Args:    cli.ExactlyOne("FILE"),
	}
	c.RunE = cli.Action(func(_ *cobra.Command, args []string) error {
		f := workerFlags{file: args[0], given: func(string) bool { return false }}
		config, err := f.config(a)
		if err != nil {
			return err
		}
		kinds, err := config.checkKinds()
		if err != nil {
			return err
		}
		a.Console.Notice("%s is right: queues %v, kinds %v, schedules %d", args[0], queueNames(config), kinds, len(config.Schedules))
		return nil
	})
	return c
}

func configVariables(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "variables",
		Short: "Lists the settings with their variables",
		Long: `Lists all settings of the configuration that are no list or map, with the
environment variable that overrides each.`,
		Example: "  skidway config variables",
		Args:    cobra.NoArgs,
	}
	c.RunE = cli.Action(func(*cobra.Command, []string) error {
		return a.Write(func(out io.Writer) error {
			for _, s := range settings() {
				if _, err := fmt.Fprintf(out, "%-40s %s\n", s.path, s.variable); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return c
}
