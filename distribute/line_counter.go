package distribute

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"sync/atomic"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
)

// A lineCounter parses each line, looks its country up and counts it. It is
// the hottest code of a worker. By day and country alone it uses no map.
type lineCounter struct {
	byCountry bool
	byAddress bool // the filter, visitors or networks need the address
	byFormat  bool
	format    string
	objects   string // the state of the splitter of objects; empty: lines are counted
	reading   Reading
	parser    accesslog.Parser
	countries *geo.DB
	networks  *geo.Networks // nil: they are not counted
	oldest    accesslog.Day // lines of days before it are expired
	days      []*dayCount
	current   *dayCount // of the last line
	clients   *clientCache
	visitors  *visitorCounter // nil: they are not counted
	cuts      *cuts.Counter   // nil: by day, or by day and country alone
	fields    accesslog.FieldSet
}

// A clientCache has the countries of clients, by the texts of their addresses: a log repeats
// few of them many times. All goroutines share it: each entry is one word, and those that race
// for one store what is right.
//
// A text is multiplied by an odd number, which loses nothing of it. The upper bits of the
// product are the place of its entry. The entry holds the others, above the index of the
// country plus one.
type clientCache [1 << clientBits]atomic.Uint64

const (
	clientBits  = 16
	countryBits = 10 // fewer than clientBits
	spread      = 0x9e3779b97f4a7c15
)

// privateClient is the index of clients with an address that is not public, which is in no
// country.
const privateClient = geo.Countries

// countryOf returns the index of the country of an address, or privateClient.
func countryOf(addr netip.Addr, countries *geo.DB) int {
	country := countries.Country(addr).Index()
	if country == unknownCountry && !accesslog.IsPublic(addr) && addr.IsValid() {
		return privateClient
	}
	return country
}

// country returns the index of the country of a client, or privateClient, -1 if its text is no
// address.
func (c *clientCache) country(client accesslog.Client, line []byte, countries *geo.DB) int {
	mixed := uint64(client) * spread
	place, rest := &c[mixed>>(64-clientBits)], mixed<<clientBits>>(clientBits-countryBits)
	if entry := place.Load(); entry&^(1<<countryBits-1) == rest && entry != 0 {
		return int(entry&(1<<countryBits-1)) - 1
	}
	addr := accesslog.ClientOf(line)
	if !addr.IsValid() {
		return -1
	}
	country := countryOf(addr, countries)
	place.Store(rest | uint64(country+1))
	return country
}

type dayCount struct {
	day      accesslog.Day
	requests [geo.Countries + 1]int64 // the last one: of privateClient
}

// Line implements [Counter].
func (c *lineCounter) Line(line []byte) Verdict {
	return c.count(c.parser.Parse(line))
}

// lines counts lines, each with its newline, as Line does, adds how to verdicts, and returns their number:
// that is faster than one by one. The slice is not kept.
func (c *lineCounter) lines(lines []byte, verdicts *verdicts) (n int64) {
	start := c.start()
	for ; len(lines) > 0; n++ {
		end := bytes.IndexByte(lines, '\n')
		line := lines[:end]
		lines = lines[end+1:]
		if client, day, ok := start.Read(line); ok && (c.fields == 0 || start.Cut(line, client, c.fields)) {
			if country := c.country(client, line); country >= 0 {
				verdicts[c.add(day, country, netip.Addr{}, start.Values())]++
				continue
			}
		}
		verdicts[c.Line(line)]++
		start = c.start()
	}
	return n
}

// start returns the reader for lines whose clients are looked up in the cache.
func (c *lineCounter) start() accesslog.LineStart {
	if !c.byCountry && c.cuts == nil || c.byAddress {
		return accesslog.LineStart{}
	}
	return accesslog.StartOf(c.parser)
}

// country returns the index of the country of a client, as if it was unknown if countries are not
// counted; -1 if its text is no address.
func (c *lineCounter) country(client accesslog.Client, line []byte) int {
	switch {
	case c.byCountry:
		return c.clients.country(client, line, c.countries)
	case accesslog.ClientOf(line).IsValid():
		return unknownCountry
	}
	return -1
}

// count counts a record.
func (c *lineCounter) count(record accesslog.Record, verdict accesslog.Verdict) Verdict {
	switch verdict {
	case accesslog.Parsed:
	case accesslog.NotALine:
		return NoLine
	default:
		return Unparsable
	}
	country := unknownCountry
	if c.byCountry {
		country = countryOf(record.Addr, c.countries)
	}
	return c.add(record.Day, country, record.Addr, c.parser.Values())
}

var unknownCountry = geo.Unknown.Index()

// add counts a request on a day from the country with an index, or from privateClient. addr may be
// invalid unless the filter needs it.
func (c *lineCounter) add(day accesslog.Day, country int, addr netip.Addr, values *accesslog.Values) Verdict {
	if day < c.oldest {
		return Expired
	}
	known := min(country, unknownCountry) // of privateClient, it is not
	if c.cuts != nil {
		if c.networks != nil {
			c.cuts.Origin.Network = c.networks.Number(addr)
		}
		if c.byFormat {
			c.cuts.Origin.Format = cmp.Or(accesslog.FormatOf(c.parser), c.format)
		}
		if !c.cuts.Matches(day, known, addr, values) {
			return Filtered
		}
		if !c.cuts.Count(day, known, country == privateClient, values) {
			return Expired
		}
		if c.visitors != nil {
			c.visitors.add(day, country, addr, c.parser.Values())
		}
	} else {
		if c.current == nil || c.current.day != day {
			if !c.setDay(day) {
				return Expired
			}
		}
		c.current.requests[country]++
	}
	if country >= unknownCountry && c.byCountry {
		return Unknown
	}
	return Counted
}

// setDay makes a day the current one, and reports whether there is room for it.
// Logs are nearly in order of time: the day is almost always one of the last two.
func (c *lineCounter) setDay(day accesslog.Day) bool {
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
func (c *lineCounter) Cells(yield func(Cell)) {
	if c.cuts != nil {
		c.cuts.Cells(func(group, member string, n int64) { yield(Cell{group, member, n}) })
		return
	}
	for _, d := range c.days {
		group := d.day.String()
		var account cuts.Account
		if c.byCountry {
			account = cuts.Account{Unknown: d.requests[unknownCountry] + d.requests[privateClient], Private: d.requests[privateClient]}
			d.requests[unknownCountry], d.requests[privateClient] = account.Unknown, 0
		}
		account.Counted = -account.Unknown
		for i, n := range d.requests {
			if n == 0 {
				continue
			}
			account.Counted += n
			member := cuts.Any
			if c.byCountry {
				member = geo.CountryAt(i).String()
			}
			yield(Cell{group, member, n})
		}
		account.Cells(group, func(group, member string, n int64) { yield(Cell{group, member, n}) })
	}
}

// State implements [Counter].
func (c *lineCounter) State() string {
	return c.objects + stateSeparator + c.format + stateSeparator + c.parser.State()
}

func (c *lineCounter) isFull() bool {
	return len(c.days) >= MaxDays/2 || c.cuts != nil && c.cuts.Full() || c.visitors != nil && c.visitors.isFull()
}
