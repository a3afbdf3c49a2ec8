package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// ended adds a job that succeeds and whose result is kept for an hour.
func (d *fixture) ended(kind string) string {
	d.Helper()
	id := d.add(kind, queue.Options{Priority: queue.High, Retain: time.Hour})
	l := d.lease("clerk-of-" + kind)
	d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
	d.must(l.Close(d.Context()))
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
			keeps("told, and nothing put in", 6)
			add()
			keeps("one more put in", 3)
			d.must(d.queue.SetRetention(t.Context(), archive.keep(queue.RetentionLimit{Jobs: 2})))
			d.must(d.queue.Tidy(t.Context()))
			keeps("tidied up", 2)
			d.must(d.queue.SetRetention(t.Context(), archive.keep(queue.RetentionLimit{Bytes: 1})))
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
