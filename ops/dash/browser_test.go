package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/distribute/chat/group"
	"skidway/internal/browsertest"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// mounted is the path under which browsers see a dashboard.
const mounted = "/ops/jobs"

// A browser is a tab of Chromium that shows a dashboard.
type browser struct {
	*browsertest.Tab
	server  string
	streams *atomic.Int64 // that are open
	ended   *atomic.Bool  // whether the session has ended
}

// awaitStreams waits until so many streams are open.
func (b *browser) awaitStreams(n int64) {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); b.streams.Load() != n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%d streams are open, want %d", b.streams.Load(), n)
		}
	}
}

// open opens a tab on the dashboard of a fixture, which is mounted under a path, behind a reverse proxy.
func (f *fixture) open(chromium context.Context) *browser {
	f.Helper()
	mux := http.NewServeMux()
	streams, ended := new(atomic.Int64), new(atomic.Bool)
	mux.Handle(mounted+"/", http.StripPrefix(mounted, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/live" {
			streams.Add(1)
			defer streams.Add(-1)
		}
		if !ended.Load() {
			f.dash.ServeHTTP(w, r)
		} else if strings.Contains(r.Header.Get("Accept"), "text/html") { // as a gate does
			http.Redirect(w, r, mounted+"/login", http.StatusSeeOther)
		} else {
			http.Error(w, "no session", http.StatusUnauthorized)
		}
	})))
	for path, form := range loginForms {
		mux.HandleFunc(mounted+path, func(w http.ResponseWriter, r *http.Request) {
			form.Base = mounted
			f.dash.LoginPage(w, r, form)
		})
	}
	server := httptest.NewServer(mux)
	f.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	f.must(err)
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	f.Cleanup(front.Close)
	f.Cleanup(f.dash.EndStreams) // before the servers wait for them
	tab := browsertest.Open(f.TB, chromium, func(url string) bool { return strings.HasPrefix(url, front.URL+mounted+"/") })
	tab.Do(chromedp.Navigate(front.URL + mounted + "/"))
	return &browser{tab, front.URL + mounted, streams, ended}
}

// loginForms are the states of the sign-in page, by the paths at which browsers see them.
var loginForms = map[string]access.LoginForm{
	"/login": {Status: http.StatusOK}, "/login/wrong": {Status: http.StatusUnauthorized, Problem: "wrong", Name: "ada"}, "/login/wait": {Status: http.StatusTooManyRequests, Problem: "wait"},
	"/login/away": {Status: http.StatusServiceUnavailable}, "/login/local": {Status: http.StatusUnauthorized, Local: true},
}

// visit shows a page.
func (b *browser) visit(path string, width int64) {
	b.Helper()
	b.Do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(b.server+path))
}

// theme sets the colours.
func (b *browser) theme(name string) {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`document.cookie = "skidway-view=zone=UTC&theme=` + name + `; path=` + mounted + `/"`))
}

// longName is the name of a queue that has no place for a new line.
var longName = strings.Repeat("longname", 12)

// fill adds jobs in many states, with hostile texts wherever a client can write one.
func (f *fixture) fill() (dead, delayed string) {
	f.Helper()
	dead = f.add("mail", "email.send", `{"to":"`+strings.ReplaceAll(hostile, `"`, `\"`)+`"}`, queue.Options{Headers: map[string]string{hostile: hostile}, Then: []queue.NewJob{{Args: queue.Raw("report", []byte("{}"))}}})
	f.add("mail", "email.send", `[`+strings.Repeat("9", 300)+`]`, queue.Options{})
	f.bury("mail", hostile)
	delayed = f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour, Unique: queue.Unique{Key: hostile}})
	for _, name := range []string{strings.Repeat("long-name-", 10), longName, longName} {
		f.add(name, strings.Repeat("a.very.long.kind", 6), `{}`, queue.Options{})
	}
	conn := f.redis
	f.must(conn.XAdd(f.Context(), &redis.XAddArgs{Stream: conn.Prefix() + ":{mail:0}:2:normal:fresh", Values: []any{"kind", hostile, "args", hostile}}).Err())
	paused, err := f.queues.Queue("mail")
	f.must(err)
	f.must(paused.Pause(f.Context(), hostile, hostile))
	_, err = f.queues.Beat(f.Context(), queue.PoolBeat{Pool: "worker-1", Length: time.Minute, Info: &queue.PoolInfo{Name: "worker-1", Host: hostile, Queues: []string{"mail"}, Concurrency: 2, State: hostile}})
	f.must(err)
	return dead, delayed
}

