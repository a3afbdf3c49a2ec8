package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"skidway/internal/rdb"
)

// A Result is the result of adding a job: its ID if it was added; a [DuplicateError]
// if another job holds its unique key; a [skidway.OutcomeUnknownError] if the answer
// of Redis was lost; its ID and a [skidway.UnconfirmedError] if it was added and is not
// confirmed ([Options.Durable]); any other error if it was not added.
type Result struct {
	ID  string
	Err error

	// Repeated reports whether the job was added by an earlier call with the same
	// [Options.RequestKey].
	Repeated bool
}

// Enqueue adds one job and returns its id; nil options mean the defaults. It
// blocks until Redis has stored the job. Calls from many goroutines share round
// trips, except those with [Options.Durable]. A call is never repeated automatically:
// after a [skidway.OutcomeUnknownError] the job may or may not have been added; with a
// unique key it is safe to try again. With a [skidway.UnconfirmedError] the job was
// added, and its id is returned too.
func (c *Client) Enqueue(ctx context.Context, args Args, options *Options) (id string, err error) {
	newJob := NewJob{Args: args}
	if options != nil {
		newJob.Options = *options
	}
	if len(c.config.Middleware) > 0 {
		results := c.EnqueueMany(ctx, []NewJob{newJob})
		return results[0].ID, results[0].Err
	}
	q, job, err := c.prepare(newJob)
	if err != nil {
		return "", err
	}
	result := q.enqueueOne(ctx, job, &newJob.Options)
	return result.ID, result.Err
}

// enqueueOne adds a job with these options, together with others that are added at the same time.
func (q *Queue) enqueueOne(ctx context.Context, job encodedJob, o *Options) Result {
	if err := q.register(ctx); err != nil {
		return Result{Err: err}
	}
	switch {
	case o.RequestKey != "":
		return q.enqueueRequest(ctx, []encodedJob{job}, o)[0]
	case job.durable:
		return q.enqueue(ctx, []encodedJob{job}, nil)[0]
	}
	id, err := q.batcher.add(ctx, q, job)
	return Result{ID: id, Err: err}
}

// EnqueueMany adds jobs in as few round trips as possible and returns one result for
// each, in order. Jobs of one queue are sent in chunks of at most 500 (about 60 if
// they have a unique key, or a delay and other options). A chunk is added as a whole or
// not at all, except for its duplicates and invalid jobs. After a chunk that failed, or was
// not confirmed, no later chunk of its queue is sent ([ErrNotSent]): jobs keep their order.
func (c *Client) EnqueueMany(ctx context.Context, jobs []NewJob) []Result {
	return c.addMany(ctx, jobs)
}

func (c *Client) enqueueMany(ctx context.Context, jobs []NewJob) []Result {
	results := make([]Result, len(jobs))
	if len(jobs) == 1 {
		q, job, err := c.prepare(jobs[0])
		if results[0].Err = err; err == nil {
			results[0] = q.enqueueOne(ctx, job, &jobs[0].Options)
		}
		return results
	}
	if len(jobs) > 0 && jobs[0].Options.RequestKey != "" {
		return c.enqueueRequest(ctx, jobs)
	}
	chunks, failed := map[*Queue]*chunk{}, map[*Queue]error{}
	send := func(c *chunk) {
		if failed[c.queue] == nil {
			failed[c.queue] = c.send(ctx, results)
			return
		}
		for _, index := range c.indexes {
			results[index].Err = notSent(failed[c.queue])
		}
	}
	for i, newJob := range jobs {
		q, job, err := c.prepare(newJob)
		if err == nil {
			err = sameRequest(&jobs[0].Options, &newJob.Options)
		}
		if err != nil {
			results[i].Err = err
			continue
		}
		current := chunks[q]
		if current != nil && !current.load.take(job) {
			send(current)
			current = nil
		}
		if current == nil {
			capacity := min(maxBatch, len(jobs)-i)
			current = &chunk{queue: q, jobs: make([]encodedJob, 0, capacity), indexes: make([]int, 0, capacity)}
			current.load.take(job)
			chunks[q] = current
		}
		current.jobs, current.indexes = append(current.jobs, job), append(current.indexes, i)
	}
	for _, last := range chunks {
		send(last)
	}
	return results
}

