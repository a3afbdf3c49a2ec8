package dash_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skidway/distribute"
	"skidway/internal/redistest"
)

func TestChannelsShowWhoHoldsUpWhat(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "countries", ""))
	file := filepath.Join(t.TempDir(), "<img src=x>.log")
	f.must(os.WriteFile(file, []byte(strings.Repeat("a line\n", 100)), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{file})
	f.must(err)
	page := f.get("/channels")
	f.want(page, http.StatusOK, "1 channel.", "countries", "&lt;img src=x&gt;.log", "1 of 1 files in Redis are shown.", `aria-current="page" data-key="c"`)
	if strings.Contains(page.body, "<img") {
		t.Errorf("the name of a file is in the page as HTML: %s", page.body)
	}
	f.who = principal(t, "view:mail")
	f.want(f.get("/channels"), http.StatusForbidden)
}
