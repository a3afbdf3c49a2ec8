package htmlreport_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/htmlreport"
)

func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	s := newSite()
	const first = "2025-11-20"
	for _, test := range []struct {
		name     string
		report   distribute.Report
		maxBytes int
	}{
		{"a year by country and by status class", report(s.table("day,country", first, 365, 1e6, false), s.table("day,status_class", first, 365, 1e6, false)), 400_000},
		{"a year by country and crawlers", report(s.table("day,country,crawler_class", first, 365, 1e6, false), s.table("day,status_class", first, 365, 1e6, false)), 550_000},
		{"28 days", report(s.table("day,country,crawler", "2026-10-23", 28, 1e6, true), s.table("day,status", "2026-10-23", 28, 1e6, true)), 250_000},
	} {
		if size := len(page(t, test.report, 0)); size > test.maxBytes {
			t.Errorf("%s: %d bytes, want at most %d", test.name, size, test.maxBytes)
		}
	}
}

func TestPageShowsTheNumbersOfTheReport(t *testing.T) {
	t.Parallel()
	s := newSite()
	table := s.table("day,country,crawler", "2026-10-23", 28, 1e6, true)
	text := page(t, report(table), 0)
	germany, crawlers := int64(0), int64(0)
	for _, row := range table.Rows {
		if row.Values[1] == "DE" {
			germany += row.Requests
			if row.Values[2] != "-" {
				crawlers += row.Requests
			}
		}
	}
	for _, want := range []string{"Germany: " + comma(germany) + " requests", "<td>" + comma(germany), "<td>" + comma(crawlers), comma(table.Total.Requests + 12_480), "23 Oct to 19 Nov 2026, 28 days, compared"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	s := newSite()
	text := page(t, report(s.table("day,path", "2026-10-23", 7, 1e6, false)), 0)
	if strings.Count(text, "<script") != 2 || strings.Count(text, "</script") != 2 || strings.Contains(text, "<img") || strings.Contains(text, "\u202e") || strings.Count(text, "&lt;img") < 2 {
		t.Error("a text is not escaped")
	}
}

func TestPageMarksNumbersThatMayLackLines(t *testing.T) {
	t.Parallel()
	table := cuts.Table{By: []string{"day", "host", "path"}, From: "2026-11-01", To: "2026-11-01", Folded: 3, Rows: []cuts.Row{
		{Values: []string{"2026-11-01", "a.example", "/"}, Counts: cuts.Counts{Requests: 731}, AtLeast: true},
		{Values: []string{"2026-11-01", "a.example", cuts.Other}, Counts: cuts.Counts{Requests: 93}},
	}}
	text := page(t, report(table), 0)
	for _, want := range []string{"<td>≥ 731<", "<td>93<", "<td>824<", "--by day,host,path,crawler."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestLargePagesHaveFewerDetails(t *testing.T) {
	t.Parallel()
	s := newSite()
	r := report(s.table("day,country", "2026-08-25", 90, 1e6, false))
	full := page(t, r, 0)
	weekly := page(t, r, len(full)-1000)
	if strings.Contains(full, "To keep the page small") || len(weekly) > len(full)-1000 || !strings.Contains(weekly, "are counted by week") || strings.Contains(weekly, "are added up as") {
		t.Errorf("%d bytes, of %d", len(weekly), len(full))
	}
	small := page(t, r, 140_000)
	if len(small) > 140_000 || !strings.Contains(small, "are added up as (all others)") {
		t.Errorf("%d bytes", len(small))
	}
	var tooLarge *htmlreport.TooLargeError
	if err := htmlreport.Write(&strings.Builder{}, r, htmlreport.Options{MaxBytes: 1000}); !errors.As(err, &tooLarge) {
		t.Errorf("the error is %v", err)
	}
	r.Tables = []cuts.Table{{By: []string{"country"}}}
	if err := htmlreport.Write(&strings.Builder{}, r, htmlreport.Options{}); !errors.Is(err, htmlreport.ErrNoDays) {
		t.Errorf("the error is %v", err)
	}
}

func TestControlsAreOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	s := newSite()
	for _, test := range []struct {
		by       []string
		settings string
		days     int
		want     string
	}{
		{[]string{"day,country"}, "by=day,country", 14, "days compare map country"},
		{[]string{"day,country"}, "by=day,country", 7, "days compare map country"},
		{[]string{"day,country"}, "by=day,country", 2, "days compare map country"},
		{[]string{"day,country"}, "by=day,country", 1, "map country"},
		{[]string{"day,country"}, "by=country", 14, "map country"},
		{[]string{"day,crawler_class", "day,status_class"}, "by=day,crawler_class by=day,status_class", 14, "days compare who class"},
		{[]string{"day,path"}, "by=day,path", 14, "days compare"},
	} {
		var r distribute.Report
		for _, by := range test.by {
			r.Tables = append(r.Tables, s.table(by, "2026-10-23", test.days, 1e4, false))
		}
		r.Settings, _ = cuts.ParseSettings("country-day " + test.settings)
		text, found := page(t, r, 0), []string{}
		for _, control := range []struct{ name, html string }{
			{"days", `id="from"`}, {"compare", `<label class="chk"><input type="checkbox" id="cmp"`}, {"who", `name="who"`}, {"class", `name="class"`}, {"map", `class="map"`}, {"country", `id="t-country"`},
		} {
			if strings.Contains(text, control.html) {
				found = append(found, control.name)
			}
		}
		if got := strings.Join(found, " "); got != test.want {
			t.Errorf("%s, %d days: %s, want %s", test.settings, test.days, got, test.want)
		}
	}
}

func TestCutsWithTheSameListHaveOneTable(t *testing.T) {
	t.Parallel()
	s := newSite()
	text := page(t, report(s.table("day,path", "2026-10-23", 7, 1e4, false), s.table("day,path,status", "2026-10-23", 7, 1e4, false), s.table("day,path,crawler", "2026-10-23", 7, 1e4, false)), 0)
	if n := strings.Count(text, `id="t-path"`); n != 1 {
		t.Errorf("%d tables of paths", n)
	}
}

func TestPageOfDaysWithoutCounts(t *testing.T) {
	t.Parallel()
	text := page(t, report(cuts.Table{By: []string{"day", "country", "status"}, From: "2026-11-01", To: "2026-11-03"}), 0)
	if !strings.Contains(text, "1 Nov to 3 Nov 2026, 3 days.") {
		t.Error("the page lacks its days")
	}
}

func TestLongRangesHaveTheCountedDays(t *testing.T) {
	t.Parallel()
	table := cuts.Table{By: []string{"day"}, From: "0001-01-01", To: "9999-12-31", Rows: []cuts.Row{
		{Values: []string{"2026-11-01"}, Counts: cuts.Counts{Requests: 731}}, {Values: []string{"2026-11-04"}, Counts: cuts.Counts{Requests: 93}},
	}}
	if text := page(t, report(table), 0); !strings.Contains(text, "1 Nov to 4 Nov 2026, 4 days.") || !strings.Contains(text, "824") {
		t.Error("the page lacks its days")
	}
	table.Rows = nil
	if text := page(t, report(table), 0); !strings.Contains(text, "Nothing was counted in these days") {
		t.Error("a page without counts shows days")
	}
}

func TestTooManyDaysAreRefused(t *testing.T) {
	t.Parallel()
	for _, table := range []cuts.Table{
		{By: []string{"day"}, From: "1970-01-01", To: "2026-11-01", Rows: []cuts.Row{{Values: []string{"1970-01-01"}}, {Values: []string{"2026-11-01"}}}},
		{By: []string{"day"}, From: "2015-06-24", To: "2026-11-01", BeforeFrom: "2004-02-14", BeforeTo: "2015-06-23"},
	} {
		var tooMany *htmlreport.TooManyDaysError
		err := htmlreport.Write(&strings.Builder{}, report(table), htmlreport.Options{})
		if !errors.As(err, &tooMany) || tooMany.Days <= 8192 || tooMany.Last != "2026-11-01" {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestPageCountsOneThing(t *testing.T) {
	t.Parallel()
	r := report(cuts.Table{By: []string{"day", "country"}, From: "2026-11-01", To: "2026-11-01", Folded: 1, Rows: []cuts.Row{{Values: []string{"2026-11-01", "DE"}, Counts: cuts.Counts{Requests: 1}}}})
	r.Subscriber.Tally, r.Problems = distribute.Tally{Files: 1}, r.Problems[:1]
	text := page(t, r, 0)
	for _, want := range []string{"Germany: 1 request<", "<dd>1 request</dd>", "<span>1 request</span>", "<dd>of all days, in 1 file</dd>", "1 of 1 file has a problem:", "1 of those with the fewest requests is added up"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// unknownDays has requests of an unknown country on each of 14 days.
func unknownDays() cuts.Table {
	table := cuts.Table{By: []string{"day", "country"}, From: "2026-11-01", To: "2026-11-14", Total: cuts.Counts{Requests: 14 * 250}}
	for i := range 14 {
		for country, n := range map[string]int64{"DE": 200, "ZZ": 50} {
			table.Rows = append(table.Rows, cuts.Row{Values: []string{addDays(table.From, i), country}, Counts: cuts.Counts{Requests: n}})
		}
	}
	return table
}

// The sums of a subscriber are of all days, also if a report has fewer.
func TestUnknownCountryIsOfTheDaysShown(t *testing.T) {
	t.Parallel()
	r := report(unknownDays())
	r.Subscriber.Tally = distribute.Tally{Lines: 42_000_000, Counted: 40_600_000, Unknown: 1_400_000, Files: 9}
	text := page(t, r, 0)
	for _, want := range []string{">700</dd><dd>20.0 % of all</dd>", ">42.0 M</dd><dd>of all days, in 9 files</dd>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageNamesItsFilters(t *testing.T) {
	t.Parallel()
	r := report(newSite().table("day,country", "2026-10-23", 7, 1e4, false))
	r.Settings, _ = cuts.ParseSettings("country-day by=day,country where=status >= 500 && path != \"<b>\"")
	var text strings.Builder
	if err := htmlreport.Write(&text, r, htmlreport.Options{Where: `country == "DE"`}); err != nil {
		t.Fatal(err)
	}
	if want := `Only requests that match <code>status &gt;= 500 &amp;&amp; path != &#34;&lt;b&gt;&#34;</code> and <code>country == &#34;DE&#34;</code>.`; !strings.Contains(text.String(), want) {
		t.Errorf("the page lacks %s", want)
	}
	if strings.Contains(page(t, report(r.Tables...), 0), "Only requests") {
		t.Error("a page without filters names some")
	}
}

// A list of the numbers of each day for each of these paths has 117 MB.
func TestManyValuesNeedLittleMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const days, values = 365, 40_000
	table := cuts.Table{By: []string{"day", "path"}, From: "2025-11-20", To: "2026-11-19"}
	for i := range values {
		table.Rows = append(table.Rows, cuts.Row{
			Values: []string{addDays(table.From, i%days), fmt.Sprintf("/%d", i)}, Counts: cuts.Counts{Requests: 1 + int64(i/(values-2))},
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := page(t, report(table), 0)
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 60 {
		t.Errorf("%d MB were allocated", used)
	}
	for _, want := range []string{"<th scope=\"row\">/39999<td>2<", "<th scope=\"row\">(all others)<td>39,950<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageShowsVisitors(t *testing.T) {
	t.Parallel()
	count := func(requests, visitors int64) cuts.Counts {
		return cuts.Counts{Requests: requests, Visitors: visitors}
	}
	before, none := count(70, 40), count(0, 0)
	days := cuts.Table{
		By: []string{"day"}, HasVisitors: true, From: "2026-11-03", To: "2026-11-04", BeforeFrom: "2026-11-01", BeforeTo: "2026-11-02",
		Total: count(90, 51), TotalBefore: &before, Rows: []cuts.Row{
			{Values: []string{"2026-11-03"}, Counts: count(50, 31), Before: &before}, {Values: []string{"2026-11-04"}, Counts: count(40, 27), Before: &none},
		},
	}
	countries := days
	countries.By, countries.Rows = []string{"day", "country"}, []cuts.Row{{Values: []string{"2026-11-03", "DE"}, Counts: count(90, 31), Before: &none}}
	r := report(countries, days)
	r.Settings, _ = cuts.ParseSettings("country-day by=day,country,crawler visitors=day,country keep=9d where=status > 0")
	r.Subscriber.Tally = distribute.Tally{Lines: 190, Counted: 80, Unknown: 12, Filtered: 30, Expired: 47, Unparsable: 21, Private: 4, Crawlers: 6}
	text := page(t, r, 0)
	for _, want := range []string{
		"<dt>Visitors</dt><dd class=\"n\">≈ 51</dd><dd>&#43;28 %, 3 Nov to 4 Nov</dd>", "<td>≈ 31<", "<td>≈ 27<", "<td>≈ 40<", "standard error of 0.81 %",
		"Private addresses<span class=\"sub\">a part of unknown country</span></th><td class=\"n\">4<", "Crawlers<span class=\"sub\">a part of counted and unknown country</span></th><td class=\"n\">6<",
		"<td class=\"n\">30<", "<td class=\"n\">47<", "count with --by day,country,crawler.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if by := fmt.Sprint(htmlreport.Query(r.Settings)); by != "[[day country crawler] [day]]" {
		t.Errorf("the page asks for %s", by)
	}
}
