package queue

import (
	"context"
	"runtime"
	"sync"

	"skidway/internal/rdb"
)

// A batcher lets concurrent calls of Enqueue share round trips: while a batch is on
// its way, calls gather for the next one. Several batches at once would be smaller
// (measured: slower).
type batcher struct {
	mu      sync.Mutex
	waiting []*call
	sending bool // whether a batch is on its way
}

// add blocks until the job's batch was sent. If ctx is done earlier, the job may or may
// not have been added.
func (b *batcher) add(ctx context.Context, q *Queue, job encodedJob) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	c := q.adder.newCall(job)
	b.mu.Lock()
	if !b.sending {
		b.sending = true
		b.mu.Unlock()
		// Send from this goroutine: waking another one takes longer than all the
		// rest.
		q.adder.add(ctx, []*call{c})
		if calls := b.next(nil); len(calls) > 0 {
			go b.sendAll(context.WithoutCancel(ctx), q, calls)
		}
	} else {
		b.waiting = append(b.waiting, c)
		b.mu.Unlock()
		select {
		case <-c.done:
		case <-ctx.Done(): // the batcher still uses c
			return "", &rdb.OutcomeUnknownError{Op: "enqueue", Err: context.Cause(ctx)}
		}
	}
	result := c.result
	q.adder.free(c)
	return result.ID, result.Err
}

// maxPipelineBytes is about the maximum size of the args of the jobs that one pipeline adds.
const maxPipelineBytes = 4 << 20

// next returns the calls of the next batch. If there are none, the next call of add
// sends its job itself.
func (b *batcher) next(calls []*call) []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, size, work := 0, 0, 0
	for n < len(b.waiting) && work < maxBatch && size < maxPipelineBytes {
		size += b.waiting[n].job.size()
		work += b.waiting[n].job.work()
		n++
	}
	calls = append(calls, b.waiting[:n]...)
	left := copy(b.waiting, b.waiting[n:])
	clear(b.waiting[left:])
	b.waiting = b.waiting[:left]
	b.sending = n > 0
	return calls
}

// sendAll sends batches until no call is waiting.
func (b *batcher) sendAll(ctx context.Context, q *Queue, calls []*call) {
	for ; len(calls) > 0; calls = b.next(calls[:0]) {
		q.adder.add(ctx, calls)
		for _, c := range calls {
			c.done <- struct{}{}
		}
		// Let the callers enqueue their next jobs before the next batch is sent
		// (measured: 50 % more jobs per second).
		runtime.Gosched()
		clear(calls)
	}
}
