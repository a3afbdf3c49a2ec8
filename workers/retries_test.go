package workers

import (
	"fmt"
	"testing"
	"time"

	"skidway/queue"
)

// bringRetries answers an order with n retries.
func (f *schedulerFixture) bringRetries(order fetchOrder, n int) {
	f.Helper()
	var answer queue.FetchResult
	for range n {
		f.jobs++
		answer.Jobs = append(answer.Jobs, &queue.Job{ID: fmt.Sprint(f.jobs)})
	}
	attempts := order.session.hold(answer.Jobs)
	for _, a := range attempts {
		a.retry = true
	}
	next, _ := f.fetched(order, attempts, answer, f.now)
	f.apply(next)
	f.start()
}

// wantLimits makes an order and compares its limits of retries.
func (f *schedulerFixture) wantLimits(queueName string, besideOthers, alone int) fetchOrder {
	f.Helper()
	order := f.order()
	if order.queue == nil || order.queue.name != queueName {
		f.Fatalf("the order is %+v, want one for %s", order, queueName)
	}
	if got := order.retries; got.BesideOthers != besideOthers || got.Max != alone {
		f.Errorf("the order's limits are %+v, want %d beside others and %d", got, besideOthers, alone)
	}
	return order
}

func TestRetriesLeaveSlotsToOtherJobs(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int][2]int{1: {1, 1}, 2: {1, 1}, 3: {1, 2}, 8: {2, 7}, 100: {25, 99}} {
		f := newSchedulerFixture(t, Config{Concurrency: slots, Queues: []Queue{{Name: "a"}}})
		f.wantLimits("a", want[0], want[1])
	}
	f := newSchedulerFixture(t, Config{Concurrency: 16, Queues: []Queue{{Name: "a"}}})
	f.bringRetries(f.wantLimits("a", 4, 15), 3)
	f.bringRetries(f.wantLimits("a", 1, 12), 12)
	f.bring(f.wantLimits("a", 0, 0), 0, 0)
	if order := f.order(); order.queue != nil {
		t.Errorf("ordered from a queue with retries alone, which the pool may not hold: %+v", order)
	}
	f.end(0, time.Second)
	f.start()
	f.wantLimits("a", 0, 1)
}

func TestBufferedAndSoloRetriesCountUntilTheyAreHandedBack(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 8, Queues: []Queue{{Name: "a"}}})
	f.avgDuration = time.Microsecond
	order := f.wantLimits("a", 2, 7)
	attempts := order.session.hold(append(jobs("1", "2", "3"), soloJob("4")))
	for _, a := range attempts {
		a.retry = true
	}
	f.fetched(order, attempts, queue.FetchResult{}, f.now)
	if held := f.queue("a").heldRetriesLocked(f.solo); held != 4 {
		t.Errorf("%d retries are held, want the 3 that are buffered and the one that waits to run solo", held)
	}
	f.handBackAll()
	if held := f.queue("a").heldRetriesLocked(f.solo); held != 0 {
		t.Errorf("%d retries are held after all were handed back", held)
	}
}

func TestQueueWithALimitOfItsOwnKeepsSlotsFreeOfRetries(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 100, Queues: []Queue{{Name: "a", Concurrency: 4}}})
	f.bringRetries(f.wantLimits("a", 1, 3), 2)
	f.wantLimits("a", 0, 1)
}

func TestJobsOfOtherQueuesLimitRetries(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 8, Strict: true, Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	f.bringRetries(f.wantLimits("a", 2, 2), 2)
	order := f.wantLimits("a", 0, 0)
	f.bring(order, 0, 0)
	round := fetchRound{exhausted: map[*servedQueue]bool{order.queue: true}}
	order, _ = f.nextFetch(&round, f.now)
	if order.queue.name != "b" {
		t.Fatalf("the order is for %s", order.queue.name)
	}
	for len(f.wake) > 0 {
		<-f.wake
	}
	f.bring(order, 0, 0)
	if len(f.wake) == 0 {
		t.Error("the fetcher sleeps, although the other queue is empty now")
	}
	f.wantLimits("a", 0, 5)
}

func TestEveryFourthFetchFromAQueueTakesARetryFirst(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 100, Queues: []Queue{{Name: "a"}}})
	for n := 1; n <= 12; n++ {
		order := f.order()
		if order.retries.First != (n%4 == 0) {
			t.Errorf("fetch %d takes a retry first: %t", n, order.retries.First)
		}
		f.bring(order, 1, 0)
		f.start()
	}
}

func TestHandingBackBufferedJobsWakesTheFetcher(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Concurrency: 2, Queues: []Queue{{Name: "a"}}})
	f.bring(f.order(), 2, 0)
	for len(f.wake) > 0 {
		<-f.wake
	}
	f.checkBuffers(f.now.Add(maxBuffered))
	if len(f.wake) == 0 {
		t.Error("the fetcher sleeps, although other retries may be fetched")
	}
}

func TestEachFourthFetchTakesARetryFirst(t *testing.T) {
	t.Parallel()
	f := newSchedulerFixture(t, Config{Queues: []Queue{{Name: "q"}}})
	for n := 1; n <= 12; n++ {
		order := f.orderLocked(f.queue("q"), 1, 1)
		if want := n%4 == 0; order.retries.First != want {
			t.Errorf("fetch %d: a retry comes first: %t, want %t", n, order.retries.First, want)
		}
	}
}
