package distribute

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
	"skidway/distribute/stream"
	"skidway/internal/hyperloglog"
)

// CountingConfig configures a [Counting]. The zero value is ready to use.
type CountingConfig struct {
	// By lists the cuts, each as names of dimensions, see [cuts.ParseCut]; at most
	// [cuts.MaxCuts]. Empty means by day and country.
	By [][]string

	// Where is the text of a filter of the lines that are counted, see [cuts.ParseLineFilter];
	// the others are [Filtered]. Empty means all.
	Where string

	// Measures names what is added up beside the number of requests: "bytes", "duration".
	Measures []string

	// Visitors names by what visitors are counted: "day", or "day" and "country"; empty: they are
	// not. By country they need a cut that has it. Tables by these and by times that are made of the
	// day have visitors.
	Visitors []string

	// MaxCells bounds the cells of one day and cut, from [cuts.MinMaxCells]; above it, those with
	// the fewest requests are moved into [cuts.Other]. Zero means [cuts.DefaultMaxCells].
	MaxCells int

	// Keep is the number of days that are kept, with the one that it is in Redis, in Zone, or else
	// in UTC; at most MaxDays. Lines of older days are [Expired]. Zero keeps all.
	Keep int

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

	// Proxies choose the client's address in lists of addresses. Zero takes the first
	// public one.
	Proxies accesslog.TrustedProxies

	// Countries is the country database; nil means the embedded one, unless countries are
	// not counted.
	Countries *geo.DB

	// Networks is the database of autonomous systems, which the dimension asn needs.
	Networks *geo.Networks
}

// A Counting is the Aggregation of requests by cuts of dimensions, such as country and day.
// Its groups and members are those of package cuts.
type Counting struct {
	settings      cuts.Settings
	byCountry     bool
	format        string
	zone, logZone *time.Location
	proxies       accesslog.TrustedProxies
	countries     *geo.DB
	networks      *geo.Networks // nil: they are not counted
	clients       *clientCache
	visitors      *visitorKey // nil: unknown
}

// MaxDays bounds the different days of a subscriber, and of one file between two commits, so that
// a file of random dates needs at most 22 MB of memory. Lines of further days are expired.
const MaxDays = cuts.MaxDays

// NewCounting checks the configuration and loads the country database. A nil
// config is the zero one.
func NewCounting(config *CountingConfig) (*Counting, error) {
	if config == nil {
		config = &CountingConfig{}
	}
	a := &Counting{
		clients: new(clientCache),
		format:  cmp.Or(config.Format, autoFormat), zone: config.Zone, logZone: config.LogZone,
		proxies: config.Proxies, countries: config.Countries,
	}
	var err error
	if a.settings, err = newSettings(config); err != nil {
		return nil, err
	}
	a.byCountry = a.settings.UsePlaces()
	if a.settings.Use(cuts.ASN) {
		if a.networks = config.Networks; a.networks == nil {
			return nil, errors.New("asn: a database of networks is needed")
		}
	}
	if a.format != autoFormat {
		format, err := accesslog.ByName(a.format)
		if err != nil {
			return nil, err
		}
		a.format = format.Name() // an alias is the same setting
	}
	if err := errors.Join(checkZone(a.zone), checkZone(a.logZone)); err != nil {
		return nil, err
	}
	if a.countries == nil && a.byCountry {
		db, err := geo.Default()
		if err != nil {
			return nil, err
		}
		a.countries = db
	}
	return a, nil
}

