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

// SetSettingsAge sets the time since the client's latest look at the settings of the queue.
// Below zero, no look follows for that time.
func (q *Queue) SetSettingsAge(age time.Duration) {
	q.adder.settings.set(time.Since(processStart)-age, true)
}

// NoticeRestart makes the lease assume that the server was restarted.
func (l *Lease) NoticeRestart() { l.compared.Add(-1) }

// WaitingCalls returns the number of calls of Enqueue that wait for their batch.
func (q *Queue) WaitingCalls() int {
	q.batcher.mu.Lock()
	defer q.batcher.mu.Unlock()
	return len(q.batcher.waiting)
}

// SetNativeFrom sets how many jobs of one line a fetch returns so that the next one begins
// natively. After a native fetch that was refused the next one is native again.
func (c *Client) SetNativeFrom(n int) { c.nativeFrom, c.skipRefused = n, 0 }
