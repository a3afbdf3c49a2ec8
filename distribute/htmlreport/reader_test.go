package htmlreport_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/internal/browsertest"
)

// A choice is what the reader of a page may choose.
type choice struct {
	from, to string
	compared bool
	who      string // "", "people", "crawlers"
	class    string // "5xx"
}

func (c choice) days() int { return daysFrom(c.from, c.to) + 1 }

// before returns the period before.
func (c choice) before() choice {
	c.from, c.to = addDays(c.from, -c.days()), addDays(c.from, -1)
	return c
}

func daysFrom(from, to string) int {
	a, _ := time.Parse(time.DateOnly, from)
	b, _ := time.Parse(time.DateOnly, to)
	return int(b.Sub(a) / (24 * time.Hour))
}

func addDays(day string, n int) string {
	t, _ := time.Parse(time.DateOnly, day)
	return t.AddDate(0, 0, n).Format(time.DateOnly)
}

// sums adds up the cells of a table that a choice selects, by the values of a column, and all of them as "".
func sums(t cuts.Table, column string, c choice) map[string]int64 {
	found := map[string]int64{}
	place := slices.Index(t.By, column)
	for _, row := range t.Rows {
		for i, name := range t.By {
			value := row.Values[i]
			switch {
			case name == "crawler" && (c.who == "people" && value != "-" || c.who == "crawlers" && value == "-"),
				name == "status" && c.class != "" && value[:1] != c.class[:1]:
				goto next
			}
		}
		for _, day := range []struct {
			name   string
			counts *cuts.Counts
		}{{row.Values[0], &row.Counts}, {addDays(row.Values[0], -(daysFrom(t.From, t.To) + 1)), row.Before}} {
			if day.counts == nil || day.name < c.from || day.name > c.to {
				continue
			}
			found[""] += day.counts.Requests
			if place >= 0 {
				found[row.Values[place]] += day.counts.Requests
			}
		}
	next:
	}
	return found
}

// shown is what a page shows.
type shown struct {
	Range, Why, Label, Plot string
	Figures                 map[string]string
	Countries               [][]string // code, requests, change, people, crawlers
	Map                     map[string]string
	Months                  string
	Notes                   []string
	Errors                  string
}

const readPage = `(() => {
	const text = (selector) => document.querySelector(selector)?.innerText ?? ""
	const all = selector => [...document.querySelectorAll(selector)]
	return {
		Range: text("#range"), Why: text("#why"), Label: text("#t-country [data-of]"), Plot: document.querySelector("#plot svg").getAttribute("aria-label"),
		Figures: Object.fromEntries(all("[data-f]").map(e => [e.dataset.f, e.innerText + "; " + e.nextElementSibling.innerText])),
		Countries: all("#t-country tbody tr:not([hidden])").map(r => [r.querySelector(".dim").textContent, ...[2, 5, 6, 7].map(i => r.cells[i]?.textContent ?? "")]),
		Map: Object.fromEntries(all(".map [data-k]").map(e => [e.dataset.k, e.querySelector("title").textContent])),
		Months: all("#months details:not([hidden]) summary").map(e => e.textContent).join("; "),
		Notes: all(".note:not([hidden])").map(e => e.textContent),
	}
})()`

// A reader looks at a page with a tab, and compares it with the cells.
type reader struct {
	*browsertest.Tab
	byCountry, byStatus cuts.Table
	path                string
}

// show shows the page of a report.
func (r *reader) show(report distribute.Report, maxBytes int) {
	r.Helper()
	if err := os.WriteFile(r.path, []byte(page(r, report, maxBytes)), 0o600); err != nil {
		r.Fatal(err)
	}
	r.Do(chromedp.Navigate("file://" + r.path))
}

// click clicks on the choice with a text.
func (r *reader) click(text string) {
	r.Helper()
	if !browsertest.Value[bool](r.Tab, `(() => { const box = [...document.querySelectorAll("#controls label")].find(l => l.textContent.trim() === "`+text+`").querySelector("input"); box.click(); return !box.disabled })()`) {
		r.Errorf("%s can't be chosen", text)
	}
}

// expect compares what the page shows with the sums of cells.
func (r *reader) expect(c choice) shown {
	r.Helper()
	s := browsertest.Value[shown](r.Tab, readPage)
	totals, errors := r.byCountry, c
	if c.class != "" {
		totals = r.byStatus
	}
	if !slices.Contains(r.byStatus.By, "crawler") {
		errors.who = ""
	}
	errors.class = "5xx"
	r.figure(s, "all", sums(totals, "", c)[""], sums(totals, "", c.before())[""], c)
	r.figure(s, "errors", sums(r.byStatus, "", errors)[""], sums(r.byStatus, "", errors.before())[""], c)
	now, before := sums(r.byCountry, "country", c), sums(r.byCountry, "country", c.before())
	persons, bots := c, c
	persons.who, bots.who = "people", "crawlers"
	people, crawlers := sums(r.byCountry, "country", persons), sums(r.byCountry, "country", bots)
	rows := 0
	for code := range before {
		now[code] += 0
	}
	for code, n := range now {
		want := []string{code, comma(n), "", comma(people[code]), comma(crawlers[code])}
		if c.compared {
			want[2] = percent(n, before[code])
		}
		switch {
		case code == "" || n == 0 && (before[code] == 0 || !c.compared):
			continue
		case !slices.ContainsFunc(s.Countries, func(row []string) bool { return slices.Equal(row, want) }):
			r.Errorf("%+v: there is no row %q", c, want)
		case !strings.HasSuffix(s.Map[code], ": "+counted(n)) && n > 0 && s.Map[code] != "":
			r.Errorf("%+v: the map has %q of %s", c, s.Map[code], code)
		}
		rows++
	}
	r.Calm(fmt.Sprintf("%+v", c))
	if len(s.Countries) != rows || r.Failed() {
		r.Fatalf("%+v: %d rows of %d: %.1000v", c, len(s.Countries), rows, fmt.Sprint(s))
	}
	return s
}

// figure compares a figure of the page.
func (r *reader) figure(s shown, key string, n, before int64, c choice) {
	r.Helper()
	change := ""
	if c.compared {
		change = percent(n, before) + ", "
	}
	if text := s.Figures[key]; !strings.HasPrefix(text, about(n)+"; "+change) || c.compared == !strings.ContainsAny(text, "+−") {
		r.Errorf("%+v: %s is %q, want %d, before %d", c, key, text, n, before)
	}
}

// percent returns a change as the page writes it.
func percent(n, before int64) string {
	if before == 0 {
		return "new"
	}
	change := 100 * (float64(n) - float64(before)) / float64(before)
	sign := "+"
	if change < 0 {
		sign, change = "−", -change
	}
	if change >= 9.95 {
		return sign + comma(int64(math.Round(change))) + " %"
	}
	return fmt.Sprintf("%s%.1f %%", sign, math.Round(10*change)/10)
}

// counted returns a number of requests as the page writes it.
func counted(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return comma(n) + " requests"
}

// about returns a number below a billion with three digits.
func about(n int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		x := float64(n) / unit.size
		switch {
		case n < 10_000 || x < 1:
		case x < 10:
			return fmt.Sprintf("%.2f %s", x, unit.name)
		case x < 100:
			return fmt.Sprintf("%.1f %s", x, unit.name)
		default:
			return fmt.Sprintf("%.0f %s", x, unit.name)
		}
	}
	return comma(n)
}
