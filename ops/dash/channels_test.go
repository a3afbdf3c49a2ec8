package dash_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	f.want(f.get("/counts"), http.StatusOK, "web: countries", "Nothing is counted in this time")
	f.want(f.get("/counts?channel=web&subscriber=none"), http.StatusNotFound)
	aggregation, err := distribute.NewCounting(nil)
	f.must(err)
	f.must(os.WriteFile(file, []byte(time.Now().UTC().Format(`1.1.1.1 - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 200 1`)+"\n"), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{file})
	f.must(err)
	worker, err := distribute.NewWorker(t.Context(), channel, "countries", aggregation, &distribute.WorkerConfig{UntilDone: true})
	f.must(err)
	_, err = worker.Work(t.Context())
	f.must(err)
	f.want(f.get("/counts?channel=web&subscriber=countries"), http.StatusOK, "<td>"+time.Now().UTC().Format(time.DateOnly)+"</td>", `<td class="n">1</td>`)
	f.who = principal(t, "view:mail")
	f.want(f.get("/counts"), http.StatusForbidden)
	f.want(f.get("/channels"), http.StatusForbidden)
}
