package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// transactions counts the transactions of a client, and calls before in front of each.
type transactions struct {
	count  atomic.Int64
	before func()
}

func (h *transactions) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *transactions) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *transactions) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if commands[0].Name() == "multi" {
			h.count.Add(1)
			if h.before != nil {
				h.before()
			}
		}
		return next(ctx, commands)
	}
}

// nativeSetup is a queue with n jobs and a worker whose next fetch is native. before runs between
// its look and its command.
func nativeSetup(t *testing.T, db *rdb.DB, n int) (*fixture, *queue.Lease, *transactions) {
	d := setup(t, db)
	d.client.SetNativeFrom(1)
	for i := range n {
		d.add(fmt.Sprint("job", i), queue.Options{})
	}
	l := d.lease("w")
	d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
	hook := &transactions{}
	d.db.AddHook(hook)
	return d, l, hook
}

var someJobs = queue.FetchLimits{Jobs: 5, Bytes: 1 << 20}

func TestNativeFetchesReturnWhatTheScriptDoes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		scripted := fetchMixed(t, db, 1000)
		if err := empty(db, db.Prefix()+":{q:0}:"); err != nil {
			t.Fatal(err)
		}
		if native := fetchMixed(t, db, 1); native != scripted {
			t.Errorf("natively:\n%s\nby the script:\n%s", native, scripted)
		}
	})
}

// fetchMixed describes jobs of many kinds in the order in which they are fetched.
func fetchMixed(t *testing.T, db *rdb.DB, nativeFrom int) (got string) {
	d := setup(t, db)
	d.client.SetNativeFrom(nativeFrom)
	d.add("later", queue.Options{Delay: time.Millisecond})
	d.add("later-too", queue.Options{Delay: time.Millisecond, Timeout: time.Minute})
	for i := range 10 {
		d.add(fmt.Sprint("kind", i%2), queue.Options{})
		d.add("long", queue.Options{Timeout: time.Minute, Retain: time.Hour})
		d.add("low", queue.Options{Priority: queue.Low})
	}
	foreign := &redis.XAddArgs{Stream: d.key("2:normal:fresh"), Values: []string{"kind", "", "args", "1"}}
	d.must(db.XAdd(t.Context(), foreign).Err())
	for moved := 0; moved < 2; {
		result, err := d.queue.MoveDue(soon(t), "test")
		d.must(err)
		moved += result.Jobs
	}
	l := d.lease("w")
	for {
		fetched, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 4, Bytes: 1 << 20})
		d.must(err)
		if len(fetched.Jobs)+fetched.Malformed == 0 {
			return got
		}
		got += fmt.Sprintln(fetched.Malformed, "malformed")
		for _, job := range fetched.Jobs {
			got += fmt.Sprintln(job.Kind, string(job.Args), job.Priority, job.State, job.Timeout, job.Retain, job.Worker)
			if waited, ok := job.Waited(time.Now()); !ok || waited > time.Minute || time.Since(job.Enqueued) > time.Minute {
				t.Errorf("%s was enqueued at %s and waited %s", job.ID, job.Enqueued, waited)
			}
		}
	}
}

func TestLargeJobsAreFetchedNativelyAfterTheFirst(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.Open(t, redistest.URL(t)))
	hook := &transactions{}
	d.db.AddHook(hook)
	for _, c := range []struct {
		size int
		want int64
	}{{1000, 0}, {128 << 10, 2}} {
		l := d.lease(fmt.Sprint("w", c.size))
		for range 3 {
			_, err := d.client.Enqueue(t.Context(), queue.Raw("k", make([]byte, c.size)), &queue.Options{Queue: "q"})
			d.must(err)
		}
		held := append(append(d.fetch(l, 1), d.fetch(l, 1)...), d.fetch(l, 1)...)
		if n := hook.count.Load(); n != c.want {
			t.Errorf("%d native fetches of 3 jobs of %d bytes, want %d", n, c.size, c.want)
		}
		d.end(l, queue.AttemptSucceeded, held...)
	}
}

