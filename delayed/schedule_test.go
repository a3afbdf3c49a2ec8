package delayed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// schedule adds a job that is due in an hour.
func (s *fixture) schedule(t *testing.T, options queue.Options) string {
	t.Helper()
	options.Queue, options.At = s.queue.Name(), time.Now().Add(time.Hour)
	id, err := s.client.Enqueue(t.Context(), queue.Raw("k", nil), &options)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s *fixture) state(t *testing.T, id string) queue.State {
	t.Helper()
	job, err := s.client.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job.State
}

func TestScheduledJobWaitsForItsTime(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		at := time.Now().Add(time.Hour)
		id, err := s.client.Enqueue(t.Context(), queue.Raw("k", nil), &queue.Options{Queue: "mail", At: at})
		if err != nil {
			t.Fatal(err)
		}
		job, err := s.client.Get(t.Context(), id)
		if err != nil || job.State != queue.Delayed || job.Due.UnixMilli() != at.UnixMilli() {
			t.Errorf("%+v, %v; want it delayed until %s", job, err, at)
		}
	})
}

func TestCancelledJobIsGoneAndItsKeyFree(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		key := queue.Options{Unique: queue.Unique{Key: "daily"}}
		id := s.schedule(t, key)
		if _, err := s.client.Cancel(t.Context(), id, queue.OnlyIf(queue.Delayed)); err != nil {
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
		s := newFixture(t, db)
		id := s.schedule(t, queue.Options{})
		s.due[id] = time.Now().Add(-time.Hour).UnixMilli()
		if err := s.client.Retry(t.Context(), id, queue.OnlyIf(queue.Delayed)); err != nil {
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
		s := newFixture(t, db)
		s.run(t, delayed.NewMover(s.client, nil, s.queue))
		id := s.schedule(t, queue.Options{})
		at := time.Now().Add(30 * time.Millisecond)
		s.due[id] = at.UnixMilli()
		if err := s.client.Reschedule(t.Context(), id, at); err != nil {
			t.Fatal(err)
		}
		s.moved(t, 1)
	})
}