// A chunk has jobs of one queue that are added by one call.
type chunk struct {
	queue   *Queue
	jobs    []encodedJob
	indexes []int // of their results
	load    scriptLoad
}

// send adds the jobs of a chunk, and returns the error after which none may follow, if there is one.
func (c *chunk) send(ctx context.Context, results []Result) (failure error) {
	for i, result := range c.queue.enqueue(ctx, c.jobs, nil) {
		results[c.indexes[i]] = result
		var duplicate *DuplicateError
		if result.Err != nil && !errors.As(result.Err, &duplicate) {
			failure = result.Err
		}
	}
	return failure
}

// notSent returns the error of jobs that were certainly not added, because of the error of others.
func notSent(err error) error { return fmt.Errorf("%w: %v", ErrNotSent, err) }

// A scriptLoad is the work and the bytes of the jobs that one script adds.
type scriptLoad struct{ work, size int }

// take adds a job to the load. It returns false, and adds none, if the script would exceed maxBatch
// or maxBatchBytes; the first job always fits.
func (l *scriptLoad) take(job encodedJob) bool {
	if l.work > 0 && (l.work+job.work() > maxBatch || l.size+job.size() > maxBatchBytes) {
		return false
	}
	l.work, l.size = l.work+job.work(), l.size+job.size()
	return true
}

// enqueue adds jobs with one script and returns one result for each. A nil request can't be
// repeated. Of one that was sent before, enqueue returns the results of then, which may be fewer or
// more.
func (q *Queue) enqueue(ctx context.Context, jobs []encodedJob, of *request) []Result {
	results := make([]Result, len(jobs))
	failed := func(err error) []Result {
		for i := range results {
			results[i] = Result{Err: err}
		}
		return results
	}
	if err := q.register(ctx); err != nil {
		return failed(err)
	}
	reply, repeated, err := q.send(ctx, jobs, of)
	var unconfirmed *rdb.UnconfirmedError
	if err != nil && !errors.As(err, &unconfirmed) {
		return failed(err)
	}
	if repeated && reply.Len() > 0 && reply.Len() <= len(of.jobs) {
		jobs, results = of.jobs[:reply.Len()], make([]Result, reply.Len())
	}
	if reply.Len() != len(jobs) {
		return failed(&rdb.OutcomeUnknownError{Op: "enqueue", Err: fmt.Errorf("%d ids for %d jobs", reply.Len(), len(jobs))})
	}
	for i := range jobs {
		id := reply.Text(i)
		results[i].Repeated = repeated
		if owner, held := strings.CutPrefix(id, "="); held {
			results[i].Err = &DuplicateError{Key: jobs[i].key, Owner: globalID(q.name, owner)}
			continue
		}
		results[i].ID = globalID(q.name, id)
		if unconfirmed != nil && jobs[i].durable {
			results[i].Err = &rdb.UnconfirmedError{Op: unconfirmed.Op, ID: "job " + results[i].ID, Err: unconfirmed.Err}
		}
	}
	return results
}

