package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// buried adds dead jobs, which are of kinds even and odd by turns, and returns their ids.
func (f *fixture) buried(n int) (ids []string) {
	f.Helper()
	for i := range n {
		ids = append(ids, f.dies([]string{"even", "odd"}[i%2], "", nil, fmt.Sprint(i)))
	}
	return ids
}

// asks counts the jobs of a change.
func (f *fixture) asks(change ops.Change) *ops.Question {
	f.Helper()
	change.Queue, change.By = "q", "ada@tern"
	asked, err := f.client.Operations().Ask(f.Context(), change)
	f.must(err)
	return asked
}

// changes begins a change and runs it to its end.
func (f *fixture) changes(change ops.Change) queue.Operation {
	f.Helper()
	run, err := f.client.Operations().Begin(f.Context(), f.asks(change))
	f.must(err)
	f.must(run.Run(f.Context(), func(queue.Operation) {}))
	return run.Operation
}

// turnIsOver ends the time for which only one process may run an operation.
func (f *fixture) turnIsOver() {
	f.Helper()
	f.must(f.db.HSet(f.Context(), f.db.Prefix()+":{q:0}:operation", "until", 1).Err())
}

// states returns the states of jobs.
func (f *fixture) states(ids []string) map[queue.State]int {
	f.Helper()
	states := map[queue.State]int{}
	for _, id := range ids {
		job, err := f.queues.Get(f.Context(), id)
		if errors.Is(err, queue.ErrNoJob) {
			job, err = &queue.Job{State: "gone"}, nil
		}
		f.must(err)
		states[job.State]++
	}
	return states
}

func TestOperationChangesTheJobsThatMatch(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		ids := f.buried(30)
		asked := f.asks(ops.Change{Do: "retry", State: queue.Dead, Match: `kind == "odd" && died <= "1h"`})
		if asked.Count != 15 || asked.AtLeast || asked.String() != "15 dead jobs" {
			t.Errorf("the question is %+v", asked)
		}
		later := f.dies("odd", "", nil, "later")
		var reports []queue.Operation
		run, err := f.client.Operations().Begin(t.Context(), asked)
		f.must(err)
		f.must(run.Run(t.Context(), func(op queue.Operation) { reports = append(reports, op) }))
		op := run.Operation
		if op.Changed != 15 || op.Left != 1 || op.Status != "done" || op.Examined != 31 || op.Count != 15 || op.Ended.IsZero() || op.By != "ada@tern" || len(reports) == 0 {
			t.Errorf("the operation is %+v, with %d reports", op, len(reports))
		}
		if states := f.states(append(ids, later)); states[queue.Waiting] != 15 || states[queue.Dead] != 16 {
			t.Errorf("the states are %v", states)
		}
		if op := f.changes(ops.Change{Do: "priority", State: queue.Waiting, Priority: queue.Low}); op.Changed != 15 {
			t.Errorf("changed the priority of %d", op.Changed)
		}
		if op := f.changes(ops.Change{Do: "cancel", State: queue.Waiting, Match: `priority == "low"`}); op.Changed != 15 {
			t.Errorf("cancelled %d", op.Changed)
		}
		if op := f.changes(ops.Change{Do: "delete", State: queue.Dead}); op.Changed != 16 || op.Count != 16 {
			t.Errorf("deleted %d of %d", op.Changed, op.Count)
		}
		all, err := f.client.Operations().List(t.Context())
		f.must(err)
		var done []string
		for _, op := range all {
			done = append(done, op.Do+" "+op.Status)
		}
		if len(all) != 4 || slices.Contains(done, "retry running") || !slices.Contains(done, "retry done") {
			t.Errorf("the operations are %v", done)
		}
	})
}