func TestInABrowser(t *testing.T) {
	t.Parallel()
	ctx := browsertest.Start(t)
	// Alone: a tab that another one covers is not live.
	t.Run("live pages change in place", func(t *testing.T) { testLive(t, ctx) })
	t.Run("visible pages have streams", func(t *testing.T) { testStreams(t, ctx) })
	for name, test := range map[string]func(*testing.T, context.Context){
		"pages are accessible and safe": testPages, "the map of counts changes in place": testMap, "an operator finds an error at night": testNight, "a flow of clicks retries jobs": testFlow,
		"every action is done without script": testActions, "every action is for its roles": testRoles, "texts of Redis do not run": testHostile,
		"the sign-in page is accessible": testLogin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, ctx)
		})
	}
}

// viewerForms and operatorForms are the actions of the forms that a role may find in pages.
const (
	viewerForms   = `/(settings|logout)$`
	operatorForms = viewerForms + `|/queues/[^/]+/(pause|resume)$|/jobs/(change|[^/]+/(retry|run-now|cancel|reschedule|priority))$|/(workers/signal|schedules/change|channels/window|operations/change)$`
)

func testPages(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	dead, delayed := f.fill()
	chat := f.gather()
	pages := [][2]string{
		{"overview", "/"}, {"queues", "/queues"}, {"queue", "/queues/mail?range=hour"}, {"jobs", "/jobs?queue=mail&state=dead"}, {"waiting", "/jobs?state=waiting"},
		{"job", "/jobs/" + dead}, {"delayed", "/jobs/" + delayed}, {"copy", "/jobs/" + dead + "/copy"},
		{"channels", "/channels"}, {"counts", "/counts"}, {"workers", "/workers"}, {"operations", "/operations"}, {"audit", "/audit"}, {"schedules", "/schedules?queue=mail"}, {"schedule", "/schedules/edit?queue=mail&name=nightly"},
		{"enqueue", "/enqueue"}, {"errors", "/errors"}, {"redis", "/redis"}, {"chats", "/chats"}, {"chat", "/chats?chat=" + url.QueryEscape(chat)}, {"settings", "/settings"},
		{"question", "/jobs/question?all=1&do=delete&state=dead&queue=mail&match=" + url.QueryEscape(`text contains "<img"`)}, {"failure", "/none"},
		{"queue with a long name", "/queues/" + longName}, {"jobs of a queue with a long name", "/jobs?state=waiting&queue=" + longName},
	}
	for _, path := range pagesOf("mail", dead) {
		shown := func(page [2]string) bool { return strings.Split(page[1], "?")[0] == path }
		if path != "/jobs/export" && !slices.ContainsFunc(pages, shown) { // a file
			t.Errorf("there is no page of %s", path)
		}
	}
	checked := map[string]bool{} // pages by their HTML
	for _, role := range []struct{ name, scopes, forms string }{
		{"administrator", "view:* operate:* enqueue:* admin:*", `.`}, {"viewer", "view:*", viewerForms}, {"operator", "view:* operate:*", operatorForms},
		{"viewer of a queue", "view:mail", viewerForms}, {"operator of a queue", "view:mail operate:mail", operatorForms},
	} {
		g := setup(t, f.redis)
		g.who = principal(t, strings.Fields(role.scopes)...)
		b := g.open(ctx)
		b.theme("light")
		for _, page := range pages {
			b.look(role.name, page[0], page[1], checked)
			for _, action := range browsertest.Value[[]string](b.Tab, `[...document.querySelectorAll("form[method=post]")].filter(f => f.querySelector("button:not([disabled]):not([type=button])")).map(f => f.getAttribute("action"))`) {
				if !regexp.MustCompile(role.forms).MatchString(action) {
					t.Errorf("%s: %s: a form of %s", role.name, page[0], action)
				}
			}
		}
		if role.name != "administrator" {
			continue
		}
		b.visit("/queues/mail", 1400)
		b.Do(chromedp.Click(`.head [popovertarget=purge]`), chromedp.WaitVisible(`#purge [name=state]`))
		for _, look := range looks {
			if look.width == 320 {
				continue
			}
			shown := fmt.Sprintf("purge-%d-%s", look.width, look.theme)
			b.Do(chromedp.EmulateViewport(look.width, 900), chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.theme = "`+look.theme+`"`))
			b.Check(shown)
			b.Picture(shown)
		}
	}
}

// looks are the colours and widths in which pages are shown. Axe-core, which is slow, checks the first three: their rules
// depend on colours and on what a width hides. With pictures it checks all. The others are for pages that are too wide.
var looks = []struct {
	theme string
	width int64
}{{"light", 1400}, {"dark", 360}, {"light", 800}, {"light", 320}, {"light", 360}, {"dark", 800}, {"dark", 1400}}

// axeLooks is the number of looks that axe-core checks, and axeLooksOfRoles that of pages of other roles.
const axeLooks, axeLooksOfRoles = 3, 2

// look shows a page, writes pictures of it, and fails the test if it is not safe or not accessible. What another role
// has seen is not checked again.
func (b *browser) look(role, name, path string, checked map[string]bool) {
	b.Helper()
	b.visit(path, looks[0].width)
	if browsertest.Value[bool](b.Tab, `window.hit === 1 || document.querySelector("main img, main script") !== null`) {
		b.Errorf("%s: a text from Redis has become HTML", name)
	}
	main := browsertest.Value[string](b.Tab, `document.querySelector("main").innerHTML.replace(/[0-9]+/g, "")`)
	for i, look := range looks {
		whole := os.Getenv("SKIDWAY_PICTURES") != ""
		pictures := role == "administrator" && (i < 4 || whole)
		if i >= axeLooksOfRoles && !pictures || i < axeLooksOfRoles && checked[main] {
			continue
		}
		shown := fmt.Sprintf("%s-%d-%s", name, look.width, look.theme)
		if i > 0 {
			b.Do(chromedp.EmulateViewport(look.width, 900), chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.theme = "`+look.theme+`"`))
		}
		if pictures {
			b.Picture(shown)
		}
		if i < axeLooks || whole {
			b.Check(role + ": " + shown)
		}
		b.Fits(role + ": " + shown)
	}
	checked[main] = true
	b.Calm(role + ": " + name)
}

