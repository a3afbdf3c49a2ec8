package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
)

func TestPageEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	const hostile = `<script>alert("x")</script>`
	r := result{
		columns: []string{"day", "country"}, rows: []distribute.Row{{Group: hostile, Member: hostile, Requests: 1}},
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
	r := result{columns: []string{"day", "country"}, rows: []distribute.Row{
		{Group: "2026-11-01", Member: "DE", Requests: 1}, {Group: "2026-11-01", Member: "NL", Requests: 7},
		{Group: "2026-11-01", Member: "US", Requests: 1000}, {Group: "2026-11-02", Member: "NL", Requests: 500},
	}}
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
