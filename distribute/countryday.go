package distribute

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/geo"
)

// CountryDayConfig configures a [CountryDay]. The zero value is ready to use.
type CountryDayConfig struct {
	// By lists what to count by: "day", "country" or both; empty means both.
	By []string

	// Format names the log format, as for [accesslog.ByName]; empty or "auto" detects
	// it for each file.
	Format string

	// Zone is the time zone of the days, one of the IANA database; time.Local
	// is refused, because it differs between machines. Nil counts by the day
	// that is written in the line, in the line's own offset.
	Zone *time.Location

	// LogZone is the zone of times that lines have without one, for formats that do
	// not define them as UTC. Nil takes their day as it is written.
	LogZone *time.Location

	// Countries is the country database; nil means the embedded one.
	Countries *geo.DB
}

// A CountryDay is the Aggregation of requests by country and day. Groups are
// days ("2006-01-02"), members are countries ("US"; "ZZ" if unknown). A dimension
// that is not counted by is [Any].
type CountryDay struct {
	byDay, byCountry bool
	format           string
	zone, logZone    *time.Location
	countries        *geo.DB
}

// MaxDays bounds the different days of one file between two commits. So a file of
// random dates needs at most 22 MB of memory. Lines of further days count as
// unparsable.
const MaxDays = 4096

// Any is the group or the member of counts that do not distinguish them.
const Any = "*"

// NewCountryDay checks the configuration and loads the country database. A nil
// config is the zero one.
func NewCountryDay(config *CountryDayConfig) (*CountryDay, error) {
	if config == nil {
		config = &CountryDayConfig{}
	}
	a := &CountryDay{format: cmp.Or(config.Format, "auto"), zone: config.Zone, logZone: config.LogZone, countries: config.Countries}
	by := config.By
	if len(by) == 0 {
		by = []string{"day", "country"}
	}
	for _, by := range by {
		switch by {
		case "day":
			a.byDay = true
		case "country":
			a.byCountry = true
		default:
			return nil, fmt.Errorf("by %q: count by day, by country, or by day,country", by)
		}
	}
	if a.format != "auto" {
		format, err := accesslog.ByName(a.format)
		if err != nil {
			return nil, err
		}
		a.format = format.Name() // an alias is the same setting
	}
	if err := errors.Join(checkZone(a.zone), checkZone(a.logZone)); err != nil {
		return nil, err
	}
	if a.countries == nil {
		db, err := geo.Default()
		if err != nil {
			return nil, err
		}
		a.countries = db
	}
	return a, nil
}

// checkZone refuses a zone whose name does not mean the same on every machine:
// settings are compared by that name.
func checkZone(zone *time.Location) error {
	if zone == nil {
		return nil
	}
	if _, err := time.LoadLocation(zone.String()); err != nil || zone == time.Local {
		return fmt.Errorf("time zone %q: use one of the IANA database, such as UTC or Europe/Berlin", zone)
	}
	return nil
}

// Settings implements [Aggregation].
func (a *CountryDay) Settings() string {
	var by []string
	if a.byDay {
		by = append(by, "day")
	}
	if a.byCountry {
		by = append(by, "country")
	}
	zone := "as-written"
	if a.zone != nil {
		zone = a.zone.String()
	}
	settings := fmt.Sprintf("country-day by=%s format=%s tz=%s", strings.Join(by, ","), a.format, zone)
	if a.logZone != nil {
		settings += " log-tz=" + a.logZone.String()
	}
	return settings
}

// Columns returns the columns of a subscriber's counts, by its settings: "day",
// "country" or both.
func Columns(settings string) []string {
	for field := range strings.FieldsSeq(settings) {
		if by, ok := strings.CutPrefix(field, "by="); ok {
			return strings.Split(by, ",")
		}
	}
	return []string{"day", "country"}
}

// Build implements [Aggregation]. It is the build of the country database.
func (a *CountryDay) Build() string { return a.countries.Build().String() }

