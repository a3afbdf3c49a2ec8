package api

import (
	"context"
	"slices"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// A Worker is a worker process. Of its queues and jobs there are those that the principal may see.
type Worker struct {
	Name        string      `json:"name,omitzero" jsonschema:"for those who may view every queue, or operate all queues of the worker, as host and pid"`
	State       string      `json:"state" jsonschema:"running, quiet, stopping, late or dead"`
	Host        string      `json:"host,omitzero"`
	PID         int         `json:"pid,omitzero"`
	Started     time.Time   `json:"started,omitzero"`
	Concurrency int         `json:"concurrency,omitzero"`
	Stuck       int         `json:"stuck,omitzero" jsonschema:"handlers that ignore their timeout"`
	Queues      []string    `json:"queues" jsonschema:"names and patterns"`
	Kinds       []string    `json:"kinds,omitzero"`
	Lease       Duration    `json:"lease" jsonschema:"that is left"`
	Held        int         `json:"held" jsonschema:"jobs that it holds"`
	Jobs        []WorkerJob `json:"jobs" jsonschema:"the first of them, the longest held first"`
}

// A WorkerJob is a job that a worker holds.
type WorkerJob struct {
	ID   string   `json:"id"`
	Kind string   `json:"kind"`
	Held Duration `json:"held" jsonschema:"for how long"`
	Solo bool     `json:"solo,omitzero" jsonschema:"whether it runs with no other job beside it"`
}

// maxWorkerJobs bounds the jobs of a worker in a list.
const maxWorkerJobs = 100

// visibleFleet returns the workers that the principal may see, without queues, names and hosts that it
// may not see.
func visibleFleet(ctx context.Context, c *call, options *ops.FleetOptions) (*ops.Fleet, error) {
	if options.Queue != "" {
		if err := c.may(access.View, options.Queue); err != nil {
			return nil, err
		}
	}
	fleet, err := c.ops.Fleet(ctx, options)
	if err != nil || c.views(access.All) {
		return fleet, err
	}
	names, err := c.visible(ctx)
	if err != nil {
		return nil, err
	}
	unseen := map[string]bool{} // by all queues of the workers
	for _, worker := range fleet.Workers {
		unseen[worker.Name] = !c.principal.SeesWorker(worker.Queues)
	}
	fleet = fleet.Within(names)
	for _, worker := range fleet.Workers {
		if unseen[worker.Name] {
			worker.Name, worker.Host, worker.PID = "", "", 0
		}
	}
	return fleet, nil
}

func listWorkers(ctx context.Context, c *call) (any, error) {
	fleet, err := visibleFleet(ctx, c, &ops.FleetOptions{Queue: c.query.Get("queue")})
	if err != nil {
		return nil, err
	}
	return listOf(ctx, c, fleet.Workers, fleet.Now, func(w *ops.Worker) Worker { return workerOf(w, fleet.Now) })
}

func workerOf(w *ops.Worker, now time.Time) Worker {
	worker := Worker{
		Name: w.Name, State: w.Condition(), Host: w.Host, PID: w.PID, Started: utc(w.Started), Concurrency: w.Concurrency, Stuck: w.Stuck,
		Queues: nonNil(w.QueueNames()), Kinds: w.Kinds, Lease: Duration(w.Left()), Held: w.Held(), Jobs: []WorkerJob{},
	}
	for _, job := range w.Jobs[:min(len(w.Jobs), maxWorkerJobs)] {
		worker.Jobs = append(worker.Jobs, WorkerJob{job.ID, job.Kind, Duration(now.Sub(job.Taken)), job.ID == w.Solo()})
	}
	return worker
}

// Signalled is a worker that was signalled.
type Signalled struct {
	Worker string `json:"worker"`
	Signal string `json:"signal"`
}

func quietWorker(ctx context.Context, c *call) (any, error) {
	return signal(ctx, c, queue.SignalQuiet)
}

func stopWorker(ctx context.Context, c *call) (any, error) {
	return signal(ctx, c, queue.SignalStop)
}

// signal signals the worker of the path. The principal must operate all queues that it serves.
func signal(ctx context.Context, c *call, kind queue.SignalKind) (any, error) {
	fleet, err := c.ops.Fleet(ctx, &ops.FleetOptions{WithoutJobs: true})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(fleet.Workers, func(w *ops.Worker) bool { return w.Name == c.values["worker"] && !w.Dead() })
	if i < 0 && !c.principal.MaySignal(nil) || i >= 0 && !c.principal.MaySignal(fleet.Workers[i].Queues) {
		return nil, forbidden(access.Scope{Action: access.Operate, Queue: access.All})
	}
	if i < 0 {
		return nil, problem("not-found", "no worker %.80s is running", c.values["worker"])
	}
	worker := fleet.Workers[i]
	err = c.audited(ctx, access.All, worker.Name, 1, func() error { return c.ops.Signal(ctx, fleet, worker, kind) })
	return Signalled{worker.Name, string(kind)}, err
}

// A RunningList is what handlers of workers do.
type RunningList struct {
	List[RunningJob]
	More   int      `json:"more" jsonschema:"jobs that workers have left out of their reports"`
	Silent []string `json:"silent" jsonschema:"workers that hold jobs and have not reported, for those who may view every queue"`
}

// A RunningJob is a job whose handler runs.
type RunningJob struct {
	ID      string   `json:"id"`
	Queue   string   `json:"queue"`
	Kind    string   `json:"kind"`
	Attempt int      `json:"attempt"`
	For     Duration `json:"for"`
	Worker  string   `json:"worker,omitzero" jsonschema:"for those who may view every queue"`
}

func runningJobOf(j ops.RunningJob) RunningJob {
	return RunningJob{j.ID, j.Queue, j.Kind, j.Attempt, Duration(j.For), j.Pool}
}

func listRunning(ctx context.Context, c *call) (any, error) {
	names := []string{c.query.Get("queue")}
	var err error
	switch {
	case names[0] == "":
		names, err = c.visible(ctx)
	default:
		if err = c.may(access.View, names[0]); err == nil {
			names, err = c.ops.QueueNames(ctx, names[0])
		}
	}
	if err != nil {
		return nil, err
	}
	running, err := c.ops.RunningIn(ctx, names)
	if err != nil {
		return nil, err
	}
	if !c.principal.SeesWorker(nil) {
		for i := range running.Jobs {
			running.Jobs[i].Pool = ""
		}
		running.Silent = nil
	}
	list, err := listOf(ctx, c, running.Jobs, time.Time{}, runningJobOf)
	if err != nil {
		return nil, err
	}
	return RunningList{*list.(*List[RunningJob]), running.More, nonNil(running.Silent)}, nil
}
