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

// dies adds a job that fails for good, with a reason.
func (d *fixture) dies(kind, reason string) string {
	d.Helper()
	id := d.add(kind, queue.Options{Priority: queue.High})
	l := d.lease("of-" + id[len("q:0:"):])
	job := d.fetch(l, 1)[0]
	job.Errors = []queue.Failure{{Attempt: 1, Error: reason}}
	_, err := l.Finish(d.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptDead, Reason: "no more attempts"}})
	d.must(err)
	d.must(l.Close(d.Context()))
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
