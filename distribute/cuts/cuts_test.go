package cuts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"skidway/distribute/cuts"
)

func TestCutsAreParsedInOneOrder(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"day,country": "day,country", "country,day": "day,country", "day,day": "day",
		"status,hour,country,week": "week,hour,status,country", "path:2": "path:2",
	} {
		cut, err := cuts.ParseCut(strings.Split(names, ","))
		if err != nil || cut.String() != want {
			t.Errorf("%s: %s, %v", names, cut, err)
		}
		s := cuts.Settings{Cuts: []cuts.Cut{cut, cut[:1]}, Measures: []cuts.Measure{cuts.Requests, cuts.Duration}, MaxCells: 7}
		if again, ok := cuts.ParseSettings(s.String() + " format=x by=nothing"); !ok || again.String() != s.String() {
			t.Errorf("%s is parsed as %s", s, again)
		}
	}
	for _, names := range []string{"colour", "path:0", "path:x", "path:1,path:2", "path,path:1", ""} {
		if _, err := cuts.ParseCut(strings.Split(names, ",")); err == nil {
			t.Errorf("%q is a cut", names)
		}
	}
	if _, ok := cuts.ParseSettings("words"); ok {
		t.Error("foreign settings are parsed")
	}
}

func TestGroupsAreParsedAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for want, g := range map[string]cuts.Group{
		"2026-11-01":         {Day: "2026-11-01"},
		"2026-11-01 2":       {Day: "2026-11-01", Cut: 2},
		"2026-11-01 0 bytes": {Day: "2026-11-01", Series: "bytes"},
	} {
		if again, ok := cuts.ParseGroup(g.String()); g.String() != want || !ok || again != g {
			t.Errorf("%q, %+v", g.String(), again)
		}
	}
	for _, text := range []string{"", "*", "day", "2026-11-01 0", "2026-11-01 9", "2026-11-01 -1", "2026-11-01  "} {
		if g, ok := cuts.ParseGroup(text); ok {
			t.Errorf("%q is the group %+v", text, g)
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, text := range []string{"/a?b", "(other)", "\x1f\t\n", "\xff\xfe", strings.Repeat("ä", 200), strings.Repeat("\x01", 100), ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value := cuts.Value(text)
		if len(value) > 256 || !utf8.ValidString(value) || strings.HasPrefix(value, "(") || strings.ContainsAny(value, "\x1f\t\n\r\x00\x7f") {
			t.Fatalf("%q has the value %q", text, value)
		}
		if printable := strings.IndexFunc(string(text), func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) < 0; printable &&
			len(text) <= 256 && !strings.HasPrefix(string(text), "(") && value != string(text) {
			t.Fatalf("%q has the value %q", text, value)
		}
	})
}

// A sample of counts: days in 2026, by country and status.
var sampleCells = map[string]map[string]int64{
	"2026-11-29":   {"DE\x1f200": 10, "DE\x1f500": 1, "US\x1f200": 4},
	"2026-11-30":   {"DE\x1f200": 20, "FR\x1f404": 5},
	"2026-12-01":   {"DE\x1f500": 3, "US\x1f200": 8, "US\x1f(other)": 2},
	"2026-11-29 1": {cuts.Any: 15},
	"2026-11-30 1": {cuts.Any: 25},
	"2026-12-01 1": {cuts.Any: 13},
}

func read(t *testing.T, settings string, q *cuts.Query) []cuts.Table {
	t.Helper()
	s, ok := cuts.ParseSettings(settings)
	if !ok {
		t.Fatal(settings)
	}
	selection, err := q.Select(s, "2026-12-01")
	if err != nil {
		t.Fatal(err)
	}
	for name, cells := range sampleCells {
		g, ok := cuts.ParseGroup(name)
		folded := int64(0)
		if name == "2026-12-01" {
			folded = 2
		}
		if ok && selection.Wants(g) {
			selection.Add(g, cells, folded)
		}
	}
	return selection.Tables()
}

