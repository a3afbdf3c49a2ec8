package queue

import "context"

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

// AgeRegistration makes it a minute since the queue was registered.
func (q *Queue) AgeRegistration() { q.registered.Add(-int64(registerEvery)) }
