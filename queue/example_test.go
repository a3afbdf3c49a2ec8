package queue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skidway"
	"skidway/queue"
)

// open returns a client of an empty Redis, one of its queues, and a function that closes
// the connection.
func open(ctx context.Context) (*queue.Client, *queue.PoolQueue, func()) {
	client, err := queue.Open(ctx, "embedded:", nil)
	if err != nil {
		panic(err)
	}
	mail, err := client.ForPool("mail")
	if err != nil {
		panic(err)
	}
	return client, mail, func() { _ = client.Close() }
}

type SendEmail struct {
	To string `json:"to"`
}

func (SendEmail) Kind() string { return "email.send" }

func ExampleOpen() {
	ctx := context.Background()
	client, err := queue.Open(ctx, "embedded:", nil) // or "redis://127.0.0.1:6379/0"
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	id, err := client.Enqueue(ctx, SendEmail{"a@example.com"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := client.Get(ctx, id)
	fmt.Println(job.Queue, job.Kind, job.State, err)
	// Output: default email.send waiting <nil>
}

func ExampleClient_Enqueue() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, err := client.Enqueue(ctx, SendEmail{To: "a@example.com"}, &queue.Options{Queue: "mail"})
	fmt.Println(err)
	_, err = client.Enqueue(ctx, SendEmail{To: "b@example.com"}, &queue.Options{Queue: "mail", Delay: time.Hour, Priority: queue.High})
	fmt.Println(err)
	depth, err := mail.Depth(ctx)
	fmt.Println(depth.Waiting, "waiting,", depth.Delayed, "delayed", err)
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

func ExampleQueue_Operate() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Delay: time.Hour})
	call := queue.OperationCall{Do: "begin", Owner: "process-1", Turn: time.Minute, MaxAge: time.Hour}
	op, err := mail.Operate(ctx, queue.Operation{Do: "retry", State: queue.Delayed, AsOf: time.Now().Add(time.Second), Count: 1}, call)
	fmt.Println(op.Status, err)
	call = queue.OperationCall{Do: "step", Owner: "process-1", Turn: time.Minute, Step: 1, Jobs: []string{id}, Done: true}
	op, err = mail.Operate(ctx, op, call)
	fmt.Println(op.Status, op.Changed, err)
	all, err := queue.Operations(ctx, client)
	fmt.Println(len(all), err)
	// Output:
	// running <nil>
	// done 1 <nil>
	// 1 <nil>
}

func ExampleClient_Wait() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Retain: time.Minute})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
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

func ExampleQueue_KeepEvents() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	fmt.Println(mail.KeepEvents(ctx, 1000))
	_, next, _ := mail.Events(ctx, queue.FromNow, 0)
	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	events, _, err := mail.Events(ctx, next, time.Second)
	fmt.Println(len(events), events[0].Kind, err)
	// Output:
	// <nil>
	// 1 enqueued <nil>
}

func ExampleQueue_Counters() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	total, days, err := mail.Counters(ctx, 7)
	fmt.Println(total.Enqueued, len(days), err)
	// Output: 1 7 <nil>
}

func ExampleQueue_Pause() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	_ = mail.Pause(ctx, "", "")
	depth, _ := mail.Depth(ctx)
	fmt.Println(depth.Paused)
	_ = mail.Resume(ctx)
	depth, _ = mail.Depth(ctx)
	fmt.Println(depth.Paused)
	// Output:
	// true
	// false
}

func ExampleQueue_Workers() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	_, _ = lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	workers, err := mail.Workers(ctx)
	for _, worker := range workers {
		fmt.Printf("%s holds %d jobs\n", worker.Name, worker.Held)
	}
	fmt.Println(err)
	// Output:
	// worker-1 holds 1 jobs
	// <nil>
}

func ExampleClient_Validate() {
	client, _, done := open(context.Background())
	defer done()

	fmt.Println(client.Validate(queue.NewJob{Args: SendEmail{"a"}, Options: queue.Options{Queue: "mail"}}))
	fmt.Println(client.Validate(queue.NewJob{Args: SendEmail{"a"}, Options: queue.Options{Delay: -time.Second}}))
	// Output:
	// <nil>
	// not valid: delay -1s: it can't be below zero
}