func TestJobThatIsNotDelayedIsLeftAlone(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		operations := map[string]func(context.Context, *queue.Client, string) error{
			"cancel": func(ctx context.Context, c *queue.Client, id string) error {
				_, err := c.Cancel(ctx, id, queue.OnlyIf(queue.Delayed))
				return err
			},
			"run now": func(ctx context.Context, c *queue.Client, id string) error {
				return c.Retry(ctx, id, queue.OnlyIf(queue.Delayed))
			},
			"reschedule": func(ctx context.Context, c *queue.Client, id string) error {
				return c.Reschedule(ctx, id, time.Now().Add(time.Hour))
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

// others returns a job in each state but delayed.
func (s *fixture) others(t *testing.T) map[queue.State]string {
	t.Helper()
	ctx := t.Context()
	lease, err := s.queue.NewLease("w", 0)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[queue.State]string{}
	for _, state := range []queue.State{queue.Dead, queue.Finished, queue.Active, queue.Waiting} {
		id, err := s.client.Enqueue(ctx, queue.Raw("k", nil), &queue.Options{Queue: s.queue.Name(), Retain: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		jobs[state] = id
		if state == queue.Waiting {
			break
		}
		fetched, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
		if err != nil || len(fetched.Jobs) != 1 {
			t.Fatalf("fetched %+v, %v; want one job", fetched, err)
		}
		as := map[queue.State]queue.Disposition{queue.Dead: queue.AttemptDead, queue.Finished: queue.AttemptSucceeded}
		if as, ends := as[state]; ends {
			if _, err := lease.Finish(ctx, []queue.Completion{{Job: fetched.Jobs[0], Disposition: as, Reason: "a test"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return jobs
}

func TestListHasDelayedJobsByTheirTimes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		soon := time.Now().Add(time.Hour)
		ids := s.delay(t, soon.Add(time.Minute), soon)
		s.others(t)
		page, err := s.queue.List(t.Context(), queue.Delayed, nil)
		if err != nil || len(page.Jobs) != 2 || page.Jobs[0].ID != ids[1] || page.Jobs[1].ID != ids[0] || page.Next != "" {
			t.Errorf("%+v, %v; want jobs %v, the last first", page, err, ids)
		}
	})
}

func TestHigherRevisionOfAScheduleWins(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		for _, c := range []struct {
			does     string
			revision int
			kind     string
			changed  bool
			refused  bool
			outdated bool
			stored   int // revision
			has      string
		}{
			{"a person adds one", 0, "a", true, false, false, 0, "a"},
			{"a configuration takes over", 3, "b", true, false, false, 3, "b"},
			{"the same again", 3, "b", false, false, false, 3, "b"},
			{"equal revision, other content", 3, "c", false, true, false, 3, "b"},
			{"an older one", 2, "c", false, true, true, 3, "b"},
			{"an older one with the same content", 2, "b", false, true, true, 3, "b"},
			{"a newer one with the same content", 4, "b", true, false, false, 4, "b"},
			{"a person changes it", 0, "d", true, false, false, 4, "d"},
			{"the same person again", 0, "d", false, false, false, 4, "d"},
			{"that configuration again", 4, "b", false, true, false, 4, "d"},
			{"the next configuration", 5, "b", true, false, false, 5, "b"},
		} {
			schedule := s.daily("a")
			schedule.Revision, schedule.Kind = c.revision, c.kind
			changed, err := delayed.AddSchedule(t.Context(), s.client, schedule)
			var refused *queue.RevisionError
			if errors.As(err, &refused) != c.refused || (err != nil) != c.refused || changed != c.changed {
				t.Fatalf("%s: changed %t, %v", c.does, changed, err)
			}
			if c.refused && ((refused.Given < refused.Stored) != c.outdated || refused.Given != c.revision || refused.Stored != c.stored) {
				t.Errorf("%s: refused with %+v", c.does, refused)
			}
			if info := s.info(t, "a"); info.Revision != c.stored || info.Kind != c.has {
				t.Errorf("%s: now it is revision %d of kind %s, want %d of %s", c.does, info.Revision, info.Kind, c.stored, c.has)
			}
		}
	})
}

func TestScheduleComesBackAsItWasAdded(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		schedule := queue.CronSchedule{
			Name: "night.report-1", Expr: "30 2 * * *", Zone: "Europe/Berlin", Queue: s.queue.Name(), Kind: "report", Args: []byte(`{"a":[1]}`),
			Options: queue.Options{
				Priority: queue.High, MaxAttempts: 4, Timeout: time.Minute, Retain: time.Hour,
				Unique:  queue.Unique{Key: "k", Scope: queue.ForDuration, For: time.Minute},
				Headers: map[string]string{"a": "b"},
				Then:    []queue.NewJob{{Args: queue.Raw("next", []byte(`{}`)), Options: queue.Options{MaxAttempts: 2}}},
			},
			CatchUp: queue.CatchUpLast, Revision: 7,
		}
		s.put(t, schedule)
		if changed, err := delayed.AddSchedule(t.Context(), s.client, schedule); err != nil || changed {
			t.Fatalf("the same again: changed %t, %v", changed, err)
		}
		got := s.info(t, schedule.Name)
		times, err := delayed.Next(schedule.Expr, schedule.Zone, time.Now(), 1)
		if err != nil || !got.Next.Equal(times[0]) || got.Err != nil || len(got.Last) != 0 {
			t.Errorf("next %s, err %v, last %v; want %v", got.Next, got.Err, got.Last, times)
		}
		if changed, err := delayed.AddSchedule(t.Context(), s.client, got.CronSchedule); err != nil || changed {
			t.Errorf("what was listed is another schedule: changed %t, %v", changed, err)
		}
		if names, err := s.client.Queues(t.Context()); err != nil || len(names) != 1 {
			t.Errorf("the queue of a schedule is not among all queues: %v, %v", names, err)
		}
	})
}

func TestScheduleWithoutATimeIsListedWithNone(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.put(t, s.daily("s"))
		if err := db.ZRem(t.Context(), s.key("schedules:due"), "s").Err(); err != nil {
			t.Fatal(err)
		}
		if next := s.info(t, "s").Next; !next.IsZero() {
			t.Errorf("its next time is %s", next)
		}
	})
}

func TestWrongSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	s := newFixture(t, db)
	for name, c := range map[string]struct {
		spoil func(*queue.CronSchedule)
		want  string
	}{
		"no name":            {func(s *queue.CronSchedule) { s.Name = "" }, "schedule"},
		"a name with spaces": {func(s *queue.CronSchedule) { s.Name = "a b" }, `"a b"`},
		"a folder's name":    {func(s *queue.CronSchedule) { s.Name = ".." }, `".."`},
		"queue":              {func(s *queue.CronSchedule) { s.Queue = "a b" }, "queue"},
		"another queue":      {func(s *queue.CronSchedule) { s.Options.Queue = "other" }, "other"},
		"kind":               {func(s *queue.CronSchedule) { s.Kind = "" }, "kind"},
		"expression":         {func(s *queue.CronSchedule) { s.Expr = "bad" }, `expression "bad"`},
		"long expression":    {func(s *queue.CronSchedule) { s.Expr = strings.Repeat("0,", 300) + "0 * * * *" }, "bytes"},
		"zone":               {func(s *queue.CronSchedule) { s.Zone = "Mars" }, `zone "Mars"`},
		"catch-up":           {func(s *queue.CronSchedule) { s.CatchUp = "some" }, `"some"`},
		"revision":           {func(s *queue.CronSchedule) { s.Revision = -1 }, "revision -1"},
		"delay":              {func(s *queue.CronSchedule) { s.Options.Delay = time.Second }, "delay"},
		"deadline":           {func(s *queue.CronSchedule) { s.Options.Deadline = time.Now() }, "deadline"},
		"priority":           {func(s *queue.CronSchedule) { s.Options.Priority = 7 }, "priority"},
		"header":             {func(s *queue.CronSchedule) { s.Options.Headers = map[string]string{"due": "now"} }, `"due"`},
		"much to carry":      {func(s *queue.CronSchedule) { s.Args = make([]byte, 64<<10) }, "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedule := s.daily("a")
			c.spoil(&schedule)
			changed, err := delayed.AddSchedule(t.Context(), s.client, schedule)
			if !errors.Is(err, queue.ErrInvalid) || changed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("changed %t, %v; want an ErrInvalid with %s", changed, err, c.want)
			}
		})
	}
}

