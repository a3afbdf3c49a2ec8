package queue_test

import (
	"errors"
	"testing"

	"skidway/internal/redistest"
	"skidway/queue"
)

// restarts returns the number of restarts that a lease has seen.
func restarts(l *queue.Lease) int64 {
	n, _ := l.ServerChanged()
	return n
}

// A Redis that lost writes may have given an entry to another worker. The outcomes of the first
// one are refused until it has compared its jobs, and what was lost is named.
func TestOutcomesAreRefusedAfterARestartUntilJobsAreCompared(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := setup(t, redistest.Open(t, server.URL(0)))
	d.add("kept", queue.Options{})
	d.add("lost", queue.Options{})
	l := d.lease("w")
	kept := d.fetch(l, 1)[0]
	d.must(d.db.Save(t.Context()).Err())
	lost := d.fetch(l, 1)[0]
	before := restarts(l)
	server.Kill()
	d.must(server.Restart())

	d.must(d.db.Retry(t.Context(), func() error { return d.db.Ping(t.Context()).Err() })) // notices the restart
	other := d.lease("other")
	d.fetch(other, 1)
	now, changed := l.ServerChanged()
	if _, others := other.ServerChanged(); !changed || others {
		t.Errorf("changed: %t for the first lease, %t for one that was created later", changed, others)
	}
	ends := []queue.Completion{{Job: kept}, {Job: lost}}
	if n, err := l.Finish(t.Context(), ends); n != 0 || !errors.Is(err, queue.ErrServerChanged) {
		t.Errorf("finished %d jobs: %v", n, err)
	}
	if _, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); !errors.Is(err, queue.ErrServerChanged) {
		t.Errorf("fetch: %v", err)
	}
	if depth, err := d.queue.Depth(t.Context()); err != nil || depth.Active != 2 {
		t.Fatalf("%+v, %v: the jobs of both workers are to be active", depth, err)
	}
	// It restarts between the look and the comparison.
	if again, err := l.Reread(t.Context(), before, []*queue.Job{kept, lost}, 1<<20); !errors.Is(err, queue.ErrServerChanged) || len(again.Lost) != 0 {
		t.Errorf("%+v, %v: want an error, because another server was expected", again, err)
	}
	again, err := l.Reread(t.Context(), now, []*queue.Job{kept, lost}, 1<<20)
	if err != nil || len(again.Jobs) != 0 || len(again.Lost) != 1 || again.Lost[0] != lost {
		t.Fatalf("%+v, %v: want the one job as lost", again, err)
	}
	if again, err := l.Reread(t.Context(), now, []*queue.Job{kept, lost}, 1<<20); err != nil || len(again.Lost) != 0 {
		t.Errorf("without another change: %+v, %v", again, err)
	}
	d.end(l, queue.AttemptSucceeded, kept)
	if depth, err := d.queue.Depth(t.Context()); err != nil || depth.Active != 1 {
		t.Errorf("%+v, %v: the job of the other worker is to be active", depth, err)
	}
}