// gather adds a channel, a schedule, errors and a chat, with hostile texts where a client can write them. It
// returns the chat.
func (f *fixture) gather() string {
	f.Helper()
	channel, err := distribute.Open(f.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(f.Context(), "countries", hostile))
	file := filepath.Join(f.TempDir(), "<img src=x>.log")
	f.must(os.WriteFile(file, []byte("a line\n"), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(f.Context(), []string{file})
	f.must(err)
	f.count("mail", hostile, hostile, 3, 1)
	f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {"mail"}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})
	chats := group.NewClient(f.queues.DB())
	id, err := chats.Create(f.Context(), "", &group.CreateOptions{Members: []string{"ada", hostile}})
	f.must(err)
	return id
}

// testNight is an operator who was woken, with a phone and without script: which error is new, how many jobs did it
// hit, who has changed what, and how are they retried slowly?
func testNight(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{})
	}
	f.bury("mail", "connection refused")
	f.count("mail", "email.send", "an old error", 90, 9)
	f.age("mail", "an old error", 48*time.Hour)
	f.count("mail", "email.send", "connection refused", 40, 3)
	b := f.open(ctx)
	b.Script(false)
	b.visit("/", 360)
	b.Do(chromedp.Click(`.rail a[href$="/errors"]`), chromedp.WaitVisible(`[name=order]`), chromedp.SetValue(`[name=order]`, "first"), chromedp.Click(`.filter .btn`), chromedp.WaitReady(`[name=order] [value=first][selected]`))
	if text := browsertest.Value[string](b.Tab, `document.querySelector("tbody tr").innerText`); !regexp.MustCompile(`(?s)^connection refused\n.*new, first seen .*attempts fail still.*\b43\b.*\b3\b`).MatchString(text) {
		t.Errorf("the newest error is %q", text)
	}
	b.Picture("night-errors")
	b.Do(chromedp.Click(`tbody tr:first-child th .btn`), chromedp.WaitVisible(`[name=rate]`), chromedp.SendKeys(`[name=rate]`, "1"))
	b.Picture("night-question")
	b.Do(chromedp.Click(`form[action$="/jobs/change"] .pri`), chromedp.WaitVisible(`.flash.ok a`), chromedp.Click(`.flash.ok a`), chromedp.WaitVisible(`[data-row]`))
	if text := browsertest.Value[string](b.Tab, `document.querySelector("tbody").innerText`); !strings.Contains(text, "Retry dead jobs in mail") {
		t.Errorf("the operations are %q", text)
	}
	b.Picture("night-operations")
	b.Do(chromedp.Click(`.rail a[href$="/audit"]`), chromedp.WaitVisible(`[name=who]`))
	if text := browsertest.Value[string](b.Tab, `document.querySelector("tbody").innerText`); !regexp.MustCompile(`(?s)anna.*retry.*mail.*connection refused`).MatchString(text) {
		t.Errorf("the audit is %q", text)
	}
	b.Picture("night-audit")
	b.Do(chromedp.Click(`.rail a[href$="/queues"]`), chromedp.Click(`tbody a`), chromedp.Click(`.head [popovertarget=pause]`), chromedp.Click(`#pause .pri`), chromedp.WaitVisible(`.flash.ok`))
	if page := f.get("/queues/mail"); !strings.Contains(page.body, "/queues/mail/resume") {
		t.Error("without script the queue is not paused")
	}
	b.Calm("night")
}

