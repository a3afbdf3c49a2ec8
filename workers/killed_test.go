package workers_test

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// killSome runs jobs in three workers and kills one of them now and then, for
// which a new one starts.
func killSome(f *fleet, jobs, kills int) {
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
	killSome(newServerFleet(t, workerPlan{Concurrency: 16, Lease: time.Second}), jobs, kills)
}

func TestWorkersOfManyQueuesOnAClusterKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	jobs, kills := 2_000, 2
	if thorough {
		jobs, kills = 20_000, 10
	}
	killSome(newFleet(t, redistest.ClusterDB(t), workerPlan{
		URL: redistest.Cluster(t), Concurrency: 16, Lease: time.Second,
		Queues: []string{"a", "b", "c", "d", "e", "f", "g", "h"},
	}), jobs, kills)
}

// atSomeCommands calls a test with plans that strike at the nth command, before
// it and after it: of as many as a worker sends, all in the long form, and some
// that are drawn in the short one.
func atSomeCommands(t *testing.T, signal syscall.Signal, test func(t *testing.T, change func(*workerPlan))) {
	f := newServerFleet(t, strikePlan)
	f.mixed(strikeJobs)
	p := f.start()
	f.untilSettled()
	f.stop()
	said, _ := p.hears("commands")
	commands, err := strconv.Atoi(said)
	if err != nil {
		t.Fatalf("the worker said %q: %v", said, err)
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
				test(t, func(plan *workerPlan) { plan.SignalAt, plan.After, plan.Signal = point+1, after, signal })
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
		f := newServerFleet(t, strikePlan)
		f.mixed(strikeJobs)
		victim := f.start(strike)
		if f.strikes(victim) {
			<-victim.ended
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
		f := newServerFleet(t, strikePlan)
		f.start(strike)
		f.start()
		f.mixed(strikeJobs)
		f.untilSettled()
		f.stop()
		f.check(outcome{})
	})
}
