package queue

import (
	"context"
	"runtime"
	"sync"

	"skidway/internal/rdb"
)

// A batcher lets single calls from many goroutines share round trips: while a
// batch is on its way, those that come gather for the next. Several batches on
// their way at once would be smaller ones (measured: slower).
type batcher struct {
	mu      sync.Mutex
	waiting []call
	sending bool // a batch is on its way
}

// A call is one job and where its result goes.
type call struct {
	job    encodedJob
	result chan Result
}

// add blocks until the job's batch is back. Where ctx is done before, the job may
// have been added or not.
func (b *batcher) add(ctx context.Context, q *Queue, job encodedJob) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	b.mu.Lock()
	if !b.sending {
		b.sending = true
		b.mu.Unlock()
		// Alone: no other goroutine needs to be woken, which takes longer than
		// all the rest.
		result := q.enqueue(ctx, []encodedJob{job})[0]
		if calls := b.next(nil); len(calls) > 0 {
			go b.sendAll(context.WithoutCancel(ctx), q, calls)
		}
		return result.ID, result.Err
	}
	mine := call{job, make(chan Result, 1)}
	b.waiting = append(b.waiting, mine)
	b.mu.Unlock()
	select {
	case result := <-mine.result:
		return result.ID, result.Err
	case <-ctx.Done():
		return "", &rdb.OutcomeUnknownError{Op: "enqueue", Err: context.Cause(ctx)}
	}
}

// next takes the calls of the next batch. When there are none the next caller
// goes alone.
func (b *batcher) next(calls []call) []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, size, work := 0, 0, 0
	for n < len(b.waiting) && work < maxBatch && size < maxBatchBytes {
		size += b.waiting[n].job.size()
		work += b.waiting[n].job.work()
		n++
	}
	calls = append(calls, b.waiting[:n]...)
	left := copy(b.waiting, b.waiting[n:])
	clear(b.waiting[left:]) // payloads may be large
	b.waiting = b.waiting[:left]
	b.sending = n > 0
	return calls
}

// sendAll sends batch after batch until none waits.
func (b *batcher) sendAll(ctx context.Context, q *Queue, calls []call) {
	var jobs []encodedJob
	for ; len(calls) > 0; calls = b.next(calls[:0]) {
		jobs = jobs[:0]
		for _, call := range calls {
			jobs = append(jobs, call.job)
		}
		for i, result := range q.enqueue(ctx, jobs) {
			calls[i].result <- result
		}
		// Let those who were just served come again before the next batch
		// leaves: measured, half as many jobs again.
		runtime.Gosched()
		clear(calls)
		clear(jobs)
	}
}