func ExampleMarshalArgs() {
	args, err := queue.MarshalArgs(SendEmail{"a"})
	fmt.Println(string(args), err)
	// Output: {"to":"a"} <nil>
}

// Reminder is args with default options.
type Reminder struct{ Text string }

func (Reminder) Kind() string { return "reminder" }

func (Reminder) Options() *queue.Options {
	return &queue.Options{Queue: "mail", Delay: time.Hour, Priority: queue.High}
}

func ExampleArgs() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	first, _ := client.Enqueue(ctx, Reminder{"tea"}, nil)
	second, _ := client.Enqueue(ctx, Reminder{"tea"}, &queue.Options{Priority: queue.Low, Delay: time.Minute})
	for _, id := range []string{first, second} {
		job, err := client.Get(ctx, id)
		fmt.Println(job.Queue, job.Priority, time.Until(job.Due).Round(time.Minute), err)
	}
	// Output:
	// mail high 1h0m0s <nil>
	// mail low 1m0s <nil>
}

func ExampleRaw() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, queue.Raw("image.scale", []byte("photo.jpg")), nil)
	job, err := client.Get(ctx, id)
	fmt.Printf("%s %s %v\n", job.Kind, job.Args, err)
	// Output: image.scale photo.jpg <nil>
}

func ExampleNewClient() {
	ctx := context.Background()
	db, err := skidway.Open(ctx, "embedded:", &skidway.Options{Prefix: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()

	addTenant := func(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
		for i := range jobs {
			jobs[i].Options.Headers = map[string]string{"tenant": "7"}
		}
		return next(ctx, jobs)
	}
	client, err := queue.NewClient(db, &queue.Config{Middleware: []queue.Middleware{addTenant}})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, _ := client.Enqueue(ctx, SendEmail{"a@example.com"}, nil)
	job, err := client.Get(ctx, id)
	fmt.Println(job.Headers, err)

	_, err = queue.NewClient(db, &queue.Config{MaxPayload: -1})
	fmt.Println(err)
	// Output:
	// map[tenant:7] <nil>
	// not valid: MaxPayload -1: it can't be below zero
}

func ExampleClient_Queues() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	for _, name := range []string{"mail", "images"} {
		_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: name})
	}
	fmt.Println(client.Queues(ctx))
	// Output: [images mail] <nil>
}

func ExampleClient_Reschedule() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Delay: time.Hour})
	at := time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC)
	fmt.Println(client.Reschedule(ctx, id, at))
	job, err := client.Get(ctx, id)
	fmt.Println(job.State, job.Due.UTC(), err)
	// Output:
	// <nil>
	// delayed 2030-01-01 09:00:00 +0000 UTC <nil>
}

func ExampleClient_Retry() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Delay: time.Hour})
	fmt.Println(client.Retry(ctx, id, queue.OnlyIf(queue.Delayed)))
	err := client.Retry(ctx, id)
	fmt.Println(errors.Is(err, queue.ErrState))
	// Output:
	// <nil>
	// true
}

func ExampleClient_Delete() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, nil)
	fmt.Println(client.Delete(ctx, id))
	_, err := client.Get(ctx, id)
	fmt.Println(errors.Is(err, queue.ErrNoJob))
	// Output:
	// <nil>
	// true
}

func ExampleClient_SetPriority() {
	ctx := context.Background()
	client, _, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	err := client.SetPriority(ctx, id, queue.High)
	job, _ := client.Get(ctx, id)
	fmt.Println(job.Priority, err)
	// Output: high <nil>
}

func ExampleParsePriority() {
	fmt.Println(queue.ParsePriority("high"))
	_, err := queue.ParsePriority("urgent")
	fmt.Println(err)
	// Output:
	// high <nil>
	// priority "urgent": want high, normal or low: not valid
}

func ExampleQueue_SetRetention() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	err := mail.SetRetention(ctx, queue.Retention{
		Dead: queue.RetentionLimit{Jobs: 1000, Age: 30 * 24 * time.Hour},
	})
	fmt.Println(err)
	// Output: <nil>
}
