package queue_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// Workers must be able to empty a queue that has filled Redis.
func TestWorkersCanEmptyAFullRedis(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = client.Enqueue(ctx, queue.Raw("work", nil), nil)
	must("enqueue", err)
	_, err = client.Enqueue(ctx, queue.Raw("work", nil), &queue.Options{Delay: time.Millisecond})
	must("enqueue", err)
	must("fill", db.ConfigSet(ctx, "maxmemory", "1").Err())
	if _, err := client.Enqueue(ctx, queue.Raw("work", nil), nil); err == nil {
		t.Error("a full Redis took another job")
	}

	stranger, err := queue.NewClient(handle.New(db), nil) // as a process that was started only now
	must("new", err)
	q, err := stranger.ForPool("")
	must("queue", err)
	must("pause", q.Pause(ctx, "", ""))
	must("resume", q.Resume(ctx))
	lease, err := q.NewLease("worker", 0)
	if err != nil {
		t.Fatal(err)
	}
	for moved := 0; moved == 0; {
		step, err := q.MoveDue(ctx, "worker")
		if err != nil {
			t.Fatal(err)
		}
		moved += step.Jobs
	}
	fetched, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 10, Bytes: 1 << 20})
	if err != nil || len(fetched.Jobs) != 2 {
		t.Fatalf("fetched %d jobs, %v; want both", len(fetched.Jobs), err)
	}
	_, err = lease.Renew(ctx)
	must("beat", err)
	must("mark solo", lease.MarkSolo(ctx, fetched.Jobs[0]))
	changed, err := lease.Finish(ctx, []queue.Completion{
		{Job: fetched.Jobs[0], Disposition: queue.AttemptRetry, Reason: "not today"}, {Job: fetched.Jobs[1]},
	})
	if err != nil || changed != 2 {
		t.Errorf("finished %d, %v", changed, err)
	}
}

func TestProgressOfAWorkerThatLostTheJobIsRefused(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		client, err := queue.NewClient(handle.New(db), nil)
		if err != nil {
			t.Fatal(err)
		}
		id, err := client.Enqueue(ctx, queue.Raw("work", nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		q, _ := client.ForPool("")
		fetch := func(worker string) (*queue.Lease, *queue.Job) {
			lease, err := q.NewLease(worker, 0)
			if err != nil {
				t.Fatal(err)
			}
			fetched, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
			if err != nil || len(fetched.Jobs) != 1 {
				t.Fatalf("fetched %+v, %v", fetched, err)
			}
			return lease, fetched.Jobs[0]
		}
		lease, zombie := fetch("zombie")
		if _, err := lease.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Recover(ctx, 0, false); err != nil {
			t.Fatal(err)
		}
		_, mine := fetch("worker")
		if mine.Quarantines != 0 {
			t.Errorf("the job of a closed lease is quarantined")
		}
		if err := q.SetProgress(ctx, mine, []byte("half")); err != nil {
			t.Fatal(err)
		}
		if err := q.SetProgress(ctx, zombie, []byte("90 %")); !errors.Is(err, queue.ErrState) {
			t.Errorf("the zombie's progress: %v, want ErrState", err)
		}
		if progress, err := client.Progress(ctx, id); string(progress) != "half" || err != nil {
			t.Errorf("the progress is %q, %v", progress, err)
		}
	})
}

