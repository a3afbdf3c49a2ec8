package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"skidway/ops"
	"skidway/queue"
	"skidway/workers/stats"
)

// A Duration is a length of time, such as "1m30s" in JSON.
type Duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is no length of time such as 90s or 2h", text)
	}
	*d = Duration(parsed)
	return nil
}

// A List is a page of a list.
type List[T any] struct {
	Items    []T       `json:"items"`
	Next     string    `json:"next,omitzero" jsonschema:"the cursor of the next page; none on the last one"`
	LookedAt int       `json:"looked_at" jsonschema:"the number of entries that were looked at for this page"`
	Complete bool      `json:"complete" jsonschema:"whether this is the last page"`
	AsOf     time.Time `json:"as_of" jsonschema:"by the clock of Redis"`

	// Of jobs.
	Total int       `json:"total,omitzero" jsonschema:"the number of jobs in the states of the list"`
	Back  time.Time `json:"back,omitzero" jsonschema:"when the last job that was looked at ended, or is due"`
}

// A Queue is the state of a queue.
type Queue struct {
	Name      string         `json:"name"`
	Waiting   int            `json:"waiting"`
	WaitingBy map[string]int `json:"waiting_by,omitzero" jsonschema:"by priority"`
	Active    int            `json:"active"`
	Delayed   int            `json:"delayed"`
	Dead      int            `json:"dead"`
	Finished  int            `json:"finished" jsonschema:"with a result that is kept"`
	Paused    bool           `json:"paused"`
	PausedAt  time.Time      `json:"paused_at,omitzero"`
	PausedBy  string         `json:"paused_by,omitzero"`
	Note      string         `json:"paused_note,omitzero"`
	Oldest    Duration       `json:"oldest,omitzero" jsonschema:"how long the first waiting job has been in its line"`
	NextDue   time.Time      `json:"next_due,omitzero"`
	Workers   int            `json:"workers" jsonschema:"living ones that serve it"`
	Slots     int            `json:"slots" jsonschema:"of the workers that take jobs"`
	Free      int            `json:"free"`
	Today     *Counts        `json:"today,omitzero" jsonschema:"in UTC"`
	Total     *Counts        `json:"total,omitzero" jsonschema:"since its first use"`
	Error     string         `json:"error,omitzero" jsonschema:"why it can't be read; then all else is zero"`
}

func queueOf(s ops.QueueStatus) Queue {
	q := Queue{
		Name: s.Name, Waiting: s.Depth.Waiting, Active: s.Depth.Active, Delayed: s.Depth.Delayed, Dead: s.Depth.Dead, Finished: s.Depth.Finished,
		Paused: s.Depth.Paused, PausedAt: utc(s.Depth.PausedAt), PausedBy: s.Depth.PausedBy, Note: s.Depth.PausedNote, Oldest: Duration(s.Depth.Oldest), NextDue: utc(s.Depth.NextDue), Workers: s.Workers, Slots: s.Slots, Free: s.Free,
	}
	if s.Err != nil {
		q.Error = s.Err.Error()
		return q
	}
	q.WaitingBy = map[string]int{}
	for priority, n := range s.Depth.WaitingBy {
		q.WaitingBy[priority.String()] = n
	}
	today, total := countsOf(s.Today), countsOf(s.Total)
	q.Today, q.Total = &today, &total
	return q
}

// Counts are what became of the jobs of a queue.
type Counts struct {
	Enqueued   int64 `json:"enqueued"`
	Done       int64 `json:"done"`
	Discarded  int64 `json:"discarded"`
	Cancelled  int64 `json:"cancelled"`
	Failed     int64 `json:"failed" jsonschema:"attempts"`
	Retried    int64 `json:"retried" jsonschema:"failed attempts that another one followed"`
	Dead       int64 `json:"dead"`
	Revived    int64 `json:"revived"`
	Deleted    int64 `json:"deleted"`
	Crashed    int64 `json:"crashed"`
	LostLeases int64 `json:"lost_leases"`
	Dropped    int64 `json:"dropped"`
	Duplicates int64 `json:"duplicates"`
}