// lines returns a table as text.
func lines(t cuts.Table) string {
	var b strings.Builder
	for _, row := range t.Rows {
		mark := ""
		if row.AtLeast {
			mark = "≥"
		}
		fmt.Fprintf(&b, "%s %s%d", strings.Join(row.Values, " "), mark, row.Requests)
		if row.Before != nil {
			mark = ""
			if row.BeforeAtLeast {
				mark = "≥"
			}
			fmt.Fprintf(&b, " (%s%d)", mark, row.Before.Requests)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestTablesAddCellsUp(t *testing.T) {
	t.Parallel()
	const settings = "country-day by=day,country,status by=day"
	for name, c := range map[string]struct {
		query cuts.Query
		want  string
	}{
		"all":        {cuts.Query{}, "2026-11-29 DE 200 10; 2026-11-29 DE 500 1; 2026-11-29 US 200 4; 2026-11-30 DE 200 20; 2026-11-30 FR 404 5; 2026-12-01 DE 500 ≥3; 2026-12-01 US (other) 2; 2026-12-01 US 200 ≥8"},
		"sum":        {cuts.Query{By: [][]string{{"country"}}}, "DE 34; FR 5; US 14"},
		"moved":      {cuts.Query{By: [][]string{{"status"}}, From: "2026-12-01"}, "(other) 2; 200 ≥8; 500 ≥3"},
		"week":       {cuts.Query{By: [][]string{{"week"}}}, "2026-W48 15; 2026-W49 38"},
		"month":      {cuts.Query{By: [][]string{{"month", "country"}}, To: "2026-11-30"}, "2026-11 DE 31; 2026-11 FR 5; 2026-11 US 4"},
		"last":       {cuts.Query{By: [][]string{{"day"}}, Last: 2}, "2026-11-30 25; 2026-12-01 13"},
		"filter":     {cuts.Query{By: [][]string{{"day"}}, Where: `status >= 400 && country in ["DE", "FR"]`}, "2026-11-29 1; 2026-11-30 5; 2026-12-01 3"},
		"by day":     {cuts.Query{By: [][]string{{"status"}}, Where: `day == "2026-11-29"`}, "200 14; 500 1"},
		"compare":    {cuts.Query{By: [][]string{{"country"}}, From: "2026-12-01", Compare: true}, "DE 3 (20); FR 0 (5); US 10 (0)"},
		"by place":   {cuts.Query{By: [][]string{{"day"}}, Last: 1, Compare: true}, "2026-12-01 13 (25)"},
		"in months":  {cuts.Query{By: [][]string{{"month"}}, From: "2026-11-30", To: "2026-12-01", Compare: true}, "2026-11 25 (0); 2026-12 13 (15)"},
		"nothing":    {cuts.Query{By: [][]string{{"day"}}, From: "2027-01-01"}, ""},
		"one number": {cuts.Query{By: [][]string{{"day", "status"}}, From: "2026-11-30", To: "2026-11-30"}, "2026-11-30 200 20; 2026-11-30 404 5"},
	} {
		if got := lines(read(t, settings, &c.query)[0]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if all := read(t, settings, nil); len(all) != 2 || lines(all[1]) != "2026-11-29 15; 2026-11-30 25; 2026-12-01 13" || all[0].From != "2026-11-29" || all[0].To != "2026-12-01" || all[0].Folded != 2 || all[0].Total.Requests != 53 {
		t.Errorf("%+v", all)
	}
}

func TestFilterOfPathsIsOfWholeOnesIfTheyWereCounted(t *testing.T) {
	t.Parallel()
	s, _ := cuts.ParseSettings("country-day by=day,country,path:1 by=day,country,status,path")
	for where, want := range map[string]string{`path == "/a/b"`: "DE 2", `country == "DE"`: "DE 5"} {
		selection, err := (&cuts.Query{By: [][]string{{"country"}}, Where: where}).Select(s, "2026-11-01")
		if err != nil {
			t.Fatal(err)
		}
		selection.Add(cuts.Group{Day: "2026-11-01"}, map[string]int64{cuts.Member([]string{"DE", "/a/"}): 5}, 0)
		selection.Add(cuts.Group{Day: "2026-11-01", Cut: 1}, map[string]int64{cuts.Member([]string{"DE", "200", "/a/b"}): 2, cuts.Member([]string{"DE", "200", "/a/c"}): 3}, 0)
		if got := lines(selection.Tables()[0]); got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
}

func TestQueriesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := cuts.ParseSettings("country-day by=day,country by=day,status,path:2")
	for want, q := range map[string]cuts.Query{
		"no cut that was counted has all of it: day,country; day,status,path:2":        {By: [][]string{{"country", "status"}}},
		`the filter uses address, which is not in counts, but in lines only`:           {By: [][]string{{"country"}}, Where: `address == "10.0.0.1"`},
		`the filter uses path, and the cut day,country has day, country only`:          {By: [][]string{{"country"}}, Where: `path == "/"`},
		`there is no country "UK": did you mean GB?`:                                   {By: [][]string{{"country"}}, Where: `country == "UK"`},
		`there is no country "de": want a code of ISO 3166-1, or ZZ: did you mean DE?`: {By: [][]string{{"country"}}, Where: `country in ["de"]`},
		"there is no status 50":                {By: [][]string{{"status"}}, Where: `status == 50`},
		"there is no field contry":             {By: [][]string{{"status"}}, Where: `contry == "DE"`},
		"did you mean country?":                {By: [][]string{{"status"}}, Where: `contry == "DE"`},
		`a missing value is "" here`:           {By: [][]string{{"path:2"}}, Where: `path == "-"`},
		"a comparison needs the first day":     {Compare: true},
		`day "tomorrow": want a date`:          {From: "tomorrow"},
		"the last 7 days: leave out the first": {Last: 7, To: "2026-11-01"},
		`by "colour": count by one or more of`: {By: [][]string{{"colour"}}},
	} {
		_, err := q.Select(s, "2026-12-01")
		var wrong *cuts.QueryError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
}

func TestSmallestCellsBecomeOther(t *testing.T) {
	t.Parallel()
	s, _ := cuts.ParseSettings("country-day by=day,hour,country,path by=hour measure=bytes max-cells=100")
	g, _ := cuts.ParseGroup("2026-11-01")
	if bytes := s.Groups(g)[1]; s.Bound(g) != 100 || s.Bound(bytes) != 0 || s.Bound(cuts.Group{Day: g.Day, Cut: 1}) != 0 {
		t.Error("bounds are wrong")
	}
	add := func(members ...[]string) (moves string) {
		crowd := s.NewCrowd(g, 2)
		for _, values := range members {
			if crowd.Add(cuts.Member(values)) {
				break
			}
		}
		for _, move := range crowd.Moves() {
			moves += move.From + " > " + move.Into + "; "
		}
		return strings.ReplaceAll(moves, "\x1f", " ")
	}
	if got := add([]string{"10", "DE", cuts.Other}, []string{"10", "DE", "/"}, []string{"malformed"}, []string{"11", "US", "/a"}, []string{"11", "US", "/b"}); got != "10 DE / > 10 DE (other); 11 US /a > 11 US (other); " {
		t.Error(got)
	}
	if got := add([]string{"10", "DE", cuts.Other}, []string{"10", cuts.Other, cuts.Other}); got != "10 DE (other) > 10 (other) (other); " {
		t.Error(got)
	}
	if got := add([]string{"10", cuts.Other, cuts.Other}); got != "" {
		t.Error(got)
	}
}

func TestPercentilesAreUpperBounds(t *testing.T) {
	t.Parallel()
	var h cuts.Histogram
	if _, known, longer := h.Percentile(50); known || longer {
		t.Error("nothing has a percentile")
	}
	h[0], h[3], h[len(h)-1] = 50, 45, 5
	for percent, want := range map[int]time.Duration{1: time.Millisecond, 50: time.Millisecond, 51: 10 * time.Millisecond, 95: 10 * time.Millisecond} {
		if bound, known, _ := h.Percentile(percent); !known || bound != want {
			t.Errorf("%d %%: %s", percent, bound)
		}
	}
	if _, known, longer := h.Percentile(96); known || !longer || h.Count() != 100 {
		t.Error("the last bucket has a bound")
	}
	if change, ok := cuts.Change(3, 2); change != 50 || !ok {
		t.Error(change)
	}
	if _, ok := cuts.Change(3, 0); ok {
		t.Error("a change from nothing")
	}
}
