package queue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestWaitingJobsAreListedInTheOrderInWhichTheyRun(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		d.add("a", queue.Options{})
		back := d.fetch(l, 1)
		for _, p := range []queue.Priority{queue.Low, queue.Normal, queue.High, queue.Normal} {
			d.add("a", queue.Options{Priority: p})
			d.add("a", queue.Options{Priority: p, At: time.Now().Add(-time.Minute)})
		}
		d.end(l, queue.AttemptReturned, back...)
		listed := d.all(queue.Waiting, 2)
		var ran []string
		for _, job := range d.fetch(l, 9) {
			ran = append(ran, job.ID)
		}
		same(t, listed, ran)
		same(t, d.all(queue.Waiting, 2), nil)
		active := d.all(queue.Active, 2)
		same(t, active, ran)
	})
}

func TestListsByIDAreInOrder(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		at := time.Now().Add(time.Hour)
		var delayed, dead []string
		for range 7 { // all at one time, which is the hard case for cursors
			delayed = append(delayed, d.add("a", queue.Options{At: at}))
		}
		first := d.add("a", queue.Options{At: at.Add(-time.Minute)})
		last := d.add("a", queue.Options{At: at.Add(time.Minute)})
		delayed = append(append([]string{first}, delayed...), last)
		for range 3 {
			dead = append([]string{d.bury("a", queue.Options{})}, dead...)
		}
		for _, limit := range []int{1, 2, 3, 100} {
			same(t, d.all(queue.Delayed, limit), delayed)
			got := d.all(queue.Dead, limit)
			slices.Sort(got) // those of one millisecond may come in any order
			want := slices.Clone(dead)
			slices.Sort(want)
			same(t, got, want)
		}
	})
}

func TestCursorStaysValidWhileJobsAreDeleted(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		at := time.Now().Add(time.Hour)
		for state, o := range map[queue.State]queue.Options{queue.Delayed: {At: at}, queue.Waiting: {}} {
			var ids []string
			for range 10 {
				ids = append(ids, d.add("a", o))
			}
			page, err := d.queue.List(t.Context(), state, &queue.ListOptions{Limit: 4})
			d.must(err)
			for _, id := range ids[1:5] { // also the one that the cursor names
				d.must(d.client.Delete(t.Context(), id))
			}
			d.add("a", o)
			page, err = d.queue.List(t.Context(), state, &queue.ListOptions{Limit: 4, Cursor: page.Next})
			d.must(err)
			var got []string
			for _, job := range page.Jobs {
				got = append(got, job.ID)
			}
			same(t, got, ids[5:9])
		}
	})
}

func TestInvalidListOptionsAreRefused(t *testing.T) {
	d := setup(t, redistest.DB(t))
	for name, o := range map[string]queue.ListOptions{
		"limit":   {Limit: -1},
		"cursor":  {Cursor: "x"},
		"another": {Cursor: "179 d0001"},
	} {
		if _, err := d.queue.List(t.Context(), queue.Waiting, &o); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.queue.List(t.Context(), "asleep", nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("unknown state: %v", err)
	}
}

func TestExpiredResultsAreNotListed(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for range 3 {
			d.add("a", queue.Options{Retain: time.Hour})
		}
		jobs := d.fetch(l, 3)
		d.end(l, queue.AttemptSucceeded, jobs...)
		if got := d.all(queue.Finished, 2); len(got) != 3 {
			t.Errorf("listed are %v", got)
		}
		d.must(db.ZIncrBy(t.Context(), d.key("results"), -4e6, jobs[1].ID[len("q:0:"):]).Err())
		if got := d.all(queue.Finished, 2); len(got) != 2 || slices.Contains(got, jobs[1].ID) {
			t.Errorf("listed are %v, without %s", got, jobs[1].ID)
		}
		depth, err := d.queue.Depth(t.Context())
		if err != nil || depth.Finished != 2 {
			t.Errorf("%d are finished: %v", depth.Finished, err)
		}
		if _, err := d.client.Get(t.Context(), jobs[1].ID); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("Get: %v", err)
		}
	})
}

// dies adds a job that fails for good, with a reason.
func (d *fixture) dies(kind, reason string) string {
	d.Helper()
	id := d.add(kind, queue.Options{Priority: queue.High})
	l := d.lease("of-" + id[len("q:0:"):])
	job := d.fetch(l, 1)[0]
	job.Errors = []queue.Failure{{Attempt: 1, Time: time.Now().UTC(), Error: reason}}
	_, err := l.Finish(d.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptDead, Reason: "no more attempts"}})
	d.must(err)
	d.close(l)
	return id
}

func TestActiveJobHasTheTimeOfItsFetch(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{})
		d.fetch(d.lease("w"), 1)
		now, err := db.Time(t.Context()).Result()
		d.must(err)
		page, err := d.queue.List(t.Context(), queue.Active, nil)
		d.must(err)
		for _, job := range append(page.Jobs, d.get(id)) {
			if held := now.Sub(job.Taken); held < -time.Second || held > 10*time.Second {
				t.Errorf("taken at %s, now is %s", job.Taken, now)
			}
		}
	})
}

func TestValidateRefusesJobsThatEnqueueRefuses(t *testing.T) {
	d := setup(t, redistest.DB(t))
	for name, c := range map[string]struct {
		insert queue.NewJob
		fit    bool
	}{
		"good":     {queue.NewJob{Args: queue.Raw("a", nil)}, true},
		"kind":     {queue.NewJob{Args: queue.Raw("no kind!", nil)}, false},
		"options":  {queue.NewJob{Args: queue.Raw("a", nil), Options: queue.Options{Delay: -1}}, false},
		"too much": {queue.NewJob{Args: queue.Raw("a", make([]byte, queue.DefaultMaxPayload+1))}, false},
	} {
		if err := d.client.Validate(c.insert); (err == nil) != c.fit || err != nil && !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := d.client.Queues(t.Context()); len(names) > 0 || err != nil {
		t.Errorf("it was sent: %v, %v", names, err)
	}
}