// What happens before a native fetch, or between its look and its command, has the effect that it
// has before a fetch by the script.
func TestNothingIsDeliveredNativelyAgainstAChange(t *testing.T) {
	cases := map[string]struct {
		change func(*fixture)
		want   string // first kind, or state, of the next fetch
	}{
		"nothing": {func(*fixture) {}, "job1"},
		"pause":   {func(d *fixture) { d.must(d.queue.Pause(d.Context(), "", "")) }, "paused"},
		"a lost lease": {func(d *fixture) {
			d.must(d.db.ZAdd(d.Context(), d.key("leases"), redis.Z{Score: 1, Member: "w"}).Err())
			_, err := d.queue.Recover(d.Context(), 3, false)
			d.must(err)
		}, "lost"},
		"a job of high priority": {func(d *fixture) { d.add("high", queue.Options{Priority: queue.High}) }, "high"},
		"a job that is handed back": {func(d *fixture) {
			other := d.lease("other")
			d.end(other, queue.AttemptReturned, d.fetch(other, 1)...)
		}, "job1"},
		"a unique key": {func(d *fixture) {
			d.add("unique", queue.Options{Unique: queue.Unique{Key: "k", Scope: queue.WhileWaiting}})
		}, "job1"},
		"the end of the lease": {func(d *fixture) { d.close(d.lease("w")) }, "lost"},
		"a lost line":          {func(d *fixture) { d.must(d.db.Del(d.Context(), d.key("2:normal:fresh")).Err()) }, "none"},
		"an empty Redis":       {func(d *fixture) { d.must(d.db.FlushDB(d.Context()).Err()) }, "lost"},
	}
	for name, c := range cases {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, between: %t", name, between), func(t *testing.T) {
				t.Parallel()
				d, l, hook := nativeSetup(t, redistest.DB(t), 20)
				if between {
					hook.before = func() { c.change(d) }
				} else {
					c.change(d)
				}
				fetched, err := l.Fetch(t.Context(), someJobs)
				got := "none"
				switch {
				case errors.Is(err, queue.ErrLeaseLost):
					got = "lost"
				case err != nil:
					t.Fatal(err)
				case fetched.Paused:
					got = "paused"
				case len(fetched.Jobs) > 0:
					got = fetched.Jobs[0].Kind
				}
				if got != c.want || between && hook.count.Load() != 1 {
					t.Errorf("got %s after %d transactions, want %s", got, hook.count.Load(), c.want)
				}
				for _, key := range []string{"2:high:fresh", "2:normal:fresh"} {
					pending, err := d.db.XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: d.key(key), Group: "workers", Start: "-", End: "+", Count: 100, Consumer: "w"}).Result()
					if err == nil && len(pending) > len(fetched.Jobs) {
						t.Errorf("%d jobs of %s were delivered", len(pending), key)
					}
				}
			})
		}
	}
}

// A unique key that is held while its job waits is released by the fetch, so such fetches are
// not native.
func TestNativeFetchesLeaveUniqueKeysToTheScript(t *testing.T) {
	t.Parallel()
	d, l, hook := nativeSetup(t, redistest.DB(t), 10)
	unique := queue.Options{Unique: queue.Unique{Key: "k", Scope: queue.WhileWaiting}}
	d.add("unique", unique)
	d.fetch(l, 10)
	d.add("unique", unique) // fails if the key is held
	if hook.count.Load() != 0 {
		t.Error("the fetch was native")
	}
}

// Whichever reply of a native fetch is lost, and whichever command does not arrive, no job is lost
// or delivered twice.
func TestNoJobIsLostWithAReplyToANativeFetch(t *testing.T) {
	for step := range 12 {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			d, proxy := setupProxied(t)
			d.client.SetNativeFrom(1)
			for range 20 {
				d.add("job", queue.Options{})
			}
			l := d.lease("w")
			held := d.fetch(l, 1)
			hook := &transactions{}
			d.db.AddHook(hook)
			proxy.DropReply(step + 1)
			for end := soon(t); len(held) < 20; {
				fetched, err := l.Fetch(end, someJobs)
				if _, ok := errors.AsType[*rdb.OutcomeUnknownError](err); ok {
					fetched, err = l.Reread(end, restarts(l), held, 1<<20)
				}
				if err != nil && end.Err() != nil {
					t.Fatal(err)
				}
				held = append(held, fetched.Jobs...)
			}
			seen := map[string]bool{}
			for _, job := range held {
				if seen[job.ID] {
					t.Errorf("%s was fetched twice", job.ID)
				}
				seen[job.ID] = true
			}
			d.end(l, queue.AttemptSucceeded, held...)
			if hook.count.Load() == 0 {
				t.Error("no fetch was native")
			}
		})
	}
}

// A worker whose Redis was replaced by another one in the middle of a native fetch gets no job of
// the other one.
func TestNativeFetchesEndWithTheServer(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	hook := &transactions{before: func() { proxy.Redirect(redistest.Start(t).URL(0)) }}
	d.client.SetNativeFrom(1)
	for range 20 {
		d.add("job", queue.Options{})
	}
	l := d.lease("w")
	d.fetch(l, 1)
	d.db.AddHook(hook)
	fetched, err := l.Fetch(soon(t), someJobs)
	if err == nil || len(fetched.Jobs) > 0 || hook.count.Load() != 1 {
		t.Errorf("%d jobs, %v, after %d transactions", len(fetched.Jobs), err, hook.count.Load())
	}
}
