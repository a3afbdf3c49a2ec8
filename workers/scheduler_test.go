package workers

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A schedulerFixture is a scheduler with runners and handlers that the test
// controls, and queues whose jobs it makes.
type schedulerFixture struct {
	*scheduler
	rapid.TB
	now     time.Time
	jobs    int                      // made so far
	left    map[string]*leaseSession // of queues that were stopped
	runners int                      // that have a slot and no job
	running []*attempt
}

func newSchedulerFixture(t rapid.TB, config Config) *schedulerFixture {
	t.Helper()
	config = config.withDefaults()
	f := &schedulerFixture{scheduler: newScheduler(config), TB: t, now: time.Now(), left: map[string]*leaseSession{}}
	f.serve(config.Queues)
	return f
}

// serve serves some queues, each with a lease.
func (f *schedulerFixture) serve(configs []Queue) (unserved, restored []*servedQueue) {
	unserved, restored = f.configure(configs)
	for place, config := range configs {
		if !slices.ContainsFunc(f.queues, func(q *servedQueue) bool { return q.name == config.Name }) {
			q := &servedQueue{name: config.Name, config: config, place: place}
			q.stop = func() { f.left[q.name] = q.session }
			f.add([]*servedQueue{q})
			session := newTestSession(q)
			session.onEmpty = func() { f.update(func() { f.retireLocked(q) }) }
			f.install(session, false)
		}
	}
	return unserved, restored
}

func (f *schedulerFixture) queue(name string) *servedQueue {
	f.Helper()
	for _, q := range f.queues {
		if q.name == name {
			return q
		}
	}
	f.Fatalf("queue %s is not served", name)
	return nil
}

// order makes an order of a new round, "" if there is none.
func (f *schedulerFixture) order() fetchOrder {
	order, _ := f.nextFetch(&fetchRound{exhausted: map[*servedQueue]bool{}}, f.now)
	return order
}

func (f *schedulerFixture) apply(next followUp) { f.runners += next.runners }

// soloJob returns a job that must run solo.
func soloJob(id string) *queue.Job {
	return &queue.Job{ID: id, Group: id, GroupSize: 1, Crashes: queue.DefaultCrashes - 1}
}

// bring answers an order with n new jobs, the first of which must run solo.
func (f *schedulerFixture) bring(order fetchOrder, n, solos int) []*attempt {
	var answer queue.FetchResult
	for i := range n {
		f.jobs++
		job := &queue.Job{ID: fmt.Sprint(f.jobs)}
		if i < solos {
			job = soloJob(job.ID)
		}
		answer.Jobs = append(answer.Jobs, job)
	}
	if n == 0 {
		answer.Cursors = []queue.StreamCursor{{Key: order.queue.name}}
	}
	attempts := order.session.hold(answer.Jobs)
	next, _ := f.fetched(order, attempts, answer, f.now)
	f.apply(next)
	return attempts
}

// opened opens a session for an order of a queue that has none.
func (f *schedulerFixture) opened(order fetchOrder) fetchOrder {
	if order.session == nil {
		order.session = newTestSession(order.queue)
		f.install(order.session, false)
	}
	return order
}

// fill answers orders, until there is none, with all the jobs that they want, and
// starts them.
func (f *schedulerFixture) fill() {
	f.start()
	for order := f.order(); order.queue != nil; order = f.order() {
		f.bring(order, order.limit, 0)
		f.start()
	}
}

// start lets every runner take a job.
func (f *schedulerFixture) start() {
	for ; f.runners > 0; f.runners-- {
		if a := f.take(f.now); a != nil {
			f.running = append(f.running, a)
		}
	}
}

// end ends the nth running job, after took.
func (f *schedulerFixture) end(n int, took time.Duration) {
	a := f.running[n]
	f.running = slices.Delete(f.running, n, n+1)
	a.endClaimed.Store(true)
	a.session.completer.add(queue.Completion{Job: a.job, Disposition: queue.AttemptSucceeded})
	f.finished(a, took)
	if f.solo.current == a {
		f.update(func() { f.slots.add(-1) })
		f.runners += f.soloEnded()
		return
	}
	f.runners++
}

// handedBack returns the ids of a session's jobs that were handed back.
func handedBack(s *leaseSession) (ids []string) {
	for _, outcome := range s.completer.pending {
		if outcome.Disposition == queue.AttemptReturned {
			ids = append(ids, outcome.Job.ID)
		}
	}
	return ids
}

func TestSharesAreInProportionToTheWeights(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 8, Queues: []Queue{{Name: "a", Weight: 5}, {Name: "b", Weight: 2}, {Name: "c"}}})
	ran := map[string]int{}
	for n := range 8000 {
		f.fill()
		ran[f.running[n%8].queue.name]++
		f.end(n%8, time.Hour)
	}
	for name, want := range map[string]int{"a": 5000, "b": 2000, "c": 1000} {
		if got := ran[name]; got < want*95/100 || got > want*105/100 {
			t.Errorf("%d jobs of %s ran, want about %d", got, name, want)
		}
	}
}

