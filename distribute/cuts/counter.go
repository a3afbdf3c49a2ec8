package cuts

import (
	"slices"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/agents"
	"skidway/distribute/geo"
)

// A Counter counts lines in the cells of cuts. It is not safe for concurrent use.
type Counter struct {
	// Origin is that of the line that is counted, or matched, next. Only what is used must be set.
	Origin Origin

	settings Settings
	zone     *time.Location // of the hours; nil: as they are written
	columns  []column       // those of the filter are the first
	known    int            // how many of them have the values of the line that is counted next
	cuts     []cutCounter
	filter   filterTree
	days     []accesslog.Day
	accounts []Account // of each day: its Unknown and Private
	filtered []int64   // of each day
	day      int       // index of the last one
	cells    int       // of all cuts
	hours    hourText
	agents   textCache
	finder   agents.Finder
	text     []byte // of a value
}

// An Origin is what is known of a line beside its fields.
type Origin struct {
	File    string // its announced name
	Format  string // its name
	Network uint32 // the number of the autonomous system of the client's address; 0: unknown
}

// A cutCounter has the cells of one cut, by the nodes of the tree.
type cutCounter struct {
	stored Cut
	tree   tree
	cells  []cell
}

type cell struct {
	requests, bytes int64
	durations       *Histogram
}

// NewCounter returns a counter. zone decides the hours; nil takes them as they are written.
func NewCounter(settings Settings, zone *time.Location) *Counter {
	c := &Counter{settings: settings, zone: zone}
	c.filter = c.newFilterTree()
	for _, cut := range settings.Cuts {
		c.cuts = append(c.cuts, cutCounter{stored: cut.stored(), tree: c.newTree(cut.stored())})
	}
	return c
}

// fieldsOf has the fields of a line that a dimension is made of.
var fieldsOf = map[Kind][]accesslog.Field{
	Hour:         {accesslog.Time, accesslog.Date, accesslog.Clock},
	Status:       {accesslog.Status},
	StatusClass:  {accesslog.Status},
	Method:       {accesslog.Method, accesslog.Request},
	Protocol:     {accesslog.Protocol, accesslog.Request},
	Path:         {accesslog.Path, accesslog.Request},
	Host:         {accesslog.Host, accesslog.Path, accesslog.Request},
	ReferrerHost: {accesslog.Referrer},
	Browser:      {accesslog.Agent},
	Crawler:      {accesslog.Agent},
	CrawlerClass: {accesslog.Agent},
}

// Fields returns the fields of lines that are counted by, measured, or used by the filter.
func (s Settings) Fields() (set accesslog.FieldSet) {
	set = s.Where.fields()
	for _, cut := range s.Cuts {
		for _, d := range cut {
			set |= accesslog.Fields(fieldsOf[d.Kind]...)
		}
	}
	if s.Visitors != nil {
		set |= accesslog.Fields(accesslog.Agent)
	}
	if slices.Contains(s.Measures, Bytes) {
		set |= accesslog.Fields(accesslog.Bytes)
	}
	if slices.Contains(s.Measures, Duration) {
		set |= accesslog.Fields(accesslog.Duration)
	}
	return set
}

// MaxDays bounds the days of a Counter, and of what is stored.
const MaxDays = 4096

// maxCounted is the number of cells from which a Counter is full.
const maxCounted = 100_000

// Full reports whether there are so many cells, or days, that they should be committed.
func (c *Counter) Full() bool {
	return c.cells+len(c.filter.verdicts) >= maxCounted || len(c.days) >= MaxDays/2
}

// setDay makes a day the current one, and reports whether there is room for it.
func (c *Counter) setDay(day accesslog.Day) bool {
	at := slices.Index(c.days, day)
	if at < 0 {
		if len(c.days) == MaxDays {
			return false
		}
		at, c.days, c.accounts, c.filtered = len(c.days), append(c.days, day), append(c.accounts, Account{}), append(c.filtered, 0)
	}
	c.day = at
	return true
}

