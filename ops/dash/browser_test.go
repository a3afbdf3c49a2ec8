package dash_test

import (
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/distribute/chat/group"
	"skidway/internal/redistest"
	"skidway/queue"
)

// axe is axe-core 4.14.1, https://github.com/dequelabs/axe-core, under the Mozilla Public License 2.0.
//
//go:embed testdata/axe.min.js.gz
var axe string

// A browser is a tab of Chromium that shows a dashboard.
type browser struct {
	testing.TB
	ctx    context.Context
	server string

	mu       sync.Mutex
	problems []string // messages of the console, violations of the policy, requests to others
}

// chromium starts Chromium, and returns a context of it. It is never skipped.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("there is no Chromium: 'make chromium' installs the system's package")
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(allocator)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancelTab() })
	ctx, cancelTime := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancelTime)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// open opens a tab on the dashboard of a fixture.
func (f *fixture) open(ctx context.Context) *browser {
	f.Helper()
	server := httptest.NewServer(f.dash)
	f.Cleanup(server.Close)
	f.Cleanup(f.dash.EndStreams) // before the server waits for them
	ctx, cancelTab := chromedp.NewContext(ctx)
	f.Cleanup(cancelTab)
	b := &browser{TB: f.TB, ctx: ctx, server: server.URL}
	f.must(chromedp.Listen(ctx, b.notice))
	f.must(chromedp.Do(ctx, chromedp.Navigate(server.URL+"/")))
	return b
}

// notice notes what must not happen.
func (b *browser) notice(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if to := e.Request.URL; !strings.HasPrefix(to, b.server+"/") || strings.HasSuffix(to, "/favicon.ico") {
			b.problems = append(b.problems, "a request to "+to)
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "an exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("a message of the console: %s", e.Type))
	}
}

// do runs steps.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// value evaluates an expression.
func value[T any](b *browser, expression string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		b.Fatalf("%.80s: %v", expression, err)
	}
	return got
}

// visit shows a page, and notes violations of the policy from then on.
func (b *browser) visit(path string, width int64) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(b.server+path))
}

// picture writes a picture of the page into the folder SKIDWAY_PICTURES, if that is set.
func (b *browser) picture(name string) {
	b.Helper()
	folder := os.Getenv("SKIDWAY_PICTURES")
	if folder == "" {
		return
	}
	drawn, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), drawn, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// check fails the test if the page breaks a rule of axe or is wider than the window.
func (b *browser) check(name string) {
	b.Helper()
	reader, err := gzip.NewReader(strings.NewReader(axe))
	if err != nil {
		b.Fatal(err)
	}
	script, err := io.ReadAll(reader)
	if err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.Evaluate[chromedp.Void](string(script)))
	violations := value[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary.slice(0, 200))))`, chromedp.EvalAwaitPromise)
	for _, violation := range violations {
		b.Errorf("%s: axe: %s", name, violation)
	}
	if wide := value[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		b.Errorf("%s: the page is %d px wider than the window", name, wide)
	}
	b.calm(name)
}

// calm fails the test if the page has done what must not happen.
func (b *browser) calm(name string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		b.Errorf("%s: %s", name, problem)
	}
	b.problems = nil
}

// theme sets the colours.
func (b *browser) theme(name string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.cookie = "skidway-view=" + encodeURIComponent("zone=UTC&theme=` + name + `") + "; path=/"`))
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
	ctx := chromium(t)
	t.Run("pages are accessible and safe", func(t *testing.T) { testPages(t, ctx) })
	t.Run("live pages change in place", func(t *testing.T) { testLive(t, ctx) })
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
			if value[bool](b, `window.hit === 1 || document.querySelector("main img") !== null`) {
				t.Errorf("%s: a text from Redis has become HTML", shown)
			}
			b.picture(shown)
			if look.width != 800 {
				b.check(shown)
			}
		}
	}
	b.visit("/queues/mail", 1400)
	b.do(chromedp.Click(`.head [popovertarget=purge]`))
	b.check("question-open")
	b.picture("purge-1400-light")
	for role, scopes := range map[string][]string{"viewer": {"view:*"}, "operator": {"view:*", "operate:*"}, "viewer of a queue": {"view:mail"}} {
		g := setup(t, f.redis)
		g.who = principal(t, scopes...)
		b := g.open(ctx)
		b.theme("light")
		for name, path := range pages {
			b.visit(path, 1400)
			b.calm(role + ": " + name)
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
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	})
	b.visit("/jobs?queue=mail&state=dead", 1400)
	b.do(chromedp.Click(`tbody [type=checkbox]`), chromedp.Click(`#bulk [value=retry]`), chromedp.Click(`form[action="/jobs/change"] .pri`), chromedp.WaitVisible(`.flash.ok`))
	if job, err := f.queues.Get(t.Context(), id); err != nil || job.State != queue.Waiting {
		t.Errorf("without script the job is %+v, %v", job, err)
	}
	b.visit("/queues/mail", 1400)
	b.do(chromedp.Click(`.head [popovertarget=pause]`), chromedp.Click(`#pause .pri`), chromedp.WaitVisible(`.flash.ok`))
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
	b.do(chromedp.WaitEnabled(`#hold`))
	f.add("mail", "a", `{}`, queue.Options{})
	f.add("docs", "a", `{}`, queue.Options{})
	poll := func(expression string) {
		t.Helper()
		if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
	}
	poll(`document.querySelector('[data-v="waiting.mail"]').textContent === "2"`)
	poll(`!document.getElementById("news").hidden && document.getElementById("news-text").textContent.includes("1 new")`)
	if value[bool](b, `document.querySelector('[data-row="docs"]') !== null`) {
		t.Error("a row has come by itself")
	}
	// Held, it does not change.
	b.do(chromedp.KeyEvent("p"))
	poll(`document.getElementById("hold").getAttribute("aria-pressed") === "true"`)
	// The search and the list of pages by keys.
	b.do(chromedp.KeyEvent("/"))
	poll(`document.activeElement.name === "q"`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`), chromedp.KeyEvent("g"), chromedp.KeyEvent("q"))
	b.do(chromedp.WaitVisible(`[data-key=q][aria-current=page]`))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		t.Error(problem)
	}
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
	b.do(chromedp.Click(`tbody tr:nth-child(1) [type=checkbox]`), chromedp.Click(`tbody tr:nth-child(2) [type=checkbox]`))
	if text := value[string](b, `document.getElementById("picked").textContent`); text != "2 selected" {
		t.Errorf("it says %q", text)
	}
	b.picture("selected")
	b.do(chromedp.Click(`#bulk [value=retry]`), chromedp.Click(`form[action="/jobs/change"] .pri`), chromedp.WaitVisible(`.flash.ok`))
	if text := value[string](b, `document.querySelector(".flash.ok").textContent.trim()`); text != "2 jobs run again." {
		t.Errorf("it says %q", text)
	}
	b.check("after the retry")
}