func TestLongDurationsDoNotOverflow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client, err := queue.NewClient(handle.New(redistest.DB(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]queue.Options{
		"attempts": {MaxAttempts: math.MaxInt}, "timeout": {Timeout: math.MaxInt64},
		"delay": {Delay: math.MaxInt64}, "retain": {Retain: math.MaxInt64},
	} {
		if _, err := client.Enqueue(ctx, queue.Raw("work", nil), &o); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := client.Enqueue(ctx, queue.Raw("work", nil), nil); err != nil {
		t.Fatal(err)
	}
}

// A job's deadline is by Redis's clock, not the local one.
func TestDeadlineIsByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := redistest.Open(t, "embedded:")
	if err := db.SetEmbeddedTime(time.Now().Add(-10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(-5 * time.Minute) // in five minutes, for Redis
	if _, err := client.Enqueue(ctx, queue.Raw("work", nil), &queue.Options{Deadline: deadline}); err != nil {
		t.Fatal(err)
	}
	q, _ := client.ForPool("")
	lease, err := q.NewLease("worker", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	fetched, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	if err != nil || len(fetched.Jobs) != 1 {
		t.Fatalf("fetched %+v, %v", fetched, err)
	}
	if left := time.Until(fetched.Jobs[0].LocalTime(fetched.Jobs[0].Deadline)); left < 4*time.Minute || left > 6*time.Minute {
		t.Errorf("%s are left, want about five minutes", left)
	}
}

func TestCallsEndWithTheirContextWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	client, err := queue.NewClient(handle.New(redistest.Open(t, proxy.URL)), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := client.ForPool("")
	lease, err := q.NewLease("worker", time.Hour)
	if err == nil {
		_, err = client.Enqueue(t.Context(), queue.Raw("work", nil), nil)
	}
	if err == nil {
		_, err = lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}) // opens the lease
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy.Hold()
	defer proxy.Release()
	for name, call := range map[string]func(context.Context) error{
		"fetch": func(ctx context.Context) error {
			_, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1})
			return err
		},
		"enqueue": func(ctx context.Context) error {
			_, err := client.Enqueue(ctx, queue.Raw("work", nil), nil)
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		started := time.Now()
		err := call(ctx)
		cancel()
		var unknown *rdb.OutcomeUnknownError
		if took := time.Since(started); !errors.As(err, &unknown) || took > 5*time.Second {
			t.Errorf("%s: %v after %s", name, err, took)
		}
	}
}

// A callSizes remembers the scripts with the most bytes of arguments, and their number.
type callSizes struct{ calls, largest int }

func (c *callSizes) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *callSizes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (c *callSizes) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		size := 0
		for _, arg := range command.Args() {
			switch arg := arg.(type) {
			case string:
				size += len(arg)
			case []byte:
				size += len(arg)
			}
		}
		c.calls, c.largest = c.calls+1, max(c.largest, size)
		return next(ctx, command)
	}
}

// large adds jobs with args of a size and returns them as fetched.
func (d *fixture) large(l *queue.Lease, n, size int) (held []*queue.Job) {
	d.Helper()
	for range n {
		_, err := d.client.Enqueue(d.Context(), queue.Raw("k", []byte(strings.Repeat("x", size))), &queue.Options{Queue: "q"})
		d.must(err)
	}
	for len(held) < n {
		fetched, err := l.Fetch(d.Context(), queue.FetchLimits{Jobs: n, Bytes: 1 << 30})
		d.must(err)
		held = append(held, fetched.Jobs...)
	}
	return held
}

func TestCallsOfABatchWithLargeArgsAreAddedByScriptsOf256KiB(t *testing.T) {
	t.Parallel()
	const size, perScript, callers = 60_000, 4, 1 + 3*4
	for name, failing := range map[string]bool{"each script succeeds": false, "the second one fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, proxy := setupProxied(t)
			d.must(d.queue.KeepEvents(t.Context(), 100)) // so all jobs are added by scripts
			d.add("first", queue.Options{})
			held := proxy.HoldReply("eval", "")
			sizes := &callSizes{}
			d.db.AddHook(sizes)
			var scripts sync.WaitGroup
			added := make(chan struct{})
			if failing {
				second := proxy.HoldReply("eval", "")
				scripts.Go(func() { <-second.Held(); second.Release() })
				third := proxy.HoldReply("eval", "")
				scripts.Go(func() {
					select {
					case <-third.Held():
						third.Drop()
					case <-added: // there was no third script
					}
				})
			}
			results := d.addInParallel(held, callers, size)
			close(added)
			scripts.Wait()
			succeeded, unknown, notSent := 0, 0, 0
			for _, result := range results {
				var lost *rdb.OutcomeUnknownError
				switch {
				case result.Err == nil:
					succeeded++
				case errors.As(result.Err, &lost):
					unknown++
				case errors.Is(result.Err, queue.ErrNotSent):
					notSent++
				}
			}
			got, want := [4]int{succeeded, unknown, notSent, len(d.all(queue.Waiting, 100))}, [4]int{callers, 0, 0, 1 + callers}
			if failing {
				want = [4]int{1 + perScript, perScript, perScript, 2 + 2*perScript}
			}
			if got != want {
				t.Errorf("added, unknown, not sent and waiting: %v, want %v", got, want)
			}
			if sizes.largest > 256<<10 || sizes.largest < perScript*size {
				t.Errorf("one script adds %d bytes", sizes.largest)
			}
		})
	}
}

