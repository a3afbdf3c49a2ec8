package distribute

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/internal/hyperloglog"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// sealVisitors seals a sketch with one visitor as a commit of s.
func (s scriptRunner) sealVisitors(commit, day, country string, hash uint64) {
	var sketch hyperloglog.Sketch
	sketch.Add(hash)
	member := country
	if country == "" {
		member = cuts.Any
	}
	s.do([]any{"HSET", s.k.subscriber("s").sealedCells(commit), day + visitorSeries + "\t" + member, sketch.Encode()}, []any{"SADD", s.k.subscriber("s").sealed(), commit})
}

// mergeVisitors merges the sealed sketch of a day, with at most two sketches.
func (s scriptRunner) mergeVisitors(day, country string) string {
	name, member := visitorName(day, country), country
	if country == "" {
		member = cuts.Any
	}
	of := target{subscriber: "s", sealed: "f:1:1", more: []string{s.k.subscriber("s").visitorsOf(name)}}
	return s.run(mergeVisitorsScript, of, "f:1:1", "s", day+visitorSeries+"\t"+member, day, country, 2)
}

// visitors is what merging and dropping change.
func (s scriptRunner) visitors() string {
	text := ""
	for _, name := range strings.Fields(strings.Trim(s.text("ZRANGE", s.k.subscriber("s").visitors(), 0, -1), "[]")) {
		text += name + " "
	}
	return fmt.Sprintf("%sfrom %s, sealed %s", text, s.field(s.k.subscriber("s").record(), "countries"), s.text("SMEMBERS", s.k.subscriber("s").sealed()))
}

// visited has a sealed sketch of a day, and one of a country on it.
func visited(s scriptRunner) {
	subscribed(s)
	s.sealVisitors("f:1:1", "2026-11-02", "", 7)
	s.sealVisitors("f:1:1", "2026-11-02", "DE", 7)
}

// fullOfVisitors is visited, and there is no room for another sketch.
func fullOfVisitors(names ...string) func(scriptRunner) {
	return func(s scriptRunner) {
		visited(s)
		for _, name := range names {
			s.do([]any{"ZADD", s.k.subscriber("s").visitors(), 0, name})
		}
	}
}

var visitorScripts = []scriptCase{
	{
		name: "mergevisitors: one of two", given: visited, call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "") }, want: "1",
		look: scriptRunner.visitors, sees: "2026-11-02 from <nil>, sealed [f:1:1]",
	},
	{
		name: "mergevisitors: the last one", given: func(s scriptRunner) { visited(s); s.mergeVisitors("2026-11-02", "") },
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "DE") }, want: "0",
		look: scriptRunner.visitors, sees: "2026-11-02 2026-11-02 DE from <nil>, sealed []",
	},
	{
		name: "mergevisitors: no room beside a country", given: fullOfVisitors("2026-11-01", "2026-11-01 US"),
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "DE") }, want: "[0 2026-11-01]", keeps: true,
	},
	{
		name: "mergevisitors: no room, and its day is the oldest", given: fullOfVisitors("2026-11-03", "2026-11-03 US"),
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "DE") }, want: "[0 2026-11-02]", keeps: true,
	},
	{
		name: "mergevisitors: no room beside days", given: fullOfVisitors("2026-11-01", "2026-11-03"),
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "DE") }, want: "[0 2026-11-02]", keeps: true,
	},
	{
		name: "mergevisitors: a day always has room", given: fullOfVisitors("2026-11-01", "2026-11-03"),
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "") }, want: "1",
		look: scriptRunner.visitors, sees: "2026-11-01 2026-11-02 2026-11-03 from <nil>, sealed [f:1:1]",
	},
	{
		name: "mergevisitors: a country on a day without any", given: func(s scriptRunner) {
			visited(s)
			s.do([]any{"HSET", s.k.subscriber("s").record(), "countries", "2026-11-03"})
		},
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "DE") }, want: "1",
		look: scriptRunner.visitors, sees: "from 2026-11-03, sealed [f:1:1]",
	},
	{
		name: "mergevisitors: a day that is not kept", given: func(s scriptRunner) {
			visited(s)
			s.do([]any{"HSET", s.k.subscriber("s").record(), "oldest", "2026-11-03"})
		},
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "") }, want: "1",
		look: scriptRunner.visitors, sees: "from <nil>, sealed [f:1:1]",
	},
	{
		name: "mergevisitors: beside a report", given: func(s scriptRunner) { visited(s); s.snapshot("s") },
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "") }, want: "-1", keeps: true,
	},
	{
		name: "mergevisitors: no subscriber", given: withoutSubscriber(visited),
		call: func(s scriptRunner) string { return s.mergeVisitors("2026-11-02", "") }, want: "0", keeps: true,
	},
	{
		name: "dropvisitors: of a day", given: fullOfVisitors("2026-11-01", "2026-11-01 US"),
		call: func(s scriptRunner) string {
			of := target{subscriber: "s", more: []string{s.k.subscriber("s").visitorsOf("2026-11-01 US")}}
			return s.run(dropVisitorsScript, of, "2026-11-02", "2026-11-01 US")
		}, want: "1",
		look: scriptRunner.visitors, sees: "2026-11-01 from 2026-11-02, sealed [f:1:1]",
	},
	{
		name: "dropvisitors: no subscriber", given: nothing,
		call: func(s scriptRunner) string {
			return s.run(dropVisitorsScript, target{subscriber: "s"}, "2026-11-02")
		}, want: "0", keeps: true,
	},
}