func TestQueueThatWasEmptyDoesNotReceiveUnusedShares(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2, Queues: []Queue{{Name: "late"}, {Name: "busy"}}})
	f.bring(fetchOrder{queue: f.queue("late"), session: f.queue("late").session}, 0, 0)
	for range 1000 {
		f.fill()
		f.end(0, time.Hour)
	}
	f.update(f.queue("late").newsLocked)
	ran := map[string]int{}
	for range 100 {
		f.fill()
		ran[f.running[0].queue.name]++
		f.end(0, time.Hour)
	}
	if ran["late"] > 55 || ran["late"] < 45 {
		t.Errorf("of both queues with one weight: %v", ran)
	}
}

func TestQueueIsFetchedFromLaterAfterNewsIfOtherPoolsAreMostlyFirst(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2, Queues: []Queue{{Name: "q"}}})
	q := f.queue("q")
	fetch := func(times int, jobs bool) {
		for range times {
			q.newsLocked()
			q.fetchedLocked(jobs)
			q.fetchedLocked(!jobs) // not after news
		}
	}
	want := func(most, least int) {
		t.Helper()
		later := 0
		for range 1000 {
			if q.pauseLocked() > 0 {
				later++
			}
		}
		if later > most || later < least {
			t.Errorf("%d of 1000 fetches come later, want %d to %d", later, least, most)
		}
	}
	want(0, 0)
	fetch(200, false)
	want(1000, 990)
	fetch(5, true) // as one of four: 0.28 of the fetches were first, so that 0.83 come at once
	want(300, 80)
	fetch(5, true)
	want(0, 0)
}

func TestStrictSchedulerFetchesFromAQueueOnlyWhenThoseBeforeAreEmpty(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 3, Strict: true, Queues: []Queue{{Name: "first"}, {Name: "second"}}})
	order := f.order()
	if order.queue.name != "first" || order.limit != 3 {
		t.Fatalf("the first order is %+v", order)
	}
	f.bring(order, 0, 0)
	// An empty queue is looked at again before each fetch from a later one.
	round := fetchRound{exhausted: map[*servedQueue]bool{}}
	if order, _ = f.nextFetch(&round, f.now); order.queue.name != "first" {
		t.Fatalf("the order is for %s", order.queue.name)
	}
	f.bring(order, 0, 0)
	round.exhausted[order.queue] = true
	if order, _ = f.nextFetch(&round, f.now); order.queue.name != "second" {
		t.Fatalf("the order is for %s", order.queue.name)
	}
	f.bring(order, 2, 0)
	f.queue("first").empty = false
	f.bring(fetchOrder{queue: f.queue("first"), session: f.queue("first").session}, 1, 0)
	f.start()
	if f.running[0].queue.name != "first" {
		t.Error("a job of a later queue starts first")
	}
}

func TestSessionIsDetachedAfterAnIntervalWithoutAJob(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{})
	q := f.queue(queue.DefaultQueue)
	session := q.session
	attempts := session.hold(jobs("1"))
	for _, c := range []struct {
		when   string
		before func()
		want   bool
	}{
		{"a job is held", func() {}, false},
		{"it was held since the previous tick", func() { session.forget([]queue.Completion{{Job: attempts[0].job}}); session.used = true }, false},
		{"an order is on its way", func() { q.fetching = true }, false},
		{"held jobs are to be read again", func() { q.fetching, session.rereadDue = false, true }, false},
		{"it was idle", func() { session.rereadDue = false }, true},
		{"it is detached already", func() {}, false},
	} {
		c.before()
		if got := f.detachIdle(session); got != c.want || got && q.session != nil {
			t.Errorf("%s: detached: %t, want %t", c.when, got, c.want)
		}
	}
}

func TestQueueHasNoOtherSessionBeforeTheJobsOfALostOneAreInterrupted(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{})
	q := f.queue(queue.DefaultQueue)
	lost := q.session
	f.drop(lost)
	if order := f.order(); order.queue != nil || q.session != nil {
		t.Error("a fetch is ordered")
	}
	f.update(func() { q.droppedLocked(lost) })
	if order := f.order(); order.queue != q || order.session != nil {
		t.Errorf("the next order is %+v", order)
	}
}

func TestPrefetchIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		concurrency int
		average     time.Duration
		want        int
	}{
		"nothing is known": {16, 0, 0},
		"one slot":         {1, time.Microsecond, 0},
		"quick handlers":   {10, time.Millisecond, 50},
		"very quick ones":  {10, 10 * time.Microsecond, maxPrefetch},
		"slow handlers":    {10, 50 * time.Millisecond, 1},
		"very slow ones":   {10, time.Minute, 0},
	} {
		f := newSchedulerFixture(t, Config{Concurrency: c.concurrency})
		f.avgDuration = c.average
		f.fill()
		if f.buffers.jobs != c.want || len(f.running) != c.concurrency {
			t.Errorf("%s: %d jobs run, and %d are prefetched, want %d", name, len(f.running), f.buffers.jobs, c.want)
		}
	}
}

func TestAverageDurationRisesQuicklyAndFallsSlowly(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2})
	f.fill()
	f.end(0, 400*time.Millisecond)
	if f.avgDuration != 100*time.Millisecond {
		t.Errorf("after a slow job: %s", f.avgDuration)
	}
	f.end(0, 20*time.Millisecond)
	if f.avgDuration != 95*time.Millisecond {
		t.Errorf("after a quick job: %s", f.avgDuration)
	}
	f.start()
}

