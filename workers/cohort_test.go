package workers_test

import (
	"fmt"
	"testing"
	"time"

	"skidway/queue"
)

// cohort is the number of jobs that a worker of these tests holds when it is killed.
const cohort = 32

// The lease is a twentieth of the default, a group keeps others waiting for a tenth of the default time.
var cohortPlan = workerPlan{Concurrency: cohort, Lease: 500 * time.Millisecond, GroupWait: 500 * time.Millisecond}

// One worker with all jobs is killed. Its jobs last a tenth of 3 s, but for one that goes on. With
// the times of cohortPlan 15 s would be 1.5 s for the jobs and 0.65 s for the recovery.
func TestJobsOfAKilledWorkerAreDoneSoonAndHinderNoOther(t *testing.T) {
	t.Parallel()
	for _, others := range []int{1, 4} {
		t.Run(fmt.Sprint("workers=", others), func(t *testing.T) {
			t.Parallel()
			f := newServerProcesses(t, cohortPlan)
			place := f.random.IntN(cohort)
			f.enqueue(place, "slow", queue.Options{})
			f.enqueue(1, "hold", queue.Options{})
			f.enqueue(cohort-1-place, "slow", queue.Options{})
			victim := f.start()
			f.untilRun(cohort)
			victim.Kill()
			for range others {
				f.start()
			}
			began := time.Now()
			f.ledger.until(t, f.ctx, func() bool { return len(f.ledger.runs) > cohort })
			recovered := time.Now()
			f.enqueue(1, "plain", queue.Options{Priority: queue.High})
			f.untilRun(cohort + 1)
			if took := time.Since(recovered); took > 5*time.Second {
				t.Errorf("a job of high priority was started after %s", took)
			}
			f.untilDepth(0, 1)
			took := time.Since(began)
			t.Logf("recovered %s after the start of the others, all jobs but the long one are done after %s", recovered.Sub(began), took)
			if took > 5*time.Second {
				t.Errorf("all jobs but the long one were done after %s", took)
			}
			for _, p := range f.live() {
				f.open(p, "succeed", 1)
			}
			f.untilSettled()
			f.stop()
			f.check(outcome{})
		})
	}
}

// A worker is started whenever the one before has died. Each death halves the group with the
// poison job: 32, 16, 8, 4, 2, 1; then three more count. So it is too if all groups run beside each
// other: each is halved by itself.
func TestOnePoisonJobAmongManyDiesWithAtMostEightWorkers(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"one group at a time": time.Minute, "groups beside each other": slowJob / 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := cohortPlan
			plan.GroupWait = wait
			testOnePoisonJob(t, plan, "poison")
		})
	}
}

// A job that kills its worker after twelve times the time for which a group keeps others waiting, as
// one does after a minute, and in three quarters of its first solo run.
func TestOnePoisonJobThatKillsLateDiesWithAtMostEightWorkers(t *testing.T) {
	if !thorough {
		t.Skip("the long form only: TestDeathCountsForALongJobWithoutOtherGroups tests the rule")
	}
	t.Parallel()
	plan := cohortPlan
	plan.GroupWait, plan.SoloWindow = slowJob/6, slowJob*2/3
	testOnePoisonJob(t, plan, "late-poison")
}

func testOnePoisonJob(t *testing.T, plan workerPlan, kind string) {
	f := newServerProcesses(t, plan)
	place := f.random.IntN(cohort)
	f.enqueue(place, "slow", queue.Options{})
	poison := f.enqueue(1, kind, queue.Options{})[0]
	f.enqueue(cohort-1-place, "slow", queue.Options{})
	settled := make(chan error, 1)
	go func() { settled <- f.settle(f.ctx) }()
	deaths := -1
	for ended := false; !ended; deaths++ {
		worker := f.start()
		select {
		case <-worker.Ended():
		case err := <-settled:
			if ended = true; err != nil {
				t.Fatalf("%v\n%s", err, f.describe())
			}
		}
	}
	f.stop()
	f.check(outcome{dead: 1})
	if job, err := f.client.Get(f.ctx, poison); err != nil || job.State != queue.Dead || job.Crashes != queue.DefaultCrashes {
		t.Errorf("the poison job is %+v, %v", job, err)
	}
	t.Logf("the poison job was at place %d, %d workers died", place, deaths)
	if deaths > 8 {
		t.Errorf("%d workers died", deaths)
	}
}