// Begin implements [Aggregation]. The state is the name of the file's format, and that
// of its parser.
func (a *CountryDay) Begin(sample []byte, state string) (Counter, error) {
	name, state, _ := strings.Cut(state, stateSeparator)
	format, err := a.chooseFormat(sample, name)
	if err != nil {
		return nil, err
	}
	return &countryDayCounter{
		byDay: a.byDay, byCountry: a.byCountry, format: format.Name(),
		parser:    format.New(accesslog.Options{Zone: a.zone, Local: a.logZone, State: state}),
		countries: a.countries,
	}, nil
}

// stateSeparator stands in a state between the name of the format and the state of its parser.
const stateSeparator = "\x00"

// chooseFormat returns the format of a name; that of the sample's lines if it is empty.
func (a *CountryDay) chooseFormat(sample []byte, name string) (accesslog.Format, error) {
	if name != "" {
		return accesslog.ByName(name)
	}
	lines := bytes.SplitN(sample, []byte("\n"), accesslog.DetectLines+1)
	if len(lines) > accesslog.DetectLines {
		lines = lines[:accesslog.DetectLines]
	}
	if a.format == "auto" {
		return accesslog.Detect(lines)
	}
	format, err := accesslog.ByName(a.format)
	if err != nil {
		return format, err
	}
	parser := format.New(accesslog.Options{})
	for _, line := range lines {
		if _, verdict := parser.Parse(line); verdict != accesslog.Unparsable {
			return format, nil
		}
	}
	return format, &WrongFormatError{a.format}
}

// A WrongFormatError is the error for a file whose first lines are all not in the
// configured format: it is binary, or a log in another format.
type WrongFormatError struct{ Format string }

func (e *WrongFormatError) Error() string {
	return fmt.Sprintf("none of its first lines is in the format %q", e.Format)
}

// A countryDayCounter parses each line, looks its country up and counts it. It is
// the hottest code of a worker and uses no map.
type countryDayCounter struct {
	byDay, byCountry bool
	format           string
	parser           accesslog.Parser
	countries        *geo.DB
	days             []*dayCount
	current          *dayCount // of the last line
}

type dayCount struct {
	day      accesslog.Day
	requests [geo.Countries]int64
}

// Line implements [Counter].
func (c *countryDayCounter) Line(line []byte) Verdict {
	record, verdict := c.parser.Parse(line)
	switch verdict {
	case accesslog.Parsed:
	case accesslog.NotALine:
		return NoLine
	default:
		return Unparsable
	}
	if !c.byDay {
		record.Day = 0
	}
	country := geo.Unknown
	if c.byCountry {
		country = c.countries.Country(record.Addr)
	}
	if (c.current == nil || c.current.day != record.Day) && !c.setDay(record.Day) {
		return Unparsable
	}
	c.current.requests[country.Index()]++
	if country == geo.Unknown && c.byCountry {
		return Unknown
	}
	return Counted
}

// setDay makes a day the current one, and reports whether there is room for it.
// Logs are nearly in order of time: the day is almost always one of the last two.
func (c *countryDayCounter) setDay(day accesslog.Day) bool {
	for _, d := range slices.Backward(c.days) {
		if d.day == day {
			c.current = d
			return true
		}
	}
	if len(c.days) == MaxDays {
		return false
	}
	c.current = &dayCount{day: day}
	c.days = append(c.days, c.current)
	return true
}

// Cells implements [Counter].
func (c *countryDayCounter) Cells(yield func(Cell)) {
	for _, d := range c.days {
		group := Any
		if c.byDay {
			group = d.day.String()
		}
		for i, n := range d.requests {
			if n == 0 {
				continue
			}
			member := Any
			if c.byCountry {
				member = geo.CountryAt(i).String()
			}
			yield(Cell{group, member, n})
		}
	}
}

// State implements [Counter].
func (c *countryDayCounter) State() string {
	if state := c.parser.State(); state != "" {
		return c.format + stateSeparator + state
	}
	return c.format
}
