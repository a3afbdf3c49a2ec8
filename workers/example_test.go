package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// SendEmail are the args of jobs of one kind.
type SendEmail struct{ To string }

func (SendEmail) Kind() string { return "email.send" }

// quietLogger keeps the output of examples to what they print.
var quietLogger = slog.New(slog.DiscardHandler)

// connect opens an embedded Redis, as examples do. Programs of others call
// skidway.Open.
func connect(ctx context.Context) (*rdb.DB, *queue.Client) {
	db, err := rdb.Open(ctx, "embedded:", rdb.Options{})
	if err != nil {
		log.Fatal(err)
	}
	client, err := queue.NewClient(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	return db, client
}

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	db, client := connect(ctx)
	defer func() { _ = db.Close() }()
	pool, err := workers.New(db, client, workers.Config{Logger: quietLogger})
	if err != nil {
		log.Fatal(err)
	}
	workers.Handle(pool, func(_ context.Context, _ *queue.Job, args SendEmail) error {
		fmt.Println("sending to", args.To)
		stop()
		return nil
	}, workers.Kind{Timeout: time.Minute})

	if _, err := client.Enqueue(ctx, SendEmail{To: "ada@example.com"}, nil); err != nil {
		log.Fatal(err)
	}
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: sending to ada@example.com
}

// Bytes of any kind can be handled without a type. Retain keeps the result for who
// asks only after the job has finished.
func ExamplePool_Handle() {
	ctx := context.Background()
	db, client := connect(ctx)
	defer func() { _ = db.Close() }()
	pool, err := workers.New(db, client, workers.Config{Logger: quietLogger})
	if err != nil {
		log.Fatal(err)
	}
	pool.Handle("shout", func(ctx context.Context, job *queue.Job) error {
		return workers.SetResult(ctx, []byte(strings.ToUpper(string(job.Args))))
	}, workers.Kind{})
	go func() { _ = pool.Run(ctx) }()

	id, err := client.Enqueue(ctx, queue.Raw("shout", []byte("hello")), &queue.Options{Retain: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Wait(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Outcome, string(job.Result))
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: succeeded HELLO
}

// What a handler returns says what becomes of its job.
func ExampleHandler() {
	ctx, stop := context.WithCancel(context.Background())
	db, client := connect(ctx)
	defer func() { _ = db.Close() }()
	left := 5
	pool, err := workers.New(db, client, workers.Config{
		Logger: quietLogger, Concurrency: 1,
		Hooks: workers.Hooks{Ended: func(job *queue.Job, report workers.Report) {
			fmt.Println(string(job.Args), "→", report.Err)
			if left--; left == 0 {
				stop()
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	pool.Handle("visit", func(_ context.Context, job *queue.Job) error {
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
		if _, err := client.Enqueue(ctx, queue.Raw("visit", []byte(shop)), nil); err != nil {
			log.Fatal(err)
		}
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

// A handler logs with its job, so that whoever looks at the job reads it.
func ExampleLogger() {
	ctx := context.Background()
	db, client := connect(ctx)
	defer func() { _ = db.Close() }()
	pool, err := workers.New(db, client, workers.Config{Logger: quietLogger})
	if err != nil {
		log.Fatal(err)
	}
	pool.Handle("import", func(ctx context.Context, _ *queue.Job) error {
		workers.Logger(ctx).Info("file read", "rows", 42)
		if err := workers.SetProgress(ctx, []byte("42 of 42")); err != nil {
			return err
		}
		return nil
	}, workers.Kind{})
	go func() { _ = pool.Run(ctx) }()

	id, err := client.Enqueue(ctx, queue.Raw("import", nil), &queue.Options{Retain: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Wait(ctx, id); err != nil {
		log.Fatal(err)
	}
	lines, err := client.Log(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	_, message, _ := strings.Cut(lines[0], " level=INFO ")
	fmt.Println(message)
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: msg="file read" rows=42
}

// Middleware goes around all handlers.
func ExampleMiddleware() {
	ctx, stop := context.WithCancel(context.Background())
	db, client := connect(ctx)
	defer func() { _ = db.Close() }()
	tenants := func(next workers.Handler) workers.Handler {
		return func(ctx context.Context, job *queue.Job) error {
			fmt.Println("for tenant", job.Headers["tenant"])
			return next(ctx, job)
		}
	}
	pool, err := workers.New(db, client, workers.Config{Logger: quietLogger, Middleware: []workers.Middleware{tenants}})
	if err != nil {
		log.Fatal(err)
	}
	workers.Handle(pool, func(_ context.Context, _ *queue.Job, args SendEmail) error {
		fmt.Println("sending to", args.To)
		stop()
		return nil
	}, workers.Kind{})
	_, err = client.Enqueue(ctx, SendEmail{To: "ada@example.com"}, &queue.Options{Headers: map[string]string{"tenant": "acme"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// for tenant acme
	// sending to ada@example.com
}

// Queues can be given and taken away while a pool runs.
func ExamplePool_SetQueues() {
	ctx := context.Background()
	db, client := connect(ctx)
	defer func() { _ = db.Close() }()
	pool, err := workers.New(db, client, workers.Config{Logger: quietLogger})
	if err != nil {
		log.Fatal(err)
	}
	pool.Handle("where", func(ctx context.Context, job *queue.Job) error {
		return workers.SetResult(ctx, []byte(job.Queue))
	}, workers.Kind{})
	go func() { _ = pool.Run(ctx) }()

	id, err := client.Enqueue(ctx, queue.Raw("where", nil), &queue.Options{Queue: "tenant-7", Retain: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	if err := pool.SetQueues([]workers.Queue{{Name: "tenant-*"}}); err != nil {
		log.Fatal(err)
	}
	job, err := client.Wait(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("run from", string(job.Result))
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: run from tenant-7
}
