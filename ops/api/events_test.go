package api_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
)

func TestStreamContinuesAfterAPositionWithoutEvents(t *testing.T) {
	t.Parallel()
	s := newStreamServer(t, nil)
	job := s.add("mail", "news", `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := func(path, after string) (next func(prefix string) string, done func()) {
		r, err := http.NewRequestWithContext(ctx, "GET", s.server.URL+"/api/v1"+path, nil)
		s.must(err)
		r.Header.Set("Principal", "p")
		r.Header.Set("Last-Event-ID", after)
		response, err := http.DefaultClient.Do(r)
		s.must(err)
		if response.StatusCode != http.StatusOK || response.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: %v", response.Status, response.Header)
		}
		lines := bufio.NewScanner(response.Body)
		return func(prefix string) string {
			for lines.Scan() {
				if text, found := strings.CutPrefix(lines.Text(), prefix); found {
					return text
				}
			}
			t.Fatalf("the stream ends before %q: %v", prefix, lines.Err())
			return ""
		}, func() { _ = response.Body.Close() }
	}
	next, done := open("/events?job="+job, "")
	position := next("id: ")
	done()
	missed := s.add("mail", "news", `{}`)
	next, done = open("/events?queue=mail", position)
	defer done()
	if data := next("data: "); !strings.Contains(data, missed) {
		t.Errorf("%s, want the event of %s", data, missed)
	}
}

// A deadlineWriter notes the deadlines of writes. It calls end when one is cleared, or at the second flush.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	flushes   int
	end       func()
}

func (w *deadlineWriter) SetWriteDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	if at.IsZero() {
		w.end()
	}
	return nil
}

func (w *deadlineWriter) Flush() {
	if w.flushes++; w.flushes > 1 {
		w.end()
	}
}

func TestStreamHasNoDeadlineBetweenEvents(t *testing.T) {
	t.Parallel()
	f := setupOn(t, redistest.DB(t), api.Config{})
	f.add("mail", "news", `{}`)
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.must(q.KeepEvents(t.Context(), 10))
	ctx, cancel := context.WithCancel(access.NewContext(t.Context(), f.principal()))
	defer cancel()
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder(), end: cancel}
	f.handler.ServeHTTP(w, f.request("GET", "/api/v1/events?queue=mail", nil).WithContext(ctx))
	if len(w.deadlines) != 4 || w.deadlines[1].IsZero() || !w.deadlines[2].IsZero() || w.flushes != 1 {
		t.Errorf("%d writes, with the deadlines %v", w.flushes, w.deadlines) // of the answer, the write, none, and the end
	}
}
