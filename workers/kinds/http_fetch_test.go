package kinds_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"skidway/queue"
	"skidway/workers/kinds"
	"skidway/workers/workerstest"
)

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/csv")
		io.WriteString(w, "12345")
	})
	h := inside(t, kinds.HTTPConfig{})
	data, contentType, err := h.Fetch(context.Background(), server, 5)
	if string(data) != "12345" || contentType != "text/csv" || err != nil {
		t.Errorf("%q %s %v", data, contentType, err)
	}
	for name, c := range map[string]struct{ url, says string }{
		"too large":   {server, "more than 4 bytes"},
		"not there":   {server + "/a", "404"},
		"no such URL": {"ftp://a", "want http"},
	} {
		handler := func(ctx context.Context, _ *queue.Job) error {
			_, _, err := h.Fetch(ctx, c.url, 4)
			return err
		}
		outcome := workerstest.Run(t, handler, workerstest.Job{Args: queue.Raw("k", nil)})
		if outcome.As != queue.AsDead || !strings.Contains(outcome.Reason, c.says) {
			t.Errorf("%s: %s", name, outcome)
		}
	}
}
