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

func TestListByKindReturnsThatKindOnly(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for i := range 50 {
			d.add("many", queue.Options{MaxAttempts: i})
		}
		rare := d.add("rare", queue.Options{})
		page, err := d.queue.List(t.Context(), queue.Waiting, &queue.ListOptions{Filter: queue.Filter{Kind: "rare"}})
		if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != rare || page.Next != "" {
			t.Errorf("the page is %+v: %v", page, err)
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

func TestFilterSelectsMatchingJobsOnly(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		refused := d.dies("mail", `550 <a@b> says "No Such User"`)
		slow := d.dies("mail", "Zeitüberschreitung after 30s")
		other := d.dies("hook", "500")
		for name, c := range map[string]struct {
			filter queue.Filter
			want   []string
		}{
			"all":                    {queue.Filter{}, []string{other, slow, refused}},
			"kind":                   {queue.Filter{Kind: "mail"}, []string{slow, refused}},
			"error":                  {queue.Filter{Error: "no such user"}, []string{refused}},
			"quoted error":           {queue.Filter{Error: `<a@b> says "no`}, []string{refused}},
			"error beyond ASCII":     {queue.Filter{Error: "ZEITüber"}, []string{slow}},
			"not a pattern":          {queue.Filter{Error: "5.0"}, nil},
			"time of an error":       {queue.Filter{Error: time.Now().UTC().Format("2006-01-02t")}, nil},
			"name of a field":        {queue.Filter{Error: "attempt\""}, nil},
			"reason":                 {queue.Filter{Error: "more attempts", Kind: "hook"}, []string{other}},
			"older than they are":    {queue.Filter{OlderThan: time.Hour}, nil},
			"newer than an hour":     {queue.Filter{NewerThan: time.Hour}, []string{other, slow, refused}},
			"all that there is, but": {queue.Filter{Kind: "mail", NewerThan: time.Hour, Error: "user", OlderThan: time.Hour}, nil},
		} {
			page, err := d.queue.List(t.Context(), queue.Dead, &queue.ListOptions{Filter: c.filter})
			d.must(err)
			var got []string
			for _, job := range page.Jobs {
				got = append(got, job.ID)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: listed %v, want %v", name, got, c.want)
			}
			if n, err := d.queue.CountAll(t.Context(), queue.Dead, c.filter); n != len(c.want) || err != nil {
				t.Errorf("%s: counted %d, want %d: %v", name, n, len(c.want), err)
			}
		}
		if n, err := d.queue.DeleteAll(t.Context(), queue.Dead, queue.Filter{Error: "ZEIT"}); n != 1 || err != nil {
			t.Errorf("deleted %d: %v", n, err)
		}
		if n, err := d.queue.CountAll(t.Context(), queue.Dead, queue.Filter{}); n != 2 || err != nil {
			t.Errorf("left %d: %v", n, err)
		}
	})
}

func TestCountAllCountsEveryState(t *testing.T) {
	d := setup(t, redistest.DB(t))
	d.inEach(queue.Unique{})
	d.fetch(d.lease("w"), 1)
	for state, want := range map[queue.State]int{queue.Waiting: 0, queue.Active: 1, queue.Delayed: 1, queue.Dead: 1, queue.Finished: 1} {
		for _, filter := range []queue.Filter{{}, {Kind: "a"}} {
			if n, err := d.queue.CountAll(t.Context(), state, filter); n != want || err != nil {
				t.Errorf("%s, %+v: %d: %v", state, filter, n, err)
			}
		}
	}
	if _, err := d.queue.CountAll(t.Context(), "asleep", queue.Filter{}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("unknown state: %v", err)
	}
}

func TestInvalidFiltersAreRefused(t *testing.T) {
	d := setup(t, redistest.DB(t))
	for name, filter := range map[string]queue.Filter{
		"older": {OlderThan: -1}, "newer": {NewerThan: -1}, "error": {Error: string(make([]byte, 2000))},
	} {
		if _, err := d.queue.List(t.Context(), queue.Dead, &queue.ListOptions{Filter: filter}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("List, %s: %v", name, err)
		}
		if _, err := d.queue.RetryAll(t.Context(), queue.Dead, filter); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("RetryAll, %s: %v", name, err)
		}
	}
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
