package cuts_test

import (
	"fmt"
	"strings"
	"testing"

	"skidway/distribute/cuts"
	"skidway/internal/hyperloglog"
)

// tables returns the tables of a query as text. Cells are by group, and values are separated by
// blanks.
func tables(t *testing.T, settings string, cells map[string]map[string]int64, q *cuts.Query) []string {
	t.Helper()
	s, ok := cuts.ParseSettings(settings)
	if !ok {
		t.Fatal(settings)
	}
	newest := ""
	for name := range cells {
		newest = max(newest, name[:len("2006-01-02")])
	}
	selection, err := q.Select(s, newest)
	if err != nil {
		t.Fatal(err)
	}
	for name, members := range cells {
		g, ok := cuts.ParseGroup(name)
		if !ok {
			t.Fatal(name)
		}
		stored, folded := map[string]int64{}, int64(0)
		for member, n := range members {
			if strings.Contains(member, cuts.Other) {
				folded = 1
			}
			stored[strings.ReplaceAll(member, " ", "\x1f")] = n
		}
		if selection.Wants(g) {
			selection.Add(g, stored, folded)
		}
	}
	var all []string
	for _, table := range selection.Tables() {
		all = append(all, lines(table))
	}
	return all
}

func TestFilterOfMovedCellsIsALowerBound(t *testing.T) {
	t.Parallel()
	cells := map[string]map[string]int64{
		"2026-11-01": {"DE /a": 7, "DE /b": 2, "DE (other)": 5, "US /a": 1, "(other) (other)": 4},
		"2026-11-02": {"DE /a": 3, "US /b": 6},
	}
	for where, want := range map[string]string{
		`path == "/a"`:                      "2026-11-01 ≥8; 2026-11-02 3",
		`!(path == "/a")`:                   "2026-11-01 ≥2; 2026-11-02 6",
		`path != "/a"`:                      "2026-11-01 ≥2; 2026-11-02 6",
		`path == "/z"`:                      "2026-11-01 ≥0",
		`country == "US"`:                   "2026-11-01 ≥1; 2026-11-02 6",
		`day == "2026-11-02" || path != ""`: "2026-11-01 ≥10; 2026-11-02 9",
		`country in ["DE", "US"] || !(country in ["DE", "US"])`: "2026-11-01 ≥15; 2026-11-02 9",
		`day == "2026-11-01"`: "2026-11-01 19",
	} {
		q := &cuts.Query{By: [][]string{{"day"}}, Where: where}
		if got := tables(t, "country-day by=day,country,path", cells, q)[0]; got != want {
			t.Errorf("where %s: %s, want %s", where, got, want)
		}
	}
}

