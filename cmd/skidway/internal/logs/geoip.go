package logs

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/geo"
)

// GeoIP returns the command "geoip".
func GeoIP(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "geoip",
		Short: "Shows country databases",
		Long: `Shows country databases: the embedded one, and files in MMDB format, as they are
given to --geoip of "skidway logs count" and "logs work".`,
		Example: `  skidway geoip info
  skidway geoip info GeoLite2-Country.mmdb`,
	})
	c.AddCommand(geoipInfo(a))
	return c
}

func geoipInfo(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "info [FILE]",
		Short: "Shows the name, type and date of a country database",
		Long: `Shows the name, type and date of a database in MMDB format, and what it holds:
known is the percentage of public IPv4 addresses for which it has a country, or
the number of a network.
Without FILE it shows the embedded one.

It warns on standard error when the file has cities, or networks instead of
countries, is old, or has no country for many addresses; the exit code is 0.`,
		Example: `  skidway geoip info
  skidway geoip info GeoLite2-Country.mmdb
  skidway geoip info dbip-country-lite.mmdb -o json`,
		Args: cobra.MaximumNArgs(1),
	}
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(_ *cobra.Command, args []string) error {
		d, err := geo.Describe(strings.Join(args, ""))
		if err != nil {
			return err
		}
		if err := cli.PrintFigures(a, output.Word, describedView, described{d, d.Warnings(time.Now())}, "field", "FIELD", "VALUE"); err != nil {
			return err
		}
		printWarnings(a.Console, d.Warnings(time.Now())...)
		return nil
	})
	return c
}

// described is a database with what is odd about it.
type described struct {
	geo.Description
	warnings []string
}

var describedView = cli.View[described]{
	{Key: "name", Head: "name", Value: func(d described) any {
		if d.Title != "" {
			return d.Title
		}
		return d.Name
	}},
	{Key: "type", Head: "type", Value: func(d described) any { return d.Name }},
	{Key: "date", Head: "date", Value: func(d described) any {
		if d.Date.IsZero() {
			return ""
		}
		return d.Date.Format(time.DateOnly)
	}},
	{Key: "holds", Head: "holds", Value: func(d described) any {
		switch {
		case d.Countries:
			return "countries"
		case d.Networks:
			return "networks (ASN)"
		}
		return "no countries"
	}},
	{Key: "addresses", Head: "addresses", Value: func(d described) any {
		if d.IPv6 {
			return "IPv4, IPv6"
		}
		return "IPv4"
	}},
	{Key: "known", Head: "known", Value: func(d described) any { return d.Known }, Cell: func(d described) string { return fmt.Sprintf("%d %%", d.Known) }},
	{Key: "warnings", Value: func(d described) any { return append([]string{}, d.warnings...) }, Only: "json"},
}
