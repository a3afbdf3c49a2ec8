package queue

import "fmt"

// Forward is the kind of a job that adds another one, to another queue. Jobs
// that follow one of another queue travel so: no script can touch both queues.
// Every pool of package workers has a handler for it.
const Forward = "skidway.forward"

// A Forwarding is the args of a [Forward].
type Forwarding struct {
	Job Insert `json:"job"`
}

// Kind is [Forward].
func (Forwarding) Kind() string { return Forward }

// followers encodes the jobs that follow an ending.
func (q *Queue) followers(e *Ending) ([]insertion, error) {
	jobs := make([]insertion, len(e.Then))
	for n, next := range e.Then {
		if next.Options.Queue == "" {
			next.Options.Queue = q.name
		}
		if next.Options.Queue != q.name {
			next = Insert{Forwarding{next}, Options{Queue: q.name, Priority: next.Options.Priority}}
		}
		_, job, err := q.client.prepare(next)
		if err != nil {
			return nil, fmt.Errorf("then[%d]: %w", n, err)
		}
		if job.record == nil {
			plain := Job{Kind: job.kind, Priority: job.priority, packed: job.args}
			job.record = plain.record()
		}
		jobs[n] = job
	}
	return jobs, nil
}

// Unfollowed is how a job ends that succeeded, while the jobs that follow it can't
// be made: it is dead, since what was to come must not be forgotten.
func Unfollowed(job *Job, err error) Ending {
	return Ending{Job: job, As: AsDead, Reason: "it succeeded, but what follows it can't be enqueued: " + err.Error()}
}

// follow gives the arguments for the jobs that follow an ending, to go before
// its own: none for most.
func (q *Queue) follow(e *Ending) []any {
	if e.As != AsSucceeded || len(e.Then) == 0 {
		return nil
	}
	jobs, err := q.followers(e)
	if err != nil {
		*e = Unfollowed(e.Job, err)
		return nil
	}
	args := []any{"then", len(jobs)}
	for i := range jobs {
		args = append(args, jobs[i].withRecord()...)
	}
	return args
}
