// Package browsertest shows pages in a real Chromium, for tests.
//
//	tab := browsertest.Open(t, browsertest.Start(t), func(url string) bool { return url == page })
//	tab.Do(chromedp.Navigate(page), chromedp.Click("#crawlers"))
//	text := browsertest.Value[string](tab, `document.title`)
//	tab.Check("crawlers") // axe-core, width, console, policy, requests
package browsertest

import (
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1, https://github.com/dequelabs/axe-core, under the Mozilla Public License 2.0.
//
//go:embed axe.min.js.gz
var axe string

// timeout bounds the life of a Chromium, which serves all tests of a package.
const timeout = 25 * time.Minute

// Start starts Chromium, and returns a context of it that ends with the test. A missing Chromium
// fails the test.
func Start(t testing.TB) context.Context {
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
	ctx, cancelTime := context.WithTimeout(ctx, timeout)
	t.Cleanup(cancelTime)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// A Tab is a tab of Chromium.
type Tab struct {
	testing.TB
	ctx     context.Context
	allowed func(url string) bool

	mu       sync.Mutex
	problems []string
}

// Open opens a tab of a Chromium, with cookies of its own. Requests to addresses that are not
// allowed are problems, see [Tab.Calm].
func Open(t testing.TB, chromium context.Context, allowed func(url string) bool) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	tab := &Tab{TB: t, ctx: ctx, allowed: allowed}
	if err := chromedp.Listen(ctx, tab.notice); err != nil {
		t.Fatal(err)
	}
	return tab
}

// notice notes what must not happen.
func (t *Tab) notice(ev any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if to := e.Request.URL; !t.allowed(to) {
			t.problems = append(t.problems, "a request to "+to)
		}
	case *runtime.EventExceptionThrown:
		t.problems = append(t.problems, "an exception: "+e.ExceptionDetails.Text)
		if exception := e.ExceptionDetails.Exception; exception != nil {
			t.problems = append(t.problems, exception.Description)
		}
	case *runtime.EventConsoleAPICalled:
		t.problems = append(t.problems, fmt.Sprintf("a message of the console: %s", e.Type))
	case *log.EventEntryAdded: // such as a violation of the content policy
		if e.Entry.Source.String() != "network" { // an answer 404, for which a test may ask
			t.problems = append(t.problems, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	}
}

// Do runs steps. It repeats a step that found an element which left the document before it did anything
// to it: after a click, a page may be replaced while the next step looks for its element.
func (t *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for _, step := range steps {
		err := chromedp.Do(t.ctx, step)
		for isGone(err) && t.ctx.Err() == nil {
			err = chromedp.Do(t.ctx, step)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// isGone reports whether the browser does not know an element any more.
func isGone(err error) bool {
	var refused *cdproto.Error
	return errors.As(err, &refused) && strings.HasPrefix(refused.Message, "Could not find node")
}

// Value evaluates an expression.
func Value[T any](t *Tab, expression string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	value, err := chromedp.Run(t.ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		t.Fatalf("%.80s: %v", expression, err)
	}
	return value
}

// Wait blocks until an expression is true.
func (t *Tab) Wait(expression string) {
	t.Helper()
	if _, err := chromedp.Run(t.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(5*time.Minute))); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// Script turns scripts of pages that are shown afterwards on or off.
func (t *Tab) Script(on bool) {
	t.Helper()
	t.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return chromedp.Void{}, err
	})
}

// Zone sets the time zone of the browser for pages that are shown afterwards.
func (t *Tab) Zone(name string) {
	t.Helper()
	t.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return chromedp.Void{}, err
	})
}

// Media sets the medium: "print", or "" for the screen.
func (t *Tab) Media(name string) {
	t.Helper()
	t.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name})
		return chromedp.Void{}, err
	})
}

// Picture writes a picture of the page into the folder SKIDWAY_PICTURES, if that is set.
func (t *Tab) Picture(name string) {
	t.Helper()
	folder := os.Getenv("SKIDWAY_PICTURES")
	if folder == "" {
		return
	}
	drawn, err := chromedp.Run(t.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), drawn, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Check fails the test if the page breaks a rule of axe-core, or is wider than the window, and as
// [Tab.Calm] does.
func (t *Tab) Check(name string) {
	t.Helper()
	t.Do(chromedp.Evaluate[chromedp.Void](axeScript()))
	violations := Value[[]string](t, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary.slice(0, 200))))`, chromedp.EvalAwaitPromise)
	for _, violation := range violations {
		t.Errorf("%s: axe: %s", name, violation)
	}
	t.Fits(name)
	t.Calm(name)
}

// Fits fails the test if the page is wider than the window.
func (t *Tab) Fits(name string) {
	t.Helper()
	if wide := Value[int](t, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("%s: the page is %d px wider than the window", name, wide)
	}
}

// Calm fails the test if there were exceptions, messages of the console, violations of the content
// policy, or requests that are not allowed, since the last call.
func (t *Tab) Calm(name string) {
	t.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, problem := range t.problems {
		t.Errorf("%s: %s", name, problem)
	}
	t.problems = nil
}

// axeScript returns the script of axe-core.
var axeScript = sync.OnceValue(func() string {
	reader, err := gzip.NewReader(strings.NewReader(axe))
	if err != nil {
		panic(err) // our own file
	}
	script, err := io.ReadAll(reader)
	if err != nil {
		panic(err)
	}
	return string(script)
})
