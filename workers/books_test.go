package workers_test

import (
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"skidway/queue"
)

// outcome is what a run with a fleet must have come to, beside that each job has
// run.
type outcome struct {
	dead int
}

// check looks at everything after all workers have ended and no job is left to
// be done.
func (f *fleet) check(want outcome) {
	f.t.Helper()
	f.everyJobHasRun()
	f.repeatedOnlyWhatTheDeadHeld()
	var got queue.Counts
	dead := 0
	for _, q := range f.queues {
		f.nobodyHoldsAnything(q)
		depth, err := q.Depth(f.ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		if depth.Waiting.Total()+depth.Active.Total()+depth.Delayed != 0 {
			f.t.Errorf("queue %s has jobs that were not done: %+v", q.Name(), depth)
		}
		dead += depth.Dead
		counters, err := q.Counters(f.ctx, 0)
		if err != nil {
			f.t.Fatal(err)
		}
		add(&got, counters.Total)
		f.nothingIsLeftOf(q)
	}
	failing := 0
	for _, kind := range f.jobs {
		if kind == "fails-once" {
			failing++
		}
	}
	// Each count moved once for each job, however often it was begun.
	expected := queue.Counts{
		Enqueued: int64(len(f.jobs)), Done: int64(len(f.jobs) - want.dead), Dead: int64(want.dead),
		Failed: int64(failing), Retried: int64(failing),
	}
	got.Crashed, got.LostLeases = 0, 0 // these depend on the moment
	if got != expected || dead != want.dead {
		f.t.Errorf("the books say %+v and %d are dead, want %+v", got, dead, expected)
	}
}

func add(sum *queue.Counts, counts queue.Counts) {
	sum.Enqueued += counts.Enqueued
	sum.Done += counts.Done
	sum.Discarded += counts.Discarded
	sum.Cancelled += counts.Cancelled
	sum.Failed += counts.Failed
	sum.Retried += counts.Retried
	sum.Dead += counts.Dead
	sum.Revived += counts.Revived
	sum.Deleted += counts.Deleted
	sum.Crashed += counts.Crashed
	sum.LostLeases += counts.LostLeases
	sum.Dropped += counts.Dropped
}

func (f *fleet) everyJobHasRun() {
	f.t.Helper()
	missing := 0
	for id, kind := range f.jobs {
		if !f.log.jobs[id] {
			if missing++; missing <= 5 {
				f.t.Errorf("job %s (%s) has never run", id, kind)
			}
		}
	}
	if missing > 5 {
		f.t.Errorf("and %d more", missing-5)
	}
}

// repeatedOnlyWhatTheDeadHeld checks that a job ran again only if it was in the
// hands of a worker that was killed, or that saw its lease lost: this machine
// may be too busy for a heartbeat.
func (f *fleet) repeatedOnlyWhatTheDeadHeld() {
	f.t.Helper()
	var killed, lost []string
	for _, p := range f.workers {
		if p.killed() {
			killed = append(killed, p.plan.Name+"-")
		}
		lost = append(lost, p.lost()...)
	}
	mayRepeat := func(lease string) bool {
		return slices.Contains(lost, lease) ||
			slices.ContainsFunc(killed, func(name string) bool { return strings.HasPrefix(lease, name) })
	}
	type turn struct{ job, turn string }
	by := map[turn][]string{}
	for _, run := range f.log.runs {
		key := turn{run.job, run.turn}
		by[key] = append(by[key], run.lease)
	}
	repeated, wrong := 0, 0
	for key, leases := range by {
		if len(leases) == 1 {
			continue
		}
		repeated++
		// One of them counts. A stopped worker may go on with a handler for a
		// moment after the job was run elsewhere.
		counting := slices.DeleteFunc(slices.Clone(leases), mayRepeat)
		if len(counting) > 1 {
			if wrong++; wrong <= 5 {
				f.t.Errorf("job %s (%s) ran under %v, though its worker survived", key.job, key.turn, leases)
			}
		}
	}
	f.t.Logf("%d jobs, %d runs, %d repeated; %d workers, %d killed, leases lost while alive: %v",
		len(f.jobs), len(f.log.runs), repeated, len(f.workers), len(killed), lost)
}

// nobodyHoldsAnything declares dead whoever still has a row, as time would, and
// checks that nothing comes back from it.
func (f *fleet) nobodyHoldsAnything(q *queue.Queue) {
	f.t.Helper()
	infos, err := q.Workers(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, info := range infos {
		f.expire(q, info.Name)
	}
	for more := true; more; {
		recovered, err := q.Recover(f.ctx, 0, true)
		if err != nil {
			f.t.Fatal(err)
		}
		if recovered.Returned+recovered.Dead != 0 {
			f.t.Errorf("queue %s: the dead had jobs: %+v", q.Name(), recovered)
		}
		more = recovered.More
	}
}

func (f *fleet) key(q *queue.Queue, name string) string {
	return f.db.Prefix() + ":{" + q.Name() + ":0}:" + name
}

// expire makes a lease end now.
func (f *fleet) expire(q *queue.Queue, lease string) {
	f.t.Helper()
	err := f.db.ZAddArgs(f.ctx, f.key(q, "leases"), redis.ZAddArgs{XX: true, Members: []redis.Z{{Score: 1, Member: lease}}}).Err()
	if err != nil {
		f.t.Fatal(err)
	}
}

// nothingIsLeftOf checks the structures beside the jobs.
func (f *fleet) nothingIsLeftOf(q *queue.Queue) {
	f.t.Helper()
	for _, name := range []string{"leases", "tombs", "workers", "alone", "delayed", "delayed:jobs", "moved", "unique", "cancelled", "logs", "progress"} {
		n, err := f.db.Exists(f.ctx, f.key(q, name)).Result()
		if err != nil {
			f.t.Fatal(err)
		}
		if n != 0 {
			f.t.Errorf("queue %s: something is left in %s", q.Name(), name)
		}
	}
}
