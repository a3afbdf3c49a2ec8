package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"skidway/queue"
)

// resultKept is for how long at least the result of a job is kept whose end is
// waited for: it may come before the waiting begins.
const resultKept = time.Minute

// addAndWait enqueues one job, waits for its end and prints its result.
func (e *enqueuing) addAndWait(ctx context.Context, client *queue.Client, insert queue.Insert) error {
	insert.Options.Retain = max(insert.Options.Retain, resultKept)
	id, err := client.Enqueue(ctx, insert.Args, insert.Options)
	if err != nil {
		return err
	}
	e.Console.Notice("job %s", id)
	tellIfNobodyServes(e.App, ctx, client, insert.Options.Queue, "the job waits until one does")
	job, err := e.await(ctx, client, id)
	if err != nil {
		return err
	}
	switch job.Outcome {
	case queue.Succeeded:
	case queue.Discarded:
		e.Console.Notice("job %s: its handler found nothing to do: %s", id, job.Reason)
	default:
		return fmt.Errorf("job %s is %s: %s", id, job.Outcome, job.Reason)
	}
	return e.Write(func(out io.Writer) error {
		if len(job.Result) == 0 {
			return nil
		}
		_, err := fmt.Fprintf(out, "%s\n", job.Result)
		return err
	})
}

// await waits for the end of a job. Ctrl-C ends the waiting, not the job.
func (e *enqueuing) await(ctx context.Context, client *queue.Client, id string) (*queue.Job, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_, stop, end := e.Console.Listen(ctx)
	defer end()
	errLeft := errors.New("no longer waiting")
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-stop.Quit:
			cancel(errLeft)
		case <-over:
		}
	}()
	job, err := client.Wait(ctx, id)
	if errors.Is(err, errLeft) {
		return nil, fmt.Errorf("%w: job %s goes on: 'skidway jobs show %s' tells what became of it", errLeft, id, id)
	}
	return job, err
}