func countsOf(c queue.Counts) Counts {
	return Counts{
		c.Enqueued, c.Succeeded, c.Discarded, c.Cancelled, c.Failed, c.Retried, c.Dead, c.Revived, c.Deleted, c.Crashed, c.LostLeases, c.Dropped, c.Duplicates,
	}
}

// A QueueReport is a queue with why its jobs do not run.
type QueueReport struct {
	Queue
	AsOf      time.Time   `json:"as_of"`
	Days      []DayCounts `json:"days" jsonschema:"the last seven, today's first"`
	Findings  []string    `json:"findings" jsonschema:"whether its jobs run, and if not, why"`
	Diagnoses []Diagnosis `json:"diagnoses"`
}

// DayCounts are the counts of a day.
type DayCounts struct {
	Day string `json:"day" jsonschema:"in UTC, as in 2006-01-02"`
	Counts
}

// A Diagnosis is a condition of a queue that someone should know of.
type Diagnosis struct {
	Name    string    `json:"name"`
	Rank    string    `json:"rank"`
	Summary string    `json:"summary"`
	Since   time.Time `json:"since,omitzero"`
}

func reportOf(r *ops.Report) *QueueReport {
	report := &QueueReport{Queue: queueOf(r.QueueStatus), AsOf: utc(r.Time), Days: []DayCounts{}, Findings: nonNil(r.Findings), Diagnoses: []Diagnosis{}}
	for _, day := range r.Days {
		report.Days = append(report.Days, DayCounts{day.Day.Format(time.DateOnly), countsOf(day.Counts)})
	}
	for _, d := range r.Diagnoses {
		report.Diagnoses = append(report.Diagnoses, Diagnosis{d.Name, string(d.Rank), d.Summary, utc(d.Since)})
	}
	return report
}

// A Job is a job. Args, progress and result that are not JSON are texts.
type Job struct {
	ID       string          `json:"id"`
	Queue    string          `json:"queue"`
	State    string          `json:"state"`
	Kind     string          `json:"kind"`
	Priority string          `json:"priority"`
	Args     json.RawMessage `json:"args"`

	Enqueued time.Time `json:"enqueued,omitzero"`
	Due      time.Time `json:"due,omitzero"`
	Worker   string    `json:"worker,omitzero"`
	Taken    time.Time `json:"taken,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Outcome  string    `json:"outcome,omitzero"`
	Reason   string    `json:"reason,omitzero"`

	FailedAttempts   int               `json:"failed_attempts"`
	ForgivenAttempts int               `json:"forgiven_attempts,omitzero" jsonschema:"of them those before it was retried by hand"`
	MaxAttempts      int               `json:"max_attempts,omitzero"`
	Timeout          Duration          `json:"timeout,omitzero"`
	Deadline         time.Time         `json:"deadline,omitzero"`
	Retain           Duration          `json:"retain,omitzero"`
	Unique           string            `json:"unique,omitzero"`
	UniqueScope      string            `json:"unique_scope,omitzero"`
	UniqueFor        Duration          `json:"unique_for,omitzero"`
	Headers          map[string]string `json:"headers,omitzero"`
	Then             []json.RawMessage `json:"then,omitzero" jsonschema:"jobs that are added when it succeeds"`

	Quarantined int       `json:"quarantined,omitzero" jsonschema:"how often in a row its worker died while it held the job"`
	Crashes     int       `json:"crashes,omitzero"`
	Group       string    `json:"group,omitzero" jsonschema:"of quarantined jobs"`
	GroupSize   int       `json:"group_size,omitzero"`
	Errors      []Failure `json:"errors" jsonschema:"of the last failed attempts"`

	Progress json.RawMessage `json:"progress,omitzero"`
	Result   json.RawMessage `json:"result,omitzero"`
}

// A Failure is a failed attempt.
type Failure struct {
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Error   string    `json:"error"`
	Worker  string    `json:"worker,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Took    Duration  `json:"took,omitzero"`
	Stack   string    `json:"stack,omitzero"`
}

var scopeNames = map[queue.Scope]string{queue.UntilFinished: "finished", queue.WhileWaiting: "waiting", queue.ForDuration: "duration"}

