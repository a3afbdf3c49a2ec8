package htmlreport_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/htmlreport"
	"skidway/distribute/worldmap"
)

// generated is the time of the pages of tests.
var generated = time.Date(2026, 11, 20, 5, 31, 12, 0, time.UTC)

// A site makes up the counts of a web site. Requests fall on countries, crawlers and status as Zipf's law has
// them, less at weekends.
type site struct {
	random *rand.Rand
	codes  []string
}

func newSite() *site {
	s := &site{random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // made-up counts
	first := []string{"US", "DE", "FR", "GB", "CN", "IN", "NL", "BR", "PL", "SG", "IT", "JP"}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if code := string([]rune{a, b}); worldmap.Name(code) != "" && !slices.Contains(first, code) && len(s.codes) < 220 {
				s.codes = append(s.codes, code)
			}
		}
	}
	s.random.Shuffle(len(s.codes), func(i, j int) { s.codes[i], s.codes[j] = s.codes[j], s.codes[i] })
	s.codes = append(first, s.codes...)
	return s
}

// values returns the values of a column with their shares.
func (s *site) values(column string) ([]string, []float64) {
	switch column {
	case "country":
		shares := make([]float64, len(s.codes))
		for i := range shares {
			shares[i] = 0.26 / math.Pow(float64(i+1), 1.35)
		}
		return s.codes, shares
	case "crawler":
		return []string{"-", "Googlebot", "GPTBot", "bingbot", "ClaudeBot"}, []float64{0.75, 0.1, 0.07, 0.05, 0.03}
	case "crawler_class":
		return []string{"-", "search-engine"}, []float64{0.75, 0.25}
	case "status":
		return []string{"200", "301", "404", "500", "503"}, []float64{0.88, 0.05, 0.05, 0.015, 0.005}
	case "status_class":
		return []string{"2xx", "3xx", "4xx", "5xx"}, []float64{0.88, 0.05, 0.05, 0.02}
	}
	return []string{hostile, "/cart", "/"}, []float64{0.2, 0.3, 0.5}
}

// hostile is a text that would run as a script, or end the one of the page, if it were not escaped.
const hostile = `"><img src=x onerror="window.hit=1"><script>window.hit=1</script></script><!--` + "\u202e"

// table returns the counts of days from a first one, with the period before if compare is set.
func (s *site) table(by, from string, days int, perDay float64, compare bool) cuts.Table {
	t := cuts.Table{By: strings.Split(by, ","), Measures: []cuts.Measure{cuts.Requests}}
	first, _ := time.Parse(time.DateOnly, from)
	t.From, t.To = from, first.AddDate(0, 0, days-1).Format(time.DateOnly)
	if compare {
		t.BeforeFrom, t.BeforeTo = first.AddDate(0, 0, -days).Format(time.DateOnly), first.AddDate(0, 0, -1).Format(time.DateOnly)
		t.TotalBefore = &cuts.Counts{}
	}
	for i := range days {
		at := first.AddDate(0, 0, i)
		s.fill(&t, []string{at.Format(time.DateOnly)}, at, perDay)
	}
	return t
}

func (s *site) fill(t *cuts.Table, values []string, at time.Time, requests float64) {
	if len(values) < len(t.By) {
		names, shares := s.values(t.By[len(values)])
		for i, name := range names {
			s.fill(t, append(slices.Clone(values), name), at, requests*shares[i])
		}
		return
	}
	if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
		requests *= 0.88
	}
	draw := func(mean float64) int64 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean+0.3)*s.random.NormFloat64()+0.08*mean*s.random.NormFloat64())))
	}
	row := cuts.Row{Values: values, Counts: cuts.Counts{Requests: draw(requests)}}
	t.Total.Requests += row.Requests
	if t.TotalBefore != nil {
		row.Before = &cuts.Counts{Requests: draw(requests * 0.9)}
		t.TotalBefore.Requests += row.Before.Requests
	}
	if row.Requests > 0 || row.Before != nil && row.Before.Requests > 0 {
		t.Rows = append(t.Rows, row)
	}
}

// report returns a report of tables.
func report(tables ...cuts.Table) distribute.Report {
	n := tables[0].Total.Requests
	return distribute.Report{
		Subscriber: distribute.Subscriber{
			Name: "countries", Tally: distribute.Tally{Lines: n + 12_480, Counted: n, Unknown: 11_489, Unparsable: 991, Files: 671, Partial: 1, Failed: 1},
			Builds: []distribute.BuildShare{{Build: "geo-whois-asn-country 2026-06-17", Lines: n}},
		},
		Tables:   tables,
		Problems: []distribute.Problem{{File: "access-20261103-17.log.gz" + hostile, Kind: distribute.CountedInPart, Detail: "up to byte 18,874,368, where its gzip is broken"}},
	}
}

// page returns the page of a report.
func page(t testing.TB, report distribute.Report, maxBytes int) string {
	t.Helper()
	var page strings.Builder
	err := htmlreport.Write(&page, report, htmlreport.Options{Channel: "web", Generated: generated, Attribution: "Country data: by x", MaxBytes: maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// comma returns a number with separators.
func comma(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