func TestOperationChangesTheJobsThatAreNamed(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		dead := f.buried(150)
		delayed := f.add("q", "k", "", queue.Options{Delay: time.Hour})
		waiting := f.add("q", "k", "", queue.Options{})
		others := f.buried(5)
		named := append(slices.Clone(dead), delayed, waiting, "q:0:n1-1", dead[0])
		asked := f.asks(ops.Change{Do: "retry", IDs: named})
		if asked.Count != 154 || asked.AtLeast || asked.String() != "154 jobs" {
			t.Errorf("the question is %d jobs: %s", asked.Count, asked)
		}
		run, err := f.client.Operations().Begin(t.Context(), asked)
		f.must(err)
		ctx, kill := context.WithCancel(t.Context())
		if err := run.Run(ctx, func(queue.Operation) { kill() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("it was killed: %v", err)
		}
		op, err := f.client.Operations().Get(t.Context(), run.Operation.ID)
		f.must(err)
		if op.Changed == 0 || op.Changed >= 151 || f.states(dead)[queue.Waiting] != op.Changed || op.Count != 154 {
			t.Errorf("after the kill the operation is %+v, the states %v", op, f.states(dead))
		}
		f.turnIsOver()
		run, err = f.client.Operations().Continue(t.Context(), op.ID)
		f.must(err)
		f.must(run.Run(t.Context(), func(queue.Operation) {}))
		if op := run.Operation; op.Status != "done" || op.Changed != 151 || op.Left != 3 || op.Examined != 154 || op.State != "" {
			t.Errorf("the operation is %+v", op)
		}
		if named, left := f.states(append(dead, delayed)), f.states(others); named[queue.Waiting] != 151 || left[queue.Dead] != 5 {
			t.Errorf("the states are %v, those of others %v", named, left)
		}
		if op := f.changes(ops.Change{Do: "retry", State: queue.Delayed, IDs: append([]string{delayed}, others...)}); op.Changed != 0 || op.Left != 6 {
			t.Errorf("no job is delayed: %+v", op)
		}
		if op := f.changes(ops.Change{Do: "delete", State: queue.Dead, IDs: others, Rate: 1000}); op.Changed != 5 {
			t.Errorf("deleted: %+v", op)
		}
	})
}

func TestCursorOfAnOperationIsNotBehindJobsThatAreNotChangedYet(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 60 {
		f.add("q", "a", "", queue.Options{})
	}
	at, looks := time.Now(), 0
	f.client.SetClock(func() time.Time {
		if looks--; looks == 0 { // the second look whether a step is late finds it so
			at = at.Add(3 * time.Second)
		}
		return at
	})
	run, err := f.client.Operations().Begin(t.Context(), f.asks(ops.Change{Do: "priority", State: queue.Waiting, Priority: queue.Low}))
	f.must(err)
	f.must(run.Run(t.Context(), func(op queue.Operation) {
		if op.Examined > op.Changed {
			t.Errorf("the step says that %d jobs were examined, and %d of them were changed", op.Examined, op.Changed)
		}
		if op.Step == 1 {
			looks = 2
		}
	}))
	if run.Operation.Changed != 60 {
		t.Errorf("%d jobs were changed", run.Operation.Changed)
	}
}

func TestPurgeDeletesTheWaitingJobsThatWereThere(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		var ids []string
		for i := range 450 {
			ids = append(ids, f.add("q", "a", "", queue.Options{Priority: queue.Priority(i%3 - 1), Unique: queue.Unique{Key: fmt.Sprint(i)}}))
		}
		asked := f.asks(ops.Change{Do: "delete", State: queue.Waiting})
		later := f.add("q", "a", "", queue.Options{})
		run, err := f.client.Operations().Begin(t.Context(), asked)
		f.must(err)
		f.must(run.Run(t.Context(), func(queue.Operation) {}))
		if op := run.Operation; op.Changed != 450 || op.Count != 450 || op.Step > 40 {
			t.Errorf("deleted %d of %d in %d steps", op.Changed, op.Count, op.Step)
		}
		if states := f.states(append(ids, later)); states["gone"] != 450 || states[queue.Waiting] != 1 {
			t.Errorf("the states are %v", states)
		}
		f.add("q", "a", "", queue.Options{Unique: queue.Unique{Key: "7"}}) // its key is free
	})
}

// A wrongClock is another master of a Cluster: its clock is an hour ahead.
type wrongClock struct{}

func (wrongClock) DialHook(next redis.DialHook) redis.DialHook { return next }

func (wrongClock) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (wrongClock) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if now, ok := cmd.(*redis.TimeCmd); ok {
			now.SetVal(now.Val().Add(time.Hour))
		}
		return err
	}
}

