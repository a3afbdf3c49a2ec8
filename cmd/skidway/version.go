package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"skidway/distribute/geo"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Shows the version and the embedded country database",
		Long:    "Shows the version, what it was built with, and the embedded country database\nwith its date and credit.",
		Example: "  skidway version",
		Args:    cobra.NoArgs,
		RunE: action(func(*cobra.Command, []string) error {
			countries, err := geo.Default()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "skidway %s\n%s %s/%s\ncountry database %s\n%s\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, countries.Build(), geo.Attribution)
			return err
		}),
	}
}
