package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// tryAgain is the reply of a node of a Cluster to a command with several keys while their slot
// moves to another node.
const tryAgain = "TRYAGAIN Multiple keys request during rehashing of slot"

// withOptions returns jobs that different scripts add.
func withOptions() []queue.Options {
	return []queue.Options{{Queue: "q"}, {Queue: "q", Delay: time.Hour}, {Queue: "q", Unique: queue.Unique{Key: "k"}}}
}

func TestCallsThatAMovingSlotRefusesAreRepeated(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	d := setup(t, redistest.Open(t, proxy.URL))
	refused := func(what string, call func()) {
		t.Helper()
		proxy.RefuseCommands(2, "{q:0}", tryAgain)
		call()
		if n := proxy.Refusals(); n > 0 {
			t.Errorf("%s: %d refusals are left", what, n)
		}
	}
	for i, o := range withOptions() {
		refused(fmt.Sprint("add ", i), func() { d.add("k", o) })
	}
	refused("add many", func() {
		for _, result := range d.client.EnqueueMany(t.Context(), []queue.NewJob{next("k", queue.Options{Queue: "q"})}) {
			d.must(result.Err)
		}
	})
	l := d.lease("w")
	var jobs []*queue.Job
	refused("fetch", func() { jobs = d.fetch(l, 3) })
	refused("renew", func() { _, err := l.Renew(t.Context()); d.must(err) })
	refused("finish", func() { d.end(l, queue.AttemptSucceeded, jobs...) })
	depth, err := d.queue.Depth(t.Context())
	d.must(err)
	if depth.Waiting+depth.Active != 0 || depth.Delayed != 1 {
		t.Errorf("the jobs are %+v, want one that is delayed", depth)
	}
}

func TestJobThatAMovingSlotRefusesWasCertainlyNotAdded(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db, err := rdb.Open(t.Context(), proxy.URL, rdb.Options{Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := setup(t, db)
	for i, o := range withOptions() {
		proxy.RefuseCommands(1000, "{q:0}", tryAgain)
		_, err := d.client.Enqueue(t.Context(), queue.Raw("k", []byte("{}")), &o)
		var unknown *skidway.OutcomeUnknownError
		if err == nil || errors.As(err, &unknown) || !strings.Contains(err.Error(), "TRYAGAIN") {
			t.Errorf("job %d: %v, want the refusal", i, err)
		}
	}
	proxy.RefuseCommands(0, "", "")
	if jobs := append(d.all(queue.Waiting, 10), d.all(queue.Delayed, 10)...); len(jobs) > 0 {
		t.Errorf("jobs %q were added", jobs)
	}
}
