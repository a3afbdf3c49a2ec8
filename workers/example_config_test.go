package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/queue"
	"skidway/workers"
)

var errTooMany = errors.New("too many requests")

// Failed jobs wait 10 ms, 20 ms, 40 ms …. Too many requests are no failure: they use up
// no attempt.
func ExampleConfig() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, &workers.Config{
		Logger:      quiet.Logger,
		MaxAttempts: 3,
		Backoff:     delayed.Backoff{First: 10 * time.Millisecond, Factor: 2, Jitter: -1}.Policy(),
		IsFailure:   func(err error) bool { return !errors.Is(err, errTooMany) },
	})
	calls := 0
	workers.Handle(pool, func(_ context.Context, job *workers.Job[Greet]) error {
		if calls++; calls == 1 {
			return errTooMany
		}
		fmt.Println("attempt", job.Attempts+1)
		return errors.New("no answer")
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	job := wait(ctx, client, enqueue(ctx, client, Greet{"Ada"}, nil))
	for _, failure := range job.Errors {
		fmt.Println(failure.Attempt, failure.Error)
	}
	// Output:
	// attempt 1
	// attempt 2
	// attempt 3
	// 1 no answer
	// 2 no answer
	// 3 no answer
}

// Hooks report what becomes of each attempt.
func ExampleHooks() {
	ctx, stop := context.WithCancel(context.Background())
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, &workers.Config{
		Logger: quiet.Logger,
		Hooks: workers.Hooks{
			Started: func(job *queue.Job) { fmt.Println("started", job.Kind) },
			Ended: func(job *queue.Job, report workers.Report) {
				fmt.Println("ended", job.Kind+":", report.Disposition, report.Err)
				stop()
			},
			Exhausted: func(_ context.Context, job *queue.Job, err error) {
				fmt.Println("call someone about", job.Kind+":", err)
			},
		},
	})
	workers.HandleKind(pool, workers.Kind{MaxAttempts: 1}, func(context.Context, *workers.Job[Greet]) error {
		return errors.New("no answer")
	})
	enqueue(ctx, client, Greet{"Ada"}, nil)
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// started greet
	// call someone about greet: no answer
	// ended greet: dead no answer
}

// An Invoice is args with a method Check, which is called before the handler.
type Invoice struct {
	Cents int `json:"cents"`
}

func (Invoice) Kind() string { return "invoice" }

func (i Invoice) Check() error {
	if i.Cents <= 0 {
		return &workers.FieldError{Field: "cents", Problem: "it must be above zero"}
	}
	return nil
}

func ExampleFieldError() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(context.Context, *workers.Job[Invoice]) error {
		fmt.Println("the handler is not called")
		return nil
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	job := wait(ctx, client, enqueue(ctx, client, Invoice{}, nil))
	fmt.Println(job.State, "because of:", job.Reason)
	// Output: dead because of: args of invoice: field cents: it must be above zero
}

// The result of a job is used by the job that follows it.
func ExampleSetResultJSON() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Invoice]) error {
		return workers.SetResultJSON(ctx, map[string]any{"number": 7, "total": float64(job.Args.Cents) / 100})
	})
	mailed := make(chan string)
	pool.HandleRaw("mail", func(_ context.Context, job *queue.Job) error {
		mailed <- string(job.Args)
		return nil
	}, workers.Kind{})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	mail := json.RawMessage(`{"invoice": "{{.result.number}}", "text": "Please pay {{.result.total}} €."}`)
	enqueue(ctx, client, Invoice{Cents: 1250}, &queue.Options{Then: []queue.NewJob{{Args: queue.Raw("mail", mail)}}})
	fmt.Println(<-mailed)
	// Output: {"invoice":7,"text":"Please pay 12.5 €."}
}

// A quiet pool ends the jobs that it runs, and leaves the others to other pools.
func ExamplePool_Quiet() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	started, gate := make(chan bool), make(chan bool)
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(_ context.Context, job *workers.Job[Greet]) error {
		started <- true
		<-gate
		fmt.Println("hello,", job.Args.Name)
		return nil
	})
	enqueue(ctx, client, Greet{"Ada"}, nil)
	go pool.Run(ctx)
	<-started
	pool.Quiet()
	enqueue(ctx, client, Greet{"Grace"}, nil)
	close(gate)
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	served, err := client.Queue(queue.DefaultQueue)
	if err != nil {
		log.Fatal(err)
	}
	depth, err := served.Depth(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(depth.Waiting, "job waits for another pool")
	// Output:
	// hello, Ada
	// 1 job waits for another pool
}

// A paused queue is served by no pool until it is resumed, by this or another process.
func Example_pauseAndResume() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	served, err := client.Queue(queue.DefaultQueue)
	if err != nil {
		log.Fatal(err)
	}
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(_ context.Context, job *workers.Job[Greet]) error {
		fmt.Println("hello,", job.Args.Name)
		return nil
	})
	if err := served.Pause(ctx, "", ""); err != nil {
		log.Fatal(err)
	}
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	id := enqueue(ctx, client, Greet{"Ada"}, &queue.Options{Retain: time.Minute})
	fmt.Println("resume")
	if err := served.Resume(ctx); err != nil {
		log.Fatal(err)
	}
	wait(ctx, client, id)
	// Output:
	// resume
	// hello, Ada
}

// The list of pools has a description of each.
func ExamplePool_Name() {
	ctx, stop := context.WithCancel(context.Background())
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Greet]) error {
		defer stop()
		pools, err := client.LivingPools(ctx, job.Queue)
		for err == nil && len(pools) == 0 { // until the first heartbeat
			pools, err = client.LivingPools(ctx, job.Queue)
		}
		for _, info := range pools {
			fmt.Println(info.State, info.Concurrency, info.Queues, info.Name == pool.Name())
		}
		return err
	})
	enqueue(ctx, client, Greet{"Ada"}, nil)
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: running 1 [default] true
}

// A service that drops repeated payments gets the same key at each attempt of a job.
func ExampleIdempotencyKey() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	pool := workers.NewPool(client, quiet)
	paid := make(chan bool)
	workers.Handle(pool, func(ctx context.Context, job *workers.Job[Invoice]) error {
		key, err := workers.IdempotencyKey(ctx)
		if err != nil {
			return err
		}
		paid <- strings.HasPrefix(key, job.ID) // send the payment with key
		return nil
	})
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	enqueue(ctx, client, Invoice{Cents: 1250}, nil)
	fmt.Println(<-paid)
	// Output: true
}