func TestQueueLimitBoundsWhatIsFetchedAndStarted(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 10, Queues: []Queue{{Name: "a", Concurrency: 3}, {Name: "b"}}})
	f.avgDuration = time.Microsecond
	f.fill()
	limited := 0
	for _, a := range f.running {
		if a.queue.name == "a" {
			limited++
		}
	}
	if limited != 3 || len(f.running) != 10 || len(f.queue("a").buffer) > 0 {
		t.Errorf("of %d running jobs %d are of the limited queue, which has %d more", len(f.running), limited, len(f.queue("a").buffer))
	}
}

func TestBufferedJobsGoBackWhenNoRunnerTakesOne(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2})
	f.avgDuration = time.Millisecond
	order := f.order()
	next, _ := f.fetched(order, order.session.hold(jobs("1", "2", "3", "4", "5")), queue.FetchResult{}, f.now)
	f.apply(next)
	if next.checkIn != maxBuffered {
		t.Fatalf("a check is due after %s", next.checkIn)
	}
	f.now = f.now.Add(maxBuffered / 2)
	f.start()
	f.now = f.now.Add(maxBuffered / 2)
	if again := f.checkBuffers(f.now); again != maxBuffered/2 || f.buffers.jobs != 3 {
		t.Errorf("with a job taken in between: %d are buffered, again after %s", f.buffers.jobs, again)
	}
	f.now = f.now.Add(maxBuffered / 2)
	if again := f.checkBuffers(f.now); again != 0 || f.buffers.jobs != 0 || len(handedBack(order.session)) != 3 {
		t.Errorf("%d are buffered, %v went back, again after %s", f.buffers.jobs, handedBack(order.session), again)
	}
	if f.avgDuration < maxBuffered {
		t.Errorf("handlers are still taken for quick: %s", f.avgDuration)
	}
}

func TestPauseRemovalAndQuietHandBackJobsThatWereNotStarted(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(f *schedulerFixture){
		"pause":   func(f *schedulerFixture) { f.setPaused(f.queue("a"), true) },
		"removal": func(f *schedulerFixture) { f.serve([]Queue{{Name: "b", Weight: 1}}) },
		"quiet":   func(f *schedulerFixture) { f.update(func() { f.quiet = true }); f.handBackAll() },
	} {
		f := newSchedulerFixture(t, Config{Concurrency: 2, Queues: []Queue{{Name: "a"}, {Name: "b"}}})
		a := f.queue("a")
		f.avgDuration = time.Millisecond
		order := fetchOrder{queue: a, session: a.session}
		f.bring(order, 2, 0)
		f.start()
		f.bring(order, 5, 1)
		stop(f)
		if got := handedBack(a.session); len(got) != 5 || f.buffers.jobs != 0 || len(f.solo.waiting) != 0 {
			t.Errorf("%s: %v went back, %d are buffered, %d wait to run solo", name, got, f.buffers.jobs, len(f.solo.waiting))
		}
		if name != "quiet" {
			f.bring(order, 1, 0) // it was on its way
			if got := handedBack(a.session); len(got) != 6 {
				t.Errorf("%s: what came later did not go back: %v", name, got)
			}
		}
		f.end(0, time.Second)
		f.end(0, time.Second)
		f.start()
		if len(f.running) > 0 || f.slots.taken > 0 {
			t.Errorf("%s: %d jobs started later, %d slots are taken", name, len(f.running), f.slots.taken)
		}
	}
}

func TestAnswerOlderThanASignalDoesNotPause(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{})
	q := f.queue(queue.DefaultQueue)
	order := f.order()
	f.setPaused(q, true)
	f.setPaused(q, false)
	f.fetched(order, nil, queue.FetchResult{Paused: true}, f.now)
	if q.paused {
		t.Error("the answer was sent before the queue was resumed")
	}
	order = f.order()
	f.fetched(order, nil, queue.FetchResult{Paused: true}, f.now)
	if !q.paused {
		t.Error("a new answer paused it")
	}
}

