package ops

import (
	"context"
	"time"

	"skidway/internal/filter"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
)

// A match is a job that an operation is to change, with the cursor behind it, and how many jobs
// the reader had examined with it.
type match struct {
	id, cursor string
	examined   int
	size       int // of its args, in bytes
}

// A reader reads the jobs of an operation. While the jobs of a page are matched and changed, it reads
// the next one. It is for one goroutine.
type reader struct {
	client   *Client
	queue    *queue.Queue
	state    queue.State
	asOf     time.Time
	budget   *budget
	matches  filter.Matcher
	from     time.Time // dead jobs before it, which follow the others, do not match
	record   jobRecord
	cursor   string
	limit    int // of the next read
	examined int // jobs examined

	ahead chan aheadPage // receives the page at cursor; nil if that is not being read

	bill    bill
	settled time.Time
}

// An aheadPage is a page of jobs, or why it could not be read.
type aheadPage struct {
	page queue.Page
	err  error
}

func (o *Operations) newReader(q *queue.Queue, f *filter.Filter, state queue.State, asOf time.Time, cursor string) *reader {
	r := &reader{client: o.client, queue: q, state: state, asOf: asOf, budget: o.budget, record: jobRecord{redactor: o.client.redactor}, matches: f.Matcher(asOf), cursor: cursor, limit: minRead}
	if state == queue.Dead {
		r.from = f.From(diedField, asOf)
	}
	return r
}

// wait blocks until there is some of Redis's time for the operation.
func (r *reader) wait(ctx context.Context) error {
	if err := r.budget.measurePath(ctx, r.client.queues.DB()); err != nil {
		return err
	}
	if now := r.client.now(); r.budget.wait() > 0 && now.Sub(r.settled) > settleEvery {
		r.settled = now
		r.bill.settle(ctx, r.budget, handle.Conn(r.client.queues.DB()), r.queue.Key("meta"))
	}
	if wait := r.budget.wait(); wait > 0 {
		return rdb.Sleep(ctx, wait)
	}
	return nil
}

// processorTime returns the processor time that the Redis with the queue has used, and reports whether
// it is known.
func (r *reader) processorTime(ctx context.Context) (used time.Duration, ok bool) {
	used, err := handle.Conn(r.client.queues.DB()).ProcessorTime(ctx, r.queue.Key("meta"))
	return used, err == nil && used > 0
}

// begin begins to read the page at the cursor.
func (r *reader) begin(ctx context.Context) {
	ahead, q, state, cursor, limit, asOf := make(chan aheadPage, 1), r.queue, r.state, r.cursor, r.limit, r.asOf
	r.ahead = ahead
	go func() {
		page, err := q.Read(ctx, state, cursor, limit, asOf)
		ahead <- aheadPage{page, err}
	}()
}

// await blocks until no page is being read.
func (r *reader) await() {
	if r.ahead != nil {
		got := <-r.ahead
		r.ahead <- got
	}
}

// end drops the page that is being read, perhaps under a context that is done: it is read again.
func (r *reader) end() {
	r.await()
	r.ahead = nil
}

// read returns the jobs of the next page that match, and whether there are more.
func (r *reader) read(ctx context.Context) (found []match, more bool, err error) {
	if r.ahead == nil {
		r.begin(ctx)
	}
	got := <-r.ahead
	r.ahead = nil
	page, err := got.page, got.err
	if err != nil {
		return nil, false, err
	}
	r.bill.add(r.budget.spend(page.Took, page.Trips))
	if r.limit = min(2*r.limit, maxRead); page.Size > 0 {
		r.limit = max(1, min(r.limit, maxReadBytes*len(page.Jobs)/page.Size))
	}
	r.cursor = page.Next
	last := len(page.Jobs) - 1 // -1 if all jobs have left meanwhile
	if more = page.Next != "" && (last < 0 || !jobTime(page.Jobs[last]).Before(r.from)); more {
		r.begin(ctx)
	}
	for i, job := range page.Jobs {
		if jobTime(job).Before(r.from) {
			break
		}
		r.examined++
		r.record.set(job)
		if r.matches(&r.record) {
			found = append(found, match{job.ID, page.After[i], r.examined, len(job.Args)})
		}
	}
	return found, more, nil
}
