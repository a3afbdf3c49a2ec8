package workerstest

import (
	"context"

	"skidway/queue"
)

// MostDrained is the most jobs that one [Worker.Drain] runs.
const MostDrained = 1000

// Drain runs jobs one after the other, in the order in which a pool would start
// them, until none waits, and says what became of each. Jobs that handlers add
// meanwhile are run too; those that are not due stay. After [MostDrained] jobs it
// ends the test, since handlers that give each other work never end.
func (w *Worker) Drain() []Outcome {
	w.t.Helper()
	w.tick()
	var outcomes []Outcome
	for ran := 0; ; ran++ {
		w.moveDue()
		lease, job := w.next()
		if job == nil {
			return outcomes
		}
		if ran == MostDrained {
			break
		}
		outcomes = append(outcomes, w.run(lease, &attempt{job: job}))
	}
	w.t.Fatalf("%d jobs were run and there are more: does one add or snooze itself for ever? The last: %s", MostDrained, outcomes[len(outcomes)-1])
	return nil
}

// next takes the next job, or none.
func (w *Worker) next() (*queue.Lease, *queue.Job) {
	w.t.Helper()
	for _, q := range w.queues() {
		lease := w.lease(q)
		for malformed := true; malformed; {
			fetched, err := lease.Fetch(context.Background(), 1, 1)
			if err != nil {
				w.t.Fatal(err)
			}
			if len(fetched.Jobs) > 0 {
				return lease, fetched.Jobs[0]
			}
			malformed = fetched.Malformed > 0
		}
	}
	return nil, nil
}

// run makes an attempt at a job that is held under a lease, and writes what
// became of it.
func (w *Worker) run(lease *queue.Lease, a *attempt) Outcome {
	w.t.Helper()
	ending, err := w.attempt(a)
	outcome := Outcome{Ending: ending, Err: err}
	ctx := context.Background()
	if outcome.Log, err = w.Client.Log(ctx, a.job.ID); err != nil {
		w.t.Fatal(err)
	}
	if outcome.Progress, err = w.Client.Progress(ctx, a.job.ID); err != nil {
		w.t.Fatal(err)
	}
	if _, err = lease.Finish(ctx, []queue.Ending{ending}); err != nil {
		w.t.Fatal(err)
	}
	return outcome
}
