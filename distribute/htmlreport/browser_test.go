package htmlreport_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"skidway/internal/browsertest"
)

func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	s := newSite()
	const first = "2026-11-13"
	text := page(t, report(s.table("day,country,crawler", first, 7, 1e5, true), s.table("day,status", first, 7, 1e5, true), s.table("day,path", first, 7, 1e5, true)), 0)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Open(t, browsertest.Start(t), func(url string) bool { return url == "file://"+path || strings.HasPrefix(url, "data:") })
	for _, look := range []struct {
		theme string
		width int64
	}{{"light", 1400}, {"dark", 360}} {
		tab.Do(chromedp.EmulateViewport(look.width, 900), chromedp.Navigate("file://"+path), chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.theme = "`+look.theme+`"`))
		tab.Check(fmt.Sprintf("%s, %d px", look.theme, look.width))
		if browsertest.Value[bool](tab, `window.hit === 1 || document.querySelector("img") !== null`) {
			t.Errorf("%s, %d px: a text has become HTML", look.theme, look.width)
		}
	}
}
