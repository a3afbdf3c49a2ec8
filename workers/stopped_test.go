package workers_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/queue"
)

// A stopped worker doesn't know that time has passed: when it goes on it still
// believes that it holds its jobs.

func TestStoppedWorkerIsNotHeardWhenItGoesOn(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"succeed", "fail"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			f := newServerFleet(t, workerPlan{Concurrency: 4, Lease: 500 * time.Millisecond})
			ids := f.enqueue(4, "hold", queue.Options{})
			zombie := f.start()
			f.untilRun(4)
			zombie.pause(t)
			f.open(zombie, word, 4) // its handlers end as soon as it goes on

			other := f.start()
			f.open(other, "succeed", 4)
			f.untilSettled()
			before := f.books(f.queues[0])
			zombie.signal(t, syscall.SIGCONT)
			// A job that only the zombie can run shows that it has come back and
			// has a lease again.
			other.stop()
			last := f.enqueue(1, "plain", queue.Options{})
			f.untilSettled()
			f.stop()
			after := f.books(f.queues[0])
			before.Enqueued++
			before.Done++
			if after.LostLeases = before.LostLeases; after != before {
				t.Errorf("the books said %+v and one job more, now %+v", before, after)
			}
			f.check(outcome{})
			if lease := f.leaseOf(last[0]); !strings.HasSuffix(lease, ".2") {
				t.Errorf("the job after that ran under %s, want the zombie's second lease", lease)
			}
			if lease := f.leaseOf(ids[0]); !strings.HasPrefix(lease, other.plan.Name) {
				t.Errorf("job %s was run last under %s, want by %s", ids[0], lease, other.plan.Name)
			}
		})
	}
}

func TestBlockedReaderThatWasDeclaredDeadIsGivenNoJob(t *testing.T) {
	t.Parallel()
	f := newServerFleet(t, workerPlan{Concurrency: 4, Lease: 2 * time.Second})
	zombie := f.start()
	f.enqueue(1, "plain", queue.Options{})
	f.untilSettled() // it is idle now, and blocks
	zombie.pause(t)
	q := f.queues[0]
	infos, err := q.Workers(f.ctx)
	if err != nil || len(infos) != 1 {
		t.Fatalf("workers %+v: %v", infos, err)
	}
	first := infos[0].Name
	f.nobodyHoldsAnything(q) // declares it dead
	ids := f.enqueue(8, "plain", queue.Options{})
	zombie.signal(t, syscall.SIGCONT)
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
		f := newServerFleet(t, strikePlan)
		f.mixed(strikeJobs)
		zombie := f.start(strike)
		if !f.strikes(zombie) {
			zombie.kill() // it had less to do this time, and may stop when it is told to end
			return
		}
		other := f.start()
		f.untilSettled()
		before := f.books(f.queues[0])
		f.nobodyHoldsAnything(f.queues[0]) // a zombie that held nothing is dead too
		other.stop()
		zombie.signal(t, syscall.SIGCONT)
		f.enqueue(1, "plain", queue.Options{})
		f.untilSettled()
		f.stop()
		after := f.books(f.queues[0])
		before.Enqueued++
		before.Done++
		if after.LostLeases = before.LostLeases; after != before {
			t.Errorf("the books said %+v and one job more, now %+v", before, after)
		}
		f.check(outcome{})
	})
}

// open lets n handlers of kind hold of a worker go on.
func (f *fleet) open(p *workerProcess, word string, n int) {
	f.t.Helper()
	for range n {
		if err := f.db.RPush(f.ctx, gateKey(f.db, p.plan.Name), word).Err(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fleet) books(q *queue.Queue) queue.Counts {
	f.t.Helper()
	counters, err := q.Counters(f.ctx, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return counters.Total
}

// leaseOf gives the lease under which a job was run last.
func (f *fleet) leaseOf(id string) string {
	for _, run := range slices.Backward(f.log.runs) {
		if run.job == id {
			return run.lease
		}
	}
	return ""
}
