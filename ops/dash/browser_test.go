package dash_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/distribute/chat/group"
	"skidway/internal/browsertest"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A browser is a tab of Chromium that shows a dashboard.
type browser struct {
	*browsertest.Tab
	server string
}

// open opens a tab on the dashboard of a fixture.
func (f *fixture) open(chromium context.Context) *browser {
	f.Helper()
	server := httptest.NewServer(f.dash)
	f.Cleanup(server.Close)
	f.Cleanup(f.dash.EndStreams) // before the server waits for them
	tab := browsertest.Open(f.TB, chromium, func(url string) bool {
		return strings.HasPrefix(url, server.URL+"/") && !strings.HasSuffix(url, "/favicon.ico")
	})
	tab.Do(chromedp.Navigate(server.URL + "/"))
	return &browser{tab, server.URL}
}

// visit shows a page.
func (b *browser) visit(path string, width int64) {
	b.Helper()
	b.Do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(b.server+path))
}

// theme sets the colours.
func (b *browser) theme(name string) {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`document.cookie = "skidway-view=" + encodeURIComponent("zone=UTC&theme=` + name + `") + "; path=/"`))
}

// hostile is a text that would run as a script, if it were not escaped.
const hostile = `"><img src=x onerror="window.hit=1"><script>window.hit=1</script>`

// fill adds jobs in many states, with hostile texts wherever a client can write one.
func (f *fixture) fill() (dead, delayed string) {
	f.Helper()
	dead = f.add("mail", "email.send", `{"to":"`+strings.ReplaceAll(hostile, `"`, `\"`)+`"}`, queue.Options{Headers: map[string]string{hostile: hostile}, Then: []queue.NewJob{{Args: queue.Raw("report", []byte("{}"))}}})
	f.add("mail", "email.send", `[`+strings.Repeat("9", 300)+`]`, queue.Options{})
	f.bury("mail", hostile)
	delayed = f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour, Unique: queue.Unique{Key: hostile}})
	for range 3 {
		f.add(strings.Repeat("long-name-", 10), strings.Repeat("a.very.long.kind", 6), `{}`, queue.Options{})
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
	t.Run("pages are accessible and safe", func(t *testing.T) { testPages(t, ctx) })
	t.Run("live pages change in place", func(t *testing.T) { testLive(t, ctx) })
	t.Run("the map of counts changes in place", func(t *testing.T) { testMap(t, ctx) })
	t.Run("forms work without script", func(t *testing.T) { testNoScript(t, ctx) })
	t.Run("a flow of clicks retries jobs", func(t *testing.T) { testFlow(t, ctx) })
}

