package queue_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestDepthCountsEachStateAndPriority(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		if depth, err := d.queue.Depth(t.Context()); depth.Waiting+depth.Active+depth.Delayed+depth.Dead+depth.Finished > 0 || depth.Paused || err != nil {
			t.Errorf("a queue that was never used: %+v, %v", depth, err)
		}
		due := time.UnixMilli(time.Now().Add(time.Hour).UnixMilli())
		d.bury("a", queue.Options{})
		l := d.lease("w")
		d.add("a", queue.Options{Retain: time.Hour})
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
		for range 3 {
			d.add("a", queue.Options{})
		}
		d.fetch(l, 1)
		d.add("a", queue.Options{Priority: queue.Low})
		d.add("a", queue.Options{Priority: queue.High, At: time.Now().Add(-time.Hour)})
		d.add("a", queue.Options{At: due})
		d.add("a", queue.Options{At: due.Add(time.Hour)})
		d.must(d.queue.Pause(t.Context(), "ada", "a note"))
		got, err := d.queue.Depth(t.Context())
		d.must(err)
		if got.Oldest < 0 || got.Oldest > time.Minute {
			t.Errorf("the oldest waits for %s", got.Oldest)
		}
		if time.Since(got.PausedAt).Abs() > time.Minute || time.Since(got.Time).Abs() > time.Minute {
			t.Errorf("it is paused since %s, and was counted at %s", got.PausedAt, got.Time)
		}
		got.Oldest, got.PausedAt, got.Time = 0, time.Time{}, time.Time{}
		want := queue.Depth{
			Waiting: 4, WaitingBy: map[queue.Priority]int{queue.High: 1, queue.Normal: 2, queue.Low: 1},
			Active: 1, ActiveBy: map[queue.Priority]int{queue.High: 0, queue.Normal: 1, queue.Low: 0},
			Delayed: 2, Dead: 1, Finished: 1, Paused: true, PausedBy: "ada", PausedNote: "a note", NextDue: due,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestOldestIsTheAgeOfTheFirstWaitingJob(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		now := time.Now()
		for _, ago := range []time.Duration{3 * time.Hour, 2 * time.Hour} {
			id := time.Duration(now.Add(-ago).UnixMilli())
			d.must(db.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:low:fresh"), ID: itoa(int(id)) + "-0", Values: []string{"kind", "a"}}).Err())
		}
		d.add("a", queue.Options{})
		for _, want := range []time.Duration{3 * time.Hour, 3 * time.Hour, 2 * time.Hour, 0} {
			depth, err := d.queue.Depth(t.Context())
			if off := depth.Oldest - want; err != nil || off < 0 || off > time.Minute {
				t.Errorf("the oldest waits for %s, want %s: %v", depth.Oldest, want, err)
			}
			if want > 0 {
				d.fetch(d.lease("w"+itoa(int(depth.Oldest))+itoa(depth.Active)), 1)
			}
		}
	})
}

func TestPausedQueueDeliversNoJobUntilItIsResumed(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		_, mark, err := d.queue.Signals(t.Context(), queue.StreamCursor{})
		d.must(err)
		d.must(d.queue.Pause(t.Context(), "", ""))
		d.must(d.queue.Pause(t.Context(), "", ""))
		d.add("a", queue.Options{})
		if fetched, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); err != nil || !fetched.Paused {
			t.Errorf("fetched %+v: %v", fetched, err)
		}
		d.must(d.queue.Resume(t.Context()))
		d.fetch(l, 1)
		signals, _, err := d.queue.Signals(t.Context(), mark)
		d.must(err)
		var kinds []queue.SignalKind
		for _, signal := range signals {
			kinds = append(kinds, signal.Kind)
		}
		same(t, kinds, []queue.SignalKind{"pause", "pause", "resume"})
	})
}

func TestWorkersAreListedWithTheNumberOfTheirJobs(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for range 5 {
			d.add("a", queue.Options{})
		}
		d.add("a", queue.Options{Priority: queue.Low})
		busy, idle, dead := d.lease("busy"), d.lease("idle"), d.lease("dead")
		jobs := d.fetch(busy, 3)
		d.must(busy.MarkSolo(t.Context(), jobs[1]))
		d.fetch(dead, 2)
		d.close(dead) // with jobs
		d.must(db.XGroupCreate(t.Context(), d.key("2:low:fresh"), "workers", "0").Err())
		d.must(db.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "workers", Consumer: "stranger", Streams: []string{d.key("2:low:fresh"), ">"}}).Err())
		d.must(db.ZAdd(t.Context(), d.key("leases"), redis.Z{Score: 1e15 + 1, Member: "idle"}).Err())
		workers, err := d.queue.Workers(t.Context())
		if err != nil || len(workers) != 4 {
			t.Fatalf("got %+v: %v", workers, err)
		}
		if w := workers[0]; w.Name != "busy" || w.Held != 3 || w.Solo != jobs[1].ID || w.Dead || w.Lease <= 0 || w.Lease > time.Minute {
			t.Errorf("the first is %+v", w)
		}
		if w := workers[1]; w.Name != idle.Worker() || w.Held != 0 || w.Solo != "" || w.Dead {
			t.Errorf("the second is %+v", w)
		}
		if w := workers[2]; w.Name != "dead" || w.Held != 2 || !w.Dead {
			t.Errorf("the third is %+v", w)
		}
		if w := workers[3]; w.Name != "stranger" || w.Held != 1 || !w.Dead {
			t.Errorf("the fourth is %+v", w)
		}
	})
}

