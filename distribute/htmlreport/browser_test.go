package htmlreport_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"skidway/distribute"
	"skidway/internal/browsertest"
)

func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.html")
	tab := browsertest.Open(t, browsertest.Start(t), func(url string) bool { return url == "file://"+path || strings.HasPrefix(url, "data:") })
	s := newSite()
	const first, last = "2026-10-23", "2026-11-19"
	r := &reader{tab, s.table("day,country,crawler", first, 28, 1e5, true), s.table("day,status", first, 28, 1e5, true), path}
	two := report(r.byCountry, r.byStatus, s.table("day,path", first, 28, 1e5, true))

	r.readWithoutScript(two)
	r.choose(first, last)
	r.sort()
	r.look()
	r.combine(s, first, last)
	r.readWeeks(s)
	r.readVisitors(s, first)
	r.readUnknown()
}

// readWithoutScript looks at the page without its script, and then with it: the same is there.
func (r *reader) readWithoutScript(report distribute.Report) {
	const text = `[...document.querySelectorAll("main > :not(.head, #controls)")].map(e => e.innerText.split(/\s+/).join(" ")).join("\n")`
	r.Do(chromedp.EmulateViewport(1400, 900))
	r.Script(false)
	r.show(report, 0)
	without := browsertest.Value[string](r.Tab, text)
	if !strings.Contains(without, "October 2026") || browsertest.Value[bool](r.Tab, `!document.getElementById("controls").hidden`) {
		r.Error("without script the page lacks counts, or has controls")
	}
	r.Picture("report-without-script")
	r.Calm("without script")
	r.Script(true)
	r.Do(chromedp.Navigate("file://" + r.path))
	r.Wait(`!document.getElementById("controls").hidden`)
	for _, step := range []string{"", "Crawlers", "Everyone"} {
		if step != "" {
			r.click(step)
		}
	}
	with := browsertest.Value[string](r.Tab, text)
	for i, part := range strings.Split(with, "\n") {
		if want := strings.Split(without, "\n")[i]; part != want {
			r.Errorf("with script the page has %s, without %s", part, want)
		}
	}
}

// choose makes choices, and compares the numbers after each.
func (r *reader) choose(first, last string) {
	r.expect(choice{first, last, true, "", ""})
	// Two clicks: which countries did last week's crawlers come from, and how much worse were the errors?
	r.click("7 days")
	week := choice{"2026-11-13", last, true, "", ""}
	r.expect(week)
	r.click("Crawlers")
	week.who = "crawlers"
	got := r.expect(week)
	if !strings.Contains(got.Range, "13 Nov to 19 Nov 2026, 7 days, compared with the 7 days before.") || got.Label != "requests, crawlers" || !strings.Contains(got.Figures["errors"], "everyone") {
		r.Errorf("it shows %q, %q, %q", got.Range, got.Label, got.Figures["errors"])
	}
	if !browsertest.Value[bool](r.Tab, `[...document.querySelectorAll("[name=class]")].every(box => box.disabled === !!box.value)`) || !strings.Contains(got.Why, "--by day,status,crawler") {
		r.Errorf("a status can be chosen with crawlers, or it does not say why not: %q", got.Why)
	}
	if !strings.Contains(strings.Join(got.Notes, " "), "--by day,path,crawler") {
		r.Errorf("it does not say that paths are not counted by crawlers: %q", got.Notes)
	}
	r.Picture("report-crawlers")
	r.click("Everyone")
	r.click("5xx")
	// By country there is no status: these are all requests.
	got = browsertest.Value[shown](r.Tab, readPage)
	errors := choice{week.from, last, true, "", "5xx"}
	r.figure(got, "all", sums(r.byStatus, "", errors)[""], sums(r.byStatus, "", errors.before())[""], errors)
	if !strings.Contains(strings.Join(got.Notes, " "), "--by day,country,crawler,status") || got.Label != "requests, everyone" {
		r.Errorf("it says of countries: %q, %q", got.Label, got.Notes)
	}
	r.Check("server errors")
	r.click("Any status")
	// Other days, by the fields; then without the comparison.
	set := func(id, day string) {
		browsertest.Value[bool](r.Tab, `(() => { const e = document.getElementById("`+id+`"); e.value = "`+day+`"; return e.dispatchEvent(new Event("change", {bubbles: true})) })()`)
	}
	set("from", "2026-11-02")
	set("to", "2026-11-08")
	r.expect(choice{"2026-11-02", "2026-11-08", true, "", ""})
	r.click("Period before")
	r.expect(choice{"2026-11-02", "2026-11-08", false, "", ""})
	set("to", "2026-10-31") // before the first day: one day
	r.expect(choice{"2026-10-31", "2026-10-31", false, "", ""})
	set("to", "1999-01-01") // there is no such day
	r.expect(choice{"2026-10-31", "2026-10-31", false, "", ""})
	r.click("All")
	got = r.expect(choice{addDays(first, -28), last, false, "", ""})
	if browsertest.Value[bool](r.Tab, `!document.getElementById("cmp").disabled`) || !strings.HasPrefix(got.Months, "September 2026") {
		r.Errorf("all days can be compared; the months are %q", got.Months)
	}
	// By the keyboard: the arrow goes to the next choice, the space ticks.
	r.Do(chromedp.Focus(`[name=days]:checked`), chromedp.KeyEvent(kb.ArrowLeft))
	r.expect(choice{first, last, false, "", ""})
	r.Do(chromedp.Focus(`#cmp`), chromedp.KeyEvent(" "))
	r.expect(choice{first, last, true, "", ""})
	r.Calm("choices")
}