func TestQueueHasABoundedNumberOfSchedules(t *testing.T) {
	t.Parallel()
	s := newFixture(t, redistest.DB(t))
	const maxSchedules = 1000
	others := make([]any, 0, 2*maxSchedules)
	for i := range maxSchedules {
		others = append(others, "other-"+string(rune('a'+i%26))+strings.Repeat("x", i/26), "1n")
	}
	if err := s.db.HSet(t.Context(), s.key("schedules"), others...).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := delayed.AddSchedule(t.Context(), s.client, s.daily("a")); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("one more gave %v", err)
	}
	infos, err := delayed.Schedules(t.Context(), s.client, s.queue.Name())
	if err != nil || len(infos) != maxSchedules {
		t.Errorf("%d are listed, %v", len(infos), err)
	}
}

func TestRunScheduleAddsAJobAndKeepsTheTimes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.put(t, s.daily("a"))
		next := s.info(t, "a").Next
		id, err := s.queue.RunSchedule(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		job, err := s.client.Get(t.Context(), id)
		if err != nil || job.Kind != "report" || job.Headers[queue.HeaderSchedule] != "a" || job.Headers[queue.HeaderDue] == "" {
			t.Errorf("job %+v, %v", job, err)
		}
		info := s.info(t, "a")
		if len(info.Last) != 1 || info.Last[0].JobID != id || !info.Last[0].Manual || !info.Next.Equal(next) {
			t.Errorf("afterwards %+v", info)
		}
		if _, err := s.queue.RunSchedule(t.Context(), "b", ""); !errors.Is(err, queue.ErrNoSchedule) {
			t.Errorf("an unknown one gave %v", err)
		}
	})
}