func testLive(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	b := f.open(ctx)
	b.Zone("Asia/Tokyo")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.cookie = "skidway-view=; max-age=0; path=` + mounted + `/"`))
	b.visit("/settings", 1400)
	b.Wait(`document.querySelector("[name=zone]").value === "Asia/Tokyo"`)
	b.theme("dark")
	b.visit("/", 1400)
	b.Wait(`document.documentElement.dataset.theme === "dark"`)
	b.Do(chromedp.WaitEnabled(`#hold`))
	f.add("mail", "a", `{}`, queue.Options{})
	f.add("docs", "a", `{}`, queue.Options{})
	b.Wait(`document.querySelector('[data-v="waiting.mail"]').textContent === "2"`)
	b.Wait(`!document.getElementById("news").hidden && document.getElementById("news-text").textContent.includes("1 new")`)
	// Nothing changes in a table with the pointer; around it all does.
	const waiting, cell = `document.querySelector('dl [data-v="waiting"]').textContent`, `document.querySelector('[data-v="waiting.mail"]').textContent`
	b.Wait(waiting + ` === "3"`)
	at := browsertest.Value[[]float64](b.Tab, `(box => [box.x + 1, box.y + 1])(document.querySelector('[data-v="waiting.mail"]').getBoundingClientRect())`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	f.add("mail", "a", `{}`, queue.Options{})
	b.Wait(waiting + ` === "4"`)
	if text := browsertest.Value[string](b.Tab, cell); text != "2" {
		t.Errorf("below the pointer %q jobs wait", text)
	}
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 0, 0))
	b.Wait(cell + ` === "3"`)
	b.Wait(`document.querySelector('[data-v="workers.mail"].bad').textContent === "0"`)
	f.serve(queue.PoolInfo{Name: "w1", Queues: []string{"mail"}, State: "running"}, time.Minute)
	b.Wait(`document.querySelector('[data-v="workers.mail"]:not(.bad)')?.textContent === "1"`)
	if browsertest.Value[bool](b.Tab, `document.querySelector('[data-row="queue docs"]') !== null`) {
		t.Error("a row has come by itself")
	}
	// The shapes beside the heading, and in the list of pages are those of now.
	b.Wait(`document.querySelector('b[hidden] [data-v="mark.queues"]') !== null`)
	meta := f.redis.Prefix() + ":{docs:0}:meta"
	format, err := f.redis.HGet(f.Context(), meta, "format").Result()
	f.must(err)
	f.must(f.redis.HSet(f.Context(), meta, "format", "99").Err()) // a problem
	b.Wait(`document.querySelector('#needs svg.bad use[href$="#i-bad"]') && document.querySelector('b:not([hidden]) [data-v="mark.queues"]')?.textContent === "1"`)
	f.must(f.redis.HSet(f.Context(), meta, "format", format).Err())
	b.Wait(`document.querySelector('b[hidden] [data-v="mark.queues"]') !== null`)
	b.Do(chromedp.Evaluate[chromedp.Void](`show({values: {"shape verdict": "ok\n" + document.querySelector("#needs use").getAttribute("href").replace(/#.*/, "#i-ok") + "\n"}})`))
	if shape := browsertest.Value[string](b.Tab, `[...document.querySelectorAll("#needs svg, #needs use")].map(e => e.getAttribute("class") ?? e.getAttribute("href")).join(" ")`); !strings.HasPrefix(shape, "i ok ") || !strings.HasSuffix(shape, ".svg#i-ok") {
		t.Errorf("the shape beside the heading is %q", shape)
	}
	// What is wrong with a queue changes in its row.
	mail, err := f.queues.Queue("mail")
	f.must(err)
	f.must(mail.Pause(f.Context(), "anna", ""))
	b.Wait(`document.querySelector('[data-v="note.mail"]').textContent === "paused by anna" && document.querySelector('[data-shape="state mail"] use[href$="#i-pause"]') !== null`)
	f.must(mail.Resume(f.Context()))
	b.Wait(`document.querySelector('[data-v="note.mail"]').textContent !== "paused by anna"`)
	// So do charts and the table of kinds of a queue; a new kind is announced.
	f.count("mail", "email.send", "refused 1", 3, 1)
	b.visit("/queues/mail?range=hour", 1400)
	const drawn = `[...document.querySelectorAll('[data-path="jobs e"], [data-v="jobs s0"], [data-label=jobs], [data-spark="kind email.send"]')].map(e => (e.getAttribute("d") ?? e.textContent) + (e.getAttribute("aria-label") ?? "")).join("\n")`
	b.Wait(`document.querySelector('[data-v="failed kind email.send"].bad').textContent === "4" && (window.drawn = ` + drawn + `).includes("4 failed attempts")`)
	f.count("mail", "email.send", "refused 2", 7, 0)
	b.Wait(`document.querySelector('[data-v="failed kind email.send"]').textContent === "11" && document.querySelector('[data-v^="failed error "]').textContent === "11" && ` + drawn + `.includes("11 failed attempts")`)
	if before, after := browsertest.Value[string](b.Tab, `window.drawn`), browsertest.Value[string](b.Tab, drawn); strings.Count(after, "\n") != 3 || strings.Split(before, "\n")[1] == strings.Split(after, "\n")[1] || strings.Split(before, "\n")[2] == strings.Split(after, "\n")[2] {
		t.Errorf("the chart was %q and is %q", before, after)
	}
	b.Wait(`document.getElementById("news").hidden`)
	f.count("mail", "report", "refused", 1, 0)
	b.Wait(`!document.getElementById("news").hidden && document.getElementById("news-text").textContent.includes("1 new")`)
	// Ages count on, as the server would write them.
	b.visit("/jobs?queue=mail&state=active", 1400)
	b.Wait(`(age => (window.shown ??= age.textContent) !== age.textContent)(document.querySelector("tbody [data-age]"))`)
	for _, age := range []time.Duration{0, 59 * time.Second, time.Minute, 61 * time.Second, 20*time.Minute - time.Second, 20 * time.Minute, time.Hour, 25*time.Hour - time.Second, 24 * time.Hour, 57 * time.Hour, 241 * time.Hour} {
		if text := browsertest.Value[string](b.Tab, fmt.Sprintf("ageText(%f)", age.Seconds())); text != words.Age(age) {
			t.Errorf("the script writes %s as %q, the server as %q", age, text, words.Age(age))
		}
	}
	// So do those of which the time has changed, towards it and away from it.
	b.visit("/workers", 1400)
	b.Wait(`(left => (window.shown ??= left.textContent) !== left.textContent)(document.querySelector('[data-time="lease w1"]'))`)
	for ahead, text := range map[string]string{"5400": "lease 1h 29m", "-7": "lease "} {
		b.Do(chromedp.Evaluate[chromedp.Void](`close(); show({values: {"time lease w1": new Date(redisNow() + ` + ahead + ` * 1000).toISOString() + "\nexact\nlease %s\n"}})`))
		b.Wait(`document.querySelector('[data-time="lease w1"][title=exact]').textContent.startsWith("` + text + `")`)
	}
	// A trouble that is over is announced, and what is said of the others is of now.
	f.must(mail.Pause(f.Context(), "anna", "waits for the provider"))
	b.visit("/queues/mail", 1400)
	b.Do(chromedp.WaitEnabled(`#hold`))
	b.Wait(`document.querySelector('[data-row="paused"]') !== null && document.getElementById("news").hidden`)
	f.add("mail", "a", `{}`, queue.Options{})
	b.Wait(`document.querySelector('[data-row="paused"] [data-v]').textContent.includes("1 waits")`)
	f.must(mail.Resume(f.Context()))
	b.Wait(`!document.getElementById("news").hidden && document.getElementById("news-text").textContent.includes("has changed")`)
	// Held, it does not change.
	b.Do(chromedp.KeyEvent("p"))
	b.Wait(`document.getElementById("hold").getAttribute("aria-pressed") === "true"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`stay()`)) // as every ten minutes
	b.Wait(`performance.getEntriesByType("resource").some(entry => entry.name.endsWith("/settings") && entry.responseStatus === 200)`)
	// The search and the list of pages by keys.
	b.Do(chromedp.KeyEvent("/"))
	b.Wait(`document.activeElement.name === "q"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`), chromedp.KeyEvent("g"), chromedp.KeyEvent("q"))
	b.Do(chromedp.WaitVisible(`[data-key=q][aria-current=page]`))
	b.Calm("live")
	// A dashboard that ends is said to be lost, and the page asks again.
	b.Do(chromedp.WaitEnabled(`#hold`))
	b.Wait(`document.querySelector('[data-v="waiting.docs"]').textContent === "1"`)
	f.dash.EndStreams()
	b.Wait(`document.body.classList.contains("lost") && document.getElementById("news-text").textContent.includes(document.querySelector('[data-v="as_of"]').textContent)`)
	b.Wait(`performance.getEntriesByType("resource").filter(entry => entry.name.includes("/live?")).length > 1`)
}

