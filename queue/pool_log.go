package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"skidway/internal/rdb"
)

// Bounds of the log and the progress of a job, in bytes.
const (
	maxLogLines = 100
	maxLogBytes = 16 << 10 // of all lines together
	maxLogLine  = 4 << 10  // the rest of a line is cut off
	maxProgress = 1 << 10
)

// appendLog adds lines to the log of an active job, of which the last maxLogLines are kept
// within maxLogBytes. The log is kept while the job is retried, dead or retained, and is
// deleted with the job. The error is [ErrState] if the job is not active or another worker
// has fetched it since. After a [skidway.OutcomeUnknownError] the lines may or may not have
// been added.
func (q *PoolQueue) appendLog(ctx context.Context, job *Job, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-maxLogLines):] {
		line = strings.TrimRight(line, "\n")
		if len(line) > maxLogLine {
			line = strings.ToValidUTF8(line[:maxLogLine-len("…")], "") + "…"
		}
		text.WriteString(strings.ReplaceAll(line, "\n", "\\n"))
		text.WriteByte('\n')
	}
	return q.writeBeside(ctx, logScript, job, "log", maxLogLines, maxLogBytes, text.String())
}

// SetProgress stores the progress of an active job: at most 1 KiB of any form, kept as long
// as the job's log. The error is [ErrState] if the job is not active or another worker has
// fetched it since.
func (q *PoolQueue) SetProgress(ctx context.Context, job *Job, progress []byte) error {
	if len(progress) > maxProgress {
		return fmt.Errorf("%w: progress of %d bytes: at most %d", ErrInvalid, len(progress), maxProgress)
	}
	return q.writeBeside(ctx, progressScript, job, "progress", progress)
}

// delivery identifies the fetch of a job: it changes when the job is fetched again. It is
// empty for a job that was not fetched.
func (j *Job) delivery() string {
	if j.entry == "" || j.Worker == "" {
		return ""
	}
	return fmt.Sprintf("%d %s %s", j.line, j.entry, j.Worker)
}

// writeBeside writes what, the log or the progress of a job.
func (q *PoolQueue) writeBeside(ctx context.Context, s *rdb.Script, job *Job, what string, args ...any) error {
	queue, local, err := splitID(job.ID)
	if err != nil {
		return err
	}
	if queue != q.name {
		return fmt.Errorf("%w: job %s is not of queue %s", ErrInvalid, job.ID, q.name)
	}
	reply, err := q.run(ctx, s, append([]any{local, job.delivery(), what}, args...)...)
	if err == nil && reply.Word == "state" {
		err = fmt.Errorf("%s for %s: %w: it is not active", what, job.ID, ErrState)
	}
	return err
}

// A LogHandler is an [slog.Handler] that stores a job's log lines with the job: the last 100, at
// most 16 KiB, for as long as the job is kept. It never blocks on Redis and never fails because of
// it: lines gather for up to 100 ms and are sent in the background; lines that can't be sent are
// dropped. The caller must call Close. It is safe for concurrent use.
type LogHandler struct {
	lines *lineBuffer
	text  slog.Handler // writes to lines
	next  slog.Handler
}

// NewLogHandler returns a handler for one active job. Records of level Info and above are
// stored with the job. All records that next enables are passed on to it; next may be
// nil.
func NewLogHandler(client *Client, job *Job, next slog.Handler) *LogHandler {
	if next == nil {
		next = slog.DiscardHandler
	}
	lines := &lineBuffer{send: func(ctx context.Context, lines []string) error {
		q, err := client.ForPool(job.Queue)
		if err != nil {
			return err
		}
		return q.appendLog(ctx, job, lines)
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

// Flush blocks until all lines logged so far are stored with the job.
func (h *LogHandler) Flush(ctx context.Context) error { return h.lines.flush(ctx) }

// Close flushes. Records logged afterwards go to the next handler only. Call it before the
// job is finished, since only an active job has a log to add to. Closing twice has no
// effect.
func (h *LogHandler) Close(ctx context.Context) error {
	h.lines.close()
	return h.lines.flush(ctx)
}

// A lineBuffer gathers lines and sends them in the background.
type lineBuffer struct {
	send func(context.Context, []string) error

	mu     sync.Mutex
	lines  []string
	timer  *time.Timer // nil while there is nothing to send
	closed bool

	sending sync.Mutex // held while lines are being sent, to keep their order
}

const (
	flushDelay   = 100 * time.Millisecond
	maxGathered  = 50              // lines that are sent without delay
	flushTimeout = 5 * time.Second // bounds one attempt in the background
)

// Write adds one line: [slog.TextHandler] calls it once per record.
func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return len(line), nil
	}
	if len(b.lines) == maxLogLines { // Redis is slower than the job: keep the latest lines
		b.lines = append(b.lines[:0], b.lines[1:]...)
	}
	b.lines = append(b.lines, string(line[:min(len(line), maxLogLine+1)]))
	switch {
	case b.timer == nil:
		b.timer = time.AfterFunc(flushDelay, b.sendLater)
	case len(b.lines) == maxGathered:
		b.timer.Reset(0)
	}
	return len(line), nil
}

func (b *lineBuffer) sendLater() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
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
		b.close() // this worker no longer has the job
	}
	return err
}

func (b *lineBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