// newSettings checks what is counted in which cells.
func newSettings(config *CountingConfig) (s cuts.Settings, err error) {
	by := config.By
	if len(by) == 0 {
		by = [][]string{{"day", "country"}}
	}
	if len(by) > cuts.MaxCuts {
		return s, fmt.Errorf("by: %d cuts, at most %d are possible", len(by), cuts.MaxCuts)
	}
	s = cuts.Settings{Measures: []cuts.Measure{cuts.Requests}, MaxCells: cmp.Or(config.MaxCells, cuts.DefaultMaxCells), Keep: config.Keep}
	for _, names := range by {
		cut, err := cuts.ParseCut(names)
		if err != nil {
			return s, err
		}
		if len(cut) == 0 || slices.ContainsFunc(s.Cuts, func(c cuts.Cut) bool { return c.String() == cut.String() }) {
			return s, fmt.Errorf("by %q: a cut of its own with a dimension is needed", cut)
		}
		s.Cuts = append(s.Cuts, cut)
	}
	if s.Where, err = cuts.ParseLineFilter(config.Where); err != nil {
		return s, fmt.Errorf("where: %w", err)
	}
	if s.MaxCells < cuts.MinMaxCells {
		return s, fmt.Errorf("max-cells %d: want at least %d", config.MaxCells, cuts.MinMaxCells)
	}
	if config.Keep < 0 || config.Keep > MaxDays {
		return s, fmt.Errorf("keep %d: want from 1 to %d days, or 0 for all", config.Keep, MaxDays)
	}
	if s.Measures, err = cuts.ParseMeasures(config.Measures); err != nil {
		return s, err
	}
	if s.Visitors, err = cuts.ParseVisitors(config.Visitors); err != nil {
		return s, err
	}
	if s.VisitorsByCountry() && !s.Has(cuts.Country) {
		return s, fmt.Errorf("visitors by %s: no cut has country: count by it too", s.Visitors)
	}
	return s, nil
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

// oneWord writes a layout as one word of the settings.
var oneWord = strings.NewReplacer("%", "%25", " ", "%20", "\t", "%09", "\n", "%0A", "\r", "%0D", "\v", "%0B", "\f", "%0C")

// Settings implements [Aggregation].
func (a *Counting) Settings() string {
	zone := cuts.AsWritten
	if a.zone != nil {
		zone = a.zone.String()
	}
	reading := fmt.Sprintf("format=%s tz=%s", oneWord.Replace(a.format), zone)
	if a.logZone != nil {
		reading += " log-tz=" + a.logZone.String()
	}
	if proxies := a.proxies.String(); proxies != "" {
		reading += " trusted-proxies=" + proxies
	}
	return a.settings.With(reading)
}

// Format returns the name of the log format, "auto" if it is detected for each file.
func (a *Counting) Format() string { return a.format }

// Tables returns the tables of a report without counts.
func (a *Counting) Tables() []cuts.Table {
	selection, err := new(cuts.Query).Select(a.settings, "")
	if err != nil {
		return nil
	}
	return selection.Tables()
}

// Build implements [Aggregation]. It has the builds of the country database and of that of networks,
// as [geo.JoinBuilds] returns them, and is empty if none is used.
func (a *Counting) Build() string {
	var builds []geo.Build
	if a.countries != nil {
		builds = append(builds, a.countries.Build())
	}
	if a.networks != nil {
		builds = append(builds, a.networks.Build())
	}
	return geo.JoinBuilds(builds...)
}

// autoFormat is the format of a file that is detected.
const autoFormat = "auto"

// Begin implements [Aggregation]. The state is that of a splitter of objects, if it is one
// of these, the name of the file's format, or auto, and the state of its parser.
func (a *Counting) Begin(sample []byte, state string) (Counter, error) {
	c := &lineCounter{oldest: math.MinInt32, byCountry: a.byCountry, countries: a.countries, clients: a.clients, fields: a.settings.Fields()}
	if !a.settings.IsPlain() {
		c.cuts, c.byAddress = cuts.NewCounter(a.settings, a.zone), a.settings.Where.UsesAddress() || a.settings.Visitors != nil || a.networks != nil
		c.networks, c.byFormat = a.networks, a.settings.Use(cuts.Format)
	}
	if a.settings.Visitors != nil && a.visitors != nil {
		c.visitors = &visitorCounter{key: a.visitors, byCountry: a.settings.VisitorsByCountry(), sketches: map[visitorCell]*hyperloglog.Sketch{}}
	}
	var err error
	if state != "" {
		err = a.restore(c, state)
	} else {
		err = a.start(c, sample)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// stateSeparator stands in a state before and after the name of the format.
const stateSeparator = "\x00"

// restore sets how a file is read of which a part was counted.
func (a *Counting) restore(c *lineCounter, state string) (err error) {
	c.objects, state, _ = strings.Cut(state, stateSeparator)
	c.format, state, _ = strings.Cut(state, stateSeparator)
	if c.format == autoFormat {
		c.parser, err = accesslog.RestoreAuto(a.options(state))
		return err
	}
	format, err := accesslog.ByName(c.format)
	if err == nil {
		c.parser = format.New(a.options(state))
	}
	return err
}

func (a *Counting) options(state string) accesslog.Options {
	return accesslog.Options{Zone: a.zone, Local: a.logZone, Proxies: a.proxies, State: state, Fields: a.settings.Fields()}
}

// start sets how a file is read that begins with the sample.
func (a *Counting) start(c *lineCounter, sample []byte) error {
	c.format = a.format
	if a.format != autoFormat {
		return a.startFormat(c, sample)
	}
	lines, objects := stream.FirstLines(sample, accesslog.DetectLines)
	if objects {
		c.objects = stream.ObjectsBegin
	}
	if objects && len(lines) == 0 {
		return a.startEmpty(c)
	}
	choice, err := accesslog.Choose(lines)
	if err != nil {
		return err
	}
	c.reading = Reading{Format: choice.Format.Name(), Percent: choice.Percent(), Unsure: choice.Unsure()}
	c.reading.Unzoned = a.zone != nil && a.logZone == nil && isUnzoned(choice.Format, lines)
	c.parser = choice.NewAuto(a.options(""))
	return nil
}

// startFormat is start for a format that is configured.
func (a *Counting) startFormat(c *lineCounter, sample []byte) error {
	format, err := accesslog.ByName(a.format)
	if err != nil {
		return err
	}
	lines := stream.FirstLinesOfText(sample, accesslog.DetectLines)
	if format.HasObjects() {
		var objects bool
		if lines, objects = stream.FirstLines(sample, accesslog.DetectLines); objects {
			c.objects = stream.ObjectsBegin
		}
		if objects && len(lines) == 0 {
			return a.startEmpty(c)
		}
	}
	c.reading.Unzoned = a.zone != nil && a.logZone == nil && isUnzoned(format, lines)
	c.parser = format.New(a.options(""))
	parser := format.New(accesslog.Options{})
	for _, line := range lines {
		if _, verdict := parser.Parse(line); verdict != accesslog.Unparsable || parser.Open() {
			return nil
		}
	}
	return &WrongFormatError{a.format, format.Mismatch(lines)}
}

// startEmpty sets how a file is read that begins with an array without objects: some may follow.
func (a *Counting) startEmpty(c *lineCounter) error {
	if a.format != autoFormat {
		return a.restore(c, stream.ObjectsBegin+stateSeparator+a.format)
	}
	format, err := accesslog.ByName("nginx-json")
	c.parser = accesslog.Choice{Format: format}.NewAuto(a.options(""))
	return err
}

// isUnzoned reports whether the first time in lines of a format has no zone.
func isUnzoned(format accesslog.Format, lines [][]byte) bool {
	parser := format.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Time)})
	for _, line := range lines {
		if _, verdict := parser.Parse(line); verdict != accesslog.Parsed {
			continue
		}
		if at, ok := parser.Values().Time(); ok {
			return !at.Zoned
		}
	}
	return false
}

// A WrongFormatError is the error for a file whose first lines are all not in the
// configured format: it is binary, or a log in another format.
type WrongFormatError struct {
	Format  string
	Problem string // what of the first line it cannot read; empty: the line is blank
}

func (e *WrongFormatError) Error() string {
	text := fmt.Sprintf("none of its first lines is in the format %q", e.Format)
	if e.Problem != "" {
		text += ": " + e.Problem
	}
	return text
}