func TestTimesAreThoseOfTheServerThatHasTheQueue(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("q", "a", "", queue.Options{})
	server, err := f.db.Time(t.Context()).Result()
	f.must(err)
	f.db.AddHook(wrongClock{})
	asked := f.asks(ops.Change{Do: "delete", State: queue.Waiting})
	page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting})
	f.must(err)
	statuses, err := f.client.Statuses(t.Context(), []string{"q"})
	f.must(err)
	for name, at := range map[string]time.Time{"question": asked.AsOf, "page": page.AsOf, "status": statuses[0].Time} {
		if at.Sub(server).Abs() > time.Minute {
			t.Errorf("the time of the %s is %s after that of the server", name, at.Sub(server))
		}
	}
}

func TestJobWithAnIDOfAnotherProgramIsLeftAlone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		f.buried(3)
		key := f.db.Prefix() + ":{q:0}:dead"
		for _, id := range []string{"", "odd", "x:y"} {
			f.must(f.db.HSet(t.Context(), key+":jobs", id, "2n4:kind1:a4:args2:{}").Err())
			f.must(f.db.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: id}).Err())
		}
		if op := f.changes(ops.Change{Do: "delete", State: queue.Dead, Match: `kind != "x"`}); op.Status != "done" || op.Examined != 6 || op.Changed != 3 || op.Left != 3 {
			t.Errorf("the operation is %+v", op)
		}
	})
}

func TestChangeOfPriorityDoesNotReadItsOwnJobs(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		for i := range 60 {
			f.add("q", "a", "", queue.Options{Priority: queue.Priority(i % 2)})
		}
		f.add("q", "a", "", queue.Options{Priority: queue.Low}) // has the priority: it is not changed, so the count does not end the operation
		if op := f.changes(ops.Change{Do: "priority", State: queue.Waiting, Priority: queue.Low}); op.Status != "done" || op.Changed != 60 || op.Examined != 61 || op.Left != 1 {
			t.Errorf("the operation is %+v", op)
		}
	})
}

func TestLargeJobsThatAreFarApartAreChangedInSmallSteps(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 6 {
		f.add("q", "large", strings.Repeat("x", 100_000), queue.Options{})
		for range 20 {
			f.add("q", "small", "", queue.Options{})
		}
	}
	if op := f.changes(ops.Change{Do: "priority", State: queue.Waiting, Match: `kind == "large"`, Priority: queue.High}); op.Changed != 6 || op.Step < 3 || op.Step > 4 {
		t.Errorf("changed %d jobs in %d steps, want 3 of 2 jobs each, and perhaps one that ends it", op.Changed, op.Step)
	}
}

func TestOperationReadsNoDeadJobsBeforeItsTime(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(50)
	if op := f.changes(ops.Change{Do: "retry", State: queue.Dead, Match: `died > "1h" && kind == "even"`}); op.Examined != 0 || op.Changed != 0 || op.Status != "done" {
		t.Errorf("%+v", op)
	}
}

func TestQuestionExpires(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(1)
	asked := f.asks(ops.Change{Do: "delete", State: queue.Dead})
	asked.AsOf = asked.AsOf.Add(-15*time.Minute - 2*time.Second)
	if _, err := f.client.Operations().Begin(t.Context(), asked); !errors.Is(err, ops.ErrQuestionExpired) {
		t.Errorf("after 15 minutes: %v", err)
	}
	asked.AsOf = asked.AsOf.Add(4 * time.Second)
	_, err := f.client.Operations().Begin(t.Context(), asked)
	f.must(err)
}

