package workerstest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/workerstest"
)

type Welcome struct{ Name string }

func (Welcome) Kind() string { return "welcome" }

type Remind struct{ Name string }

func (Remind) Kind() string { return "remind" }

// An onboarding is the code under test.
type onboarding struct{ client *queue.Client }

func (o onboarding) welcome(ctx context.Context, job *workers.Job[Welcome]) error {
	_, err := o.client.Enqueue(ctx, Remind(job.Args), &queue.Options{Delay: 24 * time.Hour})
	return err
}

func (o onboarding) remind(ctx context.Context, job *workers.Job[Remind]) error {
	if job.Attempts == 0 {
		return workers.RetryAfter(time.Minute, errors.New("mail server busy"))
	}
	workers.SetResult(ctx, []byte("reminded "+job.Args.Name))
	return nil
}

func (o onboarding) register(p *workers.Pool) {
	workers.Handle(p, o.welcome)
	workers.Handle(p, o.remind)
}

func ExampleRun() {
	t := &testing.T{} // your test's own

	handler := workers.Typed(onboarding{}.remind)
	first := workerstest.Run(t, handler, workerstest.Job{Args: Remind{"Ann"}})
	fmt.Println(first)
	second := workerstest.Run(t, handler, workerstest.Job{Args: Remind{"Ann"}, Attempt: 2})
	fmt.Printf("%s, %s\n", second, second.Result)
	// Output:
	// remind: retry in 1m0s: mail server busy
	// remind: succeeded, reminded Ann
}

func ExampleNew() {
	t := &testing.T{} // your test's own

	w := workerstest.New(t, nil)
	onboarding{w.Client}.register(w.Pool)
	if _, err := w.Client.Enqueue(context.Background(), Welcome{"Ann"}, nil); err != nil {
		t.Fatal(err)
	}
	fmt.Println(w.Drain())
	fmt.Println(w.Drain())
	w.Advance(24 * time.Hour)
	fmt.Println(w.Drain())
	w.Advance(time.Minute)
	fmt.Println(w.Drain())
	// Output:
	// [welcome: succeeded]
	// []
	// [remind: retry in 1m0s: mail server busy]
	// [remind: succeeded]
}

func ExampleEnqueuedArgs() {
	t := &testing.T{} // your test's own

	w := workerstest.New(t, nil)
	onboarding{w.Client}.register(w.Pool)
	if _, err := w.Client.Enqueue(context.Background(), Welcome{"Ann"}, nil); err != nil {
		t.Fatal(err)
	}
	w.Drain()
	fmt.Println(workerstest.EnqueuedArgs[Remind](w))
	for _, job := range w.Enqueued("remind") {
		fmt.Println(job.Queue, job.State, string(job.Args))
	}
	// Output:
	// [{Ann}]
	// default delayed {"Name":"Ann"}
}

// A handler whose context has ended before it is called.
func ExampleJob_interrupted() {
	t := &testing.T{} // your test's own

	handler := func(ctx context.Context, _ *queue.Job) error { return ctx.Err() }
	for _, cause := range []error{workers.ErrCancelled, workers.ErrShutdown} {
		fmt.Println(workerstest.Run(t, handler, workerstest.Job{Args: Remind{"Ann"}, Interrupted: cause}))
	}
	// Output:
	// remind: cancelled: context canceled
	// remind: handed back
}

// A fake that the handler calls ends its context in the middle of the work.
func ExampleInterrupt() {
	t := &testing.T{} // your test's own

	fetch := func(ctx context.Context, page int) error {
		if page == 3 {
			workerstest.Interrupt(ctx, workers.ErrShutdown)
		}
		return ctx.Err()
	}
	handler := func(ctx context.Context, _ *queue.Job) error {
		for page := 1; ; page++ {
			if err := fetch(ctx, page); err != nil {
				return fmt.Errorf("page %d: %w", page, err)
			}
		}
	}
	outcome := workerstest.Run(t, handler, workerstest.Job{Args: queue.Raw("crawl", nil)})
	fmt.Println(outcome)
	fmt.Println(outcome.Err)
	// Output:
	// crawl: handed back
	// page 3: context canceled
}

func ExampleWorker_Jobs() {
	t := &testing.T{} // your test's own

	w := workerstest.New(t, nil)
	w.Pool.HandleRaw("import", func(context.Context, *queue.Job) error {
		return workers.Dead(errors.New("no such file"))
	}, workers.Kind{})
	if _, err := w.Client.Enqueue(context.Background(), queue.Raw("import", nil), nil); err != nil {
		t.Fatal(err)
	}
	w.Drain()
	for _, job := range w.Jobs(queue.Dead) {
		fmt.Println(job.Kind, job.State, job.Reason)
	}
	// Output:
	// import dead no such file
}