// Count counts a line of the country with an index, and reports whether there was room for its day.
// With a filter, Matches must have selected the line directly before. private is whether its
// address is not public.
func (c *Counter) Count(day accesslog.Day, country int, private bool, v *accesslog.Values) bool {
	if (len(c.days) == 0 || c.days[c.day] != day) && !c.setDay(day) {
		return false
	}
	c.read(len(c.columns), country, v)
	c.known = 0
	if country == unknownCountry {
		c.accounts[c.day].addUnknown(private)
	}
	for i := range c.cuts {
		cut := &c.cuts[i]
		node := c.node(&cut.tree)
		for node >= len(cut.cells) { // of a cut by days alone, days of which the filter selected no line have none
			cut.cells = append(cut.cells, cell{})
			c.cells++
		}
		counted := &cut.cells[node]
		counted.requests++
		if len(c.settings.Measures) > 1 {
			c.measure(counted, v)
		}
	}
	return true
}

// measure adds the measures of a line beside requests to a cell.
func (c *Counter) measure(counted *cell, v *accesslog.Values) {
	for _, m := range c.settings.Measures[1:] {
		switch m {
		case Bytes:
			if n, ok := v.Bytes(); ok {
				counted.bytes += n
			}
		case Duration:
			if d, ok := v.Duration(); ok {
				if counted.durations == nil {
					counted.durations = new(Histogram)
				}
				counted.durations[bucket(d)]++
			}
		}
	}
}

// Cells calls yield with all cells, and those of the accounts of days: their groups, members and
// numbers.
func (c *Counter) Cells(yield func(group, member string, n int64)) {
	accounts, crawlers := c.newAccounts(), slices.IndexFunc(c.cuts, func(c cutCounter) bool { return c.stored.crawlerPlace() >= 0 })
	for i, cut := range c.cuts {
		groups := map[Group]string{}
		places := make([]int, len(cut.stored))
		for j, d := range cut.stored {
			places[j] = c.addColumn(d)
		}
		values := make([]string, len(cut.stored))
		for node, counted := range cut.cells {
			at := c.setNode(&cut.tree, node)
			day := c.days[at].String()
			for j, place := range places {
				values[j] = c.columns[place].value(c.columns[place].number)
			}
			member := Member(values)
			if i == 0 {
				accounts[at].Counted += counted.requests
			}
			if i == crawlers && values[cut.stored.crawlerPlace()] != Missing {
				accounts[at].Crawlers += counted.requests
			}
			add := func(series Series, n int64) {
				if n == 0 {
					return
				}
				g := Group{day, i, series}
				if groups[g] == "" {
					groups[g] = g.String()
				}
				yield(groups[g], member, n)
			}
			add(requestSeries, counted.requests)
			add(byteSeries, counted.bytes)
			if counted.durations != nil {
				for bucket, n := range counted.durations {
					add(bucketSeries(bucket), n)
				}
			}
		}
	}
	for i, account := range accounts {
		account.Cells(c.days[i].String(), yield)
	}
}

// FilteredDays returns the numbers of lines that Matches did not select, by their day.
func (c *Counter) FilteredDays() map[string]int64 {
	days := map[string]int64{}
	for i, n := range c.filtered {
		if n > 0 {
			days[c.days[i].String()] = n
		}
	}
	return days
}

var unknownCountry = geo.Unknown.Index()

// newAccounts returns the accounts of all days, without what is in cells.
func (c *Counter) newAccounts() []Account {
	accounts := slices.Clone(c.accounts)
	for i := range accounts {
		if !c.settings.UsePlaces() {
			accounts[i] = Account{}
		}
		accounts[i].Counted = -accounts[i].Unknown
	}
	return accounts
}

// appendValue appends the value that a line has of a dimension.
func (c *Counter) appendValue(b []byte, d Dimension, country int, v *accesslog.Values) []byte {
	switch d.Kind {
	case Country:
		return append(b, geo.CountryAt(country).String()...)
	case Continent:
		return append(b, continentIndex[country]...)
	case Hour:
		return append(b, c.hours.of(v, c.zone)...)
	case Status, StatusClass:
		return appendStatus(b, d.Kind, v)
	case Browser, Crawler, CrawlerClass:
		return appendAgent(b, d.Kind, v)
	case ASN, Format, File:
		return c.Origin.append(b, d.Kind)
	}
	return appendText(b, d, v)
}