// testStreams checks when a page has a stream, and what the stream of a job's page carries.
func testStreams(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "a", `{}`, queue.Options{})
	pool, err := f.queues.ForPool("mail")
	f.must(err)
	lease, err := pool.NewLease("w.1", time.Hour)
	f.must(err)
	fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1000})
	f.must(err)
	b := f.open(ctx)
	b.theme("light")
	b.visit("/jobs/"+id, 1400)
	b.awaitStreams(1)
	f.must(pool.SetProgress(t.Context(), fetched.Jobs[0], []byte(`"<b>half</b>"`)))
	f.must(f.redis.HSet(t.Context(), f.redis.Prefix()+":{mail:0}:logs", strings.TrimPrefix(id, "mail:0:"), "first line\n<i>second</i>\n").Err())
	b.Wait(`document.querySelector('[data-v="progress"]').textContent.includes("<b>half</b>")`)
	b.Wait(`document.querySelector('[data-v="log"]').textContent.includes("first line\n<i>second</i>") && document.querySelector('[data-v="lines"]').textContent.includes("2")`)
	// A hidden tab has no stream.
	hide := func(hidden bool) {
		t.Helper()
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
	}
	hide(true)
	b.awaitStreams(0)
	f.must(pool.SetProgress(t.Context(), fetched.Jobs[0], []byte(`"done"`)))
	hide(false)
	b.Wait(`document.querySelector('[data-v="progress"]').textContent.includes("done")`)
	b.awaitStreams(1)
	// A fifth stream of the session ends the oldest, whose page is held.
	for range 4 {
		f.await(f.stream(b.server, "/"), "event: change")
	}
	b.Wait(`document.getElementById("hold").getAttribute("aria-pressed") === "true" && document.getElementById("news-text").textContent === document.getElementById("news").dataset.many && !document.getElementById("news").hidden`)
	b.awaitStreams(4)
	b.Check("held page")
	// A page whose session has ended leads to the login.
	b.visit("/jobs/"+id, 1400)
	b.Wait(`document.readyState === "complete"`)
	hide(true)
	b.ended.Store(true)
	hide(false)
	b.Do(chromedp.WaitVisible(`[name=password]`))
}

