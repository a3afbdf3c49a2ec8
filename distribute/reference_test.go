package distribute_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
)

// counts is what a count comes to: "2026-11-01 US" → requests, and the tally.
type counts struct {
	requests map[string]int64
	rows     map[string]cuts.Counts // of all cuts, by their dimensions and values; nil: there is only one cut
	lines    int64
	unknown  int64
	private  int64
	crawlers int64
	filtered int64
	expired  int64
	bad      int64

	visitors map[string][]distribute.Visitor // of a reference: by day, and day and country
}

// filteredCuts are testCuts with a filter, which selected does again. The subscriber with the name
// filteredName has it.
var filteredCuts = &distribute.CountingConfig{By: testCuts.By, Where: `address in ["0.0.0.0/1"] && day != "2026-11-02" || country == "JP"`}

const filteredName = "filtered"

func selected(addr netip.Addr, day string, country geo.Country) bool {
	return addr.Is4() && addr.As4()[0] < 128 && day != "2026-11-02" || country.String() == "JP"
}

// reference counts minimal-format lines ("address day …") one by one, in the
// most straightforward way.
func reference(t testing.TB, contents ...[]byte) counts {
	t.Helper()
	return referenceOf(t, func(netip.Addr, string, geo.Country) bool { return true }, contents...)
}

// referenceOf is reference for the lines that a function selects.
func referenceOf(t testing.TB, selects func(addr netip.Addr, day string, country geo.Country) bool, contents ...[]byte) counts {
	t.Helper()
	db, err := geo.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := counts{requests: map[string]int64{}, visitors: map[string][]distribute.Visitor{}}
	for _, content := range contents {
		text := strings.TrimSuffix(string(content), "\n")
		if len(content) == 0 {
			continue
		}
		for _, line := range strings.Split(text, "\n") {
			c.lines++
			fields := strings.Fields(line)
			if len(fields) < 2 {
				c.bad++
				continue
			}
			addr, err := netip.ParseAddr(fields[0])
			day, dayErr := time.Parse("2006-01-02", fields[1])
			if err != nil || dayErr != nil {
				c.bad++
				continue
			}
			country := db.Country(addr)
			if !selects(addr, fields[1], country) {
				c.filtered++
				continue
			}
			if country == geo.Unknown {
				c.unknown++
				if !accesslog.IsPublic(addr) {
					c.private++
				}
			}
			name := day.Format("2006-01-02") + " " + country.String()
			c.requests[name]++
			visitor := distribute.Visitor{Addr: addr}
			c.visitors[fields[1]], c.visitors[name] = append(c.visitors[fields[1]], visitor), append(c.visitors[name], visitor)
		}
	}
	return c
}

// counted reads what a subscriber has counted.
func counted(t testing.TB, channel *distribute.Channel, subscriber string) counts {
	t.Helper()
	report, err := channel.Report(context.Background(), subscriber, nil)
	if err != nil {
		t.Fatal(err)
	}
	return countsOf(report)
}

func countsOf(report distribute.Report) counts {
	tally := report.Subscriber.Tally
	c := counts{requests: map[string]int64{}, lines: tally.Lines, unknown: tally.Unknown, private: tally.Private, crawlers: tally.Crawlers, filtered: tally.Filtered, expired: tally.Expired, bad: tally.Unparsable}
	for _, row := range report.Tables[0].Rows {
		c.requests[strings.Join(row.Values, " ")] = row.Requests
	}
	if len(report.Tables) == 1 {
		return c
	}
	c.rows = map[string]cuts.Counts{}
	for _, table := range report.Tables {
		for _, row := range table.Rows {
			row.Visitors = 0 // an estimate, see sameVisitors
			c.rows[strings.Join(table.Names, ",")+" "+strings.Join(row.Values, " ")] = row.Counts
		}
	}
	return c
}

func (c counts) tally() [7]int64 {
	return [...]int64{c.lines, c.unknown, c.private, c.crawlers, c.filtered, c.expired, c.bad}
}

