package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"skidway/queue"
	"skidway/workers"
)

type Greet struct{ Name string }

func (Greet) Kind() string { return "greet" }

// quiet keeps the log out of the output of the examples.
var quiet = &workers.Config{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)}

// open connects to an embedded Redis. Programs use a URL such as
// redis://127.0.0.1:6379/0.
func open(ctx context.Context) *queue.Client {
	client, err := queue.Open(ctx, "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// enqueue adds a job and ends the program if that fails.
func enqueue(ctx context.Context, client *queue.Client, args queue.Args, options *queue.Options) (id string) {
	id, err := client.Enqueue(ctx, args, options)
	if err != nil {
		log.Fatal(err)
	}
	return id
}

// wait returns a job when it has finished.
func wait(ctx context.Context, client *queue.Client, id string) *queue.Job {
	job, err := client.Wait(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	return job
}

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet) // serves the queue "default"
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		fmt.Println("hello,", job.Args.Name) // an error is retried, with growing waits
		if job.Args.Name == "Grace" {
			stop()
		}
		return nil
	})
	enqueue(ctx, client, Greet{"Ada"}, nil)
	enqueue(ctx, client, Greet{"Grace"}, &queue.Options{Delay: time.Second})
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// hello, Ada
	// hello, Grace
}

// A pool whose configuration is not allowed does not run.
func ExampleNewPool() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, &workers.Config{
		Queues: []workers.Queue{{Name: "mail", Weight: 3}, {Name: "tenant-*"}},
		Drain:  -time.Second,
	})
	fmt.Println(pool.Run(ctx))
	// Output: run a pool: not valid: Drain is -1s: it must not be negative
}

func ExampleHandle() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		return workers.SetResult(ctx, []byte("hello, "+job.Args.Name))
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, Greet{"Ada"}, &queue.Options{Retain: time.Minute})
	fmt.Printf("%s\n", wait(ctx, client, id).Result)
	// Output: hello, Ada
}

// A job of this kind is tried twice, and each attempt may take a second.
func ExampleHandleKind() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	kind := workers.Kind{
		Timeout: time.Second, MaxAttempts: 2,
		Backoff: func(*queue.Job, error) time.Duration { return 10 * time.Millisecond },
	}
	workers.HandleKind(pool, kind, func(_ context.Context, job *workers.Job[Greet]) error {
		fmt.Println("attempt", job.Attempts+1)
		return errors.New("no answer from " + job.Args.Name)
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, Greet{"Ada"}, nil)
	job := wait(ctx, client, id)
	fmt.Println(job.State, "because of:", job.Reason)
	// Output:
	// attempt 1
	// attempt 2
	// dead because of: no answer from Ada
}

// Jobs whose args have no type in Go. Retain keeps the result for a caller that
// waits only after the job has finished.
func ExamplePool_HandleRaw() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	pool.HandleRaw("shout", func(ctx context.Context, job *queue.Job) error {
		return workers.SetResult(ctx, []byte(strings.ToUpper(string(job.Args))))
	}, workers.Kind{})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, queue.Raw("shout", []byte("hello")), &queue.Options{Retain: time.Minute})
	job := wait(ctx, client, id)
	fmt.Println(job.Outcome, string(job.Result))
	// Output: succeeded HELLO
}

// The error of a handler decides the outcome of its job.
func ExampleHandler() {
	ctx, stop := context.WithCancel(context.Background())
	client := open(ctx)
	defer client.Close()
	left := 5
	pool := workers.NewPool(client, &workers.Config{
		Logger: quiet.Logger, Concurrency: 1,
		Hooks: workers.Hooks{Ended: func(job *queue.Job, report workers.Report) {
			fmt.Println(string(job.Args), "→", report.Err)
			if left--; left == 0 {
				stop()
			}
		}},
	})
	pool.HandleRaw("visit", func(_ context.Context, job *queue.Job) error {
		switch string(job.Args) {
		case "closed":
			return workers.Snooze(time.Hour)
		case "gone":
			return workers.Discard("the shop is gone")
		case "no such street":
			return workers.Dead(errors.New("the address is wrong"))
		case "crowded":
			return workers.RetryAfter(10*time.Minute, errors.New("too many people"))
		}
		return nil
	}, workers.Kind{})
	for _, shop := range []string{"open", "closed", "gone", "no such street", "crowded"} {
		enqueue(ctx, client, queue.Raw("visit", []byte(shop)), nil)
	}
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// open → <nil>
	// closed → snooze for 1h0m0s
	// gone → discard: the shop is gone
	// no such street → the address is wrong
	// crowded → too many people
}

// The lines that a handler logs are kept with its job.
func ExampleLogger() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		workers.Logger(ctx).Info("greeted", "name", job.Args.Name)
		return nil
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, Greet{"Ada"}, &queue.Options{Retain: time.Hour})
	wait(ctx, client, id)
	lines, err := client.Log(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	_, message, _ := strings.Cut(lines[0], " level=INFO ")
	fmt.Println(message)
	// Output: msg=greeted name=Ada
}

func ExampleSetProgress() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		if err := workers.SetProgress(ctx, []byte("1 of 2")); err != nil {
			return err
		}
		progress, err := client.Progress(ctx, job.ID)
		fmt.Printf("%s\n", progress)
		return err
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	wait(ctx, client, enqueue(ctx, client, Greet{"Ada"}, &queue.Options{Retain: time.Minute}))
	// Output: 1 of 2
}

// Middleware wraps all handlers of a pool.
func ExampleMiddleware() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	tenants := func(next workers.Handler) workers.Handler {
		return func(ctx context.Context, job *queue.Job) error {
			fmt.Println("for tenant", job.Headers["tenant"])
			return next(ctx, job)
		}
	}
	pool := workers.NewPool(client, &workers.Config{Logger: quiet.Logger, Middleware: []workers.Middleware{tenants}})
	workers.Handle(pool, func(_ context.Context, job *workers.Job[Greet]) error {
		fmt.Println("hello,", job.Args.Name)
		return nil
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, Greet{"Ada"}, &queue.Options{Headers: map[string]string{"tenant": "acme"}, Retain: time.Minute})
	wait(ctx, client, id)
	// Output:
	// for tenant acme
	// hello, Ada
}

// The queues of a pool can change while it runs.
func ExamplePool_SetQueues() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		return workers.SetResult(ctx, []byte(job.Queue))
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, Greet{"Ada"}, &queue.Options{Queue: "tenant-7", Retain: time.Minute})
	if err := pool.SetQueues([]workers.Queue{{Name: "tenant-*"}}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("run from %s\n", wait(ctx, client, id).Result)
	// Output: run from tenant-7
}

// A program that runs a job without a pool calls its handler by Attempt. Nothing
// is written to Redis.
func ExamplePool_Attempt() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		return workers.SetResult(ctx, []byte("hello, "+job.Args.Name))
	})
	ending, err := pool.Attempt(ctx, &queue.Job{Kind: "greet", Queue: "default", Args: []byte(`{"Name": "Ada"}`)})
	fmt.Println(string(ending.Result), err)
	// Output: hello, Ada <nil>
}
