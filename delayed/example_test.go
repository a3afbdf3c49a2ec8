package delayed_test

import (
	"context"
	"fmt"
	"time"

	"skidway/delayed"
	"skidway/internal/handle"
	"skidway/queue"
)

// open connects to a Redis inside this process.
func open(ctx context.Context) *queue.Client {
	client, err := queue.Open(ctx, "embedded:", nil)
	if err != nil {
		panic(err)
	}
	return client
}

// fetchOne takes a job as a worker does: while the lines are empty it waits for an entry.
func fetchOne(ctx context.Context, client *queue.Client, q *queue.PoolQueue) queue.FetchResult {
	watch, changed := client.NewWatch(nil), make(chan bool, 1)
	go watch.Run(ctx)
	lease, _ := q.NewLease("worker-1", 0)
	fetched, _ := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	for len(fetched.Jobs) == 0 {
		watch.Set("lines", func() { changed <- true }, fetched.Cursors...)
		<-changed
		fetched, _ = lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	}
	return fetched
}

func ExampleMover() {
	ctx, cancel := context.WithCancel(context.Background())
	client := open(ctx)
	defer client.Close()
	mail, _ := client.ForPool("mail")

	mover := delayed.NewMover(client, nil, mail)
	ended := make(chan error)
	go func() { ended <- mover.Run(ctx) }()

	id, err := client.Enqueue(ctx, queue.Raw("email.send", []byte(`{"to":"a@example.com"}`)),
		&queue.Options{Queue: "mail", Delay: 20 * time.Millisecond})
	fmt.Println(err)

	fetched := fetchOne(ctx, client, mail)
	fmt.Println(fetched.Jobs[0].ID == id, string(fetched.Jobs[0].Args))

	cancel()
	fmt.Println(<-ended)
	// Output:
	// <nil>
	// true {"to":"a@example.com"}
	// context canceled
}

func ExampleBackoff() {
	b := delayed.Backoff{First: 5 * time.Second, Max: time.Minute, Jitter: -1}
	for attempts := 1; attempts <= 5; attempts++ {
		fmt.Println(b.Wait(attempts))
	}
	// Output:
	// 5s
	// 10s
	// 20s
	// 40s
	// 1m0s
}

func ExamplePolicy() {
	backoff := delayed.Backoff{Jitter: -1}
	var patient delayed.Policy = func(job *queue.Job, err error) time.Duration {
		if job.Priority == queue.Low {
			return time.Hour
		}
		return backoff.Wait(job.Attempts + 1)
	}
	fmt.Println(patient(&queue.Job{Priority: queue.Low}, nil), patient(&queue.Job{Attempts: 2}, nil))
	// Output:
	// 1h0m0s 4s
}

func ExampleCron() {
	ctx, cancel := context.WithCancel(context.Background())
	client := open(ctx)
	defer client.Close()
	mail, _ := client.ForPool("mail")

	watch := delayed.NewCron(client, nil, mail)
	ended := make(chan error)
	go func() { ended <- watch.Run(ctx) }()

	changed, err := delayed.AddSchedule(ctx, client, queue.CronSchedule{
		Name: "digest", Expr: "@every 1s", Queue: "mail", Kind: "email.send", Args: []byte(`{"to":"a@example.com"}`),
	})
	fmt.Println(changed, err)

	fetched := fetchOne(ctx, client, mail)
	job := fetched.Jobs[0]
	due, err := time.Parse(time.RFC3339, job.Headers[queue.HeaderDue])
	fmt.Println(job.Headers[queue.HeaderSchedule], string(job.Args), due.IsZero(), err)

	cancel()
	fmt.Println(<-ended)
	// Output:
	// true <nil>
	// digest {"to":"a@example.com"} false <nil>
	// context canceled
}

func ExampleAddSchedule() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	_ = handle.Conn(client.DB()).SetEmbeddedTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

	report := queue.CronSchedule{Name: "report", Expr: "30 6 * * 1-5", Zone: "Europe/Berlin", Kind: "report", CatchUp: queue.CatchUpLast}
	fmt.Println(delayed.AddSchedule(ctx, client, report))
	fmt.Println(delayed.AddSchedule(ctx, client, report))

	report.Expr = "30 6 30 2 *"
	_, err := delayed.AddSchedule(ctx, client, report)
	fmt.Println(err)

	infos, err := delayed.Schedules(ctx, client, queue.DefaultQueue)
	for _, info := range infos {
		fmt.Println(info.Name, info.Expr, info.Zone, info.Next.UTC(), err)
	}
	// Output:
	// true <nil>
	// false <nil>
	// schedule report: not valid: expression "30 6 30 2 *": it never fires: no month has such a day
	// report 30 6 * * 1-5 Europe/Berlin 2026-11-23 05:30:00 +0000 UTC <nil>
}

func ExampleSchedules() {
	ctx := context.Background()
	client := open(ctx)
	defer client.Close()
	reports, _ := client.ForPool("reports")

	_, _ = delayed.AddSchedule(ctx, client, queue.CronSchedule{Name: "report", Expr: "@yearly", Queue: "reports", Kind: "report"})
	id, err := reports.RunSchedule(ctx, "report", "")
	job, _ := client.Get(ctx, id)
	fmt.Println(job.Kind, job.State, err)

	infos, _ := delayed.Schedules(ctx, client, "reports")
	last := infos[0].Last[0]
	fmt.Println(last.JobID == id, last.Manual)
	fmt.Println(reports.RemoveSchedule(ctx, "report", ""))
	// Output:
	// report waiting <nil>
	// true true
	// <nil>
}

func ExampleNext() {
	// In this night 02:00 becomes 03:00.
	from := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	times, err := delayed.Next("30 2 * * *", "Europe/Berlin", from, 3)
	for _, at := range times {
		fmt.Println(at, err)
	}
	_, err = delayed.Next("30 25 * * *", "Europe/Berlin", from, 1)
	fmt.Println(err)
	// Output:
	// 2026-03-29 03:00:00 +0200 CEST <nil>
	// 2026-03-30 02:30:00 +0200 CEST <nil>
	// 2026-03-31 02:30:00 +0200 CEST <nil>
	// not valid: expression "30 25 * * *": end of range (25) above maximum (23): "25"
}
