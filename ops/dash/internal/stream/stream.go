// Package stream has streams of server-sent events: how many may be open, and how events are written.
package stream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of streams.
const (
	maxStreams   = 4                // of a session; the oldest ends for another one
	maxAll       = 1000             // of a process
	writeTimeout = 10 * time.Second // of one event: slower readers are dropped
)

// A Set is the open streams of a process. The zero value is an empty one. It is safe for concurrent
// use.
type Set struct {
	mu     sync.Mutex
	ended  bool
	bySess map[string][]*Stream
	all    int
}

// A Stream is one open stream.
type Stream struct {
	session string
	over    chan string
}

// Over returns a channel that receives the reason why the stream is to end: "many" for too many
// streams of its session, "end" at a shutdown.
func (s *Stream) Over() <-chan string { return s.over }

// Open adds a stream of a session, and ends its oldest one if it has
// too many. It returns nil if there are too many in the process. The caller closes the stream.
func (s *Set) Open(session string) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.all >= maxAll {
		return nil
	}
	if s.bySess == nil {
		s.bySess = map[string][]*Stream{}
	}
	opened := &Stream{session, make(chan string, 1)}
	others := s.bySess[session]
	if len(others) >= maxStreams {
		others[0].over <- "many"
		others = others[1:]
		s.all--
	}
	s.bySess[session] = append(slices.Clone(others), opened)
	s.all++
	return opened
}

// Close removes a stream.
func (s *Set) Close(closed *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	others := s.bySess[closed.session]
	i := slices.Index(others, closed)
	if i < 0 {
		return
	}
	s.all--
	if s.bySess[closed.session] = slices.Delete(slices.Clone(others), i, i+1); len(others) == 1 {
		delete(s.bySess, closed.session)
	}
}

// End ends all streams, and refuses others.
func (s *Set) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, others := range s.bySess {
		for _, one := range others {
			one.over <- "end"
		}
	}
	s.bySess, s.all = nil, 0
}

// A Writer writes events, each within a time.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// NewWriter returns a writer of events, and sets the headers of the answer. The stream may last longer than
// other answers. The caller closes the writer.
func NewWriter(w http.ResponseWriter) *Writer {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	e := &Writer{w, http.NewResponseController(w)}
	e.setDeadline(time.Time{})
	return e
}

// setDeadline sets the time by which writes must end. On HTTP/2 a deadline that passes resets the stream,
// also while nothing is written, so it is zero between events.
func (e *Writer) setDeadline(at time.Time) {
	_ = e.control.SetWriteDeadline(at) // not every writer has one
}

// Close bounds the time in which the server writes the end of the answer.
func (e *Writer) Close() { e.setDeadline(time.Now().Add(writeTimeout)) }

// Write writes an event with data, which is JSON or is encoded as such, and sends it.
func (e *Writer) Write(name string, data any) error {
	text, isText := data.(string)
	if !isText {
		encoded, err := json.Marshal(data)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	e.setDeadline(time.Now().Add(writeTimeout))
	if _, err := fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, text); err != nil {
		return err
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	e.setDeadline(time.Time{})
	return nil
}
