package workers

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"skidway/queue"
)

// A pool keeps the outcomes that it has written in the last keepEnds: those are what a failover,
// or a crash of a Redis that syncs its file each second, can lose. Their number and the bytes of
// their jobs are bounded; above the bounds the oldest are dropped, and their jobs run again if
// Redis loses the outcomes.
const (
	keepEnds    = 5 * time.Second
	maxEnds     = 10_000
	maxEndBytes = 16 << 20
)

// keepRestored is how long after a change of the server the pool knows which jobs had ended: Redis may
// have put them behind many others.
const keepRestored = time.Hour

// recentEnds has the outcomes that a pool has written lately, as batches, the oldest first. It
// keeps the slices and the jobs that are there, so that to add a batch costs little.
type recentEnds struct {
	mu      sync.Mutex
	batches []endBatch
	count   int
	size    int // bytes
}

// An endBatch has outcomes that were written together.
type endBatch struct {
	session  *leaseSession
	written  time.Time
	outcomes []queue.Completion
	size     int
}

// add adds outcomes that were written. The caller must not change them later.
func (r *recentEnds) add(session *leaseSession, outcomes []queue.Completion, now time.Time) {
	size := 0
	for i := range outcomes {
		end := &outcomes[i]
		size += len(end.Job.Args) + len(end.Result) + headerBytes(end.Job.Headers) + followerBytes(end.Job.Then) + followerBytes(end.Then)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, endBatch{session, now, outcomes, size})
	r.count, r.size = r.count+len(outcomes), r.size+size
	drop := 0
	for _, batch := range r.batches {
		if r.count <= maxEnds && r.size <= maxEndBytes && now.Sub(batch.written) <= keepEnds {
			break
		}
		r.count, r.size = r.count-len(batch.outcomes), r.size-batch.size
		drop++
	}
	clear(r.batches[:drop])
	r.batches = r.batches[drop:] // append moves them together when its array is full
}

func headerBytes(headers map[string]string) (size int) {
	for name, value := range headers {
		size += len(name) + len(value)
	}
	return size
}

// followerBytes returns the bytes of jobs that follow another one.
func followerBytes(jobs []queue.NewJob) (size int) {
	for _, next := range jobs {
		args, _ := json.Marshal(next.Args) // they are JSON
		size += len(args) + headerBytes(next.Options.Headers) + followerBytes(next.Options.Then)
	}
	return size
}

// of returns the outcomes of a session.
func (r *recentEnds) of(session *leaseSession) map[string][]queue.Completion {
	r.mu.Lock()
	defer r.mu.Unlock()
	var batches [][]queue.Completion
	for _, batch := range r.batches {
		if batch.session == session {
			batches = append(batches, batch.outcomes)
		}
	}
	return endsByJob(batches...)
}

// endsByJob returns outcomes by the ids of their jobs, which may have ended several times, without
// those of jobs that were handed back or are quarantined.
func endsByJob(batches ...[]queue.Completion) map[string][]queue.Completion {
	ends := map[string][]queue.Completion{}
	for _, outcomes := range batches {
		for _, outcome := range outcomes {
			if outcome.Disposition != queue.AttemptReturned && outcome.Job.Group == "" {
				ends[outcome.Job.ID] = append(ends[outcome.Job.ID], outcome)
			}
		}
	}
	return ends
}

// endOf returns the outcome of a delivery, if it is among some. Where the clock of a new server is
// behind, it may issue the id of an entry twice, so the jobs are compared too.
func endOf(job *queue.Job, outcomes []queue.Completion) (end queue.Completion, ok bool) {
	for _, end := range outcomes {
		if end.Job.SameDelivery(job) && end.Job.Kind == job.Kind && bytes.Equal(end.Job.Args, job.Args) {
			return end, true
		}
	}
	return queue.Completion{}, false
}