func TestRemovedQueueIsStoppedOnceNoneOfItsJobsRunsOrIsOnItsWayAndOutcomesAreWritten(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 4, Queues: []Queue{{Name: "a"}}})
	a := f.queue("a")
	f.bring(f.order(), 1, 0)
	f.start()
	late := f.order()
	f.serve([]Queue{{Name: "b", Weight: 1}})
	f.end(0, time.Second)
	if f.left["a"] != nil {
		t.Fatal("it was stopped before its last answer had come")
	}
	held := f.bring(late, 1, 0)
	if f.left["a"] != nil || !slices.Equal(handedBack(a.session), []string{held[0].job.ID}) {
		t.Errorf("stopped: %v, went back: %v", f.left, handedBack(a.session))
	}
	outcomes, _ := a.session.completer.take()
	a.session.forget(outcomes[:1])
	if f.left["a"] != nil {
		t.Error("it was stopped before all outcomes were written")
	}
	a.session.forget(outcomes[1:])
	if f.left["a"] != a.session {
		t.Error("it was not stopped")
	}

	f.serve([]Queue{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	b := f.queue("b")
	f.bring(fetchOrder{queue: b, session: b.session}, 1, 0)
	f.start()
	if unserved, _ := f.serve([]Queue{{Name: "a", Weight: 1}}); !slices.Equal(unserved, []*servedQueue{b}) {
		t.Errorf("unserved: %v", unserved)
	}
	if _, restored := f.serve([]Queue{{Name: "b", Weight: 1}, {Name: "a", Weight: 1}}); !slices.Equal(restored, []*servedQueue{b}) {
		t.Errorf("restored: %v", restored)
	}
	f.end(0, time.Second)
	if f.left["b"] != nil || f.queues[0] != b {
		t.Error("a queue that is served again was stopped, or is not at its place")
	}
}

func TestQueueThatCannotBeReachedRests(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{})
	if next := f.fetchFailed(f.order(), errAway, f.now); next.wakeIn != restFor {
		t.Errorf("the fetcher wakes again after %s", next.wakeIn)
	}
	if f.order().queue != nil {
		t.Error("it is fetched from at once")
	}
	f.now = f.now.Add(restFor)
	order := f.order()
	if order.queue == nil || order.reread {
		t.Fatalf("after the rest the order is %+v", order)
	}
	f.fetchFailed(order, fmt.Errorf("fetch: %w", &rdb.OutcomeUnknownError{}), f.now)
	order, ok, resting := f.nextReread(f.now)
	if !ok || resting || !order.reread {
		t.Fatalf("after a lost answer: %+v, %t; others rest: %t", order, ok, resting)
	}
	f.fetchFailed(order, errAway, f.now)
	if order, ok, resting := f.nextReread(f.now); ok || !resting {
		t.Errorf("while it rests: %+v, %t; it rests: %t", order, ok, resting)
	}
	f.now = f.now.Add(restFor)
	order, _, _ = f.nextReread(f.now)
	f.bring(order, 1, 0)
	if _, ok, _ := f.nextReread(f.now); ok {
		t.Error("it is read again after an answer")
	}
}

func TestQueueThatWaitsForItsRereadCanBeRemoved(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	b := f.queue("b")
	for _, q := range f.all() {
		f.update(q.session.setRereadDueLocked)
	}
	order, _, _ := f.nextReread(f.now) // of a
	f.drop(b.session)
	f.serve([]Queue{{Name: "a"}})
	if b.fetching || len(f.all()) != 1 {
		t.Errorf("queue b is still served, its jobs are said to be fetched: %t", b.fetching)
	}
	f.bring(order, 1, 0)
}

func TestJobsOfALostLeaseAreDropped(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 1})
	order := f.order()
	late := order
	held := f.bring(order, 3, 1)
	f.drop(order.session)
	late.queue.fetching = true
	held = append(held, f.bring(late, 1, 0)...)
	for _, a := range held {
		if !a.endClaimed.Load() {
			t.Errorf("job %s would be run or handed back", a.job.ID)
		}
	}
	if f.buffers.jobs != 0 || len(f.solo.waiting) != 0 || f.order().queue != nil {
		t.Errorf("%d are buffered, %d wait to run solo", f.buffers.jobs, len(f.solo.waiting))
	}
}

func TestLostLeaseOfASoloJobWakesTheFetcher(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	a, b := f.queue("a"), f.queue("b")
	f.bring(fetchOrder{queue: a, session: a.session}, 1, 1)
	<-f.wake
	if order := f.order(); order.queue != nil {
		t.Fatalf("jobs of %s are fetched while one waits to run solo", order.queue.name)
	}
	f.drop(a.session)
	select {
	case <-f.wake:
	default:
		t.Error("the fetcher is not woken")
	}
	if order := f.order(); order.queue != b {
		t.Errorf("fetched is %+v, want jobs of b", order)
	}
}

func TestAbandonedHandlersCostSlotsOnlyBeyondTheConcurrency(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2})
	for abandoned, want := range []int{2, 2, 2, 1, 0} {
		if got := f.slots.capacity(); got != want {
			t.Errorf("%d abandoned: %d slots, want %d", abandoned, got, want)
		}
		f.slots.abandoned.Add(1)
	}
}

func TestSoloJobHasNothingBesideIt(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 3})
	f.avgDuration = time.Millisecond
	order := f.order()
	f.bring(order, 2, 0)
	f.start()
	next, _ := f.fetched(order, order.session.hold([]*queue.Job{soloJob("q1"), soloJob("q2"), {ID: "plain"}}), queue.FetchResult{}, f.now)
	if next.runners != 0 || next.wakeIn != f.solo.firstWait {
		t.Errorf("while a job waits to run solo: %+v", next)
	}
	if a, _ := f.takeSolo(f.now); a != nil || f.order().queue != nil {
		t.Fatal("it starts, or jobs are fetched, while others run")
	}
	f.end(0, time.Second)
	f.end(0, time.Second)
	f.start()
	solo, _ := f.takeSolo(f.now)
	if solo == nil || !solo.markSolo {
		t.Fatalf("solo runs %+v", solo)
	}
	if got := handedBack(order.session); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("handed back before the solo run: %v", got)
	}
	if second, again := f.takeSolo(f.now); second != nil || again || f.order().queue != nil {
		t.Error("another job starts, or jobs are fetched, beside a solo job")
	}
	for _, want := range []string{"q1", "q2"} {
		if solo.job.ID != want {
			t.Fatalf("solo runs %s, want %s", solo.job.ID, want)
		}
		f.running = append(f.running, solo)
		f.end(0, time.Second)
		f.now = f.now.Add(f.solo.firstWait) // from here on it would run beside others, too
		if solo, _ = f.takeSolo(f.now); solo != nil && !solo.markSolo {
			t.Errorf("after a solo run, %s is not marked", solo.job.ID)
		}
	}
	if f.order().queue == nil {
		t.Error("nothing is fetched after the solo run")
	}
}

