package queue

import (
	"context"
	"runtime"
	"sync"

	"skidway/internal/rdb"
)

// A combiner lets single calls from many goroutines share round trips: while a
// batch is on its way, those that come gather for the next. Several batches on
// their way at once would be smaller ones (measured: slower).
type combiner struct {
	mu      sync.Mutex
	waiting []call
	flying  bool
}

// A call is one job and where its result goes.
type call struct {
	job    insertion
	result chan Result
}

// add blocks until the job's batch is back, or ctx is done: then the job may
// have been added or not.
func (c *combiner) add(ctx context.Context, q *Queue, job insertion) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	mine := call{job, make(chan Result, 1)}
	c.mu.Lock()
	c.waiting = append(c.waiting, mine)
	first := !c.flying
	c.flying = true
	c.mu.Unlock()
	if first {
		go c.fly(context.WithoutCancel(ctx), q)
	}
	select {
	case result := <-mine.result:
		return result.ID, result.Err
	case <-ctx.Done():
		return "", &rdb.OutcomeUnknownError{Op: "enqueue", Err: context.Cause(ctx)}
	}
}

// fly sends batch after batch until none waits.
func (c *combiner) fly(ctx context.Context, q *Queue) {
	var calls []call
	var jobs []insertion
	for {
		calls, jobs = calls[:0], jobs[:0]
		c.mu.Lock()
		n, size, work := 0, 0, 0
		for n < len(c.waiting) && work < maxBatch && size < maxBatchBytes {
			size += c.waiting[n].job.size()
			work += c.waiting[n].job.work()
			n++
		}
		calls = append(calls, c.waiting[:n]...)
		c.waiting = append(c.waiting[:0], c.waiting[n:]...)
		if n == 0 {
			c.flying = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for _, call := range calls {
			jobs = append(jobs, call.job)
		}
		for i, result := range q.insert(ctx, jobs) {
			calls[i].result <- result
		}
		// Let those who were just served come again before the next batch
		// leaves: measured, half as many jobs again.
		runtime.Gosched()
	}
}
