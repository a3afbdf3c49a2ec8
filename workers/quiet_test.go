package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// The answer to a fetch is lost, and then the pool takes no more jobs: it gives
// back what it holds without knowing.
func TestQuietPoolGivesBackWhatALostAnswerBrought(t *testing.T) {
	for n := 1; n <= 16; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			url := redistest.URL(t)
			s := open(t, redistest.Open(t, url))
			proxy := redistest.StartProxy(t, url)
			db := redistest.Open(t, proxy.URL)
			client, err := queue.New(db, queue.Config{})
			s.must(err)
			id := s.add("k", queue.Options{})
			p, err := workers.New(db, client, workers.Config{Queues: []workers.Queue{{Name: "q"}}, Lease: shortLease, Logger: slog.New(slog.DiscardHandler)})
			s.must(err)
			ran := make(chan string, 10)
			p.Handle("k", func(_ context.Context, j *queue.Job) error { ran <- j.ID; return nil }, workers.Kind{})
			lost := proxy.DropReply(n)
			ended := make(chan error, 1)
			go func() { ended <- p.Run(context.Background()) }()
			defer func() { _ = p.Stop(context.Background()); <-ended }()
			select {
			case c := <-lost:
				p.Quiet()
				t.Log(c[:min(len(c), 60)])
			case <-time.After(2 * time.Second):
				return
			}
			deadline := time.After(4 * time.Second)
			for {
				select {
				case <-ran:
					return
				case <-deadline:
					job := s.get(id)
					t.Errorf("4 s (13 leases) after Quiet the job is %s, held by %q, ", job.State, job.Worker)
					return
				case <-time.After(50 * time.Millisecond):
					job, err := s.client.Get(s.ctx, id)
					if errors.Is(err, queue.ErrNoJob) || err == nil && job.State == queue.Waiting {
						return
					}
				}
			}
		})
	}
}