func testPages(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	dead, delayed := f.fill()
	b := f.open(ctx)
	pages := map[string]string{
		"overview": "/", "queues": "/queues", "queue": "/queues/mail?range=hour", "jobs": "/jobs?queue=mail&state=dead", "waiting": "/jobs?state=waiting",
		"job": "/jobs/" + dead, "delayed": "/jobs/" + delayed, "copy": "/jobs/" + dead + "/copy",
		"channels": "/channels", "counts": "/counts", "workers": "/workers", "operations": "/operations", "audit": "/audit", "schedules": "/schedules", "schedule": "/schedules/edit?queue=mail&name=nightly",
		"enqueue": "/enqueue", "errors": "/errors", "redis": "/redis", "chats": "/chats", "chat": "/chats?chat=" + url.QueryEscape(f.gather()), "settings": "/settings",
		"question": "/jobs/question?all=1&do=delete&state=dead&queue=mail&match=" + url.QueryEscape(`text contains "<img"`), "failure": "/none",
	}
	for _, look := range []struct {
		theme string
		width int64
	}{{"light", 1400}, {"dark", 360}, {"light", 800}} {
		if look.width == 800 && os.Getenv("SKIDWAY_PICTURES") == "" {
			continue
		}
		b.theme(look.theme)
		for name, path := range pages {
			shown := fmt.Sprintf("%s-%d-%s", name, look.width, look.theme)
			b.visit(path, look.width)
			if browsertest.Value[bool](b.Tab, `window.hit === 1 || document.querySelector("main img") !== null`) {
				t.Errorf("%s: a text from Redis has become HTML", shown)
			}
			b.Picture(shown)
			if look.width != 800 {
				b.Check(shown)
			}
		}
	}
	b.visit("/queues/mail", 1400)
	b.Do(chromedp.Click(`.head [popovertarget=purge]`))
	b.Check("question-open")
	b.Picture("purge-1400-light")
	for role, scopes := range map[string][]string{"viewer": {"view:*"}, "operator": {"view:*", "operate:*"}, "viewer of a queue": {"view:mail"}} {
		g := setup(t, f.redis)
		g.who = principal(t, scopes...)
		b := g.open(ctx)
		b.theme("light")
		for name, path := range pages {
			b.visit(path, 1400)
			b.Calm(role + ": " + name)
		}
	}
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

func testNoScript(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "email.send", `{}`, queue.Options{})
	f.bury("mail", "connection refused")
	b := f.open(ctx)
	b.Script(false)
	b.visit("/jobs?queue=mail&state=dead", 1400)
	b.Do(chromedp.Click(`tbody [type=checkbox]`), chromedp.Click(`#bulk [value=retry]`), chromedp.Click(`form[action="/jobs/change"] .pri`), chromedp.WaitVisible(`.flash.ok`))
	if job, err := f.queues.Get(t.Context(), id); err != nil || job.State != queue.Waiting {
		t.Errorf("without script the job is %+v, %v", job, err)
	}
	b.visit("/queues/mail", 1400)
	b.Do(chromedp.Click(`.head [popovertarget=pause]`), chromedp.Click(`#pause .pri`), chromedp.WaitVisible(`.flash.ok`))
	if page := f.get("/queues/mail"); !strings.Contains(page.body, "/queues/mail/resume") {
		t.Error("without script the queue is not paused")
	}
}

func testLive(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	b := f.open(ctx)
	b.theme("light")
	b.visit("/", 1400)
	b.Do(chromedp.WaitEnabled(`#hold`))
	f.add("mail", "a", `{}`, queue.Options{})
	f.add("docs", "a", `{}`, queue.Options{})
	b.Wait(`document.querySelector('[data-v="waiting.mail"]').textContent === "2"`)
	b.Wait(`!document.getElementById("news").hidden && document.getElementById("news-text").textContent.includes("1 new")`)
	if browsertest.Value[bool](b.Tab, `document.querySelector('[data-row="docs"]') !== null`) {
		t.Error("a row has come by itself")
	}
	// Held, it does not change.
	b.Do(chromedp.KeyEvent("p"))
	b.Wait(`document.getElementById("hold").getAttribute("aria-pressed") === "true"`)
	// The search and the list of pages by keys.
	b.Do(chromedp.KeyEvent("/"))
	b.Wait(`document.activeElement.name === "q"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`), chromedp.KeyEvent("g"), chromedp.KeyEvent("q"))
	b.Do(chromedp.WaitVisible(`[data-key=q][aria-current=page]`))
	b.Calm("live")
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
	b.Wait(`document.querySelector('[data-k=US]').textContent === "United States: 1 requests"`)
	b.Do(chromedp.WaitEnabled(`#hold`))
	f.countRequest(channel, "8.8.8.9")
	b.Wait(`document.querySelector('[data-k=US]').textContent === "United States: 2 requests"`)
	b.Check("map of counts")
	b.Picture("counts-1400-light")
}

func testFlow(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{})
	}
	f.bury("mail", "connection refused")
	b := f.open(ctx)
	b.theme("light")
	b.visit("/jobs?queue=mail&state=dead", 1400)
	b.Do(chromedp.Click(`tbody tr:nth-child(1) [type=checkbox]`), chromedp.Click(`tbody tr:nth-child(2) [type=checkbox]`))
	if text := browsertest.Value[string](b.Tab, `document.getElementById("picked").textContent`); text != "2 selected" {
		t.Errorf("it says %q", text)
	}
	b.Picture("selected")
	b.Do(chromedp.Click(`#bulk [value=retry]`), chromedp.Click(`form[action="/jobs/change"] .pri`), chromedp.WaitVisible(`.flash.ok`))
	if text := browsertest.Value[string](b.Tab, `document.querySelector(".flash.ok").textContent.trim()`); text != "2 jobs run again." {
		t.Errorf("it says %q", text)
	}
	b.Check("after the retry")
}