func TestSoloJobRunsUnmarkedBesideJobsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2, Queues: []Queue{{Name: "a", Concurrency: 1}, {Name: "b"}}})
	a, b := f.queue("a"), f.queue("b")
	f.bring(fetchOrder{queue: b, session: b.session}, 1, 0)
	f.start()
	f.bring(fetchOrder{queue: b, session: b.session}, 1, 1)
	f.now = f.now.Add(f.solo.firstWait)
	solo, _ := f.takeSolo(f.now)
	if solo == nil || solo.markSolo {
		t.Fatalf("after the wait runs %+v", solo)
	}
	f.running = append(f.running, solo)
	f.end(1, time.Second)
	f.start()

	// Where the limit of its queue holds it back it goes to another worker.
	f.bring(fetchOrder{queue: a, session: a.session}, 1, 0)
	f.start()
	f.end(0, time.Second)
	f.start()
	f.bring(fetchOrder{queue: a, session: a.session}, 1, 1)
	f.now = f.now.Add(f.solo.firstWait)
	if a, again := f.takeSolo(f.now); a != nil || !again || len(f.solo.waiting) > 0 {
		t.Errorf("it runs: %+v", a)
	}
	if got := handedBack(a.session); len(got) != 1 {
		t.Errorf("handed back: %v", got)
	}
}

// Each death beside other jobs, which does not count, lets the job wait for them twice as long.
func TestSoloJobWaitsTwiceAsLongAfterEachDeathBesideOthers(t *testing.T) {
	t.Parallel()
	for deaths, want := range map[int]time.Duration{0: soloWait, 1: 2 * soloWait, 4: 16 * soloWait} {
		f := newSchedulerFixture(t, Config{Concurrency: 2})
		order := f.order()
		f.bring(order, 1, 0)
		f.start()
		job := soloJob("last strike")
		job.Quarantines = queue.DefaultCrashes + deaths
		next, _ := f.fetched(order, order.session.hold([]*queue.Job{job}), queue.FetchResult{}, f.now)
		if next.wakeIn != want {
			t.Errorf("after %d deaths it waits %s, want %s", deaths, next.wakeIn, want)
		}
		if a, _ := f.takeSolo(f.now.Add(want - 1)); a != nil {
			t.Errorf("after %d deaths it starts beside another job", deaths)
		}
		f.end(0, time.Second)
		f.start()
		if a, _ := f.takeSolo(f.now.Add(want - 1)); a == nil || !a.markSolo {
			t.Errorf("after %d deaths it does not run solo when the other job has ended: %+v", deaths, a)
		}
	}
}

