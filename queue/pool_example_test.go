package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"skidway/queue"
)

func ExamplePoolQueue_NewLease() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, err := mail.NewLease("worker-1", 10*time.Second)
	if err != nil {
		return
	}
	fetched, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 10, Bytes: 1 << 20})
	fmt.Println(len(fetched.Jobs), err)
	n, err := lease.Finish(ctx, []queue.Completion{{Job: fetched.Jobs[0], Disposition: queue.AttemptSucceeded}})
	fmt.Println(n, err)
	fmt.Println(lease.Close(ctx))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// false <nil>
}

func ExampleNewLogHandler() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	job := fetched.Jobs[0]

	handler := queue.NewLogHandler(client, job, nil)
	slog.New(handler).Info("connecting", "host", "mx.example.com")
	_ = handler.Close(ctx)

	lines, err := client.Log(ctx, job.ID)
	fmt.Println(len(lines), err)
	// Output: 1 <nil>
}

func ExamplePoolQueue_MoveDue() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Delay: time.Hour})
	moved, err := mail.MoveDue(ctx, "mover-1")
	fmt.Println(moved.Jobs, "moved, next in", moved.Next.Round(time.Hour), err)
	// Output: 0 moved, next in 1h0m0s <nil>
}

func ExamplePoolQueue_Recover() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	for more := true; more; {
		result, err := mail.Recover(ctx, 0, false)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Returned, "handed back,", result.Dead, "dead")
		more = result.More
	}
	// Output: 0 handed back, 0 dead
}

func ExamplePoolQueue_Signals() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	_, cursor, _ := mail.Signals(ctx, queue.StreamCursor{})
	_ = mail.Pause(ctx, "", "")
	_ = mail.Signal(ctx, queue.Signal{Kind: queue.SignalQuiet, Worker: "worker-1"})
	signals, _, err := mail.Signals(ctx, cursor)
	for _, signal := range signals {
		fmt.Printf("%s %q\n", signal.Kind, signal.Worker)
	}
	fmt.Println(err)
	// Output:
	// pause ""
	// quiet "worker-1"
	// <nil>
}

func ExamplePoolQueue_SetProgress() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	fmt.Println(mail.SetProgress(ctx, fetched.Jobs[0], []byte("50 %")))
	progress, err := client.Progress(ctx, id)
	fmt.Println(string(progress), err)
	// Output:
	// <nil>
	// 50 % <nil>
}

func ExamplePoolQueue_PutSchedule() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	newYear := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	next := func(after time.Time) (time.Time, error) { return newYear, nil }
	digest := queue.CronSchedule{Name: "digest", Expr: "0 0 1 1 *", Kind: "email.digest"}
	fmt.Println(mail.PutSchedule(ctx, digest, next))
	fmt.Println(mail.PutSchedule(ctx, digest, next)) // the same content
	schedules, err := mail.Schedules(ctx)
	for _, s := range schedules {
		fmt.Println(s.Name, s.Expr, s.Zone, s.Next.UTC())
	}
	fmt.Println(err)
	// Output:
	// true <nil>
	// false <nil>
	// digest 0 0 1 1 * UTC 2030-01-01 00:00:00 +0000 UTC
	// <nil>
}

func ExamplePoolQueue_FireSchedule() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	minuteAgo := func(now time.Time) (time.Time, error) { return now.Add(-time.Minute), nil }
	_, _ = mail.PutSchedule(ctx, queue.CronSchedule{Name: "digest", Expr: "@hourly", Kind: "email.digest"}, minuteAgo)

	found, err := mail.DueSchedules(ctx, "watcher-1", 30*time.Second, nil)
	fmt.Println(len(found.Due), err)
	due := &found.Due[0]
	fmt.Println(mail.FireSchedule(ctx, due, []time.Time{due.At}, due.At.Add(time.Hour)))
	fmt.Println(mail.FireSchedule(ctx, due, []time.Time{due.At}, due.At.Add(time.Hour))) // fired already

	depth, err := mail.Depth(ctx)
	fmt.Println(depth.Waiting, "waiting", err)
	// Output:
	// 1 <nil>
	// true <nil>
	// false <nil>
	// 1 waiting <nil>
}

