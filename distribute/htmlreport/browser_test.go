package htmlreport_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium starts Chromium, and returns a context of it. It is never skipped.
func chromium(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
	}
	if path == "" {
		t.Fatal("there is no Chromium: 'make chromium' installs the system's package")
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(allocator)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancelTab() })
	ctx, cancelTime := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancelTime)
	return ctx
}

// axeScript returns the rules of accessibility that the dashboard is checked with, too.
func axeScript(t *testing.T) string {
	t.Helper()
	file, err := os.Open("../../ops/dash/testdata/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	s := newSite()
	const first = "2026-11-13"
	text := page(t, report(s.table("day,country,crawler", first, 7, 1e5, true), s.table("day,status", first, 7, 1e5, true), s.table("day,path", first, 7, 1e5, true)), 0)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := chromium(t)
	var mu sync.Mutex
	var problems []string
	notice := func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			if to := e.Request.URL; to != "file://"+path && !strings.HasPrefix(to, "data:") {
				problems = append(problems, "a request to "+to)
			}
		case *runtime.EventExceptionThrown:
			problems = append(problems, "an exception: "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			problems = append(problems, fmt.Sprintf("a message of the console: %s", e.Type))
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.Do(ctx))
	do(chromedp.Listen(ctx, notice))
	axe := axeScript(t)
	for _, look := range []struct {
		theme string
		width int64
	}{{"light", 1400}, {"dark", 360}} {
		do(chromedp.Do(ctx, chromedp.EmulateViewport(look.width, 900), chromedp.Navigate("file://"+path),
			chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.theme = "`+look.theme+`"`), chromedp.Evaluate[chromedp.Void](axe)))
		violations, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary.slice(0, 200))))`, chromedp.EvalAwaitPromise))
		do(err)
		for _, violation := range violations {
			t.Errorf("%s, %d px: axe: %s", look.theme, look.width, violation)
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - innerWidth`))
		do(err)
		hit, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.hit === 1 || document.querySelector("img") !== null`))
		do(err)
		if wide > 0 || hit {
			t.Errorf("%s, %d px: %d px wider than the window; a text has become HTML: %t", look.theme, look.width, wide, hit)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, problem := range problems {
		t.Error(problem)
	}
}
