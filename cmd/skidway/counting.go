package main

import (
	"time"

	"github.com/spf13/cobra"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/geo"
)

// counting holds the flags that say how lines are counted.
type counting struct {
	format, geoip string
	by            []string
	zone          zone
	workers       number
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
	complete(c, "format", names...)
	complete(c, "by", "day", "country", "day,country")
}

// aggregation opens the country database and tells its age if that matters.
func (k *counting) aggregation(console *console) (*distribute.CountryDay, error) {
	countries, err := k.countries()
	if err != nil {
		return nil, err
	}
	aggregation, err := distribute.NewCountryDay(distribute.CountryDayConfig{
		By: k.by, Format: k.format, Zone: k.zone.location, Countries: countries,
	})
	if err != nil {
		return nil, &usageError{err} // the database is there: what is left are bad flags
	}
	if warning := countries.Warning(time.Now()); warning != "" {
		console.notice("warning: %s", warning)
	}
	return aggregation, nil
}

func (k *counting) countries() (*geo.DB, error) {
	if k.geoip == "" {
		return geo.Default()
	}
	return geo.Open(k.geoip)
}
