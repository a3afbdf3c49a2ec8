package jobs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/ops"
	"skidway/queue"
)

// minRetain is how long a job is kept at least with --wait: it may end before the
// wait begins.
const minRetain = time.Minute

// addAndWait enqueues one job, waits for its end and prints its result.
func (e *enqueueCmd) addAndWait(ctx context.Context, client service, insert queue.NewJob) error {
	insert.Options.Retain = max(insert.Options.Retain, minRetain)
	id, err := client.Enqueue(ctx, insert.Args, &insert.Options)
	if err != nil {
		return withAdvice(err)
	}
	e.Console.Notice("job %s", id)
	warnUnserved(ctx, e.App, client, insert.Options.Queue, "the job waits until one does", insert.Args.Kind())
	job, err := e.await(ctx, client, insert.Options.Queue, id)
	if err != nil {
		return err
	}
	switch job.Outcome {
	case queue.Succeeded:
		if job.Reason != "" {
			e.Console.Notice("job %s has succeeded: %s", id, job.Reason)
		}
	case queue.Discarded:
		e.Console.Notice("job %s: its handler found nothing to do: %s", id, job.Reason)
	default:
		return fmt.Errorf("job %s is %s: %s", id, job.Outcome, job.Reason)
	}
	if len(job.Result) == 0 {
		return nil
	}
	return e.PrintLine(readable(job.Result))
}

// await blocks until a job has ended, and reports meanwhile what happens to it. Ctrl-C
// ends the wait, not the job.
func (e *enqueueCmd) await(ctx context.Context, client service, name, id string) (*queue.Job, error) {
	ctx, end := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer end()
	report := waitReport{App: e.App, queue: cmp.Or(name, queue.DefaultQueue), id: id}
	watching, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	if !e.Console.Quiet {
		wait.Go(func() { report.watch(watching, client) })
	}
	job, err := client.Wait(ctx, id)
	stop()
	wait.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("stopped waiting; job %s stays in queue %s: 'skidway jobs show %s' shows it, 'skidway jobs cancel %s' ends it", id, report.queue, id, id)
	}
	return job, err
}

// reportInterval is how often a job is read while a command waits for it: Redis has no
// signal for a failed attempt.
const reportInterval = time.Second

// A waitReport prints the failed attempts of a job that a command waits for, and that
// its queue is paused.
type waitReport struct {
	*cli.App
	queue  string
	id     string
	failed int // attempts whose errors are printed
	paused bool
}

// watch reads the job again and again until ctx is done. It ignores errors: the wait for
// the end of the job returns them.
func (r *waitReport) watch(ctx context.Context, client service) {
	for {
		if statuses, err := client.Statuses(ctx, []string{r.queue}); err == nil && statuses[0].Depth.Paused != r.paused {
			if r.paused = !r.paused; r.paused {
				r.Console.Notice("queue %s is paused: 'skidway queues resume %s' resumes it", r.queue, r.queue)
			}
		}
		if job, _, err := client.Job(ctx, r.id); err == nil {
			r.print(job)
		}
		if rdb.Sleep(ctx, reportInterval) != nil {
			return
		}
	}
}

// print prints the failed attempts that were not printed yet. The error of a dead job's
// last attempt is the reason that the command ends with.
func (r *waitReport) print(job *queue.Job) {
	for i, failure := range job.Errors {
		last := i == len(job.Errors)-1
		if failure.Attempt <= r.failed || last && job.State == queue.Dead {
			continue
		}
		r.failed = failure.Attempt
		next := ""
		if last && job.State == queue.Delayed {
			next = "; the next attempt follows in " + ops.Age(job.Due.Sub(failure.Time))
		}
		r.Console.Notice("attempt %d failed: %s%s", failure.Attempt, failure.Error, next)
	}
}
