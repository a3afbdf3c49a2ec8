package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// open gives a client of an empty Redis, and what closes it.
func open(ctx context.Context) (*queue.Client, *queue.PoolQueue, func()) {
	db, err := rdb.Open(ctx, "embedded:", rdb.Options{})
	if err != nil {
		panic(err)
	}
	client, err := queue.NewClient(db, nil)
	if err != nil {
		panic(err)
	}
	mail, err := client.ForPool("mail")
	if err != nil {
		panic(err)
	}
	return client, mail, func() { _ = db.Close() }
}

type SendEmail struct {
	To string `json:"to"`
}

func (SendEmail) Kind() string { return "email.send" }

func ExampleClient_Enqueue() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, err := client.Enqueue(ctx, SendEmail{To: "a@example.com"}, &queue.Options{Queue: "mail"})
	fmt.Println(err)
	_, err = client.Enqueue(ctx, SendEmail{To: "b@example.com"}, &queue.Options{Queue: "mail", Delay: time.Hour, Priority: queue.High})
	fmt.Println(err)
	depth, err := mail.Depth(ctx)
	fmt.Println(depth.Waiting.Total(), "waiting,", depth.Delayed, "delayed", err)
	// Output:
	// <nil>
	// <nil>
	// 1 waiting, 1 delayed <nil>
}

func ExampleClient_EnqueueMany() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	once := queue.Options{Queue: "mail", Unique: queue.Unique{Key: "a@example.com"}}
	for _, result := range client.EnqueueMany(ctx, []queue.NewJob{
		{Args: SendEmail{"a@example.com"}, Options: once},
		{Args: SendEmail{"a@example.com"}, Options: once},
		{Args: SendEmail{"b@example.com"}, Options: queue.Options{Queue: "no name"}},
	}) {
		fmt.Println(result.ID != "", result.Err != nil)
	}
	// Output:
	// true false
	// false true
	// false true
}

func ExampleClient_Get() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a@example.com"}, &queue.Options{Queue: "mail"})
	job, err := client.Get(ctx, id)
	fmt.Printf("%s is %s: %s %v\n", job.Kind, job.State, job.Args, err)
	// Output: email.send is waiting: {"to":"a@example.com"} <nil>
}

func ExampleQueue_List() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	for _, to := range []string{"a", "b", "c"} {
		_, _ = client.Enqueue(ctx, SendEmail{to}, &queue.Options{Queue: "mail"})
	}
	for o := (queue.ListOptions{Limit: 2}); ; {
		page, err := mail.List(ctx, queue.Waiting, &o)
		if err != nil {
			return
		}
		for _, job := range page.Jobs {
			fmt.Printf("%s\n", job.Args)
		}
		fmt.Println("--")
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	// Output:
	// {"to":"a"}
	// {"to":"b"}
	// --
	// {"to":"c"}
	// --
}

func ExampleClient_Cancel() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Retain: time.Hour})
	was, err := client.Cancel(ctx, id)
	job, _ := client.Get(ctx, id)
	fmt.Println(was, err, job.State, job.Outcome)
	// Output: waiting <nil> finished cancelled
}

func ExampleQueue_RetryAll() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	for range 3 {
		_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Delay: time.Hour})
	}
	n, err := mail.RetryAll(ctx, queue.Delayed, queue.Filter{Kind: "email.send"})
	fmt.Println(n, err)
	n, err = mail.DeleteAll(ctx, queue.Waiting, queue.Filter{})
	fmt.Println(n, err)
	// Output:
	// 3 <nil>
	// 3 <nil>
}

func ExamplePoolQueue_OpenLease() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, err := mail.OpenLease(ctx, "worker-1", 10*time.Second, nil)
	if err != nil {
		return
	}
	fetched, err := lease.Fetch(ctx, 10, 1<<20)
	fmt.Println(len(fetched.Jobs), err)
	n, err := lease.Finish(ctx, []queue.Completion{{Job: fetched.Jobs[0], Disposition: queue.AttemptSucceeded}})
	fmt.Println(n, err)
	fmt.Println(lease.Close(ctx))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// <nil>
}

func ExampleClient_Wait() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Retain: time.Minute})
	lease, _ := mail.OpenLease(ctx, "worker-1", 10*time.Second, nil)
	fetched, _ := lease.Fetch(ctx, 1, 1<<20)
	_, _ = lease.Finish(ctx, []queue.Completion{{Job: fetched.Jobs[0], Result: []byte("sent")}})

	job, err := client.Wait(ctx, id)
	fmt.Printf("%s: %s %v\n", job.Outcome, job.Result, err)
	// Output: succeeded: sent <nil>
}

func ExampleQueue_Events() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_ = mail.KeepEvents(ctx, 1000)
	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	_ = client.Delete(ctx, id)
	events, _, err := mail.Events(ctx, "", time.Second)
	for _, event := range events {
		fmt.Println(event.Kind, event.Job == id)
	}
	fmt.Println(err)
	// Output:
	// enqueued true
	// deleted true
	// <nil>
}

func ExampleQueue_Counters() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	counters, err := mail.Counters(ctx, 7)
	fmt.Println(counters.Total.Enqueued, len(counters.Days), err)
	// Output: 1 7 <nil>
}

func ExampleQueue_Pause() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	_ = mail.Pause(ctx)
	depth, _ := mail.Depth(ctx)
	fmt.Println(depth.Paused)
	_ = mail.Resume(ctx)
	depth, _ = mail.Depth(ctx)
	fmt.Println(depth.Paused)
	// Output:
	// true
	// false
}

func ExampleNewLogHandler() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.OpenLease(ctx, "worker-1", 10*time.Second, nil)
	fetched, _ := lease.Fetch(ctx, 1, 1<<20)
	job := fetched.Jobs[0]

	handler := queue.NewLogHandler(client, job, nil)
	slog.New(handler).Info("connecting", "host", "mx.example.com")
	_ = handler.Close(ctx)

	lines, err := client.Log(ctx, job.ID)
	fmt.Println(len(lines), err)
	// Output: 1 <nil>
}

func ExampleQueue_Workers() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	_, _ = mail.OpenLease(ctx, "worker-1", 10*time.Second, []byte("host-7"))
	workers, err := mail.Workers(ctx)
	for _, worker := range workers {
		fmt.Printf("%s on %s holds %d jobs\n", worker.Name, worker.About, worker.Held)
	}
	fmt.Println(err)
	// Output:
	// worker-1 on host-7 holds 0 jobs
	// <nil>
}
