package htmlreport_test

import (
	"errors"
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
	if strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "\u202e") || strings.Count(text, "&lt;img") < 2 {
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
	r := report(s.table("day,country", "2026-10-23", 28, 1e6, false))
	small := page(t, r, 110_000)
	if len(small) > 110_000 || !strings.Contains(small, "are added up") {
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
