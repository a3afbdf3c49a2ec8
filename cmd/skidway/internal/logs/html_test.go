package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/cuts"
)

var byCountry, _ = cuts.ParseSettings("country-day by=day,country")

func dayTable(rows ...cuts.Row) cuts.Table {
	return cuts.Table{By: []string{"day", "country"}, Measures: []cuts.Measure{cuts.Requests}, Rows: rows}
}

func TestPageEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	const hostile = `<script>alert("x")</script>`
	r := result{
		settings: byCountry, tables: []cuts.Table{dayTable(cuts.Row{Values: []string{hostile, hostile}, Counts: cuts.Counts{Requests: 1}})},
		builds:   []distribute.BuildShare{{Build: hostile}},
		problems: []problem{{File: hostile, Note: hostile}}, abandoned: []string{hostile},
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := newPage(hostile, hostile, r, 0).write(path); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page), "<script") || strings.Count(string(page), "&lt;script") < 8 {
		t.Errorf("%s", page)
	}
}

func TestPageHasAColumnForTheTopCountries(t *testing.T) {
	t.Parallel()
	var rows []cuts.Row
	for _, row := range []struct {
		day, country string
		n            int64
	}{{"2026-11-01", "DE", 1}, {"2026-11-01", "NL", 7}, {"2026-11-01", "US", 1000}, {"2026-11-02", "NL", 500}} {
		rows = append(rows, cuts.Row{Values: []string{row.day, row.country}, Counts: cuts.Counts{Requests: row.n}})
	}
	r := result{settings: byCountry, tables: []cuts.Table{dayTable(rows...)}}
	p := newPage("web", "s", r, 2)
	p.Generated = time.Time{}
	if got := strings.Join(p.Heads, " "); got != "US NL others" {
		t.Errorf("heads %s", got)
	}
	want := []pageCell{{"1,000", 100}, {"7", 0}, {"1", 0}}
	if len(p.Days) != 2 || p.Days[0].Total != "1,008" || len(p.Days[0].Cells) != 3 {
		t.Fatalf("%+v", p.Days)
	}
	for i, cell := range p.Days[0].Cells {
		if cell != want[i] {
			t.Errorf("cell %d: %+v", i, cell)
		}
	}
	if p.Days[1].Cells[1] != (pageCell{"500", 50}) {
		t.Errorf("%+v", p.Days[1])
	}
}
