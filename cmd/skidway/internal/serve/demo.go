package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/delayed"
	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/samplelog"
	"skidway/queue"
	"skidway/workers"
)

// demoKinds are the kinds of the demo. Their handlers only wait, and sometimes fail.
var demoKinds = []struct {
	queue, kind string
	every       time.Duration // between two jobs
	args        string        // with a number
	takes       time.Duration
	fails       int // percent of the attempts
	err         string
}{
	{"mail", "demo.email", 200 * time.Millisecond, `{"to":"ada@example.com","subject":"Your order %d is on its way","token":"secret"}`, 60 * time.Millisecond, 35, "dial tcp 10.0.4.12:587: connect: connection refused"},
	{"webhooks", "demo.webhook", 90 * time.Millisecond, `{"url":"https://example.com/hook","event":%d}`, 30 * time.Millisecond, 1, "POST https://example.com/hook: 503 Service Unavailable"},
	{"search-index", "demo.index", 300 * time.Millisecond, `{"document":%d}`, 120 * time.Millisecond, 0, ""},
	{"billing", "demo.invoice", 2 * time.Second, `{"invoice":"2026-11-%06d","account":9007199254740993}`, 40 * time.Millisecond, 0, ""},
	{"thumbnails", "demo.thumbnail", 3 * time.Second, `{"image":"%d.jpg","width":320}`, 0, 0, ""},
}

// runDemo serves the dashboard of a Redis inside this process, with workers and jobs.
func (d *dashCommand) runDemo(work, stopping context.Context, logger *slog.Logger) (err error) {
	conn, err := d.Open(work, cli.EmbeddedURL)
	if err != nil {
		return err
	}
	db := handle.New(conn)
	defer func() { err = errors.Join(err, db.Close()) }()
	client, err := queue.NewClient(db, nil)
	if err != nil {
		return err
	}
	if err := prepareDemo(work, client); err != nil {
		return err
	}
	d.Console.Notice("a demo: all queues and jobs are made up, and gone at its end")
	ctx, cancel := context.WithCancel(work)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { runDemoPool(ctx, client, logger) })
	for _, kind := range demoKinds {
		running.Go(func() { addDemoJobs(ctx, client, kind.queue, kind.kind, kind.args, kind.every) })
	}
	return d.serve(work, stopping, db, logger)
}

// prepareDemo adds a paused queue, and a schedule that fires once at the start too.
func prepareDemo(ctx context.Context, client *queue.Client) error {
	billing, err := client.Queue("billing")
	if err != nil {
		return err
	}
	if err := billing.Pause(ctx, "anna", "panics in invoice.render"); err != nil {
		return err
	}
	if _, err := delayed.AddSchedule(ctx, client, queue.CronSchedule{Name: demoSchedule, Expr: "30 2 * * *", Queue: "logs", Kind: "demo.logs", Args: []byte(`{"channel":"web"}`)}); err != nil {
		return err
	}
	logs, err := client.ForPool("logs")
	if err != nil {
		return err
	}
	_, err = logs.RunSchedule(ctx, demoSchedule, "")
	return err
}

// The nightly log run of the demo.
const (
	demoSchedule = "nightly-logs"
	demoLines    = 5_000
	demoDays     = 14
)

// countDemoLogs ships a made-up log file of the last days, and counts it.
func countDemoLogs(ctx context.Context, db *skidway.DB) error {
	folder, err := os.MkdirTemp("", "skidway-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "access.log")
	if err := samplelog.WriteFile(file, samplelog.Options{Lines: demoLines, Days: demoDays, First: time.Now().UTC().AddDate(0, 0, 1-demoDays), Seed: rand.Uint64()}); err != nil {
		return err
	}
	channel, err := distribute.Open(ctx, db, "web")
	if err != nil {
		return err
	}
	counting, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day", "country"}, {"day", "status"}}})
	if err != nil {
		return err
	}
	worker, err := distribute.NewWorker(ctx, channel, "countries", counting, &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		return err
	}
	if _, err := distribute.NewShipper(channel, nil).Ship(ctx, []string{file}); err != nil {
		return err
	}
	_, err = worker.Work(ctx)
	return err
}

// runDemoPool runs the jobs of all queues but one until ctx ends.
func runDemoPool(ctx context.Context, client *queue.Client, logger *slog.Logger) {
	pool := workers.NewPool(client, &workers.Config{
		Queues:      []workers.Queue{{Name: "mail"}, {Name: "webhooks"}, {Name: "search-index"}, {Name: "billing"}, {Name: "logs"}},
		Concurrency: 12, MaxAttempts: 3, Backoff: delayed.Backoff{First: 2 * time.Second}.Policy(), Logger: slog.New(slog.DiscardHandler), Name: "demo-1", Drain: time.Second,
	})
	for _, kind := range demoKinds {
		pool.HandleRaw(kind.kind, func(ctx context.Context, _ *queue.Job) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(rand.N(2*kind.takes + 1)):
			}
			if rand.IntN(100) < kind.fails {
				return errors.New(kind.err)
			}
			return nil
		}, workers.Kind{})
	}
	pool.HandleRaw("demo.logs", func(ctx context.Context, _ *queue.Job) error { return countDemoLogs(ctx, client.DB()) }, workers.Kind{})
	if err := pool.Run(ctx); err != nil {
		logger.Error("the worker of the demo ended", "error", err)
	}
}

// addDemoJobs adds jobs of a kind until ctx ends.
func addDemoJobs(ctx context.Context, client *queue.Client, name, kind, args string, every time.Duration) {
	for n := 40001; ctx.Err() == nil; n++ {
		_, _ = client.Enqueue(ctx, queue.Raw(kind, fmt.Appendf(nil, args, n)), &queue.Options{Queue: name}) // the next one may do
		select {
		case <-ctx.Done():
		case <-time.After(every/2 + rand.N(every)):
		}
	}
}