// TestSchedulerKeepsItsInvariants does what a fetcher, an executor and a control
// do, in any order, and compares the scheduler with what the fixture counts.
func TestSchedulerKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		configs := []Queue{{Name: "a", Weight: 3}, {Name: "b", Weight: 1, Concurrency: 2}, {Name: "c", Weight: 1}}
		concurrency := rapid.IntRange(1, 5).Draw(t, "concurrency")
		f := newSchedulerFixture(t, Config{Concurrency: concurrency, Strict: rapid.Bool().Draw(t, "strict"), Queues: configs})
		var held []*attempt
		var orders []fetchOrder
		abandoned := 0
		anyQueue := func(t *rapid.T) *servedQueue { return rapid.SampledFrom(f.all()).Draw(t, "queue") }
		end := func(t *rapid.T) (a *attempt) {
			if len(f.running) == 0 {
				t.Skip("nothing runs")
			}
			n := rapid.IntRange(0, len(f.running)-1).Draw(t, "job")
			a = f.running[n]
			f.end(n, time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "took")))
			return a
		}
		t.Repeat(map[string]func(*rapid.T){
			"order": func(t *rapid.T) {
				if order := f.order(); order.queue != nil && len(orders) == 0 {
					orders = append(orders, f.opened(order))
				}
			},
			"answer": func(t *rapid.T) {
				if len(orders) == 0 {
					t.Skip("nothing is ordered")
				}
				n := rapid.IntRange(0, orders[0].limit).Draw(t, "jobs")
				held = append(held, f.bring(orders[0], n, max(0, rapid.IntRange(-5, n).Draw(t, "solos")))...)
				orders = nil
			},
			"fail": func(t *rapid.T) {
				if len(orders) == 0 {
					t.Skip("nothing is ordered")
				}
				f.fetchFailed(orders[0], rapid.SampledFrom([]error{errAway, &rdb.OutcomeUnknownError{}, queue.ErrLeaseLost}).Draw(t, "error"), f.now)
				orders = nil
			},
			"reread": func(t *rapid.T) {
				if len(orders) == 0 {
					if order, ok, _ := f.nextReread(f.now); ok {
						orders = append(orders, order)
					}
				}
			},
			"start": func(t *rapid.T) { f.start() },
			"end":   func(t *rapid.T) { end(t) },
			"abandon": func(t *rapid.T) {
				f.slots.abandoned.Add(1)
				abandoned++
				end(t)
			},
			"return": func(t *rapid.T) {
				if abandoned == 0 {
					t.Skip("none is abandoned")
				}
				abandoned--
				f.slots.abandoned.Add(-1)
				f.runners += f.capacityRose()
			},
			"solo": func(t *rapid.T) {
				if a, _ := f.takeSolo(f.now); a != nil {
					if a.markSolo && (len(f.running) > 0 || f.runners > 0 || abandoned > 0) {
						t.Fatalf("job %s is marked beside others", a.job.ID)
					}
					f.running = append(f.running, a)
				}
			},
			"pause":  func(t *rapid.T) { f.setPaused(anyQueue(t), true) },
			"resume": func(t *rapid.T) { f.setPaused(anyQueue(t), false) },
			"lose": func(t *rapid.T) {
				q := anyQueue(t)
				for _, session := range slices.Collect(q.sessionsLocked()) {
					f.drop(session)
					f.update(func() { q.droppedLocked(session) })
				}
				f.install(newTestSession(q), false)
			},
			"time": func(t *rapid.T) {
				f.now = f.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "time")))
				f.checkBuffers(f.now)
				f.update(func() { f.endGroupWaitLocked(f.now) })
			},
			"news": func(t *rapid.T) { f.update(anyQueue(t).newsLocked) },
			"queues": func(t *rapid.T) {
				n := rapid.IntRange(1, len(configs)).Draw(t, "queues")
				f.serve(configs[:n])
			},
			"": func(t *rapid.T) { f.check(t, held) },
		})
		f.update(func() { f.quiet = true })
		f.handBackAll()
		idle := f.slots.whenIdle()
		for f.start(); len(f.running) > 0; f.start() {
			f.end(0, time.Second)
		}
		select {
		case <-idle:
		default:
			t.Fatal("a quiet scheduler whose jobs have ended is not idle")
		}
		for _, a := range held {
			if !a.endClaimed.Load() {
				t.Fatalf("job %s was neither run nor handed back", a.job.ID)
			}
		}
	})
}

// check compares the scheduler with what runs.
func (f *schedulerFixture) check(t *rapid.T, held []*attempt) {
	buffered, running := 0, map[*servedQueue]int{}
	for _, q := range f.queues {
		buffered += len(q.buffer)
	}
	for _, a := range f.running {
		running[a.queue]++
	}
	for _, q := range f.queues {
		if q.running != running[q] || (q.config.Concurrency > 0 && q.running > q.config.Concurrency) {
			t.Fatalf("%d jobs of %s run, the scheduler counts %d", running[q], q.name, q.running)
		}
	}
	if f.buffers.jobs != buffered {
		t.Fatalf("%d jobs are buffered, the scheduler counts %d", buffered, f.buffers.jobs)
	}
	if f.slots.taken != f.runners+len(f.running) || f.slots.taken > f.slots.concurrency {
		t.Fatalf("%d slots are taken, by %d runners and %d jobs", f.slots.taken, f.runners, len(f.running))
	}
	unclaimed := 0
	for _, a := range held {
		if !a.endClaimed.Load() {
			unclaimed++
		}
	}
	if places := buffered + len(f.solo.waiting) + len(f.running); unclaimed != places {
		t.Fatalf("%d jobs are held, and %d are in a place", unclaimed, places)
	}
}

func TestRunnersThatUnrecordedOutcomesStoppedStartAgain(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2, Queues: []Queue{{Name: "a"}}})
	bound, order := f.slots.unrecorded.max(), f.order()
	f.slots.unrecorded.add(bound - 1)
	if free := f.slots.capacity(); free != 1 {
		t.Errorf("%d jobs may run one below the bound", free)
	}
	f.slots.unrecorded.add(1)
	f.bring(order, 2, 0)
	if f.runners != 0 {
		t.Errorf("%d jobs start at the bound", f.runners)
	}
	if more, n := f.slots.unrecorded.add(-1), f.capacityRose(); !more || n != 1 {
		t.Errorf("after one outcome was written: %t, %d jobs start, want 1", more, n)
	}
	if more, n := f.slots.unrecorded.add(1-bound), f.capacityRose(); !more || n != 1 {
		t.Errorf("after all outcomes were written: %t, %d jobs start, want 1", more, n)
	}
	if f.slots.unrecorded.add(10); f.slots.unrecorded.add(-10) {
		t.Error("an outcome below the bound is said to let more jobs start")
	}
}

