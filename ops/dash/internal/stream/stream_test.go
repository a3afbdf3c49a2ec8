package stream_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
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
	events.Close()
	if len(w.deadlines) != 6 {
		t.Fatalf("they may take until %v", w.deadlines)
	}
	for i, at := range w.deadlines { // at the start and after each event there is none
		if wait := i%2 == 0 && i < 5; at.IsZero() != wait || !wait && time.Until(at) > 10*time.Second {
			t.Errorf("deadline %d is %v", i, at)
		}
	}
}

// A pipeListener accepts connections in memory.
type pipeListener struct {
	net.Listener
	accepted chan net.Conn
}

func (l *pipeListener) Accept() (net.Conn, error) {
	c, open := <-l.accepted
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *pipeListener) Close() error   { return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func TestStreamOfHTTP2StaysOpenBetweenEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var http2 http.Protocols
		http2.SetUnencryptedHTTP2(true)
		listener := &pipeListener{accepted: make(chan net.Conn, 1)}
		server := &http.Server{Protocols: &http2, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * time.Minute)) // as for every answer
			events := stream.NewWriter(w)
			defer events.Close()
			for range 4 {
				if err := events.Write("alive", "{}"); err != nil {
					t.Error(err)
				}
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Minute):
				}
			}
		})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		transport := &http.Transport{Protocols: &http2, DialContext: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			listener.accepted <- there
			return here, nil
		}}
		response, err := (&http.Client{Transport: transport}).Get("http://memory/")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if want := strings.Repeat("event: alive\ndata: {}\n\n", 4); err != nil || string(text) != want || response.ProtoMajor != 2 {
			t.Errorf("%s: %q, %v", response.Proto, text, err)
		}
		_ = response.Body.Close()
		transport.CloseIdleConnections()
		close(listener.accepted)
		_ = server.Close()
		<-served
	})
}