func TestOutcomesOfLargeJobsAreWrittenInSmallSteps(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		d.end(l, queue.AttemptSucceeded, d.large(l, 1, 1)...) // sends the script
		for _, disposition := range []queue.Disposition{queue.AttemptSnoozed, queue.AttemptRetry, queue.AttemptReturned, queue.AttemptDead} {
			held := d.large(l, 8, 60_000)
			sizes := &callSizes{}
			db.AddHook(sizes)
			d.end(l, disposition, held...)
			if sizes.calls != 2 || disposition != queue.AttemptReturned && sizes.largest < 240_000 || sizes.largest > 256<<10 {
				t.Errorf("%s: %d calls of up to %d bytes, want 2 of 4 jobs each", disposition, sizes.calls, sizes.largest)
			}
			if disposition == queue.AttemptReturned {
				d.end(l, queue.AttemptSucceeded, d.fetch(l, 8)...)
			}
		}
	})
}

// Workers complete the records of large jobs, and scripts those of others: the same fields follow.
func TestRecordsOfLargeJobsAreCompleteAsThoseOfOthers(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.Open(t, redistest.URL(t)))
	l := d.lease("w")
	times, failed := regexp.MustCompile(`\d{13}`), regexp.MustCompile(`errors\d+|"time":"[^"]*"`)
	for disposition, jobs := range map[queue.Disposition]string{
		queue.AttemptRetry: "delayed:jobs", queue.AttemptSnoozed: "delayed:jobs", queue.AttemptDead: "dead:jobs", queue.AttemptSucceeded: "results:jobs",
	} {
		var tails []string
		for _, size := range []int{2, 65_536} {
			id, err := d.client.Enqueue(t.Context(), queue.Raw("k", []byte(strings.Repeat("x", size))), &queue.Options{Queue: "q", Retain: time.Hour})
			d.must(err)
			before := time.Now().UnixMilli()
			d.end(l, disposition, d.fetch(l, 1)...)
			record, err := d.db.HGet(t.Context(), d.key(jobs), strings.Split(id, ":")[2]).Result()
			d.must(err)
			_, tail, _ := strings.Cut(record, "xx6:")
			for _, number := range times.FindAllString(tail, -1) {
				if at, _ := strconv.ParseInt(number, 10, 64); at < before-1000 || at > before+60_000 {
					t.Errorf("%s: the time %d, want %d", disposition, at, before)
				}
			}
			tails = append(tails, failed.ReplaceAllString(times.ReplaceAllString(tail, "TIME"), ""))
		}
		if tails[0] != tails[1] || !strings.Contains(tails[0], "TIME") {
			t.Errorf("%s: %q, of a large job %q", disposition, tails[0], tails[1])
		}
	}
}

func TestLargeJobsAreMovedInSmallSteps(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		at := time.Now().Add(-time.Hour)
		var jobs []queue.NewJob
		for i := range 60 {
			size := 10
			if i >= 50 {
				size = 100_000
			}
			jobs = append(jobs, queue.NewJob{Args: queue.Raw("k", []byte(strings.Repeat("x", size))), Options: queue.Options{Queue: "q", Delay: time.Hour}})
		}
		for _, result := range d.client.EnqueueMany(t.Context(), jobs) {
			d.must(result.Err)
		}
		ids, err := db.ZRange(t.Context(), d.key("delayed"), 0, -1).Result()
		d.must(err)
		for i, id := range ids {
			d.must(db.ZAdd(t.Context(), d.key("delayed"), redis.Z{Score: float64(at.UnixMilli() + int64(i)), Member: id}).Err())
		}
		var moved []int
		for left := len(jobs); left > 0; {
			result, err := d.queue.MoveDue(t.Context(), "m")
			d.must(err)
			moved = append(moved, result.Jobs)
			left -= result.Jobs
		}
		if !slices.Equal(moved, []int{52, 2, 2, 2, 2}) {
			t.Errorf("moved %v jobs", moved)
		}
	})
}

func TestNextDueTimeIsToldToTheMicrosecond(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		due := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		d.add("k", queue.Options{At: due})
		before, err := db.Time(t.Context()).Result()
		d.must(err)
		moved, err := d.queue.MoveDue(t.Context(), "me")
		d.must(err)
		after, err := db.Time(t.Context()).Result()
		d.must(err)
		if at := due.Add(-moved.Next); at.Before(before) || at.After(after) {
			t.Errorf("from %s to %s the job of %s was due in %s", before, after, due, moved.Next)
		}
	})
}