func TestQuarantinedJobsAreFetchedForHalfOfTheSlotsAndOfOneGroup(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 4, Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	f.avgDuration = time.Millisecond
	a, b := f.queue("a"), f.queue("b")
	wantRoom := func(when string, ofA, ofB int) {
		t.Helper()
		if gotA, gotB := f.quarantine.room(a.session), f.quarantine.room(b.session); gotA != ofA || gotB != ofB {
			t.Errorf("%s: %d quarantined jobs of a and %d of b may be fetched, want %d and %d", when, gotA, gotB, ofA, ofB)
		}
	}
	wantRoom("at first", 2, 2)
	jobs := []*queue.Job{{ID: "1", Group: "g", GroupSize: 2}, {ID: "2", Group: "g", GroupSize: 2}}
	next, _ := f.fetched(fetchOrder{queue: a, session: a.session}, a.session.hold(jobs), queue.FetchResult{}, f.now)
	f.apply(next)
	f.start()
	wantRoom("with two jobs of a group", 0, 0)
	if order := f.order(); order.queue == nil || order.limit > 2 || order.quarantined != 0 {
		t.Errorf("beside a group an order is %+v, want other jobs for the two free slots", order)
	}
	before := f.orderLocked(b, 1, 2)
	a.empty, b.empty = true, true
	f.quarantineWritten(a.session, 1)
	wantRoom("with one job of a group", 1, 0)
	if a.empty || !b.empty {
		t.Errorf("while the pool holds a group: a is empty: %t, b is empty: %t", a.empty, b.empty)
	}
	f.quarantineWritten(a.session, 1)
	wantRoom("at the end", 2, 2)
	if f.bring(before, 0, 0); b.empty {
		t.Error("an answer that was without jobs of other groups is trusted after the end of the group")
	}
}

func TestOrdersOverASlowConnectionHaveMoreTimeAndAskForLess(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{})
	for i, want := range []struct {
		timeout time.Duration
		bytes   int
	}{{time.Second, 256 << 10}, {2 * time.Second, 64 << 10}, {4 * time.Second, 16 << 10}, {8 * time.Second, 4 << 10}, {8 * time.Second, 4 << 10}} {
		f.queue(queue.DefaultQueue).session.setRenewed()
		order := f.order()
		if order.timeout() != want.timeout || order.maxBytes() != want.bytes {
			t.Errorf("after %d failures an order has %s for %d bytes, want %v", i, order.timeout(), order.maxBytes(), want)
		}
		if slowest := i >= maxSlow; order.tooSlow(context.DeadlineExceeded) != slowest || order.tooSlow(errAway) {
			t.Errorf("after %d failures it is too slow: %t", i, !slowest)
		}
		f.fetchFailed(order, context.DeadlineExceeded, f.now)
		f.now = f.now.Add(restFor)
	}
}

// The group of queue a is long-running when no job of it was fetched for groupWait. Later jobs of the
// queue have another session.
func TestLongRunningGroupKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 4, Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	a, b := f.queue("a"), f.queue("b")
	bring := func(group string) (order fetchOrder, attempts []*attempt) {
		order = f.opened(f.orderLocked(a, 1, 2))
		f.jobs++
		attempts = order.session.hold([]*queue.Job{{ID: fmt.Sprint(f.jobs), Group: group, GroupSize: 2, Quarantines: 4}})
		f.fetched(order, attempts, queue.FetchResult{}, f.now)
		return order, attempts
	}
	look := func() { f.update(func() { f.endGroupWaitLocked(f.now) }) }
	first, attempts := bring("g")
	f.now = f.now.Add(groupWait - 1)
	if again, _ := bring("g"); again.session != first.session {
		t.Error("another session before the group is long-running")
	}
	f.now = f.now.Add(1)
	a.empty, b.empty = true, true
	if look(); !a.empty || f.quarantine.room(nil) != 0 {
		t.Error("the group is long-running though a job of it was fetched later")
	}
	f.now = f.now.Add(groupWait - 1)
	if look(); a.empty || b.empty || f.quarantine.room(nil) != 2 {
		t.Errorf("beside a long-running group: a is empty: %t, b is empty: %t, room for %d", a.empty, b.empty, f.quarantine.room(nil))
	}
	second, _ := bring("h")
	if second.session == first.session || second.quarantined != 1 || f.quarantine.room(b.session) != 0 {
		t.Errorf("the next group has the order %+v, and b has room for %d", second, f.quarantine.room(b.session))
	}
	if all := f.sessions(); !slices.Contains(all, first.session) || !slices.Contains(all, second.session) {
		t.Errorf("the sessions are %v", all)
	}
	first.session.setRereadDueLocked()
	if order, ok, _ := f.nextReread(f.now); !ok || order.session != first.session {
		t.Errorf("the jobs of the older session are not compared: %+v", order)
	}
	a.empty, b.empty, a.fetching = true, true, false
	if f.quarantineWritten(first.session, 1); !a.empty || f.quarantine.room(second.session) != 1 {
		t.Error("the end of a long-running job lets others be fetched again")
	}
	if f.drop(second.session); b.empty || f.quarantine.room(b.session) != 2 {
		t.Error("after the loss of a group another queue's is not fetched")
	}
	if f.drop(first.session); !attempts[0].endClaimed.Load() || a.hasLocked(first.session) {
		t.Error("a lost older session is still one of the queue's")
	}
}

