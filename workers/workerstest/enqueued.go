package workerstest

import (
	"context"
	"encoding/json"

	"skidway/queue"
)

// record is the last middleware of the client: it records the jobs that were added.
func (w *Worker) record(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
	results := next(ctx, jobs)
	for _, result := range results {
		if result.Err != nil {
			continue
		}
		job, err := w.Client.Get(context.WithoutCancel(ctx), result.ID)
		if err != nil {
			w.t.Errorf("the job was enqueued, but cannot be read: %v", err)
			continue
		}
		w.mu.Lock()
		w.enqueued = append(w.enqueued, job)
		w.mu.Unlock()
	}
	return results
}

// Enqueued returns all jobs of a kind that were added through the worker's Client, in
// order and in the state that they had then. An empty kind means all kinds.
func (w *Worker) Enqueued(kind string) []*queue.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	var jobs []*queue.Job
	for _, job := range w.enqueued {
		if kind == "" || job.Kind == kind {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// EnqueuedArgs returns the args of the jobs that [Worker.Enqueued] returns for A's kind.
func EnqueuedArgs[A queue.Args](w *Worker) []A {
	w.t.Helper()
	var zero A
	var all []A
	for _, job := range w.Enqueued(zero.Kind()) {
		var args A
		if err := json.Unmarshal(job.Args, &args); err != nil {
			w.t.Fatalf("args of %s %s: %v", job.Kind, job.ID, err)
		}
		all = append(all, args)
	}
	return all
}

// Jobs returns the jobs that are in a state, one queue after another, in the order of
// [queue.Queue.List].
func (w *Worker) Jobs(state queue.State) []*queue.Job {
	w.t.Helper()
	var jobs []*queue.Job
	for _, q := range w.queues() {
		for o, more := (queue.ListOptions{}), true; more; more = o.Cursor != "" {
			page, err := q.List(context.Background(), state, &o)
			if err != nil {
				w.t.Fatal(err)
			}
			jobs = append(jobs, page.Jobs...)
			o.Cursor = page.Next
		}
	}
	return jobs
}
