package workers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// Handlers of the chaos tests note each call in Redis before they do anything
// else, on a connection that no test disturbs.

// A ledgerRun is one call of a handler.
type ledgerRun struct {
	job   string // its id
	turn  string // which of the calls that the job needs
	lease string // that the job was held under
}

func notesKey(db *rdb.DB) string { return db.Prefix() + ":{chaos}:notes" }

func note(ctx context.Context, db *rdb.DB, job *queue.Job, turn string) error {
	// The number of the call identifies a note that was written twice, since an
	// answer got lost, from a second call.
	values := []string{"job", job.ID, "turn", turn, "lease", job.Worker, "call", rand.Text()}
	return db.Retry(ctx, func() error {
		return db.XAdd(ctx, &redis.XAddArgs{Stream: notesKey(db), Values: values}).Err()
	})
}

// gateKey is a list. A handler of kind hold goes on when something is in it.
func gateKey(db *rdb.DB, worker string) string { return db.Prefix() + ":{chaos}:gate:" + worker }

// addChaosKinds adds the handlers of the chaos tests to a pool.
func addChaosKinds(pool *workers.Pool, notes *rdb.DB, worker string) {
	ctx := context.Background() // notes are written whatever becomes of the job
	handle := func(kind string, handler func(job *queue.Job) (turn string, then error)) {
		pool.HandleRaw(kind, func(_ context.Context, job *queue.Job) error {
			turn, then := handler(job)
			if err := note(ctx, notes, job, turn); err != nil {
				return fmt.Errorf("note the call: %w", err)
			}
			return then
		}, workers.Kind{})
	}
	handle("plain", func(*queue.Job) (string, error) { return "only", nil })
	handle("fails-once", func(job *queue.Job) (string, error) {
		if job.Attempts == 0 {
			return "first", workers.RetryAfter(5*time.Millisecond, errors.New("once"))
		}
		return "second", nil
	})
	handle("snoozes-once", func(job *queue.Job) (string, error) {
		key := notesKey(notes) + ":" + job.ID
		seen, err := notes.SetNX(ctx, key, job.Worker, 0).Result()
		if err != nil {
			return "first", err
		}
		if seen {
			return "first", workers.Snooze(5 * time.Millisecond)
		}
		return "second", nil
	})
	pool.HandleRaw("hold", func(_ context.Context, job *queue.Job) error {
		if err := note(ctx, notes, job, "only"); err != nil {
			return err
		}
		word, err := notes.BLPop(ctx, 0, gateKey(notes, worker)).Result()
		if err != nil {
			return err
		}
		if word[1] == "fail" {
			return errors.New("failure of the test")
		}
		return nil
	}, workers.Kind{})
	pool.HandleRaw("slow", func(_ context.Context, job *queue.Job) error {
		err := note(ctx, notes, job, "only")
		<-time.After(slowJob)
		return err
	}, workers.Kind{})
	poison := func(ctx context.Context, job *queue.Job) error {
		if err := note(ctx, notes, job, "only"); err != nil {
			return err
		}
		if job.Kind == "late-poison" {
			<-time.After(2 * slowJob)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it arrives in a moment
	}
	pool.HandleRaw("poison", poison, workers.Kind{})
	pool.HandleRaw("late-poison", poison, workers.Kind{})
}

// slowJob is how long a job of kind slow runs.
const slowJob = 300 * time.Millisecond

// A ledger has what handlers have noted.
type ledger struct {
	db   *rdb.DB
	last string // entry
	runs []ledgerRun
	jobs map[string]bool // that have run
	call map[string]bool
}

func newLedger(db *rdb.DB) *ledger {
	return &ledger{db: db, last: "0", jobs: map[string]bool{}, call: map[string]bool{}}
}

// until reads on until a condition holds.
func (l *ledger) until(t testing.TB, ctx context.Context, holds func() bool) {
	t.Helper()
	for !holds() {
		var found []redis.XStream
		err := l.db.Retry(ctx, func() (err error) {
			found, err = l.db.XRead(ctx, &redis.XReadArgs{Streams: []string{notesKey(l.db), l.last}, Count: 1000, Block: time.Second}).Result()
			return err
		})
		if ctx.Err() != nil {
			t.Fatalf("waited in vain, %d jobs have run: %v", len(l.jobs), context.Cause(ctx))
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		for _, stream := range found {
			for _, entry := range stream.Messages {
				l.add(entry)
			}
		}
	}
}

// rest reads what is there.
func (l *ledger) rest(t testing.TB) {
	t.Helper()
	entries, err := l.db.XRange(context.Background(), notesKey(l.db), "("+l.last, "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		l.add(entry)
	}
}

func (l *ledger) add(entry redis.XMessage) {
	l.last = entry.ID
	text := func(name string) string { s, _ := entry.Values[name].(string); return s }
	if call := text("call"); !l.call[call] {
		l.call[call] = true
		l.jobs[text("job")] = true
		l.runs = append(l.runs, ledgerRun{text("job"), text("turn"), text("lease")})
	}
}

// outcome is the required result of a run with several processes, beside that each job has
// run.
type outcome struct {
	dead int
}

// check looks at everything after all workers have ended and no job is left to
// be done.
func (f *processes) check(want outcome) {
	f.t.Helper()
	f.everyJobHasRun()
	f.repeatedOnlyWhatTheDeadHeld()
	var got queue.Counts
	dead := 0
	for _, q := range f.queues {
		f.expireAllLeases(q)
		depth, err := q.Depth(f.ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		if depth.Waiting+depth.Active+depth.Delayed != 0 {
			f.t.Errorf("queue %s has jobs that were not done: %+v", q.Name(), depth)
		}
		dead += depth.Dead
		total, _, err := q.Counters(f.ctx, 0)
		if err != nil {
			f.t.Fatal(err)
		}
		add(&got, total)
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
		Enqueued: int64(len(f.jobs)), Succeeded: int64(len(f.jobs) - want.dead), Dead: int64(want.dead),
		Failed: int64(failing), Retried: int64(failing),
	}
	got.Crashed, got.LostLeases = 0, 0 // these depend on the moment
	if got != expected || dead != want.dead {
		f.t.Errorf("the counters are %+v and %d are dead, want %+v", got, dead, expected)
	}
}

func add(sum *queue.Counts, counts queue.Counts) {
	sum.Enqueued += counts.Enqueued
	sum.Succeeded += counts.Succeeded
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
	sum.Duplicates += counts.Duplicates
}

func (f *processes) everyJobHasRun() {
	f.t.Helper()
	missing := 0
	for id, kind := range f.jobs {
		if !f.ledger.jobs[id] {
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
func (f *processes) repeatedOnlyWhatTheDeadHeld() {
	f.t.Helper()
	var killed, lost []string
	for _, p := range f.workers {
		if p.Killed() {
			killed = append(killed, p.plan.Name+"-")
		}
		lost = append(lost, p.lostLeases()...)
	}
	mayRepeat := func(lease string) bool {
		return slices.Contains(lost, lease) ||
			slices.ContainsFunc(killed, func(name string) bool { return strings.HasPrefix(lease, name) })
	}
	type turn struct{ job, turn string }
	by := map[turn][]string{}
	for _, run := range f.ledger.runs {
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
		len(f.jobs), len(f.ledger.runs), repeated, len(f.workers), len(killed), lost)
}

// expireAllLeases makes all leases expire, and checks that no job is recovered from
// them.
func (f *processes) expireAllLeases(q *queue.PoolQueue) {
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

func (f *processes) key(q *queue.PoolQueue, name string) string {
	return f.db.Prefix() + ":{" + q.Name() + ":0}:" + name
}

// expire makes a lease end now.
func (f *processes) expire(q *queue.PoolQueue, lease string) {
	f.t.Helper()
	if err := expireLease(f.ctx, f.db, q.Name(), lease); err != nil {
		f.t.Fatal(err)
	}
}

// nothingIsLeftOf checks the structures beside the jobs.
func (f *processes) nothingIsLeftOf(q *queue.PoolQueue) {
	f.t.Helper()
	for _, name := range []string{"leases", "lengths", "tombs", "cohorts", "alone", "delayed", "delayed:jobs", "moved", "unique", "cancelled", "logs", "progress"} {
		n, err := f.db.Exists(f.ctx, f.key(q, name)).Result()
		if err != nil {
			f.t.Fatal(err)
		}
		if n != 0 {
			f.t.Errorf("queue %s: something is left in %s", q.Name(), name)
		}
	}
}
