package delayed_test

import (
	"context"
	"fmt"
	"time"

	"skidway/delayed"
	"skidway/queue"
)

func ExampleCron() {
	ctx, cancel := context.WithCancel(context.Background())
	db, client := open(ctx)
	defer func() { _ = db.Close() }()
	mail, _ := client.Queue("mail")

	watch := delayed.NewCron(db, delayed.CronConfig{}, mail)
	ended := make(chan error)
	go func() { ended <- watch.Run(ctx) }()

	changed, err := delayed.AddSchedule(ctx, client, queue.Schedule{
		Name: "digest", Expr: "@every 1s", Queue: "mail", Kind: "email.send", Args: []byte(`{"to":"a@example.com"}`),
	})
	fmt.Println(changed, err)

	// A worker waits until there is something in the lines, and takes it.
	lease, _ := mail.Lease(ctx, "worker-1", 0, nil)
	fetched, _ := lease.Fetch(ctx, 1, 1<<20)
	for len(fetched.Jobs) == 0 {
		_, _ = db.Wait(ctx, time.Second, fetched.Marks...)
		fetched, _ = lease.Fetch(ctx, 1, 1<<20)
	}
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
	db, client := open(ctx)
	defer func() { _ = db.Close() }()
	_ = db.SetEmbeddedTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

	report := queue.Schedule{Name: "report", Expr: "30 6 * * 1-5", Zone: "Europe/Berlin", Kind: "report", CatchUp: queue.CatchUpLast}
	fmt.Println(delayed.AddSchedule(ctx, client, report))
	fmt.Println(delayed.AddSchedule(ctx, client, report))

	report.Expr = "30 6 30 2 *"
	_, err := delayed.AddSchedule(ctx, client, report)
	fmt.Println(err)

	infos, err := delayed.Schedules(ctx, client, queue.DefaultQueue)
	for _, info := range infos {
		fmt.Println(info.Name, info.Expr, info.Zone, info.Next.UTC(), err)
	}
	fmt.Println(delayed.RemoveSchedule(ctx, client, queue.DefaultQueue, "report"))
	// Output:
	// true <nil>
	// false <nil>
	// schedule report: not valid: expression "30 6 30 2 *": it never fires: no month has such a day
	// report 30 6 * * 1-5 Europe/Berlin 2026-11-23 05:30:00 +0000 UTC <nil>
	// <nil>
}

func ExampleFireNow() {
	ctx := context.Background()
	db, client := open(ctx)
	defer func() { _ = db.Close() }()

	_, _ = delayed.AddSchedule(ctx, client, queue.Schedule{Name: "report", Expr: "@yearly", Kind: "report"})
	id, err := delayed.FireNow(ctx, client, queue.DefaultQueue, "report")
	job, _ := client.Get(ctx, id)
	fmt.Println(job.Kind, job.State, err)

	infos, _ := delayed.Schedules(ctx, client, queue.DefaultQueue)
	last := infos[0].Last[0]
	fmt.Println(last.JobID == id, last.Manual)
	// Output:
	// report waiting <nil>
	// true true
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
