package queue_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestEventsAreReadInOrder(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		d.add("a", queue.Options{}) // before events are kept
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
		d.must(d.queue.KeepEvents(t.Context(), 1000))
		id := d.add("a", queue.Options{})
		d.end(l, queue.AttemptReturned, d.fetch(l, 1)...)
		d.end(l, queue.AttemptRetry, d.fetch(l, 1)...)
		d.must(d.client.Retry(t.Context(), id))
		d.end(l, queue.AttemptSnoozed, d.fetch(l, 1)...)
		d.must(d.client.Retry(t.Context(), id))
		d.end(l, queue.AttemptDead, d.fetch(l, 1)...)
		d.must(d.client.Delete(t.Context(), id))
		events, next, err := d.queue.Events(t.Context(), "", 0)
		d.must(err)
		var got []string
		for _, event := range events {
			got = append(got, string(event.Kind))
			if event.Job != id || time.Since(event.Time).Abs() > time.Minute {
				t.Errorf("the event is %+v", event)
			}
		}
		same(t, got, []string{"enqueued", "returned", "failed", "retried", "snoozed", "retried", "dead", "deleted"})
		if events, again, err := d.queue.Events(t.Context(), next, time.Millisecond); len(events) != 0 || again != next || err != nil {
			t.Errorf("after the last: %v, %s: %v", events, again, err)
		}
		d.must(d.queue.KeepEvents(t.Context(), 0))
		d.add("a", queue.Options{})
		if events, _, err := d.queue.Events(t.Context(), "", 0); len(events) != 0 || err != nil {
			t.Errorf("turned off: %v: %v", events, err)
		}
		for _, keep := range []int{-1, 1_000_001} {
			if err := d.queue.KeepEvents(t.Context(), keep); !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("keep %d: %v", keep, err)
			}
		}
		if _, _, err := d.queue.Events(t.Context(), "x", 0); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("a wrong place: %v", err)
		}
	})
}

func TestWaitForEventsEndsWithTheFirst(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.must(d.queue.KeepEvents(t.Context(), 1000))
		d.add("before", queue.Options{})
		_, here, err := d.queue.Events(t.Context(), queue.FromNow, 0)
		d.must(err)
		var wait sync.WaitGroup
		wait.Go(func() {
			events, _, err := d.queue.Events(soon(t), here, time.Minute)
			if err != nil || len(events) != 1 {
				t.Errorf("got %v: %v", events, err)
			}
		})
		d.add("a", queue.Options{})
		wait.Wait()
	})
}

func TestWaitReturnsTheEndOfAJobThatRetainsNoResult(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for as, want := range map[queue.Disposition]queue.Outcome{
			queue.AttemptSucceeded: queue.Succeeded, queue.AttemptDiscarded: queue.Discarded, queue.AttemptCancelled: queue.Cancelled, queue.AttemptDead: queue.Died,
		} {
			id := d.add("a", queue.Options{})
			var waits sync.WaitGroup
			for range 3 {
				waits.Go(func() {
					job, err := d.client.Wait(soon(t), id)
					if err != nil || job.ID != id || job.Outcome != want || job.Kind != "a" {
						t.Errorf("waited for %+v: %v", job, err)
					}
				})
			}
			d.waited(id)
			d.end(l, as, d.fetch(l, 1)...)
			waits.Wait()
		}
	})
}

// The job for which a client waits is the first to expire, and its archive is full.
func TestWaitReturnsTheEndOfAJobBesideAFullArchive(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for name, limit := range map[string]queue.RetentionLimit{"jobs": {Jobs: 2}, "bytes": {Bytes: 600}} {
			d.must(d.queue.SetRetention(t.Context(), queue.Retention{Results: limit}))
			for range 5 {
				d.add("kept", queue.Options{Retain: time.Hour})
			}
			d.end(l, queue.AttemptSucceeded, d.fetch(l, 5)...)
			id := d.add("a", queue.Options{})
			others := []string{d.add("kept", queue.Options{Retain: time.Hour}), d.add("kept", queue.Options{Retain: time.Hour})}
			ended := make(chan error, 1)
			go func() {
				_, err := d.client.Wait(soon(t), id)
				ended <- err
			}()
			d.waited(id)
			d.end(l, queue.AttemptSucceeded, d.fetch(l, 3)...)
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			d.must(d.queue.Tidy(t.Context()))
			kept := d.all(queue.Finished, 10)
			if !slices.Contains(kept, id) || !slices.Contains(kept, others[1]) || limit.Jobs > 0 && len(kept) > limit.Jobs+2 {
				t.Errorf("%s: %v are kept, want %s and the last of %v", name, kept, id, others)
			}
		}
	})
}

// waited blocks until a client waits for the end of a job.
func (d *fixture) waited(id string) {
	d.Helper()
	for ctx := soon(d.TB); d.db.ZScore(ctx, d.key("waited"), id[len("q:0:"):]).Err() != nil; {
		d.must(ctx.Err())
	}
}

