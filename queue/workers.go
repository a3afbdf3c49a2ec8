package queue

import (
	"context"
	"time"
)

// A WorkerInfo is what a queue knows of one incarnation of a worker.
type WorkerInfo struct {
	Name  string
	About []byte        // what it says of itself, see [Lease.Describe]
	Lease time.Duration // what its lease has left; below zero: it is late
	Held  int           // active jobs that it has
	Alone string        // id of the job that it runs with no other beside it; empty: none

	// Dead: it was silent for too long, or nobody knows it. Its jobs are
	// handed back.
	Dead bool
}

// Workers lists the workers of the queue: first those whose lease ends first,
// then the dead ones that still have jobs.
func (q *Queue) Workers(ctx context.Context) ([]WorkerInfo, error) {
	reply, err := q.run(ctx, workersScript)
	if err != nil {
		return nil, err
	}
	var workers []WorkerInfo
	for i := 0; i+5 < reply.Len(); i += 6 {
		worker := WorkerInfo{
			Name:  reply.Text(i),
			Lease: time.Duration(reply.Int(i+1)) * time.Millisecond,
			Dead:  reply.Int(i+2) == 1,
			Held:  int(reply.Int(i + 3)),
			About: []byte(reply.Text(i + 5)),
		}
		if alone := reply.Text(i + 4); alone != "" {
			worker.Alone = globalID(q.name, alone)
		}
		workers = append(workers, worker)
	}
	return workers, nil
}
