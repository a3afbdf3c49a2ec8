package logs

import (
	"errors"
	"io"
	"strings"
	"testing"

	"skidway/distribute"
	"skidway/distribute/cuts"
)

func dayTable(rows ...cuts.Row) cuts.Table {
	return cuts.Table{By: []string{"day", "country"}, Measures: []cuts.Measure{cuts.Requests}, Rows: rows}
}

func TestMarkdownHasOneRowALine(t *testing.T) {
	t.Parallel()
	r := result{tables: []cuts.Table{dayTable(cuts.Row{Values: []string{"2026-11-01", "a|b<img>\n`c"}, Counts: cuts.Counts{Requests: 1}})}}
	var out strings.Builder
	if err := r.markdown(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "\n") != 3 || !strings.Contains(text, `a\|b&lt;img>`) || strings.Contains(text, "<") {
		t.Errorf("%s", text)
	}
}

func TestMarkdownShowsValuesAsTheyAre(t *testing.T) {
	t.Parallel()
	r := result{tables: []cuts.Table{{By: []string{"status_class", "path"}, Measures: []cuts.Measure{cuts.Requests}, Rows: []cuts.Row{
		{Values: []string{"2xx", "/![x](https://a.example/)*b*_c_~~d~~"}, Counts: cuts.Counts{Requests: 1}},
	}}}}
	var out strings.Builder
	if err := r.markdown(&out); err != nil {
		t.Fatal(err)
	}
	want := "| status_class | path | requests |\n| --- | --- | ---: |\n" + `| 2xx | /!\[x\](https://a.example/)\*b\*\_c\_\~\~d\~\~ | 1 |` + "\n"
	if out.String() != want {
		t.Errorf("it prints\n%swant\n%s", out.String(), want)
	}
}

func TestMarkdownMarksNumbersAsTablesDo(t *testing.T) {
	t.Parallel()
	rows := []cuts.Row{
		{Values: []string{"2026-11-01"}, AtLeast: true, Counts: cuts.Counts{Requests: 1, Visitors: 1}, Before: &cuts.Counts{Requests: 2, Visitors: 2}},
		{Values: []string{"2026-11-02"}, BeforeAtLeast: true, Counts: cuts.Counts{Requests: 3, Visitors: 3}, Before: &cuts.Counts{}},
	}
	table := cuts.Table{By: []string{"day"}, Measures: []cuts.Measure{cuts.Requests}, HasVisitors: true, TotalBefore: &cuts.Counts{}, Rows: rows}
	var out strings.Builder
	if err := (&result{tables: []cuts.Table{table}}).markdown(&out); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), ": |\n")
	if want := "| 2026-11-01 | ≥1 | 2 | -50.0 | ≈1 | ≈2 | -50.0 |\n| 2026-11-02 | 3 | ≥0 |  | ≈3 | ≈0 |  |\n"; text != want {
		t.Errorf("it prints\n%swant\n%s", text, want)
	}
}

func TestRowsOfSeveralTablesNameTheirs(t *testing.T) {
	t.Parallel()
	s, _ := cuts.ParseSettings("country-day by=path by=path:1")
	selection, err := new(cuts.Query).Select(s, "2026-11-01")
	if err != nil {
		t.Fatal(err)
	}
	for cut := range s.Cuts {
		selection.Add(cuts.Group{Day: "2026-11-01", Cut: cut}, map[string]int64{"/a/": 7}, 0)
	}
	r := result{tables: selection.Tables()}
	for want, write := range map[string]func(io.Writer) error{
		`{"by":"path","path":"/a/","requests":7}` + "\n" + `{"by":"path:1","path":"/a/","requests":7}` + "\n": r.ndjson,
		"by path:1\nPATH": r.table,
		`"path:1"`:        r.json,
	} {
		var out strings.Builder
		if err := write(&out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s, %v", out.String(), want, err)
		}
	}
}

func TestLiveViewReportsThatTheCountsAreNotRead(t *testing.T) {
	t.Parallel()
	v := liveView{}
	v.add(distribute.LiveCounts{Days: 40, DaysShown: 3, Tables: []cuts.Table{{From: "2026-11-01", To: "2026-11-03"}}}, nil)
	v.add(distribute.LiveCounts{}, errors.New("redis is away"))
	want := "days    2026-11-01 to 2026-11-03, of 40 days\nnot read: redis is away\n"
	if text := strings.Join(v.head(), "\n"); !strings.HasSuffix(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	v.add(v.LiveCounts, nil)
	if text := strings.Join(v.head(), "\n"); strings.Contains(text, "not read") {
		t.Error(text)
	}
}