func TestOneOperationOfAQueueRunsAtATime(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(2)
	asked := f.asks(ops.Change{Do: "retry", State: queue.Dead})
	first, err := f.client.Operations().Begin(t.Context(), asked)
	f.must(err)
	var running *ops.OperationRunningError
	if _, err := f.client.Operations().Begin(t.Context(), asked); !errors.As(err, &running) || running.ID != first.Operation.ID {
		t.Errorf("a second one: %v", err)
	}
	if _, err := f.client.Operations().Continue(t.Context(), first.Operation.ID); !errors.As(err, &running) {
		t.Errorf("continued while it runs: %v", err)
	}
	stopped, err := f.client.Operations().Stop(t.Context(), first.Operation.ID)
	f.must(err)
	if stopped.Status != "stopped" || first.Run(t.Context(), func(queue.Operation) {}) != nil || first.Operation.Status != "stopped" || first.Operation.Changed != 0 {
		t.Errorf("stopped: %+v, %+v", stopped, first.Operation)
	}
	second, err := f.client.Operations().Begin(t.Context(), asked)
	f.must(err)
	if _, err := f.client.Operations().Continue(t.Context(), stopped.ID); !errors.As(err, &running) || running.ID != second.Operation.ID {
		t.Errorf("continued beside another one: %v", err)
	}
	f.must(second.Run(t.Context(), func(queue.Operation) {}))
	if _, err := f.client.Operations().Continue(t.Context(), second.Operation.ID); !errors.Is(err, ops.ErrOperationDone) {
		t.Errorf("continued though it is done: %v", err)
	}
	again, err := f.client.Operations().Continue(t.Context(), stopped.ID)
	f.must(err)
	f.must(again.Run(t.Context(), func(queue.Operation) {}))
	if again.Operation.Changed != 0 || again.Operation.Status != "done" {
		t.Errorf("continued after the jobs were gone: %+v", again.Operation)
	}
	for _, id := range []string{"q:0:aaaaaaaaaa", "none:0:aaaaaaaaaa"} {
		if _, err := f.client.Operations().Get(t.Context(), id); !errors.Is(err, ops.ErrNoOperation) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := f.client.Operations().Stop(t.Context(), "../q"); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a bad id: %v", err)
	}
}

