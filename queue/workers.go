package queue

import (
	"context"
	_ "embed"
	"time"

	"skidway/internal/rdb"
)

//go:embed lua/workers.lua
var workersSource string

var workersScript = newScript(rdb.NewIdempotentScript, "list workers", withPlaces+workersSource)

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
	a, err := workersScript.run(ctx, q)
	if err != nil {
		return nil, err
	}
	var workers []WorkerInfo
	for i := 1; i+5 < len(a); i += 6 {
		worker := WorkerInfo{
			Name:  a.text(i),
			Lease: time.Duration(a.number(i+1)) * time.Millisecond,
			Dead:  a.number(i+2) == 1,
			Held:  int(a.number(i + 3)),
			About: []byte(a.text(i + 5)),
		}
		if alone := a.text(i + 4); alone != "" {
			worker.Alone = globalID(q.name, alone)
		}
		workers = append(workers, worker)
	}
	return workers, nil
}
