package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// Bounds of what is kept beside a job.
const (
	MaxLogLines = 100      // lines, the latest ones
	MaxLogBytes = 16 << 10 // of them together
	MaxProgress = 1 << 10  // bytes

	// maxLogLine is the most bytes of one line; the rest is cut off.
	maxLogLine = 4 << 10
)

// AppendLog adds lines to the log of an active job, of which the last
// [MaxLogLines] are kept within [MaxLogBytes]. The log stays with the job while
// it is retried, dead or retained and vanishes with it. A job that is not
// active is an [ErrState]. On an [rdb.OutcomeUnknownError] the lines may be
// there or not. [NewLogHandler] does this for users of log/slog.
func (q *Queue) AppendLog(ctx context.Context, id string, lines []string) error {
	return q.appendLog(ctx, id, "", lines)
}

func (q *Queue) appendLog(ctx context.Context, id, who string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-MaxLogLines):] {
		line = strings.TrimRight(line, "\n")
		if len(line) > maxLogLine {
			line = strings.ToValidUTF8(line[:maxLogLine-len("…")], "") + "…"
		}
		text.WriteString(strings.ReplaceAll(line, "\n", "\\n"))
		text.WriteByte('\n')
	}
	return q.keepBeside(ctx, logScript, id, who, "log", MaxLogLines, MaxLogBytes, text.String())
}

// Log gives the last lines that were logged for a job; none where there are
// none, also when there is no such job.
func (c *Client) Log(ctx context.Context, id string) ([]string, error) {
	text, err := c.besides(ctx, id, keyLogs)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// SetProgress keeps how far an active job has come, at most [MaxProgress] bytes
// of the handler's own choice. What was set stays as a log does. A job that is
// not active is an [ErrState].
func (q *Queue) SetProgress(ctx context.Context, id string, progress []byte) error {
	return q.setProgress(ctx, id, "", progress)
}

// SetJobProgress is SetProgress of a job that was fetched: once it is another
// worker's it is an [ErrState] and changes nothing.
func (q *Queue) SetJobProgress(ctx context.Context, job *Job, progress []byte) error {
	return q.setProgress(ctx, job.ID, job.delivery(), progress)
}

// delivery names the worker's hold on a job: it is another one when the job is
// given out again.
func (j *Job) delivery() string {
	if j.entry == "" || j.Worker == "" {
		return ""
	}
	return fmt.Sprintf("%d %s %s", j.line, j.entry, j.Worker)
}

func (q *Queue) setProgress(ctx context.Context, id, who string, progress []byte) error {
	if len(progress) > MaxProgress {
		return fmt.Errorf("%w: progress of %d bytes: at most %d", ErrInvalid, len(progress), MaxProgress)
	}
	return q.keepBeside(ctx, progressScript, id, who, "progress", progress)
}

// Progress gives what was last set; nil for nothing.
func (c *Client) Progress(ctx context.Context, id string) ([]byte, error) {
	text, err := c.besides(ctx, id, keyProgress)
	if err != nil || text == "" {
		return nil, err
	}
	return []byte(text), nil
}

func (q *Queue) keepBeside(ctx context.Context, s *rdb.Script, id, who, what string, args ...any) error {
	queue, local, err := splitID(id)
	if err != nil {
		return err
	}
	if queue != q.name {
		return fmt.Errorf("%w: job %s is not of queue %s", ErrInvalid, id, q.name)
	}
	reply, err := q.run(ctx, s, append([]any{local, who, what}, args...)...)
	if err == nil && reply.Word == "state" {
		err = fmt.Errorf("%s for %s: %w: it is not active", what, id, ErrState)
	}
	return err
}

// besides reads a value of one of the hashes by id.
func (c *Client) besides(ctx context.Context, id string, key int) (string, error) {
	q, local, err := c.find(id)
	if err != nil {
		return "", err
	}
	var text string
	err = c.db.Retry(ctx, func() (err error) {
		text, err = c.db.HGet(ctx, q.keys[key], local).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read the %s of job %s: %w", keyNames[key], id, err)
	}
	return text, nil
}