// sort sorts the table of countries.
func (r *reader) sort() {
	rows := func() []string {
		return browsertest.Value[[]string](r.Tab, `[...document.querySelectorAll("#t-country tbody tr:not([hidden])")].map(r => r.cells[1].textContent)`)
	}
	byRequests := rows()
	r.Do(chromedp.Click(`#t-country [data-sort=name] button`))
	names := slices.DeleteFunc(rows(), func(name string) bool { return name[0] > 'Z' }) // Å is with A
	if !slices.IsSorted(names[:20]) || len(names) < 200 || browsertest.Value[string](r.Tab, `document.querySelector("#t-country [aria-sort]").ariaSort`) != "ascending" {
		r.Errorf("sorted by name: %q", names[:20])
	}
	r.Do(chromedp.Click(`#t-country [data-sort=change] button`))
	changes := browsertest.Value[[]float64](r.Tab, `[...document.querySelectorAll("#t-country tbody tr:not([hidden])")].map(r => +r.cells[5].textContent.replace("−", "-").replace(/[ ,%]/g, "")).filter(n => !isNaN(n))`)
	if !slices.IsSortedFunc(changes, func(a, b float64) int { return int(10 * (b - a)) }) {
		r.Errorf("sorted by change: %v", changes)
	}
	r.Do(chromedp.Click(`#t-country [data-sort=n] button`))
	if !slices.Equal(rows(), byRequests) {
		r.Error("sorted by requests it is another order than at first")
	}
	r.Do(chromedp.Click(`#t-country [data-sort=n] button`))
	if again := rows(); again[0] == byRequests[0] || again[len(again)-1] != byRequests[0] {
		r.Errorf("the lowest is %q", again[0])
	}
	r.Do(chromedp.Click(`#t-country [data-sort=n] button`))
}

// look checks the page by axe-core in light and dark, and takes pictures.
func (r *reader) look() {
	for _, width := range []int64{1400, 800, 360} {
		r.Do(chromedp.EmulateViewport(width, 900))
		r.Picture(fmt.Sprintf("report-%d", width))
	}
	r.Check("light, 360 px")
	r.Do(chromedp.Click("#theme"))
	if theme := browsertest.Value[string](r.Tab, `document.documentElement.dataset.theme`); theme != "dark" {
		r.Errorf("the theme is %q", theme)
	}
	r.Check("dark, 360 px")
	r.Do(chromedp.EmulateViewport(1400, 900))
	r.Check("dark, 1,400 px")
	r.Picture("report-1400-dark")
	r.Media("print")
	if !browsertest.Value[bool](r.Tab, `getComputedStyle(document.getElementById("controls")).display === "none" && getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)"`) {
		r.Error("in print there are controls, or it is dark")
	}
	r.Picture("report-print")
	r.Media("")
	if browsertest.Value[bool](r.Tab, `window.hit === 1 || document.querySelector("img") !== null`) {
		r.Error("a text has become HTML")
	}
}