func TestInterruptedOperationIsContinuedByAnotherProcess(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	ids := f.buried(60)
	run, err := f.client.Operations().Begin(t.Context(), f.asks(ops.Change{Do: "retry", State: queue.Dead}))
	f.must(err)
	killed, kill := context.WithCancel(t.Context())
	if err := run.Run(killed, func(queue.Operation) { kill() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	id := run.Operation.ID
	f.turnIsOver()
	if op, err := f.client.Operations().Get(t.Context(), id); err != nil || op.Status != "interrupted" || op.Last.IsZero() {
		t.Errorf("the operation is %+v: %v", op, err)
	}
	heir, err := f.client.Operations().Continue(t.Context(), id)
	f.must(err)
	if err := run.Run(t.Context(), func(queue.Operation) {}); !errors.Is(err, ops.ErrContinued) {
		t.Errorf("the process that was replaced: %v", err)
	}
	f.must(heir.Run(t.Context(), func(queue.Operation) {}))
	if op := heir.Operation; op.Changed != 60 || op.Examined != 60 || op.Status != "done" {
		t.Errorf("the operation is %+v", op)
	}
	if states := f.states(ids); states[queue.Waiting] != 60 {
		t.Errorf("the states are %v", states)
	}
}

func TestOperationKeepsItsRate(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(30)
	asked := f.asks(ops.Change{Do: "retry", State: queue.Dead, Rate: 50})
	began := time.Now() // before the operation, which on a busy machine runs late and then catches up
	run, err := f.client.Operations().Begin(t.Context(), asked)
	f.must(err)
	f.must(run.Run(t.Context(), func(queue.Operation) {}))
	if took := time.Since(began); took < 500*time.Millisecond || run.Operation.Changed != 30 {
		t.Errorf("30 jobs at 50 in a second took %s, changed %d", took, run.Operation.Changed)
	}
}

func TestOperationOfADeletedQueueEnds(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(3)
	run, err := f.client.Operations().Begin(t.Context(), f.asks(ops.Change{Do: "delete", State: queue.Dead, Match: `kind != "x"`}))
	f.must(err)
	keys, err := f.db.Keys(t.Context(), f.db.Prefix()+":{q:0}:*").Result()
	f.must(err)
	for _, key := range keys {
		if !slices.Contains([]string{f.db.Prefix() + ":{q:0}:operation", f.db.Prefix() + ":{q:0}:operation:" + run.Operation.ID[4:]}, key) {
			f.must(f.db.Del(t.Context(), key).Err())
		}
	}
	f.must(run.Run(t.Context(), func(queue.Operation) {}))
	if run.Operation.Changed != 0 || run.Operation.Status != "done" {
		t.Errorf("the operation is %+v", run.Operation)
	}
}

func TestCountingEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(20)
	at := time.Unix(5, 0)
	f.client.SetClock(func() time.Time { at = at.Add(1500 * time.Millisecond); return at })
	asked := f.asks(ops.Change{Do: "delete", State: queue.Dead, Match: `kind != "x"`})
	if !asked.AtLeast || asked.Count == 0 || asked.Count >= 20 || asked.Looked != asked.Count || asked.Of != 20 || asked.String() != fmt.Sprintf("at least %d dead jobs", asked.Count) {
		t.Errorf("the question is %s: %+v", asked, asked)
	}
	asked = f.asks(ops.Change{Do: "delete", State: queue.Dead, Match: `kind == "x"`})
	if !asked.AtLeast || asked.Count != 0 || asked.Looked == 0 || asked.String() != fmt.Sprintf("dead jobs (none found yet, in %d of 20)", asked.Looked) {
		t.Errorf("the question is %s: %+v", asked, asked)
	}
	if asked.Looked, asked.Of = 0, 0; asked.String() != "dead jobs (none found yet)" { // of a server that does not say it
		t.Errorf("the question is %s", asked)
	}
}

func TestInvalidChangesAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for name, change := range map[string]ops.Change{
		"change": {Do: "melt", State: queue.Dead},
		"delete": {Do: "delete", State: queue.Active},
		"cancel": {Do: "cancel", State: queue.Dead},
		"retry":  {Do: "retry", State: queue.Waiting},
		"state":  {Do: "retry", State: "asleep"},
		"rate":   {Do: "retry", State: queue.Dead, Rate: -1},
		"filter": {Do: "retry", State: queue.Dead, Match: "kind"},
		"queue":  {Do: "retry", State: queue.Dead, Queue: "no queue"},
	} {
		if _, err := f.client.Operations().Ask(t.Context(), change); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJobThatIsDelayedAgainIsLeftAlone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		q, err := f.queues.ForPool("q")
		f.must(err)
		lease, err := q.NewLease("w", time.Minute)
		f.must(err)
		fail := func() {
			fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
			f.must(err)
			_, err = lease.Finish(t.Context(), []queue.Completion{{Job: fetched.Jobs[0], Disposition: queue.AttemptRetry, Wait: time.Hour}})
			f.must(err)
		}
		again, stays := f.add("q", "a", "", queue.Options{}), f.add("q", "a", "", queue.Options{})
		fail()
		fail()
		asked := f.asks(ops.Change{Do: "cancel", State: queue.Delayed, Match: `kind == "a"`})
		f.must(f.queues.Retry(t.Context(), again))
		fail()
		run, err := f.client.Operations().Begin(t.Context(), asked)
		f.must(err)
		f.must(run.Run(t.Context(), func(queue.Operation) {}))
		if job, err := f.queues.Get(t.Context(), again); err != nil || job.State != queue.Delayed || asked.Count != 2 || run.Operation.Changed != 1 {
			t.Errorf("%+v, %v, and %+v", job, err, run.Operation)
		}
		if states := f.states([]string{stays}); states["gone"] != 1 {
			t.Errorf("the other one is %v", states)
		}
	})
}

