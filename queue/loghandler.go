package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// A LogHandler is an [slog.Handler] that keeps the last lines with a job, see
// [Queue.AppendLog]. It never blocks on Redis and never fails because of it:
// lines gather for up to 100 ms and are sent in the background, and what can't
// be sent is dropped. Its owner calls Close. It is safe for concurrent use.
type LogHandler struct {
	lines *lineBuffer
	text  slog.Handler // writes to lines
	next  slog.Handler
}

// NewLogHandler makes a handler for one active job. Records of level Info and
// above are kept with the job, and all records that next enables go on to it;
// next may be nil.
func NewLogHandler(client *Client, job *Job, next slog.Handler) *LogHandler {
	if next == nil {
		next = slog.DiscardHandler
	}
	lines := &lineBuffer{send: func(ctx context.Context, lines []string) error {
		q, err := client.Queue(job.Queue)
		if err != nil {
			return err
		}
		return q.appendLog(ctx, job.ID, job.delivery(), lines)
	}}
	return &LogHandler{lines: lines, text: slog.NewTextHandler(lines, nil), next: next}
}

// Enabled implements [slog.Handler].
func (h *LogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.text.Enabled(ctx, level) || h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler]. Its error is that of the next handler.
func (h *LogHandler) Handle(ctx context.Context, record slog.Record) error {
	if h.text.Enabled(ctx, record.Level) {
		_ = h.text.Handle(ctx, record.Clone()) // writing to memory does not fail
	}
	if h.next.Enabled(ctx, record.Level) {
		return h.next.Handle(ctx, record)
	}
	return nil
}

// WithAttrs implements [slog.Handler].
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &LogHandler{h.lines, h.text.WithAttrs(attrs), h.next.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h *LogHandler) WithGroup(name string) slog.Handler {
	return &LogHandler{h.lines, h.text.WithGroup(name), h.next.WithGroup(name)}
}

// Flush blocks until what was logged so far is with the job.
func (h *LogHandler) Flush(ctx context.Context) error { return h.lines.flush(ctx) }

// Close flushes; what is logged afterwards goes to the next handler only. Call
// it before the job is finished: then it is active no more. Closing twice is
// fine.
func (h *LogHandler) Close(ctx context.Context) error {
	h.lines.close()
	return h.lines.flush(ctx)
}

// A lineBuffer gathers lines and sends them a little later.
type lineBuffer struct {
	send func(context.Context, []string) error

	mu     sync.Mutex
	lines  []string
	timer  *time.Timer // nil while nothing is to be sent
	closed bool

	sending sync.Mutex // held while lines are on their way, to keep their order
}

const (
	gatherFor = 100 * time.Millisecond
	gatherMax = 50              // lines that are sent at once
	sendFor   = 5 * time.Second // bounds one try in the background
)

// Write takes one record's line: [slog.TextHandler] makes one call for each.
func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return len(line), nil
	}
	if len(b.lines) == MaxLogLines { // Redis is slower than the job: keep the last ones
		b.lines = append(b.lines[:0], b.lines[1:]...)
	}
	b.lines = append(b.lines, string(line[:min(len(line), maxLogLine+1)]))
	switch {
	case b.timer == nil:
		b.timer = time.AfterFunc(gatherFor, b.sendLater)
	case len(b.lines) == gatherMax:
		b.timer.Reset(0)
	}
	return len(line), nil
}

func (b *lineBuffer) sendLater() {
	ctx, cancel := context.WithTimeout(context.Background(), sendFor)
	defer cancel()
	_ = b.flush(ctx)
}

func (b *lineBuffer) flush(ctx context.Context) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.mu.Lock()
	lines := b.lines
	b.lines = nil
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	err := b.send(ctx, lines)
	if errors.Is(err, ErrState) {
		b.close() // the job is not ours any more: never again
	}
	return err
}

func (b *lineBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