func jobOf(j *queue.Job, progress []byte) Job {
	job := Job{
		ID: j.ID, Queue: j.Queue, State: string(j.State), Kind: j.Kind, Priority: j.Priority.String(), Args: opaque(j.Args),
		Enqueued: utc(j.Enqueued), Due: utc(j.Due), Worker: j.Worker, Taken: utc(j.Taken), Ended: utc(j.Ended), Outcome: string(j.Outcome), Reason: j.Reason,
		FailedAttempts: j.Attempts, ForgivenAttempts: j.Forgiven, MaxAttempts: j.MaxAttempts, Timeout: Duration(j.Timeout), Deadline: utc(j.Deadline),
		Retain: Duration(j.Retain), Unique: j.Unique.Key, UniqueFor: Duration(j.Unique.For), Headers: j.Headers,
		Quarantined: j.Quarantines, Crashes: j.Crashes, Group: j.Group, GroupSize: j.GroupSize, Errors: []Failure{},
		Progress: opaqueOrNone(progress), Result: opaqueOrNone(j.Result),
	}
	if len(j.Headers) == 0 {
		job.Headers = nil
	}
	if job.Unique != "" {
		job.UniqueScope = scopeNames[j.Unique.Scope]
	}
	for _, next := range j.Then {
		if text, err := json.Marshal(next); err == nil {
			job.Then = append(job.Then, text)
		}
	}
	for _, f := range j.Errors {
		job.Errors = append(job.Errors, Failure{f.Attempt, utc(f.Time), f.Error, f.Worker, utc(f.Started), Duration(f.Took), f.Stack})
	}
	return job
}

// opaque returns data that is JSON as it is, and other data as a text.
func opaque(data []byte) json.RawMessage {
	switch {
	case len(data) == 0:
		return json.RawMessage("null")
	case json.Valid(data):
		return data
	}
	text, _ := json.Marshal(string(data))
	return text
}

// opaqueOrNone returns nil for no data.
func opaqueOrNone(data []byte) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	return opaque(data)
}

// A Statistics is what became of the jobs of a queue over time.
type Statistics struct {
	Queue   string        `json:"queue"`
	Range   string        `json:"range"`
	Width   Duration      `json:"width" jsonschema:"of a bucket"`
	AsOf    time.Time     `json:"as_of"`
	Kinds   []KindCounts  `json:"kinds" jsonschema:"the sums by kind"`
	Buckets []StatsBucket `json:"buckets" jsonschema:"the oldest first"`
}

// AttemptCounts count attempts, with the times that they took.
type AttemptCounts struct {
	Done      int64    `json:"done"`
	Failed    int64    `json:"failed"`
	Dead      int64    `json:"dead"`
	Discarded int64    `json:"discarded"`
	Cancelled int64    `json:"cancelled"`
	RunMean   Duration `json:"run_mean"`
	RunP50    Duration `json:"run_p50" jsonschema:"from a histogram by powers of two, as all quantiles"`
	RunP95    Duration `json:"run_p95"`
	WaitMean  Duration `json:"wait_mean"`
	WaitP50   Duration `json:"wait_p50"`
	WaitP95   Duration `json:"wait_p95"`
}

// KindCounts are the counts of a kind.
type KindCounts struct {
	Kind string `json:"kind"`
	AttemptCounts
}

// A StatsBucket has the counts of a part of the range. Fields of samples are there only if there
// was a sample.
type StatsBucket struct {
	Time time.Time `json:"time"`
	AttemptCounts
	Added       *int64    `json:"added,omitzero"`
	Waiting     *int      `json:"max_waiting,omitzero"`
	Active      *int      `json:"max_active,omitzero"`
	Oldest      *Duration `json:"max_oldest,omitzero"`
	DelayedJobs *int      `json:"delayed_jobs,omitzero"`
	DeadJobs    *int      `json:"dead_jobs,omitzero"`
}

func attemptsOf(c *stats.Counts) AttemptCounts {
	return AttemptCounts{
		c.Done, c.Failed, c.Dead, c.Discarded, c.Cancelled,
		Duration(c.Run.Mean()), Duration(c.Run.Quantile(0.5)), Duration(c.Run.Quantile(0.95)),
		Duration(c.Wait.Mean()), Duration(c.Wait.Quantile(0.5)), Duration(c.Wait.Quantile(0.95)),
	}
}

