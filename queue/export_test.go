package queue

import (
	"context"
	"time"
)

// Bounds of the log and the progress of a job.
const (
	MaxLogLines = maxLogLines
	MaxLogBytes = maxLogBytes
	MaxProgress = maxProgress
)

// AppendLog is what a [LogHandler] calls.
func (q *PoolQueue) AppendLog(ctx context.Context, job *Job, lines []string) error {
	return q.appendLog(ctx, job, lines)
}

// AgeRegistration adds to the time since the queue was registered.
func (q *Queue) AgeRegistration(d time.Duration) { q.registered.Add(-int64(d)) }