func TestRowsThatMissMovedLinesAreMarked(t *testing.T) {
	t.Parallel()
	cells := map[string]map[string]int64{
		"2026-11-01": {"DE /a": 7, "DE (other)": 5, "(other) (other)": 4},
		"2026-11-02": {"DE /a": 3, "DE /b": 6, "DE (other)": 1},
		"2026-11-03": {"DE /a": 3, "DE /c": 9},
	}
	for name, c := range map[string]struct {
		query cuts.Query
		want  string
	}{
		"all": {cuts.Query{To: "2026-11-02"}, "2026-11-01 (other) (other) 4; 2026-11-01 DE (other) ≥5; 2026-11-01 DE /a ≥7; " +
			"2026-11-02 DE (other) 1; 2026-11-02 DE /a ≥3; 2026-11-02 DE /b ≥6"},
		"a row of another day":     {cuts.Query{By: [][]string{{"path"}}, From: "2026-11-02"}, "(other) 1; /a ≥6; /b ≥6; /c ≥9"},
		"nothing moved":            {cuts.Query{By: [][]string{{"day", "path"}}, From: "2026-11-03"}, "2026-11-03 /a 3; 2026-11-03 /c 9"},
		"filtered":                 {cuts.Query{By: [][]string{{"country"}}, From: "2026-11-01", Where: `day >= "2026-11-02"`}, "DE 22"},
		"in the period before":     {cuts.Query{By: [][]string{{"path"}}, From: "2026-11-03", Compare: true}, "(other) 0 (1); /a 3 (≥3); /b 0 (≥6); /c 9 (≥0)"},
		"filter of the one before": {cuts.Query{By: [][]string{{"day"}}, From: "2026-11-03", Where: `path == "/c"`, Compare: true}, "2026-11-03 9 (≥0)"},
	} {
		if got := tables(t, "country-day by=day,country,path", cells, &c.query)[0]; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestSmallestCutThatHasAllAnswers(t *testing.T) {
	t.Parallel()
	cells := map[string]map[string]int64{
		"2026-11-01":   {"200 /a": 1, "500 (other)": 9},
		"2026-11-01 1": {"/a": 4, "/b": 6},
		"2026-11-01 2": {"200": 3, "500": 7},
	}
	for name, c := range map[string]struct {
		query cuts.Query
		want  string
	}{
		"just the dimensions":     {cuts.Query{By: [][]string{{"day", "path"}}}, "2026-11-01 /a 4; 2026-11-01 /b 6"},
		"other times":             {cuts.Query{By: [][]string{{"week", "status"}}}, "2026-W44 200 3; 2026-W44 500 7"},
		"also by the filter":      {cuts.Query{By: [][]string{{"day"}}, Where: "status >= 500"}, "2026-11-01 7"},
		"by both":                 {cuts.Query{By: [][]string{{"path"}}, Where: "status < 500"}, "/a 1"},
		"by the day, not counted": {cuts.Query{By: [][]string{{"status"}}, Where: `day == "2026-11-01" && week == "2026-W44"`}, "200 3; 500 7"},
	} {
		if got := tables(t, "country-day by=day,status,path by=day,path by=status", cells, &c.query)[0]; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPeriodsArePairedByTheirDistanceFromTheStart(t *testing.T) {
	t.Parallel()
	everyDay, hours := map[string]map[string]int64{}, map[string]map[string]int64{}
	for month, days := range map[string]int{"2026-03": 31, "2026-04": 30, "2026-05": 31, "2026-11": 30} {
		for day := 1; day <= days; day++ {
			everyDay[fmt.Sprintf("%s-%02d", month, day)] = map[string]int64{cuts.Any: 10}
		}
	}
	hours["2026-10-24"] = map[string]int64{"2026-10-24T14:00+02:00": 2, "2026-10-24T23:00+02:00": 1}
	hours["2026-10-25"] = map[string]int64{"2026-10-25T13:00+01:00": 5, "2026-10-25T02:00+02:00": 1, "2026-10-25T02:00+01:00": 1, "2026-10-25T23:00+01:00": 1}
	hours["2026-10-26"] = map[string]int64{"2026-10-26T13:00+01:00": 7}
	for name, c := range map[string]struct {
		settings string
		cells    map[string]map[string]int64
		query    cuts.Query
		want     string
	}{
		"a month of 31 days":     {"by=day", everyDay, cuts.Query{By: [][]string{{"month"}}, From: "2026-05-01", To: "2026-05-31"}, "2026-05 310 (310)"},
		"weeks from a Wednesday": {"by=day", everyDay, cuts.Query{By: [][]string{{"week"}}, From: "2026-11-18", To: "2026-11-27"}, "2026-W47 50 (50); 2026-W48 50 (50)"},
		"hours behind a change": {"by=hour format=auto tz=Europe/Berlin", hours, cuts.Query{From: "2026-10-25", To: "2026-10-25"},
			"2026-10-25T02:00+01:00 1 (0); 2026-10-25T02:00+02:00 1 (0); 2026-10-25T13:00+01:00 5 (2); 2026-10-25T22:00+01:00 0 (1); 2026-10-25T23:00+01:00 1 (0)"},
		"hours of a longer day": {"by=hour format=auto tz=Europe/Berlin log-tz=UTC", hours, cuts.Query{From: "2026-10-26", To: "2026-10-26"},
			"2026-10-26T02:00+01:00 0 (1); 2026-10-26T03:00+01:00 0 (1); 2026-10-26T13:00+01:00 7 (0); 2026-10-26T14:00+01:00 0 (5); 2026-10-26T23:00+01:00 0 (1)"},
		"hours as written": {"by=hour format=auto tz=as-written", hours, cuts.Query{From: "2026-10-26", To: "2026-10-26"},
			"2026-10-26T02:00+01:00 0 (1); 2026-10-26T02:00+02:00 0 (1); 2026-10-26T13:00+01:00 7 (5); 2026-10-26T23:00+01:00 0 (1)"},
	} {
		c.query.Compare = true
		if got := tables(t, "country-day "+c.settings, c.cells, &c.query)[0]; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNoChangeIsNotNegative(t *testing.T) {
	t.Parallel()
	if change, _ := cuts.Change(9999, 10000); 1/change < 0 {
		t.Error("-0")
	}
}

func TestVisitorsOfARowAreCountedOnce(t *testing.T) {
	t.Parallel()
	s, ok := cuts.ParseSettings("country-day by=day,country by=status visitors=day,country format=auto tz=UTC")
	if !ok || s.IsPlain() || !s.UsePlaces() || !strings.Contains(s.String(), " visitors=day,country") {
		t.Fatalf("%s", s)
	}
	sketch := func(from, to int) *hyperloglog.Sketch {
		sketch := new(hyperloglog.Sketch)
		for i := from; i < to; i++ {
			sketch.Add(uint64(i) * 0x9e3779b97f4a7c15)
		}
		return sketch
	}
	for name, c := range map[string]struct {
		query cuts.Query
		want  string
	}{
		"by day":     {cuts.Query{By: [][]string{{"day"}}}, "2026-11-29 10; 2026-11-30 10; 2026-12-01 10; all 20"},
		"by month":   {cuts.Query{By: [][]string{{"month"}}}, "2026-11 15; 2026-12 10; all 20"},
		"by country": {cuts.Query{By: [][]string{{"country"}}}, "DE 15; US 5; all 20"},
		"compared":   {cuts.Query{By: [][]string{{"country"}}, From: "2026-12-01", Compare: true}, "DE 5 (5); US 5 (0); all 10 (10)"},
	} {
		c.query.Visitors = true
		selection, err := c.query.Select(s, "2026-12-01")
		if err != nil {
			t.Fatal(err)
		}
		for i, day := range []string{"2026-11-29", "2026-11-30", "2026-12-01"} {
			for country, of := range map[string]*hyperloglog.Sketch{"": sketch(5*i, 5*i+10), "DE": sketch(5*i, 5*i+5), "US": sketch(15, 20)} {
				if selection.WantsVisitors(day, country) && (country != "US" || i == 2) {
					if err := selection.AddVisitors(day, country, of.Encode()); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		table, got := selection.Tables()[0], ""
		row := func(name string, now int64, before *cuts.Counts) {
			got += fmt.Sprintf("; %s %d", name, now)
			if before != nil {
				got += fmt.Sprintf(" (%d)", before.Visitors)
			}
		}
		for _, r := range table.Rows {
			row(r.Values[0], r.Visitors, r.Before)
		}
		row("all", table.Total.Visitors, table.TotalBefore)
		if got != "; "+c.want || !table.HasVisitors {
			t.Errorf("%s: %s, want %s", name, got[2:], c.want)
		}
	}
}

func TestVisitorsOfOtherTablesAreRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		settings string
		query    cuts.Query
	}{
		"by status: visitors were counted by day only":  {"visitors=day", cuts.Query{By: [][]string{{"status"}}}},
		"by country: visitors were counted by day only": {"visitors=day", cuts.Query{By: [][]string{{"country"}}}},
		"without a filter only":                         {"visitors=day", cuts.Query{By: [][]string{{"day"}}, Where: `country == "DE"`}},
		"they were not counted":                         {"", cuts.Query{By: [][]string{{"day"}}}},
	} {
		s, ok := cuts.ParseSettings("country-day by=day,country by=status " + c.settings)
		if !ok {
			t.Fatal(c.settings)
		}
		selection, err := c.query.Select(s, "")
		if err != nil || selection.Tables()[0].HasVisitors {
			t.Errorf("%s: %v", want, err)
		}
		c.query.Visitors = true
		if _, err := c.query.Select(s, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, text := range []string{"country", "day,status", "colour", "week"} {
		if cut, err := cuts.ParseVisitors(strings.Split(text, ",")); err == nil {
			t.Errorf("%s is %s", text, cut)
		}
	}
}