// same fails the test where two counts differ, and where one does not balance.
func same(t testing.TB, got, want counts) {
	t.Helper()
	if got.tally() != want.tally() {
		t.Errorf("lines, unknown, private, crawlers, filtered, expired, unparsable: got %d, want %d", got.tally(), want.tally())
	}
	sameCells(t, got.requests, want.requests)
	if got.rows != nil {
		sameCells(t, got.rows, want.rowsOf())
	}
	var sum int64
	for _, n := range got.requests {
		sum += n
	}
	if sum+got.filtered+got.expired+got.bad != got.lines {
		t.Errorf("%d requests, %d filtered, %d expired and %d unparsable lines are not %d lines", sum, got.filtered, got.expired, got.bad, got.lines)
	}
}

// sameCells fails the test where the numbers of cells differ.
func sameCells[N comparable](t testing.TB, got, want map[string]N) {
	t.Helper()
	wrong := 0
	for _, cell := range slices.Sorted(maps.Keys(merged(got, want))) {
		if got[cell] != want[cell] {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: got %v, want %v", cell, got[cell], want[cell])
			}
		}
	}
	if wrong > 5 {
		t.Errorf("and %d more cells are wrong", wrong-5)
	}
}

// rowsOf returns the rows of all cuts: those of testCuts follow from the requests.
func (c counts) rowsOf() map[string]cuts.Counts {
	if c.rows != nil {
		return c.rows
	}
	rows := map[string]cuts.Counts{}
	for cell, n := range c.requests {
		day, _, _ := strings.Cut(cell, " ")
		for _, name := range []string{"day,country " + cell, "month,status " + day[:len("2006-01")] + " -", "day " + day} { // these lines have no status
			row := rows[name]
			row.Requests += n
			rows[name] = row
		}
	}
	return rows
}

// sameVisitors fails the test where a register of visitors is not that of the reference.
func sameVisitors(t testing.TB, channel *distribute.Channel, subscriber string, want counts) {
	t.Helper()
	stored, expected, err := channel.Visitors(context.Background(), subscriber, want.visitors)
	if err != nil {
		t.Fatal(err)
	}
	for name := range merged(stored, expected) {
		if stored[name] != expected[name] {
			t.Errorf("the visitors of %s differ: %d and %d bytes", name, len(stored[name]), len(expected[name]))
		}
	}
}

func merged[N any](a, b map[string]N) map[string]N {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// networks begin the addresses of [content]: they are in some twenty countries, each of which costs
// a cell and a sketch a day.
var networks = [...]byte{8, 41, 58, 91, 103, 133, 177, 200}

// content makes lines in the minimal format: several days, several countries, some
// without country, some that can't be parsed.
func content(seed uint64, lines int) []byte { return contentOf(networks[:], seed, lines) }

// contentOf is content with addresses that begin with some bytes, with any if there are none.
func contentOf(networks []byte, seed uint64, lines int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	var out bytes.Buffer
	for i := range lines {
		day := time.Date(2026, 11, 1+i*5/lines, 0, 0, 0, 0, time.UTC).Format("2006-01-02")
		switch random.IntN(50) {
		case 0:
			out.WriteString("what is this\n")
		case 1:
			out.WriteString("\n")
		case 2:
			fmt.Fprintf(&out, "10.0.0.%d %s private\n", random.IntN(256), day)
		case 3:
			fmt.Fprintf(&out, "2001:4860:4860::%x %s six\n", random.IntN(1<<16), day)
		default:
			a := random.Uint32()
			if len(networks) > 0 {
				a = uint32(networks[a>>29])<<24 | a&0x3ffff // four networks of /16 each
			}
			fmt.Fprintf(&out, "%d.%d.%d.%d %s line %d of %d\n", a>>24, a>>16&255, a>>8&255, a&255, day, i, seed)
		}
	}
	return out.Bytes()
}