func TestRunScheduleWithALostReplyAddsOneJob(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	proxy := redistest.StartProxy(t, url)
	s := newFixture(t, redistest.Open(t, proxy.URL))
	s.put(t, s.daily("a"))
	if _, err := s.queue.RunSchedule(t.Context(), "a", ""); err != nil { // the server knows the scripts now
		t.Fatal(err)
	}
	lost := proxy.DropReply(2)
	id, err := s.queue.RunSchedule(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	<-lost
	if jobs := s.jobs(t, 2); len(jobs) != 2 || jobs[1].ID != id {
		t.Errorf("%d jobs, the last is %s; want 2 and %s", len(jobs), jobs[len(jobs)-1].ID, id)
	}
}

func TestFiringIsHeldByTheJobWithItsUniqueKey(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		schedule := s.everySecond("a")
		schedule.Options.Unique = queue.Unique{Key: "one at a time"}
		s.put(t, schedule)
		first, err := s.queue.RunSchedule(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		var held *queue.DuplicateError
		if _, err := s.queue.RunSchedule(t.Context(), "a", ""); !errors.As(err, &held) || held.Owner != first {
			t.Errorf("fired again: %v, want it held by %s", err, first)
		}
		mark := rdb.Mark{Key: s.key("2:normal:fresh"), ID: "0"}
		s.watch(t, db, delayed.Config{})
		// Another schedule shows that some seconds were fired.
		s.put(t, s.everySecond("b"))
		s.jobs(t, 3)
		if n := db.XLen(t.Context(), mark.Key).Val(); n < 3 {
			t.Fatalf("%d jobs", n)
		}
		for _, job := range s.jobs(t, 1) {
			if job.Headers[queue.HeaderSchedule] == "a" && job.ID != first {
				t.Errorf("job %s was added beside %s", job.ID, first)
			}
		}
		for _, firing := range s.info(t, "a").Last[:1] {
			if firing.HeldBy != first || firing.JobID != "" || firing.Manual {
				t.Errorf("noted as %+v, want it held by %s", firing, first)
			}
		}
	})
}

func TestPausedScheduleAddsNoJobsUntilItIsResumed(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		paused := s.everySecond("paused")
		paused.CatchUp = queue.CatchUpAll
		s.put(t, paused)
		before := s.info(t, "paused")
		if err := delayed.PauseSchedule(t.Context(), s.queue, "paused", ""); err != nil {
			t.Fatal(err)
		}
		if err := delayed.PauseSchedule(t.Context(), s.queue, "paused", ""); err != nil {
			t.Errorf("paused twice: %v", err)
		}
		if changed, err := delayed.AddSchedule(t.Context(), s.client, paused); err != nil || changed {
			t.Errorf("the same schedule again: changed %t, %v", changed, err)
		}
		if info := s.info(t, "paused"); !info.Paused || !info.Next.IsZero() || info.Version == before.Version {
			t.Errorf("paused it is %+v", info)
		}
		s.put(t, s.everySecond("other"))
		stop := s.watch(t, db, delayed.Config{})
		for _, job := range s.jobs(t, 1) {
			if job.Headers[queue.HeaderSchedule] == "paused" {
				t.Errorf("a paused schedule added %+v", job)
			}
		}
		stop()
		resumed := time.Now().Add(-time.Second) // Redis may be behind
		if err := delayed.ResumeSchedule(t.Context(), s.queue, "paused", ""); err != nil {
			t.Fatal(err)
		}
		info := s.info(t, "paused")
		if info.Paused || info.Next.Before(resumed) || info.Version != before.Version {
			t.Errorf("resumed it is %+v", info)
		}
		paused.IfVersion, paused.Kind = "other", "other"
		if _, err := delayed.AddSchedule(t.Context(), s.client, paused); !errors.Is(err, queue.ErrChanged) {
			t.Errorf("in place of another version: %v", err)
		}
	})
}