func TestCountersCountEachDayAndAllTime(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for _, as := range []queue.Disposition{queue.AttemptSucceeded, queue.AttemptDiscarded, queue.AttemptCancelled, queue.AttemptRetry, queue.AttemptDead} {
			d.add("a", queue.Options{})
			d.end(l, as, d.fetch(l, 1)...)
		}
		_, err := d.changeAll("retry", queue.Dead)
		d.must(err)
		_, err = d.changeAll("delete", queue.Waiting)
		d.must(err)
		total, days, err := d.queue.Counters(t.Context(), 2)
		want := queue.Counts{Enqueued: 5, Succeeded: 1, Discarded: 1, Cancelled: 1, Failed: 2, Retried: 1, Dead: 1, Revived: 1, Deleted: 1}
		if err != nil || total != want || len(days) != 2 {
			t.Fatalf("got %+v and %d days: %v", total, len(days), err)
		}
		today, yesterday := days[0], days[1]
		if today.Day.Sub(yesterday.Day) != 24*time.Hour || today.Day.Hour() != 0 || time.Since(today.Day) > 25*time.Hour {
			t.Errorf("the days are %s and %s", today.Day, yesterday.Day)
		}
		if today.Counts != want && yesterday.Counts == (queue.Counts{}) { // unless it is midnight
			t.Errorf("today has %+v", today)
		}
		if _, days, err = d.queue.Counters(t.Context(), 90); err != nil || len(days) != 90 {
			t.Errorf("%d days: %v", len(days), err)
		}
	})
}

func TestTidyDeletesExpiredDataOnly(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		ctx := t.Context()
		l := d.lease("w")
		const jobs = 250 // more than two steps
		for range jobs {
			d.add("a", queue.Options{Retain: time.Hour})
		}
		ended := d.fetch(l, jobs)
		d.end(l, queue.AttemptSucceeded, ended...)
		dead := []string{d.bury("a", queue.Options{}), d.bury("a", queue.Options{})}
		old := time.Now().AddDate(0, 0, -91).UnixMilli()
		for _, job := range ended[1:] {
			d.must(db.ZAdd(ctx, d.key("results"), redis.Z{Score: float64(old), Member: job.ID[4:]}).Err())
		}
		d.must(db.ZAdd(ctx, d.key("dead"), redis.Z{Score: float64(old), Member: dead[0][4:]}).Err())
		d.must(db.ZAdd(ctx, d.key("waited"), redis.Z{Score: 1, Member: "n1-1"}, redis.Z{Score: 1e15 + 1, Member: "n2-1"}).Err())
		d.add("a", queue.Options{Unique: queue.Unique{Key: "k", Scope: queue.ForDuration, For: time.Hour}})
		d.must(db.ZAdd(ctx, d.key("unique:expiry"), redis.Z{Score: 1, Member: "k"}).Err())
		for day := range 300 {
			d.must(db.HSet(ctx, d.key("counts"), itoa(day)+":done", 5).Err())
		}
		before, _, err := d.queue.Counters(ctx, 3)
		d.must(err)

		d.must(d.queue.Tidy(ctx))
		d.must(d.queue.Tidy(ctx))
		same(t, d.all(queue.Finished, 10), []string{ended[0].ID})
		same(t, d.all(queue.Dead, 10), dead[1:])
		same(t, db.ZRange(ctx, d.key("waited"), 0, -1).Val(), []string{"n2-1"})
		if n := db.Exists(ctx, d.key("unique"), d.key("unique:expiry")).Val(); n != 0 {
			t.Errorf("%d keys of unique keys are left", n)
		}
		if n := db.HExists(ctx, d.key("counts"), "299:done").Val(); n {
			t.Error("counts of 1970 are left")
		}
		after, _, err := d.queue.Counters(ctx, 3)
		before.Dropped++
		if err != nil || after != before {
			t.Errorf("the counters were %+v and are %+v: %v", before, after, err)
		}
		var bytes int64
		for _, record := range db.HGetAll(ctx, d.key("results:jobs")).Val() {
			bytes += int64(len(record))
		}
		if n, _ := db.HGet(ctx, d.key("meta"), "result_bytes").Int64(); n != bytes {
			t.Errorf("%d bytes are counted, %d are there", n, bytes)
		}
	})
}