func testLogin(t *testing.T, ctx context.Context) {
	b := setup(t, redistest.DB(t)).open(ctx)
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for path := range loginForms {
			for _, width := range []int64{1400, 360} {
				b.visit(path, width)
				b.Check(fmt.Sprint(path, " ", theme, " ", width))
			}
		}
		b.visit("/login/wrong", 360)
		b.Picture("login-360-" + theme)
		if shown := browsertest.Value[string](b.Tab, `document.documentElement.dataset.theme + " " + document.querySelectorAll("form [name]").length`); shown != theme+" 3" {
			t.Errorf("the colours and fields are %q", shown)
		}
	}
}

func testMap(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(f.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(f.Context(), "countries", ""))
	f.countRequest(channel, "8.8.8.8")
	b := f.open(ctx)
	b.theme("light")
	b.visit("/counts", 1400)
	b.Wait(`document.querySelector('[data-k=US]')?.textContent === "United States: 1 request"`)
	b.Do(chromedp.WaitEnabled(`#hold`))
	f.countRequest(channel, "8.8.8.9")
	b.Wait(`document.querySelector('[data-k=US]')?.textContent === "United States: 2 requests"`)
	b.Check("map of counts")
	b.Picture("counts-1400-light")
}

// keys presses the keys of a list of three jobs, and leaves it as it was.
func (b *browser) keys() {
	b.Helper()
	press := func(keys ...string) {
		b.Helper()
		for _, key := range keys {
			b.Do(chromedp.KeyEvent(key))
		}
	}
	want := func(state string) {
		b.Helper()
		const read = `[[...document.querySelectorAll("tbody tr")].findIndex(row => row.contains(document.activeElement)), document.getElementById("picked").textContent, document.querySelector("#keys-help:popover-open") !== null, document.activeElement.name ?? ""].join(", ")`
		if found := browsertest.Value[string](b.Tab, read); found != state {
			b.Errorf("row, selection, help and field are %q, want %q", found, state)
		}
	}
	press("j")
	want("0, 0 selected, false, ")
	press("j", "j", "j", "k")
	want("1, 0 selected, false, ")
	press("x")
	want("1, 1 selected, false, ")
	press("j", "X")
	want("2, 2 selected, false, ")
	press("?")
	want("2, 2 selected, true, ")
	b.Check("help of the keys")
	press(kb.Escape)
	want("2, 2 selected, false, ")
	press(kb.Escape)
	want("2, 0 selected, false, ")
	press("/", "j", "x", "?")
	want("-1, 0 selected, false, q")
	if text := browsertest.Value[string](b.Tab, `document.activeElement.value`); !strings.HasSuffix(text, "jx?") {
		b.Errorf("in the field of the search is %q", text)
	}
	list := browsertest.Value[string](b.Tab, `document.activeElement.blur() ?? location.pathname + location.search`)
	press("j", "x", "r")
	b.Do(chromedp.WaitVisible(`form[action$="/jobs/change"]`))
	b.visit(strings.TrimPrefix(list, mounted), 1400)
	press("j", kb.Enter)
	b.Do(chromedp.WaitVisible(`.head [popovertarget=retry]`))
	press("r")
	b.Do(chromedp.WaitVisible(`#retry .pri`))
	b.visit(strings.TrimPrefix(list, mounted), 1400)
}

func testFlow(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{})
	}
	f.bury("mail", "connection refused")
	b := f.open(ctx)
	b.theme("light")
	for tries, rows := 0, 0; rows < 3 && tries < 20; tries++ { // a busy machine may end the search early
		b.visit("/jobs?queue=mail&state=dead", 1400)
		rows = browsertest.Value[int](b.Tab, `document.querySelectorAll("tbody tr").length`)
	}
	b.keys()
	b.Do(chromedp.Click(`tbody tr:nth-child(1) [type=checkbox]`), chromedp.Click(`tbody tr:nth-child(2) [type=checkbox]`))
	if text := browsertest.Value[string](b.Tab, `document.getElementById("picked").textContent`); text != "2 selected" {
		t.Errorf("it says %q", text)
	}
	b.Picture("selected")
	b.Do(chromedp.Click(`#bulk [value=retry]`), chromedp.Click(`form[action$="/jobs/change"] .pri`), chromedp.WaitVisible(`.flash.ok`))
	if text := browsertest.Value[string](b.Tab, `document.querySelector(".flash.ok").textContent.trim()`); text != "2 jobs run again." {
		t.Errorf("it says %q", text)
	}
	b.Check("after the retry")
}
