package logs

import (
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/geo"
)

// counting holds the flags that say how lines are counted.
type counting struct {
	format, geoip string
	by            []string
	zone          cli.Zone
	workers       cli.Number
}

func (k *counting) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&k.format, "format", "auto", "`NAME` of the log format; auto looks at each file")
	flags.StringVar(&k.geoip, "geoip", "", "country database, a `FILE`.mmdb (default: the embedded one)")
	flags.StringSliceVar(&k.by, "by", []string{"day", "country"}, "`WHAT` to count by: day, country, or both")
	flags.Var(&k.zone, "tz", "time zone of the days (default: the day as the line has it)")
	flags.Var(&k.workers, "workers", "files to count at once; 0: one for each processor")
	names := []string{"auto"}
	for _, format := range accesslog.Formats() {
		names = append(names, format.Name()+"\t"+format.Description())
	}
	cli.Complete(c, "format", names...)
	cli.Complete(c, "by", "day", "country", "day,country")
}

// aggregation opens the country database and tells its age if that matters.
func (k *counting) aggregation(console *cli.Console) (*distribute.CountryDay, error) {
	countries, err := k.countries()
	if err != nil {
		return nil, err
	}
	aggregation, err := distribute.NewCountryDay(distribute.CountryDayConfig{
		By: k.by, Format: k.format, Zone: k.zone.Location, Countries: countries,
	})
	if err != nil {
		return nil, cli.AsUsage(err) // the database is there: what is left are bad flags
	}
	if warning := countries.Warning(time.Now()); warning != "" {
		console.Notice("warning: %s", warning)
	}
	return aggregation, nil
}

func (k *counting) countries() (*geo.DB, error) {
	if k.geoip == "" {
		return geo.Default()
	}
	return geo.Open(k.geoip)
}

// event tells what the library tells of a file.
func tellEvent(c *cli.Console, e distribute.Event) {
	switch {
	case e.Err != nil:
		c.Problem(e.File, e.Err)
	case e.File != "":
		c.Notice("%s: %s", e.File, e.Text)
	default:
		c.Notice("%s", e.Text)
	}
}
