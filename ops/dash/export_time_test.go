package dash_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/queue"
)

// A silentHook leaves commands and pipelines of pages without an answer, while it is set.
type silentHook struct{ *atomic.Bool }

func (h silentHook) wait(ctx context.Context) error {
	if !h.Load() || access.FromContext(ctx) == nil {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (silentHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h silentHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h.wait(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (h silentHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if err := h.wait(ctx); err != nil {
			return err
		}
		return next(ctx, commands)
	}
}

// A beginWriter notes that an answer has begun.
type beginWriter struct {
	*httptest.ResponseRecorder
	begun *atomic.Bool
}

func (w beginWriter) Write(b []byte) (int, error) {
	w.begun.Store(true)
	return w.ResponseRecorder.Write(b)
}

func TestExportWhoseTimeEndsWithinASearchSaysSo(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	jobs := make([]queue.NewJob, 501) // more than are read at once
	for i := range jobs {
		jobs[i] = queue.NewJob{Args: queue.Raw("email.send", nil), Options: queue.Options{Queue: "mail"}}
	}
	for _, result := range f.queues.EnqueueMany(t.Context(), jobs) {
		f.must(result.Err)
	}
	begun := new(atomic.Bool)
	f.redis.AddHook(silentHook{begun}) // Redis does not answer the second search
	var w beginWriter
	for left := 7 * time.Second; !begun.Load() && left < time.Minute; left += 10 * time.Second { // 2 s, or what a busy machine needs for the first one, and 5 s for the note
		w = beginWriter{httptest.NewRecorder(), begun}
		ctx, cancel := context.WithTimeout(t.Context(), left)
		f.dash.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/jobs/export?queue=mail&format=ndjson", nil))
		cancel()
	}
	f.want(answer{w.Result(), w.Body.String()}, http.StatusOK, `{"note":"Not complete: these are the first `)
}
