package workers_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"skidway/internal/processtest"
	"skidway/internal/redistest"
	"skidway/queue"
)

// killSome runs jobs in three workers and kills one of them now and then, for
// which a new one starts.
func killSome(f *processes, jobs, kills int) {
	f.t.Helper()
	f.enqueue(jobs, "plain", queue.Options{})
	for range 3 {
		f.start()
	}
	for k := range kills {
		f.untilRun((k + 1) * jobs / (kills + 1))
		f.killOne()
		f.start()
	}
	f.untilRun(jobs)
	f.untilSettled()
	f.stop()
	f.check(outcome{})
}

func TestWorkersKilledInTheMiddleLoseNoJobAndRepeatOnlyWhatTheyHeld(t *testing.T) {
	t.Parallel()
	jobs, kills := 10_000, 3
	if thorough {
		jobs, kills = 50_000, 10
	}
	killSome(newServerProcesses(t, workerPlan{Concurrency: 16, Lease: time.Second}), jobs, kills)
}

func TestWorkersOfManyQueuesOnAClusterKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	jobs, kills := 2_000, 2
	if thorough {
		jobs, kills = 20_000, 10
	}
	killSome(newProcesses(t, redistest.ClusterDB(t), workerPlan{
		URL: redistest.Cluster(t), Concurrency: 16, Lease: time.Second,
		Queues: []string{"a", "b", "c", "d", "e", "f", "g", "h"},
	}), jobs, kills)
}

// atSomeCommands calls a test with plans that strike at the nth command, before
// it and after it: of as many as a worker sends, all in the long form, and some
// that are drawn in the short one.
func atSomeCommands(t *testing.T, signal syscall.Signal, test func(t *testing.T, change func(*workerPlan))) {
	f := newServerProcesses(t, strikePlan)
	f.mixed(strikeJobs)
	p := f.start()
	f.untilSettled()
	f.stop()
	word, _ := p.Word("commands")
	commands, err := strconv.Atoi(word)
	if err != nil {
		t.Fatalf("the worker printed %q: %v", word, err)
	}
	t.Logf("a worker sends %d commands", commands)
	points := f.random.Perm(commands)
	if !thorough {
		points = points[:3]
	}
	for i, point := range points {
		for _, after := range []bool{false, true} {
			if !thorough && after != (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("command %d after=%t", point+1, after), func(t *testing.T) {
				t.Parallel()
				test(t, func(plan *workerPlan) {
					plan.Signal = processtest.CommandSignal{At: point + 1, After: after, Signal: signal}
				})
			})
		}
	}
}

var strikePlan = workerPlan{Concurrency: 4, Lease: 500 * time.Millisecond}

// strikeJobs is how many jobs there are of each sort.
const strikeJobs = 15

func TestWorkerKilledAtAnyCommandAndAnotherStarted(t *testing.T) {
	t.Parallel()
	atSomeCommands(t, syscall.SIGKILL, func(t *testing.T, strike func(*workerPlan)) {
		f := newServerProcesses(t, strikePlan)
		f.mixed(strikeJobs)
		victim := f.start(strike)
		if f.strikes(victim) {
			<-victim.Ended()
		}
		f.start()
		f.untilSettled()
		f.stop()
		f.check(outcome{})
	})
}

func TestWorkerKilledAtAnyCommandWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	atSomeCommands(t, syscall.SIGKILL, func(t *testing.T, strike func(*workerPlan)) {
		f := newServerProcesses(t, strikePlan)
		f.start(strike)
		f.start()
		f.mixed(strikeJobs)
		f.untilSettled()
		f.stop()
		f.check(outcome{})
	})
}

// A stopped process does not notice that its lease expires: when it continues it
// still has its jobs.

func TestStoppedWorkerWritesNothingWhenItContinues(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"succeed", "fail"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			f := newServerProcesses(t, workerPlan{Concurrency: 4, Lease: 500 * time.Millisecond})
			ids := f.enqueue(4, "hold", queue.Options{})
			zombie := f.start()
			f.untilRun(4)
			zombie.Pause()
			f.open(zombie, word, 4) // its handlers end as soon as it continues

			other := f.start()
			f.open(other, "succeed", 4)
			f.untilSettled()
			before := f.counts(f.queues[0])
			zombie.Signal(syscall.SIGCONT)
			// A job that only the zombie can run shows that it has come back and
			// has a lease again.
			other.Stop()
			last := f.enqueue(1, "plain", queue.Options{})
			f.untilSettled()
			f.stop()
			after := f.counts(f.queues[0])
			before.Enqueued++
			before.Succeeded++
			if after.LostLeases = before.LostLeases; after != before {
				t.Errorf("the counters were %+v and one job more, now %+v", before, after)
			}
			f.check(outcome{})
			if lease := f.leaseOf(last[0]); !strings.HasPrefix(lease, zombie.plan.Name) || lease == f.leaseOf(ids[0]) {
				t.Errorf("the job after that ran under %s, want another lease of the zombie", lease)
			}
			if lease := f.leaseOf(ids[0]); !strings.HasPrefix(lease, other.plan.Name) {
				t.Errorf("job %s was run last under %s, want by %s", ids[0], lease, other.plan.Name)
			}
		})
	}
}