func TestDeletionsBeginAndContinueInAFullRedis(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)))
	for range 3 {
		f.add("q", "a", "", queue.Options{Delay: time.Hour})
		f.add("q", "a", "", queue.Options{})
	}
	retried := f.buried(1)
	f.must(f.db.ConfigSet(f.Context(), "maxmemory", "1").Err())
	if _, err := f.client.Operations().Begin(t.Context(), f.asks(ops.Change{Do: "retry", State: queue.Dead})); err == nil {
		t.Error("a full Redis took a retry of", retried)
	}
	if op := f.changes(ops.Change{Do: "delete", State: queue.Waiting}); op.Changed != 3 {
		t.Errorf("purged %d jobs, want 3", op.Changed)
	}
	run, err := f.client.Operations().Begin(t.Context(), f.asks(ops.Change{Do: "delete", State: queue.Delayed}))
	f.must(err)
	_, err = f.client.Operations().Stop(t.Context(), run.Operation.ID)
	f.must(err)
	run, err = f.client.Operations().Continue(t.Context(), run.Operation.ID)
	f.must(err)
	f.must(f.db.ConfigSet(f.Context(), "maxmemory", "0").Err()) // the deletion makes room
	f.must(run.Run(t.Context(), func(queue.Operation) {}))
	if run.Operation.Changed != 3 {
		t.Errorf("deleted %d jobs, want 3", run.Operation.Changed)
	}
	if listed, err := f.client.Operations().List(t.Context()); err != nil || len(listed) != 1 || listed[0].ID != run.Operation.ID {
		t.Errorf("listed %+v, %v", listed, err)
	}
}

func TestOperationsThatAreRefusedAreNotListed(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(1)
	f.changes(ops.Change{Do: "retry", State: queue.Dead})
	asked := f.asks(ops.Change{Do: "retry", State: queue.Dead})
	_, err := f.client.Operations().Begin(t.Context(), asked)
	f.must(err)
	old := *asked
	old.AsOf = asked.AsOf.Add(-time.Hour)
	for range 60 {
		if _, err := f.client.Operations().Begin(t.Context(), asked); err == nil {
			t.Fatal("a second operation of a queue began")
		}
		old.Queue = "other"
		if _, err := f.client.Operations().Begin(t.Context(), &old); !errors.Is(err, ops.ErrQuestionExpired) {
			t.Fatal(err)
		}
	}
	all, err := queue.Operations(t.Context(), f.queues)
	f.must(err)
	if len(all) != 2 || all[0].Refused != "" || all[1].Refused != "" {
		t.Errorf("listed %d operations, want the 2 that began", len(all))
	}
}

func TestOperationThatAnotherProcessBeganStaysListed(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.buried(1)
	asked := f.asks(ops.Change{Do: "retry", State: queue.Dead})
	asked.ID, asked.Request = "q:0:abcdefgh", "digest"
	_, err := f.client.Operations().Begin(t.Context(), asked)
	f.must(err)
	f.must(f.db.Del(t.Context(), f.db.Prefix()+":{queues}:operations").Err()) // the other one comes first to the list, and second to the queue
	if _, err := f.client.Operations().Begin(t.Context(), asked); !errors.Is(err, ops.ErrBegun) {
		t.Fatal(err)
	}
	if all, err := f.client.Operations().List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v are listed: %v", all, err)
	}
}

func TestOperationsOfAClientShareTheTimeOfRedis(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	if !f.client.Operations().SharesBudget() {
		t.Error("each operation has its own half of the time")
	}
	f.client.Operations().CountOthers()
	var busy *ops.BusyError
	if _, err := f.client.Operations().Ask(t.Context(), ops.Change{Queue: "mail", Do: "retry", State: queue.Dead, Match: `kind == "a"`}); !errors.As(err, &busy) {
		t.Errorf("the error is %v, want a BusyError", err)
	}
	f.asks(ops.Change{Queue: "mail", Do: "retry", State: queue.Dead})
}

func TestOperationsAndSamplersPayForRedisAndNotForABusyMachine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	f := setup(t, db)
	q, err := f.queues.Queue("q")
	f.must(err)
	const took, full = 150 * time.Millisecond, 200 * time.Millisecond
	if left := f.client.Operations().LeftOnABusyMachine(t.Context(), q, took); left < full-took/2 {
		t.Errorf("%s of the budget are left", left)
	}
	if left, err := f.client.NewSampler().LeftOnABusyMachine(t.Context(), took); err != nil || left < -took/2 {
		t.Errorf("%s of the sampler's budget are left, %v", left, err)
	}
	f.must(db.Do(t.Context(), "acl", "setuser", "default", "-info").Err())
	if left := setup(t, db).client.Operations().LeftOnABusyMachine(t.Context(), q, took); left != full-took {
		t.Errorf("where INFO is hidden, %s of the budget are left", left)
	}
}
