package stream_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"skidway/ops/dash/internal/stream"
)

func TestStreamsOfAProcessAreBounded(t *testing.T) {
	t.Parallel()
	var s stream.Set
	var last *stream.Stream
	for i := range 1000 {
		if last = s.Open(fmt.Sprint("session ", i)); last == nil {
			t.Fatalf("stream %d is refused", i)
		}
	}
	if s.Open("one more") != nil {
		t.Error("stream 1,001 is open")
	}
	s.Close(last)
	s.Close(last) // twice
	if s.Open("one more") == nil || s.Open("and one") != nil {
		t.Error("one stream was closed, and another number may be opened")
	}
	s.End()
	if s.Open("session 1") != nil {
		t.Error("a stream is opened after the end")
	}
}

// A deadlineWriter notes until when an event must have been written.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *deadlineWriter) SetWriteDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

func TestSlowReadersAreDropped(t *testing.T) {
	t.Parallel()
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
	events := stream.NewWriter(w)
	for range 2 {
		if err := events.Write("change", map[string]int{"n": 1}); err != nil {
			t.Fatal(err)
		}
	}
	if body, want := w.Body.String(), "event: change\ndata: {\"n\":1}\n\n"; body != want+want || !w.Flushed {
		t.Errorf("the events are %q", body)
	}
	if len(w.deadlines) != 2 || time.Until(w.deadlines[1]) > 10*time.Second || w.deadlines[1].Before(w.deadlines[0]) {
		t.Errorf("they may take until %v", w.deadlines)
	}
}