func TestBlockedReaderThatWasDeclaredDeadReceivesNoJob(t *testing.T) {
	t.Parallel()
	f := newServerProcesses(t, workerPlan{Concurrency: 4, Lease: 2 * time.Second})
	zombie := f.start()
	before := f.enqueue(1, "plain", queue.Options{})
	f.untilSettled() // it is idle now, and blocks
	zombie.Pause()
	first := f.leaseOf(before[0])
	f.expireAllLeases(f.queues[0]) // declares it dead, unless it has closed its lease
	ids := f.enqueue(8, "plain", queue.Options{})
	zombie.Signal(syscall.SIGCONT)
	f.untilSettled()
	f.stop()
	f.check(outcome{})
	for _, id := range ids {
		if lease := f.leaseOf(id); lease == first {
			t.Errorf("job %s was given to %s, which was dead", id, lease)
		}
	}
}

func TestWorkerStoppedAtAnyCommandGoesOnWithANewLease(t *testing.T) {
	t.Parallel()
	atSomeCommands(t, syscall.SIGSTOP, func(t *testing.T, strike func(*workerPlan)) {
		f := newServerProcesses(t, strikePlan)
		f.mixed(strikeJobs)
		zombie := f.start(strike)
		if !f.strikes(zombie) {
			zombie.Kill() // it had less to do this time, and may end at SIGTERM
			return
		}
		other := f.start()
		f.untilSettled()
		before := f.counts(f.queues[0])
		f.expireAllLeases(f.queues[0]) // a zombie that held nothing is dead too
		other.Stop()
		zombie.Signal(syscall.SIGCONT)
		f.enqueue(1, "plain", queue.Options{})
		f.untilSettled()
		f.stop()
		after := f.counts(f.queues[0])
		before.Enqueued++
		before.Succeeded++
		if after.LostLeases = before.LostLeases; after != before {
			t.Errorf("the counters were %+v and one job more, now %+v", before, after)
		}
		f.check(outcome{})
	})
}

// open lets n handlers of kind hold of a worker go on.
func (f *processes) open(p *workerProcess, word string, n int) {
	f.t.Helper()
	for range n {
		if err := f.notes.RPush(f.ctx, gateKey(f.notes, p.plan.Name), word).Err(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *processes) counts(q *queue.PoolQueue) queue.Counts {
	f.t.Helper()
	total, _, err := q.Counters(f.ctx, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return total
}

// leaseOf returns the lease under which a job was run last.
func (f *processes) leaseOf(id string) string {
	for _, run := range slices.Backward(f.ledger.runs) {
		if run.job == id {
			return run.lease
		}
	}
	return ""
}

func TestOnePoisonJobAmongAThousandEndsAsOneDeadJob(t *testing.T) {
	t.Parallel()
	f := newServerProcesses(t, workerPlan{Concurrency: 8, Lease: 400 * time.Millisecond})
	f.enqueue(500, "plain", queue.Options{})
	poison := f.enqueue(1, "poison", queue.Options{})[0]
	f.enqueue(499, "plain", queue.Options{})

	// Each of two machines starts its worker again when that has died.
	var machines sync.WaitGroup
	var starting sync.Mutex
	stopped := false
	start := func() *workerProcess {
		starting.Lock()
		defer starting.Unlock()
		if stopped {
			return nil
		}
		return f.start()
	}
	for range 2 {
		machines.Go(func() {
			for p := start(); p != nil; p = start() {
				<-p.Ended()
			}
		})
	}
	f.untilRun(1000)
	f.untilSettled()
	starting.Lock()
	stopped = true
	f.stop()
	starting.Unlock()
	machines.Wait()

	f.check(outcome{dead: 1})
	job, err := f.client.Get(f.ctx, poison)
	if err != nil {
		t.Fatal(err)
	}
	if job.State != queue.Dead || job.Crashes != queue.DefaultCrashes || !strings.Contains(job.Reason, "its worker died") {
		t.Errorf("the poison job is %s after %d crashes: %q", job.State, job.Crashes, job.Reason)
	}
	t.Logf("%d starts of workers", len(f.workers))
}
