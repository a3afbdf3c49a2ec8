package workers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// commands is how many commands a server of the test's own has carried out, those
// inside scripts included.
func (s *shop) commands() (n int) {
	info, err := s.db.Info(s.ctx, "stats").Result()
	s.must(err)
	_, rest, _ := strings.Cut(info, "total_commands_processed:")
	_, err = fmt.Sscan(rest, &n)
	s.must(err)
	return n
}

func TestIdlePoolCostsTwoCommandsASecond(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Open(t, redistest.Start(t).URL(0)))
	p := s.pool(workers.Config{Lease: queue.DefaultLease})
	handler, seen := recorder()
	p.Handle("k", handler, workers.Kind{})
	s.add("k", queue.Options{})
	s.run(p)
	await(s, seen, "job")
	// The measure is one of time: nothing happens that could be waited for.
	<-time.After(2 * time.Second)
	const span = 8 * time.Second
	before := s.commands()
	<-time.After(span)
	rate := float64(s.commands()-before-1) / span.Seconds()
	t.Logf("%.1f commands a second", rate)
	if rate > 2 {
		t.Errorf("an idle pool costs %.1f commands a second, want at most 2", rate)
	}
}

func TestOneJobWakesFiftyIdleWorkersAtABoundedPrice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redistest.Open(t, server.URL(0)))
	const idle = 50
	ran := make(chan struct{}, 1)
	for range idle {
		other := open(t, redistest.Open(t, server.URL(0)))
		p := other.pool(workers.Config{Lease: time.Minute})
		p.Handle("k", func(context.Context, *queue.Job) error { ran <- struct{}{}; return nil }, workers.Kind{})
		other.run(p)
	}
	blocked := func(n int) {
		for got := 0; got < n; {
			info, err := s.db.Info(s.ctx, "clients").Result()
			s.must(err)
			_, rest, _ := strings.Cut(info, "blocked_clients:")
			_, err = fmt.Sscan(rest, &got)
			s.must(err)
		}
	}
	blocked(2 * idle)             // each waits for jobs and for signals
	<-time.After(3 * time.Second) // first waits are short
	before := s.commands()
	began := time.Now()
	s.add("k", queue.Options{})
	await(s, ran, "job")
	took := time.Since(began)
	<-time.After(200 * time.Millisecond)
	cost := s.commands() - before
	t.Logf("one job: %d commands, started after %s", cost, took)
	if cost > 40*idle {
		t.Errorf("one job cost %d commands with %d idle workers", cost, idle)
	}
}
