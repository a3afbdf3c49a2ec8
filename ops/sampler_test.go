package ops_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// overview waits for an overview that satisfies a condition.
func overview(t testing.TB, s *ops.Sampler, want func(*ops.Overview) bool) *ops.Overview {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		latest, changed := s.Overview(ctx)
		if want(latest) {
			return latest
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the last overview is %+v", latest)
		}
	}
}

func TestOverviewHasQueuesTroublesAndWorkers(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		f.add("mail", "a", "", queue.Options{})
		f.add("idle", "a", "", queue.Options{Delay: time.Hour})
		f.add("broken", "a", "", queue.Options{})
		f.must(db.HSet(t.Context(), db.Prefix()+":{broken:0}:meta", "format", "99").Err())
		f.serve("w", "idle")
		paused, err := f.queues.Queue("idle")
		f.must(err)
		f.must(paused.Pause(t.Context(), "ada", "a note"))
		s := f.client.NewSampler()
		defer s.Close()
		var troubles []ops.Trouble
		got := overview(t, s, func(o *ops.Overview) bool {
			troubles = slices.DeleteFunc(slices.Clone(o.Troubles), func(trouble ops.Trouble) bool { return trouble.Queue == nil })
			return o.Read() == 3 && len(troubles) == 2
		})
		if got.Names != 3 || len(got.Workers) != 1 || got.Slots != 2 || got.Queue("mail").Depth.Waiting != 1 || got.Queue("idle").Workers != 1 {
			t.Errorf("the overview is %+v", got)
		}
		if first, second := troubles[0], troubles[1]; first.Name != "unreadable" || first.Rank != ops.Problem || first.Queue.Name != "broken" || second.Name != "paused" || second.Queue.Depth.PausedBy != "ada" {
			t.Errorf("the troubles are %+v", troubles)
		}
		part := got.For(func(name string) bool { return name == "mail" }, false)
		if len(part.Queues) != 1 || len(part.Troubles) != 0 || len(part.Workers) != 0 || part.Server != nil {
			t.Errorf("the part is %+v", part)
		}
	})
}

func TestOverviewBeginsWithTheFiguresOfWorkers(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	f := setup(t, db)
	for _, name := range []string{"a", "b"} {
		f.add(name, "k", "", queue.Options{})
	}
	now, err := f.client.Now(t.Context(), "")
	f.must(err)
	minute := now.Truncate(time.Minute)
	key := db.Prefix() + ":{a:0}:stats:1m:" + fmt.Sprint(minute.Unix()/60)
	f.must(db.HSet(t.Context(), key, " waiting", 41, " dead", 3, " oldest", 5000).Err())
	order, queues, err := f.client.NewSampler().Order(t.Context())
	f.must(err)
	if q := queues["a"]; !q.Stored || q.Depth.Waiting != 41 || q.Depth.Dead != 3 || q.Depth.Oldest != 5*time.Second || !q.Time.Equal(minute) {
		t.Errorf("the figures are %+v", q)
	}
	if order[0] != "b" {
		t.Errorf("the order is %q: b has no figures", order)
	}
}

func TestSamplerRunsOnlyWhileItIsAsked(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", "", queue.Options{})
	s := f.client.NewSampler()
	overview(t, s, func(o *ops.Overview) bool { return o.Read() == 1 })
	if !s.Running() {
		t.Error("it does not run")
	}
	if err := s.LookedAt(t.Context(), time.Now().Add(-time.Minute)); err == nil {
		t.Error("a part was read though it was not asked for")
	}
	overview(t, s, func(o *ops.Overview) bool { return o.Read() == 1 })
	s.Close()
	if s.Running() {
		t.Error("it runs still")
	}
	if latest, _ := s.Overview(t.Context()); s.Running() || latest == nil {
		t.Error("it began again after its end")
	}
}