func ExampleLease_Finish() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Then: []queue.NewJob{
		{Args: SendEmail{"b"}},
		{Args: queue.Raw("report.count", []byte(`{}`)), Options: queue.Options{Queue: "reports"}},
	}})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	job := fetched.Jobs[0]
	n, err := lease.Finish(ctx, []queue.Completion{{Job: job, Disposition: queue.AttemptSucceeded, Then: job.Then}})
	fmt.Println(n, err)

	// No script can change two queues, so a job that forwards the other one follows.
	page, err := mail.List(ctx, queue.Waiting, nil)
	for _, next := range page.Jobs {
		fmt.Println(next.Kind, string(next.Args))
	}
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// email.send {"to":"b"}
	// skidway.forward {"job":{"queue":"reports","kind":"report.count","args":{}}}
	// <nil>
}

func ExampleLease_Renew() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	_, _ = lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20}) // opens it
	fmt.Println(lease.Renew(ctx))
	_, _ = lease.Close(ctx)
	_, err := lease.Renew(ctx)
	fmt.Println(errors.Is(err, queue.ErrLeaseLost))
	// Output:
	// false <nil>
	// true
}

func ExampleLease_Reread() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20}) // assume that the answer was lost
	restarts, _ := lease.ServerChanged()
	held, err := lease.Reread(ctx, restarts, nil, 1<<20)
	fmt.Println(len(held.Jobs), held.Jobs[0].SameDelivery(fetched.Jobs[0]), err)
	// Output: 1 true <nil>
}

func ExampleLease_MarkSolo() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	fmt.Println(lease.MarkSolo(ctx, fetched.Jobs[0])) // if the worker dies, this job may be dead
	workers, err := mail.Workers(ctx)
	fmt.Println(workers[0].Solo == id, err)
	// Output:
	// <nil>
	// true <nil>
}

func ExampleWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	client, mail, done := open(ctx)
	defer done()
	defer cancel()

	watch, changed := client.NewWatch(nil), make(chan string, 1)
	go watch.Run(ctx)
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	watch.Set("the lines", func() { changed <- "there may be a job" }, fetched.Cursors...)
	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	fmt.Println(len(fetched.Jobs), <-changed)
	// Output: 0 there may be a job
}

func ExampleLease_Cancelled() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	id, _ := client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	lease, _ := mail.NewLease("worker-1", 10*time.Second)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	_, _ = client.Cancel(ctx, id)
	cancelled, err := lease.Cancelled(ctx, fetched.Jobs)
	fmt.Println(len(cancelled), err)
	// Output: 1 <nil>
}

func ExampleClient_QueuesCursor() {
	ctx, cancel := context.WithCancel(context.Background())
	client, _, done := open(ctx)
	defer done()
	defer cancel()

	watch, changed := client.NewWatch(nil), make(chan bool, 1)
	go watch.Run(ctx)
	cursor, _ := client.QueuesCursor(ctx)
	watch.Set("the queues", func() { changed <- true }, cursor)
	_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail"})
	<-changed
	names, err := client.Queues(ctx)
	fmt.Println(names, err)
	// Output: [mail] <nil>
}

func ExamplePoolQueue_Tidy() {
	ctx := context.Background()
	_, mail, done := open(ctx)
	defer done()

	fmt.Println(mail.Tidy(ctx)) // workers call it about once a minute
	// Output: <nil>
}

func ExamplePoolQueue_RunSchedule() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	// Package delayed has AddSchedule, which computes the times of an expression.
	newYear := func(time.Time) (time.Time, error) { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), nil }
	_, _ = mail.PutSchedule(ctx, queue.CronSchedule{Name: "digest", Expr: "0 0 1 1 *", Kind: "email.digest"}, newYear)

	id, _ := mail.RunSchedule(ctx, "digest", "")
	job, err := client.Get(ctx, id)
	fmt.Println(job.Kind, job.Headers[queue.HeaderSchedule], err)
	fmt.Println(mail.RemoveSchedule(ctx, "digest", ""))
	// Output:
	// email.digest digest <nil>
	// <nil>
}