// send runs the cheaper of the two scripts that can add the jobs, and waits for its
// confirmation if one of the jobs is durable. A request is sent with another script. It returns
// the ids, and whether the request was sent before.
func (q *Queue) send(ctx context.Context, jobs []encodedJob, of *request) (reply rdb.Reply, repeated bool, err error) {
	script, keys, argsOf, durable := enqueuePlainScript, q.plain, plainArgs, false
	for i := range jobs {
		if !jobs[i].entryOnly() {
			script, keys, argsOf = enqueueScript, q.keys, enqueueArgs
		}
		durable = durable || jobs[i].durable
	}
	var args []any
	if of != nil {
		script, keys, args = enqueueOnceScript, requestKeys(q.keys), append(of.args(), enqueueArgs(jobs)...)
	} else {
		args = argsOf(jobs)
	}
	sent := time.Since(processStart)
	if durable {
		reply, err = script.RunDurable(ctx, q.client.db, q.client.config.DurableTimeout, keys, args...)
	} else {
		reply, err = script.Run(ctx, q.client.db, keys, args...)
	}
	if err != nil {
		err = q.explain(err)
	}
	switch {
	case reply.Word == "other":
		err = &DuplicateError{Key: of.key}
	case reply.Word == "ok" && of != nil:
		repeated, reply = reply.Int(0) == 1, reply.From(1)
	case reply.Word == "ok" && script == enqueuePlainScript:
		q.adder.settings.set(sent, reply.Int(0) == 0)
		reply = reply.From(1)
	}
	return reply, repeated, err
}

// plainArgs returns the arguments of enqueue_plain.lua.
func plainArgs(jobs []encodedJob) []any {
	args := make([]any, 0, len(jobs)+8)
	for len(jobs) > 0 {
		same := sameEntries(jobs)
		args = append(args, 1+same[0].priority.rank())
		args = appendEntries(args, same)
		jobs = jobs[len(same):]
	}
	return args
}

// sameEntries returns the first entryOnly jobs that differ only in their args, or that all have
// records.
func sameEntries(jobs []encodedJob) []encodedJob {
	n, priority, kind := 1, jobs[0].priority, jobs[0].entryKind()
	for n < len(jobs) && jobs[n].entryOnly() && jobs[n].priority == priority && jobs[n].entryKind() == kind {
		n++
	}
	return jobs[:n]
}

// appendEntries appends the arguments of jobs of sameEntries behind their line.
func appendEntries(args []any, jobs []encodedJob) []any {
	args = append(args, jobs[0].entryKind(), len(jobs))
	for i := range jobs {
		if jobs[i].record != nil {
			args = append(args, jobs[i].record)
		} else {
			args = append(args, jobs[i].args)
		}
	}
	return args
}

// enqueueArgs returns the arguments of enqueue.lua, for jobs of which some have
// options.
func enqueueArgs(jobs []encodedJob) []any {
	args := make([]any, 0, 7*len(jobs))
	for len(jobs) > 0 {
		job := &jobs[0]
		if job.short {
			same := sameDelayedJobs(jobs)
			args = append(args, delayedArgs(same)...)
			jobs = jobs[len(same):]
			continue
		}
		if !job.entryOnly() {
			args = append(append(args, "job"), job.recordArgs()...)
			jobs = jobs[1:]
			continue
		}
		same := sameEntries(jobs)
		args = append(args, "plain", int(freshLine.of(job.priority)))
		args = appendEntries(args, same)
		jobs = jobs[len(same):]
	}
	return args
}

// sameDelayedJobs returns the first jobs that have short records and a delay, or a time.
func sameDelayedJobs(jobs []encodedJob) []encodedJob {
	n := 1
	for n < len(jobs) && jobs[n].short && (jobs[n].at == "") == (jobs[0].at == "") {
		n++
	}
	return jobs[:n]
}

// delayedArgs returns the arguments of enqueue.lua for jobs of sameDelayedJobs.
func delayedArgs(jobs []encodedJob) []any {
	args := make([]any, 0, 3+2*len(jobs))
	args = append(args, "delayed", "at", len(jobs))
	relative := jobs[0].at == ""
	if relative {
		args[1] = "in"
	}
	for i := range jobs {
		due := jobs[i].at
		if relative {
			due = jobs[i].wait
		}
		args = append(args, due, jobs[i].record)
	}
	return args
}

// Validate returns the error, which wraps [ErrInvalid], with which [Client.Enqueue]
// would refuse a job, or nil. Nothing is sent to Redis: a zero Client can be used too, with the
// default limits.
func (c *Client) Validate(job NewJob) error {
	_, _, err := c.config.encodeNew(job)
	return err
}
