package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"skidway/queue"
)

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
	_ = mail.Pause(ctx)
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
	lease, _ := mail.OpenLease(ctx, "worker-1", 10*time.Second, nil)
	_, _ = lease.Fetch(ctx, 1, 1<<20)
	fmt.Println(mail.SetProgress(ctx, id, []byte("50 %")))
	progress, err := client.Progress(ctx, id)
	fmt.Println(string(progress), err)
	// Output:
	// <nil>
	// 50 % <nil>
}
