package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func same[T comparable](t testing.TB, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestJobIsFoundInEveryState(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		want := func(id string, state queue.State) *queue.Job {
			t.Helper()
			job := d.get(id)
			if job.ID != id || job.State != state || job.Kind != "a" || string(job.Args) != `{"of":"a"}` || job.Enqueued.IsZero() || job.Reason != "" {
				t.Errorf("want %s to be %s: %+v", id, state, job)
			}
			return job
		}
		at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		if job := want(d.add("a", queue.Options{At: at, Retain: time.Hour, Priority: queue.High}), queue.Delayed); !job.Due.Equal(at) || job.Retain != time.Hour || job.Priority != queue.High {
			t.Errorf("delayed: %+v", job)
		}
		id := d.add("a", queue.Options{Retain: time.Hour})
		want(id, queue.Waiting)
		held := d.fetch(l, 1)
		if job := want(id, queue.Active); job.Worker != "w" {
			t.Errorf("active: it has worker %q", job.Worker)
		}
		d.end(l, queue.AttemptReturned, held...)
		want(id, queue.Waiting)
		held = d.fetch(l, 1)
		d.end(l, queue.AttemptRetry, held...)
		want(id, queue.Delayed)
		d.must(d.client.Retry(t.Context(), id))
		want(id, queue.Waiting)
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
		job := d.get(id)
		if job.State != queue.Finished || job.Outcome != queue.Succeeded || string(job.Result) != "fine" || job.Ended.IsZero() {
			t.Errorf("finished: %+v", job)
		}
		job = d.get(d.bury("a", queue.Options{}))
		if job.State != queue.Dead || job.Outcome != queue.Died || job.Reason != "because" || job.Ended.IsZero() {
			t.Errorf("dead: %+v", job)
		}
	})
}

func TestUnknownJobIsNoJob(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		id := d.add("a", queue.Options{})
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
		for _, id := range []string{id, "q:0:n1-1", "q:0:d000000000000007", "other:0:h5-0"} {
			if _, err := d.client.Get(t.Context(), id); !errors.Is(err, queue.ErrNoJob) {
				t.Errorf("%s: %v, want ErrNoJob", id, err)
			}
		}
		for _, id := range []string{"", "q", "q:0:", "q:0:x1-1", "q:1:n1-1", "q:0:n1", "a b:0:n1-1", "q:0:n1-1:2"} {
			if _, err := d.client.Get(t.Context(), id); !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("%q: %v, want ErrInvalid", id, err)
			}
		}
	})
}

func TestDamagedJobIsReturnedWithItsReadableFields(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{Delay: time.Hour, MaxAttempts: 3})
		local := strings.TrimPrefix(id, "q:0:")
		record := db.HGet(t.Context(), d.key("delayed:jobs"), local).Val()
		for name, damaged := range map[string]string{
			"cut short":      record[:len(record)-3],
			"forged length":  record + "3:foo-2:x",
			"other format":   "9" + record[1:],
			"empty":          "",
			"an odd number":  record + "8:attempts2:-1",
			"it leads back":  "2n-3:",
			"other priority": "2x" + record[2:],
			"cut short too":  "na",
			"no letter":      "xa {}",
		} {
			d.must(db.HSet(t.Context(), d.key("delayed:jobs"), local, damaged).Err())
			job := d.get(id)
			if job.State != queue.Delayed || !strings.HasPrefix(job.Reason, "malformed: ") || job.Due.IsZero() {
				t.Errorf("%s: %+v", name, job)
			}
			if name == "cut short" && job.Kind != "a" {
				t.Errorf("%s: kind %q", name, job.Kind)
			}
		}
		d.must(db.HDel(t.Context(), d.key("delayed:jobs"), local).Err())
		if job := d.get(id); !strings.Contains(job.Reason, "no record") {
			t.Errorf("without a record: %+v", job)
		}
	})
}

func TestQueueOfAnotherFormatIsRefusedByName(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{})
		for version, advice := range map[string]string{"1": "let the release that wrote it run its jobs", "3": "upgrade", "x": "upgrade"} {
			d.must(db.HSet(t.Context(), d.key("meta"), "format", version).Err())
			var format *queue.FormatError
			_, err := d.client.Get(t.Context(), id)
			if !errors.As(err, &format) || format.Version != version || format.Older != (version == "1") {
				t.Errorf("Get: %v", err)
			}
			if want := "queue " + d.queue.Name() + " has format"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), advice) {
				t.Errorf("Get: %v, want %s and %s", err, want, advice)
			}
			if _, err := d.changeAll("delete", queue.Waiting); !errors.As(err, &format) {
				t.Errorf("Purge: %v", err)
			}
			d.queue.SetSettingsAge(time.Hour) // later it looks at the settings, and now by the lines' names
			if _, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: d.queue.Name()}); !errors.As(err, &format) {
				t.Errorf("Enqueue: %v", err)
			}
		}
	})
}