// combine reads a page in which one cut has all: all choices are combined.
func (r *reader) combine(s *site, first, last string) {
	r.byCountry = s.table("day,country,crawler,status", first, 28, 1e4, false)
	r.byStatus = r.byCountry
	r.show(report(r.byCountry), 0)
	r.Wait(`!document.getElementById("controls").hidden`)
	r.click("People")
	r.click("5xx")
	got := r.expect(choice{first, last, false, "people", "5xx"})
	if strings.Join(got.Notes, " ") != "There are no such requests in these days." || got.Why != "" { // of the table of crawlers
		r.Errorf("it says %q, %q", got.Notes, got.Why)
	}
	r.click("7 days")
	r.expect(choice{addDays(last, -6), last, true, "people", "5xx"})
	r.Calm("one cut")
}

// readWeeks reads a page that is too large: its small countries are counted by week.
func (r *reader) readWeeks(s *site) {
	const first, last = "2026-08-25", "2026-11-22" // to a Sunday
	table := s.table("day,country", first, 90, 1e6, false)
	full := page(r, report(table), 0)
	r.show(report(table), len(full)-1000)
	r.Wait(`!document.getElementById("controls").hidden`)
	marked := func() int {
		return browsertest.Value[int](r.Tab, `[...document.querySelectorAll("#t-country tbody tr")].filter(r => r.cells[2].textContent.includes("≈")).length`)
	}
	sum := func() int64 {
		return browsertest.Value[int64](r.Tab, `[...document.querySelectorAll("#t-country tbody tr")].reduce((n, r) => n + +r.cells[2].textContent.replace(/[≈ ,]/g, ""), 0)`)
	}
	r.click("28 days") // four weeks from a Monday
	month := choice{"2026-10-26", last, false, "", ""}
	if marked() != 0 || sum() != sums(table, "", month)[""] {
		r.Errorf("of whole weeks %d countries are marked, and the sum is %d, want %d", marked(), sum(), sums(table, "", month)[""])
	}
	r.Do(chromedp.SetValue("#to", "2026-11-20"), chromedp.Evaluate[chromedp.Void](`document.getElementById("to").dispatchEvent(new Event("change", {bubbles: true}))`))
	if n := marked(); n < 50 || n > 200 {
		r.Errorf("of a part of a week %d countries are marked", n)
	}
	r.Calm("weeks")
}

// readVisitors reads a page with visitors, which are those of everyone but crawlers whatever is chosen:
// each day keeps its number.
func (r *reader) readVisitors(s *site, first string) {
	days := s.table("day", first, 28, 1e4, true)
	days.HasVisitors, days.Total.Visitors, days.TotalBefore.Visitors = true, 51_000, 40_000
	for i := range days.Rows {
		days.Rows[i].Visitors, days.Rows[i].Before.Visitors = int64(2000+i), int64(1000+i)
	}
	r.show(report(s.table("day,country,crawler", first, 28, 1e4, true), days), 0)
	r.Wait(`!document.getElementById("controls").hidden`)
	expect := func(shown, from int) {
		r.Helper()
		got := browsertest.Value[[]string](r.Tab, `[...document.querySelectorAll("table.days tbody tr:not([hidden])")].map(r => r.cells[0].textContent + r.cells[r.cells.length - 1].textContent)`)
		if len(got) != shown {
			r.Fatalf("%d days are shown, want %d", len(got), shown)
		}
		for i, text := range got {
			if want := addDays(first, from+i) + "≈ " + comma(int64(2000+from+i)); text != want {
				r.Errorf("a day has %q, want %q", text, want)
			}
		}
		if text := browsertest.Value[string](r.Tab, `document.querySelector("main").innerText`); !strings.Contains(text, "≈ 51.0 k") || !strings.Contains(text, "23 Oct to 19 Nov") {
			r.Errorf("it lacks the number of visitors, or its days: %.300s", text)
		}
	}
	expect(28, 0)
	r.click("Crawlers")
	expect(28, 0)
	r.click("7 days")
	expect(7, 21)
	r.Check("visitors")
	r.Calm("visitors")
}

// readUnknown reads the figure of an unknown country, which is of the days that are chosen.
func (r *reader) readUnknown() {
	r.show(report(unknownDays()), 0)
	r.Wait(`!document.getElementById("controls").hidden`)
	for _, step := range []struct{ click, want string }{
		{"7 days", "350; +0.0 %, 20.0 % of all"}, {"Period before", "350; 20.0 % of all"}, {"All", "700; 20.0 % of all"},
	} {
		r.click(step.click)
		if got := browsertest.Value[shown](r.Tab, readPage).Figures["unknown"]; got != step.want {
			r.Errorf("%s: unknown country %q, want %q", step.click, got, step.want)
		}
	}
	r.Calm("unknown country")
}