func TestARedisIsNotAwayAfterTheFirstAnswer(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", "", queue.Options{})
	s := f.client.NewSampler()
	defer s.Close()
	if err := s.AwayAfter(t.Context(), context.DeadlineExceeded); err != nil {
		t.Errorf("a part was read, and Redis does not answer: %v", err)
	}
}

func TestLastFiguresStayWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := setup(t, redistest.Open(t, server.URL(0)))
	f.add("mail", "a", "", queue.Options{})
	s := f.client.NewSampler()
	defer s.Close()
	overview(t, s, func(o *ops.Overview) bool { return o.Read() == 1 })
	server.Kill()
	got := overview(t, s, func(o *ops.Overview) bool { return o.Away != nil })
	if got.Queue("mail").Depth.Waiting != 1 || got.Now.IsZero() || time.Since(got.AwaySince) > time.Minute {
		t.Errorf("the overview is %+v", got)
	}
}

func TestFiguresFromBeforeAPauseAreNotThoseOfNow(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", "", queue.Options{})
	s := f.client.NewSampler()
	o := overview(t, s, func(o *ops.Overview) bool { return o.ExaminedQueues() == 1 })
	if o.Read() != 1 {
		t.Errorf("%d queues are read", o.Read())
	}
	s.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	for claim, ctx := range map[string]context.Context{"a run that begins": t.Context(), "a run whose first reads fail": ended} {
		_, queues, err := s.Order(ctx)
		if (err != nil) != (ctx == ended) {
			t.Errorf("%s: %v", claim, err)
		}
		if q := queues["mail"]; !q.Stored || q.Examined() || q.Depth.Waiting != 1 {
			t.Errorf("%s: the figures are %+v", claim, q)
		}
		queues["mail"].Stored = false // as after a read
	}
}

// pause waits until the sampler has stopped, because nothing asks it.
func pause(t *testing.T, s *ops.Sampler) {
	t.Helper()
	if err := s.LookedAt(t.Context(), time.Now().Add(-time.Minute)); err == nil {
		t.Fatal("a part was read though it was not asked for")
	}
	for deadline := time.Now().Add(30 * time.Second); s.Running(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the sampler does not stop")
		}
	}
}

func TestFirstOverviewAfterAPauseHasTheLastFigures(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", "", queue.Options{})
	s := f.client.NewSampler()
	defer s.Close()
	overview(t, s, func(o *ops.Overview) bool { return o.Read() == 1 })
	pause(t, s)
	s.Overdraw()
	o, _ := s.Overview(t.Context())
	if q := o.Queue("mail"); o.Now.IsZero() || q == nil || q.Depth.Waiting != 1 || o.Clock().Before(q.Time) {
		t.Errorf("the first overview is %+v", o)
	}
}

// A slowRead makes the first command that reads take a second, as a busy Redis does.
type slowRead struct{ once sync.Once }

func (*slowRead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *slowRead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "ping" {
			h.once.Do(func() { time.Sleep(time.Second) })
		}
		return next(ctx, cmd)
	}
}

func (h *slowRead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		h.once.Do(func() { time.Sleep(time.Second) })
		return next(ctx, commands)
	}
}

func TestFirstFiguresDoNotWaitForTheBudget(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	f := setup(t, db)
	f.add("mail", "a", "", queue.Options{})
	now, err := f.client.Now(t.Context(), "")
	f.must(err)
	f.must(db.HSet(t.Context(), db.Prefix()+":{mail:0}:stats:1m:"+fmt.Sprint(now.Unix()/60), " waiting", 41).Err())
	db.AddHook(&slowRead{})
	s := f.client.NewSampler()
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // the budget is overdrawn for 20 s
	defer cancel()
	for o, changed := s.Overview(ctx); ; o, changed = s.Overview(ctx) {
		if q := o.Queue("mail"); q != nil && q.Depth.Waiting == 41 && q.Stored {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the first figures are %+v", o)
		}
	}
}