func TestWaitReturnsAtOnceIfTheJobHasEnded(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		if job, err := d.client.Wait(soon(t), d.bury("a", queue.Options{})); err != nil || job.State != queue.Dead {
			t.Errorf("dead: %+v: %v", job, err)
		}
		l := d.lease("w")
		kept := d.add("a", queue.Options{Retain: time.Hour})
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
		if job, err := d.client.Wait(soon(t), kept); err != nil || string(job.Result) != "fine" {
			t.Errorf("retained: %+v: %v", job, err)
		}
		gone := d.add("a", queue.Options{})
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
		if _, err := d.client.Wait(soon(t), gone); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("gone: %v", err)
		}
		if n := db.ZCard(t.Context(), d.key("waited")).Val(); n != 0 {
			t.Errorf("%d questions are left", n)
		}
	})
}

func TestWaitEndsWhenTheJobIsDeletedOrCancelled(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for name, o := range map[string]queue.Options{"waiting": {}, "delayed": {Delay: time.Hour}} {
			deleted, cancelled := d.add("a", o), d.add("a", o)
			var waits sync.WaitGroup
			waits.Go(func() {
				if _, err := d.client.Wait(soon(t), deleted); !errors.Is(err, queue.ErrNoJob) {
					t.Errorf("%s, deleted: %v", name, err)
				}
			})
			waits.Go(func() {
				if job, err := d.client.Wait(soon(t), cancelled); err != nil || job.Outcome != queue.Cancelled {
					t.Errorf("%s, cancelled: %+v: %v", name, job, err)
				}
			})
			d.waited(deleted)
			d.must(d.client.Delete(t.Context(), deleted))
			d.waited(cancelled)
			if _, err := d.client.Cancel(t.Context(), cancelled); err != nil {
				t.Error(err)
			}
			waits.Wait()
		}
	})
}

// Jobs end while the waits begin, at every point of a wait.
func TestNoWaitMissesAnEnd(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		ctx := soon(t)
		const jobs = 200
		var inserts []queue.NewJob
		for range jobs {
			inserts = append(inserts, queue.NewJob{Args: queue.Raw("a", nil), Options: queue.Options{Queue: "q"}})
		}
		results := d.client.EnqueueMany(ctx, inserts)
		var waits sync.WaitGroup
		var awaited, ended, late sync.Map
		waits.Go(func() {
			l, err := d.queue.NewLease("w", time.Minute)
			for n := 0; n < jobs && err == nil; {
				var fetched queue.FetchResult
				if fetched, err = l.Fetch(ctx, queue.FetchLimits{Jobs: 2, Bytes: 1 << 20}); err != nil {
					break
				}
				for _, job := range fetched.Jobs {
					ended.Store(job.ID, time.Now())
					_, err = l.Finish(ctx, []queue.Completion{{Job: job}})
					n++
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
		for _, result := range results {
			d.must(result.Err)
			waits.Go(func() {
				job, err := d.client.Wait(ctx, result.ID)
				switch {
				case err == nil && job.Outcome == queue.Succeeded:
					awaited.Store(result.ID, true)
				case !errors.Is(err, queue.ErrNoJob): // that one had ended before
					t.Errorf("%+v: %v", job, err)
				}
				if at, ok := ended.Load(result.ID); ok && time.Since(at.(time.Time)) > 9*time.Second {
					late.Store(result.ID, true) // it was found by asking again only
				}
			})
		}
		waits.Wait()
		late.Range(func(id, _ any) bool { t.Errorf("%v was reported late", id); return true })
		n := 0
		awaited.Range(func(_, _ any) bool { n++; return true })
		t.Logf("%d of %d were waited for before they ended", n, jobs)
	})
}

func TestConcurrentWaitsShareOneConnection(t *testing.T) {
	d := setup(t, redistest.DB(t))
	var ids []string
	for range 200 { // many more than the pool has connections
		ids = append(ids, d.add("a", queue.Options{}))
	}
	var waits sync.WaitGroup
	for _, id := range ids {
		waits.Go(func() {
			if job, err := d.client.Wait(soon(t), id); err != nil || job.ID != id {
				t.Errorf("%+v: %v", job, err)
			}
		})
	}
	for _, id := range ids {
		d.waited(id)
	}
	clients, err := d.db.ClientList(t.Context()).Result()
	d.must(err)
	if n := countString(clients, "cmd=xread"); n > 1 {
		t.Errorf("%d connections are blocked", n)
	}
	l := d.lease("w")
	d.end(l, queue.AttemptSucceeded, d.fetch(l, 200)...)
	waits.Wait()
}

// While a call waits for a silent Redis, others must end with their own contexts.
func TestWaitEndsWithItsContextWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	client, err := queue.NewClient(handle.New(redistest.Open(t, proxy.URL)), nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := client.Enqueue(t.Context(), queue.Raw("work", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Hold()
	defer proxy.Release()
	long, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := client.Wait(long, id); ended <- err }()
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		started := time.Now()
		_, err := client.Wait(ctx, id)
		cancel()
		if took := time.Since(started); !errors.Is(err, context.DeadlineExceeded) || took > 5*time.Second {
			t.Errorf("it returned %v after %s", err, took)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the other call returned %v", err)
	}
	proxy.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := client.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Wait(ctx, id); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("wait for a deleted job: %v", err)
	}
}