// With more sketches than there is room for, those of days stay, and those of countries on the
// newest days; and the report names the first of these.
func TestSketchesAreBounded(t *testing.T) {
	t.Parallel()
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScriptRunner(t, db)
		s.subscribe("s", "country-day by=day,country visitors=day,country")
		totals := s.c.totals("s")
		totals.maxSketches = 7
		days := []string{"2026-11-02", "2026-11-04", "2026-11-01", "2026-11-03"}
		for i, day := range days {
			commit := commitName("f", 1, int64(i))
			for j, country := range []string{"", "DE", "US"} {
				s.sealVisitors(commit, day, country, uint64(1000*j+i))
			}
			if err := totals.tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := s.visitors(), "2026-11-01 2026-11-02 2026-11-03 2026-11-04 2026-11-04 DE 2026-11-04 US from 2026-11-04, sealed []"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		report, err := s.c.Report(t.Context(), "s", &cuts.Query{By: [][]string{{"month"}, {"month", "country"}}})
		if err != nil || report.VisitorsFrom != "2026-11-04" || report.Tables[0].Total.Visitors != 4 {
			t.Errorf("%+v, %v", report, err)
		}
		s.do([]any{"HSET", s.k.subscriber("s").record(), "oldest", "2026-11-04"})
		if err := totals.dropDays(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := s.visitors(), "2026-11-04 2026-11-04 DE 2026-11-04 US from 2026-11-04, sealed []"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := s.c.Unsubscribe(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		for key := range s.state() {
			if strings.Contains(key, "visitors") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

// A sketch of few visitors is small, so that many of them are in the bytes of one call.
func TestVisitorsOfManyDaysAndCountriesAreStagedInSeveralCalls(t *testing.T) {
	t.Parallel()
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScriptRunner(t, db)
		claimed(s)
		var sketch hyperloglog.Sketch
		sketch.Add(7 << 40) // sparse
		sketches := map[cellName]*hyperloglog.Sketch{}
		const days, countries = 120, 40
		for day := range accesslog.Day(days) {
			for country := -1; country < countries; country++ {
				sketches[visitorCell{day, country}.name()] = &sketch
			}
		}
		c := claim{channel: s.c, subscriber: "s", id: "f", shipment: 1, token: "c1"}
		staged, err := c.stage(t.Context(), &fileResult{sketches: sketches})
		if err != nil || staged != days*(countries+1) {
			t.Fatalf("%d sketches are staged, %v", staged, err)
		}
		if stored := s.text("HLEN", s.k.subscriber("s").staged("f")); stored != fmt.Sprint(staged) {
			t.Errorf("%s sketches are stored, want %d", stored, staged)
		}
	})
}

// The hash of a visitor never changes.
func TestVisitorsAreHashedAsDocumented(t *testing.T) {
	t.Parallel()
	key, err := parseVisitorKey("000102030405060708090a0b0c0d0e0f")
	if err != nil {
		t.Fatal(err)
	}
	hash := func(addr, agent string) uint64 {
		n, _ := key.hash(netip.MustParseAddr(addr), []byte(agent), nil)
		return n
	}
	// The test vector of SipHash-2-4 for the bytes 0 to 15.
	if got := hash("1:203:405:607:809:a0b:c0d:e0f", ""); got != 0x3f2acc7f57c29bdb {
		t.Errorf("%x", got)
	}
	if hash("192.0.2.1", "a") != hash("::ffff:192.0.2.1", "a") || hash("192.0.2.1", "a") == hash("192.0.2.1", "b") {
		t.Error("visitors are mixed up")
	}
	for _, text := range []string{"", "00", "zz0102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f00"} {
		if _, err := parseVisitorKey(text); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

func TestVisitorsArePairsOfAddressAndAgentWithoutCrawlers(t *testing.T) {
	t.Parallel()
	a, err := NewCounting(&CountingConfig{Format: "combined", Visitors: []string{"day", "country"}, Where: "status < 500"})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := a.withVisitors(new(visitorKey)).Begin(nil, "\x00combined\x00")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`8.8.8.8 - - [20/Nov/2026:14:30:01 +0000] "GET / HTTP/1.1" 200 5 "-" "Firefox/1"`,
		`8.8.8.8 - - [20/Nov/2026:14:30:02 +0000] "GET /a HTTP/1.1" 200 5 "-" "Firefox/1"`,
		`8.8.8.8 - - [20/Nov/2026:14:30:02 +0000] "GET /a HTTP/1.1" 200 5 "-" "Firefox/2"`,
		`8.8.4.4 - - [20/Nov/2026:14:30:02 +0000] "GET /a HTTP/1.1" 200 5 "-" "Firefox/1"`,
		`10.0.0.1 - - [20/Nov/2026:14:30:02 +0000] "GET /a HTTP/1.1" 200 5 "-" "-"`,
		`10.0.0.2 - - [20/Nov/2026:14:30:02 +0000] "GET /a HTTP/1.1" 503 5 "-" "-"`,
		`8.8.8.8 - - [20/Nov/2026:14:30:03 +0000] "GET /b HTTP/1.1" 200 5 "-" "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"`,
	} {
		counter.Line([]byte(line))
	}
	result := fileResult{cells: map[cellName]int64{}}
	result.addVisitors(counter)
	for member, want := range map[string]int64{cuts.Any: 4, "US": 3, "ZZ": 1} {
		if s := result.sketches[cellName{"2026-11-20 visitors", member}]; s == nil || s.Count() != want {
			t.Errorf("%s: %v, want %d", member, result.sketches, want)
		}
	}
	for _, config := range []CountingConfig{{Visitors: []string{"country"}}, {Visitors: []string{"day", "country"}, By: [][]string{{"day", "status"}}}} {
		if _, err := NewCounting(&config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