// For the only job of a group the time doubles with each quarantine, which begins to count with that
// group. The idle fetcher looks again when the time has passed.
func TestGroupOfOneKeepsOthersWaitingTwiceAsLongAfterEachDeath(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		size, quarantines int
		want              time.Duration
	}{{8, 1, groupWait}, {2, 4, groupWait}, {1, 1, groupWait}, {1, 2, 2 * groupWait}, {1, 3, 4 * groupWait}} {
		f := newSchedulerFixture(t, Config{Concurrency: 4})
		order := f.order()
		f.fetched(order, order.session.hold([]*queue.Job{{ID: "1", Group: "g", GroupSize: row.size, Quarantines: row.quarantines}}), queue.FetchResult{}, f.now)
		if got := f.maxWait(f.now); got != min(row.want, maxIdle) {
			t.Errorf("%+v: the fetcher looks again after %s", row, got)
		}
		f.now = f.now.Add(row.want - 1)
		if f.order(); f.quarantine.room(nil) != 0 {
			t.Errorf("%+v: another group is fetched too early", row)
		}
		f.now = f.now.Add(1)
		if f.order(); f.quarantine.room(nil) != 2 || f.maxWait(f.now) != maxIdle {
			t.Errorf("%+v: another group is not fetched", row)
		}
	}
}

// A job that comes to a long-running group, as the answer to a reread, makes it wait again: the end
// of an earlier job of the group does not count for this one.
func TestGroupWaitsAgainForAJobThatComesLater(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 4})
	order := f.order()
	bring := func(id string) {
		f.fetched(order, order.session.hold([]*queue.Job{{ID: id, Group: "g", GroupSize: 2}}), queue.FetchResult{}, f.now)
	}
	bring("1")
	f.now = f.now.Add(groupWait)
	f.update(func() { f.endGroupWaitLocked(f.now) })
	order.reread = true
	bring("2")
	if f.quarantineWritten(order.session, 1); f.quarantine.room(nil) != 0 {
		t.Error("another group is fetched beside a job that was fetched a moment ago")
	}
	f.now = f.now.Add(groupWait)
	if f.update(func() { f.endGroupWaitLocked(f.now) }); f.quarantine.room(nil) != 2 {
		t.Error("no other group is fetched")
	}
}

// A death counts for one job at most: with several groups, for the one that is not long-running.
func TestLongRunningGroupsAreMarkedWhileThePoolHoldsOthers(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 4, Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	a, b := f.queue("a").session, f.queue("b").session
	bring := func(session *leaseSession) {
		f.fetched(fetchOrder{queue: session.queue, session: session}, session.hold([]*queue.Job{{ID: session.queue.name, Group: "g", GroupSize: 1}}), queue.FetchResult{}, f.now)
	}
	wantChanged := func(when string, next *leaseSession, want ...*leaseSession) {
		t.Helper()
		got := f.sessionsToMark(next, f.now)
		if len(got) != len(want) || slices.ContainsFunc(want, func(s *leaseSession) bool { return !slices.Contains(got, s) }) {
			t.Errorf("%s: the marks of %v are to be changed, want %v", when, got, want)
		}
		for _, session := range got {
			session.shared = !session.shared
		}
	}
	passGroupWait := func() {
		f.now = f.now.Add(groupWait)
		f.update(func() { f.endGroupWaitLocked(f.now) })
	}
	bring(a)
	wantChanged("one group", nil)
	passGroupWait()
	wantChanged("one long-running group", nil)
	a.queue.rest(f.now)
	wantChanged("before the start of another one, while Redis is away", b)
	f.now = f.now.Add(restFor)
	wantChanged("before the start of another one", b, a)
	bring(b)
	wantChanged("with both", nil)
	passGroupWait()
	wantChanged("when both are long-running", nil, b)
	f.quarantineWritten(a, 1)
	wantChanged("after the end of one", nil, b)
	wantChanged("with one again", b)
}

func TestJobThatKillsItsWorkerAfterAMinuteRunsSoloForLonger(t *testing.T) {
	t.Parallel()
	if got := window(firstWindow, queue.DefaultCrashes); got <= time.Minute {
		t.Errorf("the last death counts in the first %s", got)
	}
}

// Handlers are slow, so each fetch is to bring one job for the free slot. Redis has lost the ends of
// many jobs, which come before the others.
func TestFetchesGrowWhileTheyBringOnlyJobsThatHaveEnded(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 1, Queues: []Queue{{Name: "a"}}})
	f.avgDuration = time.Second
	const lost, maxFetches = 1500, 20
	fetches := 0
	for left := lost; left > 0; fetches++ {
		order := f.order()
		if order.queue == nil || fetches > maxFetches {
			t.Fatalf("%d of %d jobs are left after %d fetches", left, lost, fetches)
		}
		answer := queue.FetchResult{Jobs: make([]*queue.Job, min(left, order.limit))}
		next, _ := f.fetched(order, nil, answer, f.now)
		f.apply(next)
		left -= len(answer.Jobs)
	}
	f.bring(f.order(), 1, 0)
	f.start()
	f.end(0, time.Second)
	f.start()
	if order := f.order(); order.limit != 1 {
		t.Errorf("the fetch after a job that ran wants %d, want 1", order.limit)
	}
}