// ended adds a job that succeeds and whose result is kept for an hour.
func (d *fixture) ended(kind string) string {
	d.Helper()
	id := d.add(kind, queue.Options{Priority: queue.High, Retain: time.Hour})
	l := d.lease("clerk-of-" + kind)
	d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
	d.close(l)
	return id
}

func TestRetentionBoundsJobsAndBytes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for _, archive := range []struct {
			state queue.State
			end   func(kind string) string
			keep  func(queue.RetentionLimit) queue.Retention
		}{
			{queue.Dead, func(kind string) string { return d.bury(kind, queue.Options{}) }, func(k queue.RetentionLimit) queue.Retention { return queue.Retention{Dead: k} }},
			{queue.Finished, d.ended, func(k queue.RetentionLimit) queue.Retention { return queue.Retention{Results: k} }},
		} {
			var ids []string
			add := func() { ids = append(ids, archive.end(fmt.Sprint("kind-", len(ids)))) }
			keeps := func(when string, n int) {
				t.Helper()
				want := slices.Sorted(slices.Values(ids[len(ids)-n:]))
				if got := slices.Sorted(slices.Values(d.all(archive.state, 10))); !slices.Equal(got, want) {
					t.Errorf("%s: the %s ones kept are %v, want %v", when, archive.state, got, want)
				}
			}
			for range 6 {
				add()
			}
			keeps("by default", 6)
			d.must(d.queue.SetRetention(t.Context(), archive.keep(queue.RetentionLimit{Jobs: 3})))
			keeps("the retention is set, and no job added", 6)
			add()
			keeps("one more job added", 3)
			d.must(d.queue.SetRetention(t.Context(), archive.keep(queue.RetentionLimit{Jobs: 2})))
			d.must(d.queue.Tidy(t.Context()))
			keeps("tidied up", 2)
			small := archive.keep(queue.RetentionLimit{Bytes: 1, Age: time.Hour})
			d.must(d.queue.SetRetention(t.Context(), small))
			if stored, _, err := d.queue.Retention(t.Context()); err != nil || stored != small {
				t.Errorf("the retention is %+v, %v, want %+v", stored, err, small)
			}
			add()
			keeps("too large, all but the newest", 1)
			d.must(d.queue.SetRetention(t.Context(), queue.Retention{}))
			add()
			add()
			keeps("by default again", 3)
		}
	})
}

func TestRetentionByAgeDropsDeadJobs(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		old := d.bury("old", queue.Options{})
		d.must(db.ZAdd(t.Context(), d.key("dead"), redis.Z{Score: float64(time.Now().Add(-time.Hour).UnixMilli()), Member: old[len("q:0:"):]}).Err())
		d.must(d.queue.SetRetention(t.Context(), queue.Retention{Dead: queue.RetentionLimit{Age: 2 * time.Hour}}))
		d.must(d.queue.Tidy(t.Context()))
		if dead := d.all(queue.Dead, 10); len(dead) != 1 {
			t.Errorf("an hour of two is over, and %v are kept", dead)
		}
		d.must(d.queue.SetRetention(t.Context(), queue.Retention{Dead: queue.RetentionLimit{Age: time.Minute}}))
		d.must(d.queue.Tidy(t.Context()))
		if dead := d.all(queue.Dead, 10); len(dead) != 0 {
			t.Errorf("a minute is over, and %v are kept", dead)
		}
	})
}

func TestRetentionByAgeShortensResults(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.must(d.queue.SetRetention(t.Context(), queue.Retention{Results: queue.RetentionLimit{Age: 10 * time.Minute}}))
		d.ended("a")
		kept, err := db.ZRangeWithScores(t.Context(), d.key("results"), 0, -1).Result()
		d.must(err)
		if left := time.Until(time.UnixMilli(int64(kept[0].Score))); left > 10*time.Minute+time.Second || left < 9*time.Minute {
			t.Errorf("the result is kept for %s, want ten minutes", left)
		}
	})
}

func TestInvalidRetentionIsRefused(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.Open(t, "embedded:"))
	for name, r := range map[string]queue.Retention{
		"jobs below zero":  {Dead: queue.RetentionLimit{Jobs: -1}},
		"bytes below zero": {Results: queue.RetentionLimit{Bytes: -1}},
		"age below zero":   {Results: queue.RetentionLimit{Age: -time.Hour}},
		"hardly an age":    {Dead: queue.RetentionLimit{Age: time.Nanosecond}},
	} {
		if err := d.queue.SetRetention(t.Context(), r); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
