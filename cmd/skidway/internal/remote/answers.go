package remote

import (
	"encoding/json"
	"errors"
	"time"

	"skidway/ops"
	"skidway/ops/api"
	"skidway/queue"
	"skidway/workers/stats"
)

// local returns a time as packages return it that read it from Redis.
func local(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Local()
}

// statusOf is the inverse of what the API makes of a status.
func statusOf(q api.Queue, asOf time.Time) ops.QueueStatus {
	status := ops.QueueStatus{
		Name: q.Name, Time: local(asOf), Workers: q.Workers, Slots: q.Slots, Free: q.Free,
		Depth: queue.Depth{
			Waiting: q.Waiting, Active: q.Active, Delayed: q.Delayed, Dead: q.Dead, Finished: q.Finished, WaitingBy: map[queue.Priority]int{},
			Paused: q.Paused, PausedAt: local(q.PausedAt), PausedBy: q.PausedBy, PausedNote: q.Note, Oldest: time.Duration(q.Oldest), NextDue: local(q.NextDue), Time: local(asOf),
		},
	}
	if q.Error != "" {
		status.Err = errors.New(q.Error)
	}
	for name, n := range q.WaitingBy {
		if priority, err := queue.ParsePriority(name); err == nil {
			status.Depth.WaitingBy[priority] = n
		}
	}
	if q.Today != nil {
		status.Today = countsOf(*q.Today)
	}
	if q.Total != nil {
		status.Total = countsOf(*q.Total)
	}
	return status
}

func countsOf(c api.Counts) queue.Counts {
	return queue.Counts{
		Enqueued: c.Enqueued, Succeeded: c.Done, Discarded: c.Discarded, Cancelled: c.Cancelled, Failed: c.Failed, Retried: c.Retried, Dead: c.Dead,
		Revived: c.Revived, Deleted: c.Deleted, Crashed: c.Crashed, LostLeases: c.LostLeases, Dropped: c.Dropped, Duplicates: c.Duplicates,
	}
}

func reportOf(r api.QueueReport) *ops.Report {
	report := &ops.Report{QueueStatus: statusOf(r.Queue, r.AsOf), Findings: r.Findings}
	for _, day := range r.Days {
		at, _ := time.Parse(time.DateOnly, day.Day) // the zero time if it is no day
		report.Days = append(report.Days, queue.DayCounts{Day: at, Counts: countsOf(day.Counts)})
	}
	for _, d := range r.Diagnoses {
		report.Diagnoses = append(report.Diagnoses, ops.Diagnosis{Name: d.Name, Rank: ops.Rank(d.Rank), Summary: d.Summary, Since: local(d.Since)})
	}
	return report
}

var scopes = map[string]queue.Scope{"finished": queue.UntilFinished, "waiting": queue.WhileWaiting, "duration": queue.ForDuration}

func jobOf(j api.Job) (*queue.Job, error) {
	priority, err := queue.ParsePriority(j.Priority)
	if err != nil {
		return nil, err
	}
	job := &queue.Job{
		ID: j.ID, Queue: j.Queue, State: queue.State(j.State), Kind: j.Kind, Priority: priority, Args: j.Args,
		Enqueued: local(j.Enqueued), Due: local(j.Due), Worker: j.Worker, Taken: local(j.Taken), Ended: local(j.Ended), Outcome: queue.Outcome(j.Outcome), Reason: j.Reason,
		Attempts: j.FailedAttempts, Forgiven: j.ForgivenAttempts, MaxAttempts: j.MaxAttempts, Timeout: time.Duration(j.Timeout), Deadline: local(j.Deadline),
		Retain: time.Duration(j.Retain), Unique: queue.Unique{Key: j.Unique, Scope: scopes[j.UniqueScope], For: time.Duration(j.UniqueFor)}, Headers: j.Headers,
		Quarantines: j.Quarantined, Crashes: j.Crashes, Group: j.Group, GroupSize: j.GroupSize, Result: j.Result,
	}
	for _, text := range j.Then {
		var next queue.NewJob
		if err := json.Unmarshal(text, &next); err != nil {
			return nil, err
		}
		job.Then = append(job.Then, next)
	}
	for _, f := range j.Errors {
		job.Errors = append(job.Errors, queue.Failure{Attempt: f.Attempt, Time: local(f.Time), Error: f.Error, Worker: f.Worker, Started: local(f.Started), Took: time.Duration(f.Took), Stack: f.Stack})
	}
	return job, nil
}

func runningOf(j api.RunningJob) ops.RunningJob {
	return ops.RunningJob{Queue: j.Queue, RunningJob: stats.RunningJob{ID: j.ID, Kind: j.Kind, Attempt: j.Attempt, For: time.Duration(j.For), Pool: j.Worker}}
}

func operationOf(o api.Operation) (queue.Operation, error) {
	op := queue.Operation{
		ID: o.ID, Queue: o.Queue, Do: o.Action, State: queue.State(o.State), Match: o.Match, Status: o.Status, Changed: o.Changed, Count: o.Count, AtLeast: o.AtLeast,
		Left: o.Left, Examined: o.Examined, Rate: o.Rate, AsOf: local(o.AsOf), Began: local(o.Began), Last: local(o.LastStep), Ended: local(o.Ended), By: o.By, Error: o.Error,
	}
	var err error
	if o.Priority != "" {
		op.Priority, err = queue.ParsePriority(o.Priority)
	}
	return op, err
}
