package main

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
		problems: []distribute.Problem{{File: hostile, Note: hostile}}, abandoned: []string{hostile},
	}
	path := filepath.Join(t.TempDir(), "page.html")
	put(t, newPage(hostile, hostile, r, 0).write(path))
	page, err := os.ReadFile(path)
	put(t, err)
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

func TestReportWritesPageBesideItsRows(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), shared(t)
	write(t, folder, "a.log", small)
	mustRun(t, folder, with(web, "logs", "ship", "a.log", "--subscriber", "s")...)
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	o := mustRun(t, folder, with(web, "logs", "report", "--subscriber", "s", "--html", "page.html")...)
	if o.stdout != smallCSV {
		t.Errorf("%q", o.stdout)
	}
	page, err := os.ReadFile(filepath.Join(folder, "page.html"))
	put(t, err)
	for _, part := range []string{"2026-11-02", ">NL<", "CC BY 4.0", "Requests of web"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("no %q in the page", part)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".page*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