// StatisticsOf returns the answer with the statistics of a series, of one kind or of all for "".
func StatisticsOf(series *stats.Series, kind string) *Statistics {
	answer := &Statistics{Queue: series.Queue, Range: string(series.Range), Width: Duration(series.Width), AsOf: utc(series.Now), Kinds: []KindCounts{}, Buckets: []StatsBucket{}}
	kinds := series.Kinds()
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if kind == "" || kind == name {
			answer.Kinds = append(answer.Kinds, KindCounts{name, attemptsOf(kinds[name])})
		}
	}
	for i := range series.Buckets {
		b := &series.Buckets[i]
		bucket := StatsBucket{Time: utc(b.Start), AttemptCounts: attemptsOf(b.Total(kind))}
		if b.Sampled {
			oldest := Duration(b.Oldest)
			bucket.Added, bucket.Waiting, bucket.Active, bucket.Oldest, bucket.DelayedJobs, bucket.DeadJobs = &b.Added, &b.Waiting, &b.Active, &oldest, &b.Delayed, &b.Gauges.Dead
		}
		answer.Buckets = append(answer.Buckets, bucket)
	}
	return answer
}

// An ErrorGroup is errors of one kind and shape.
type ErrorGroup struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"`
	Shape  string    `json:"shape"`
	Failed int64     `json:"failed"`
	Dead   int64     `json:"dead"`
	First  time.Time `json:"first_seen"`
	Last   time.Time `json:"last_seen"`
	Job    string    `json:"job" jsonschema:"a job that has it"`
	Error  string    `json:"error" jsonschema:"of that job"`
	Hours  []int64   `json:"hours" jsonschema:"failed attempts of the last 48 hours, this one last"`
	Match  string    `json:"match" jsonschema:"the filter of the jobs that have it"`
}

func errorGroupOf(g stats.ErrorGroup) ErrorGroup {
	return ErrorGroup{g.ID, g.Kind, g.Shape, g.Failed, g.Dead, utc(g.First), utc(g.Last), g.Job, g.Error, g.Hours[:], ops.GroupMatch(g)}
}

// An Operation is a change of many jobs.
type Operation struct {
	ID       string    `json:"id"`
	Queue    string    `json:"queue"`
	Action   string    `json:"action"`
	State    string    `json:"state"`
	Priority string    `json:"priority,omitzero"`
	Match    string    `json:"match,omitzero"`
	Status   string    `json:"status" jsonschema:"running, interrupted, stopped or done"`
	Changed  int       `json:"changed"`
	Count    int       `json:"count" jsonschema:"jobs that matched when they were counted"`
	AtLeast  bool      `json:"at_least" jsonschema:"whether the count is only a part of them"`
	Left     int       `json:"left" jsonschema:"jobs that were left alone"`
	Examined int       `json:"examined"`
	Rate     int       `json:"rate,omitzero" jsonschema:"jobs in a second"`
	AsOf     time.Time `json:"as_of"`
	Began    time.Time `json:"began,omitzero"`
	LastStep time.Time `json:"last_step,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	By       string    `json:"by,omitzero"`
	Error    string    `json:"error,omitzero"`
}

// operationOf returns an operation, without its filter unless the principal views the queue.
func operationOf(o queue.Operation, views bool) Operation {
	if !views {
		o.Match = ""
	}
	op := Operation{
		ID: o.ID, Queue: o.Queue, Action: o.Do, State: string(o.State), Match: o.Match, Status: o.Status, Changed: o.Changed, Count: o.Count, AtLeast: o.AtLeast,
		Left: o.Left, Examined: o.Examined, Rate: o.Rate, AsOf: utc(o.AsOf), Began: utc(o.Began), LastStep: utc(o.Last), Ended: utc(o.Ended), By: o.By, Error: o.Error,
	}
	if o.Do == "priority" {
		op.Priority = o.Priority.String()
	}
	return op
}

// utc returns a time in UTC, and the zero time for one that JSON can't have.
func utc(at time.Time) time.Time {
	if at = at.UTC(); at.IsZero() || at.Year() < 0 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// nonNil returns a list that is not nil.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
