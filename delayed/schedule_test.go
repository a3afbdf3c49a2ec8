package delayed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// schedule adds a job for in an hour.
func (s *scene) schedule(t *testing.T, options queue.Options) string {
	t.Helper()
	options.Queue = s.queue.Name()
	id, err := delayed.Schedule(t.Context(), s.client, queue.Raw("k", nil), time.Now().Add(time.Hour), options)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s *scene) state(t *testing.T, id string) queue.State {
	t.Helper()
	job, err := s.client.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job.State
}

func TestScheduledJobWaitsForItsTime(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		at := time.Now().Add(time.Hour)
		id, err := delayed.Schedule(t.Context(), s.client, queue.Raw("k", nil), at, queue.Options{Queue: "mail"})
		if err != nil {
			t.Fatal(err)
		}
		job, err := s.client.Get(t.Context(), id)
		if err != nil || job.State != queue.Delayed || job.Due.UnixMilli() != at.UnixMilli() {
			t.Errorf("%+v, %v; want it delayed until %s", job, err, at)
		}
	})
}

func TestScheduleWithoutOneTimeIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, redistest.DB(t))
	soon := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		at      time.Time
		options queue.Options
	}{
		"none":          {time.Time{}, queue.Options{}},
		"two":           {soon, queue.Options{At: soon}},
		"and a delay":   {soon, queue.Options{Delay: time.Second}},
		"in a lifetime": {soon.AddDate(101, 0, 0), queue.Options{}},
	} {
		if id, err := delayed.Schedule(t.Context(), s.client, queue.Raw("k", nil), c.at, c.options); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: got %q, %v; want ErrInvalid", name, id, err)
		}
	}
	if err := delayed.Reschedule(t.Context(), s.client, s.schedule(t, queue.Options{}), time.Time{}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("rescheduled to no time: %v, want ErrInvalid", err)
	}
}

func TestCancelledJobIsGoneAndItsKeyFree(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		key := queue.Options{Unique: queue.Unique{Key: "daily"}}
		id := s.schedule(t, key)
		if err := delayed.Cancel(t.Context(), s.client, id); err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Get(t.Context(), id); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("the job is there: %v", err)
		}
		s.schedule(t, key)
	})
}

func TestJobRunNowIsInTheDueLine(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		id := s.schedule(t, queue.Options{})
		s.due[id] = time.Now().Add(-time.Hour).UnixMilli()
		if err := delayed.RunNow(t.Context(), s.client, id); err != nil {
			t.Fatal(err)
		}
		s.moved(t, 1)
		if state := s.state(t, id); state != queue.Waiting {
			t.Errorf("it is %s, want waiting", state)
		}
	})
}

func TestRescheduledJobMovesAtItsNewTime(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		s.run(t, delayed.NewMover(db, delayed.MoverConfig{}, s.queue))
		id := s.schedule(t, queue.Options{})
		at := time.Now().Add(30 * time.Millisecond)
		s.due[id] = at.UnixMilli()
		if err := delayed.Reschedule(t.Context(), s.client, id, at); err != nil {
			t.Fatal(err)
		}
		s.moved(t, 1)
	})
}

func TestJobThatIsNotDelayedIsLeftAlone(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		operations := map[string]func(context.Context, *queue.Client, string) error{
			"cancel":  delayed.Cancel,
			"run now": delayed.RunNow,
			"reschedule": func(ctx context.Context, c *queue.Client, id string) error {
				return delayed.Reschedule(ctx, c, id, time.Now().Add(time.Hour))
			},
		}
		for state, id := range s.others(t) {
			for name, operate := range operations {
				if err := operate(t.Context(), s.client, id); !errors.Is(err, queue.ErrState) {
					t.Errorf("%s of a job that is %s: %v, want ErrState", name, state, err)
				}
			}
			if is := s.state(t, id); is != state {
				t.Errorf("the job that was %s is %s now", state, is)
			}
		}
		for name, operate := range operations {
			if err := operate(t.Context(), s.client, "mail:0:d000000000009999"); !errors.Is(err, queue.ErrNoJob) {
				t.Errorf("%s of a job that never was: %v, want ErrNoJob", name, err)
			}
			if err := operate(t.Context(), s.client, "no id"); !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("%s of what is no id: %v, want ErrInvalid", name, err)
			}
		}
	})
}

// others gives a job in each state but delayed.
func (s *scene) others(t *testing.T) map[queue.State]string {
	t.Helper()
	ctx := t.Context()
	lease, err := s.queue.Lease(ctx, "w", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[queue.State]string{}
	for _, state := range []queue.State{queue.Dead, queue.Finished, queue.Active, queue.Waiting} {
		id, err := s.client.Enqueue(ctx, queue.Raw("k", nil), queue.Options{Queue: s.queue.Name(), Retain: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		jobs[state] = id
		if state == queue.Waiting {
			break
		}
		fetched, err := lease.Fetch(ctx, 1, 1<<20)
		if err != nil || len(fetched.Jobs) != 1 {
			t.Fatalf("fetched %+v, %v; want one job", fetched, err)
		}
		as := map[queue.State]queue.As{queue.Dead: queue.AsDead, queue.Finished: queue.AsSucceeded}
		if as, ends := as[state]; ends {
			if _, err := lease.Finish(ctx, []queue.Ending{{Job: fetched.Jobs[0], As: as, Reason: "a test"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return jobs
}

func TestListHasDelayedJobsByTheirTimes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		soon := time.Now().Add(time.Hour)
		ids := s.delay(t, soon.Add(time.Minute), soon)
		s.others(t)
		page, err := delayed.List(t.Context(), s.client, "mail", queue.ListOptions{})
		if err != nil || len(page.Jobs) != 2 || page.Jobs[0].ID != ids[1] || page.Jobs[1].ID != ids[0] || page.Next != "" {
			t.Errorf("%+v, %v; want jobs %v, the last first", page, err, ids)
		}
		if _, err := delayed.List(t.Context(), s.client, "no name!", queue.ListOptions{}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("list of what is no queue: %v, want ErrInvalid", err)
		}
	})
}
