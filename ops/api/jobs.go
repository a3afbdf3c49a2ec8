package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/internal/escape"
	"skidway/ops"
	"skidway/queue"
)

// Bounds of lists of jobs.
const (
	maxExport    = 10_000 // jobs
	exportTime   = time.Minute
	exportMargin = 5 * time.Second // left of the time of a request when an export stops reading
	maxWait      = time.Minute
	maxLooked    = 10_000 // jobs for one page, over all states
	maxAge       = 100 * 365 * 24 * time.Hour
	stateDivider = "|"
)

// jobStates are the states of jobs, in the order of lists.
var jobStates = []string{"active", "waiting", "delayed", "dead", "finished"}

// A jobSearch reads pages of jobs of some states, one state after the other.
type jobSearch struct {
	call   *call
	queue  string
	states []queue.State
	short  ops.Short
	match  string
}

// A jobPage is a page of a jobSearch.
type jobPage struct {
	jobs     []*queue.Job
	next     string // position
	lookedAt int
	total    int
	back     time.Time
	asOf     time.Time
}

func newJobSearch(ctx context.Context, c *call) (*jobSearch, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	s := &jobSearch{call: c, queue: q.Name(), match: c.query.Get("match"), short: ops.Short{Kind: c.query.Get("kind"), Error: c.query.Get("error")}}
	if s.short.OlderThan, err = c.duration("older_than", maxAge); err != nil {
		return nil, err
	}
	if s.short.NewerThan, err = c.duration("newer_than", maxAge); err != nil {
		return nil, err
	}
	if s.states, err = ops.States(s.match); err != nil {
		p := problemOf(err)
		p.Field = "match"
		return nil, p
	}
	if state := queue.State(c.query.Get("state")); state != "" {
		s.states = slices.DeleteFunc(s.states, func(other queue.State) bool { return other != state })
	}
	return s, nil
}

// read reads jobs after a position, of one state after the other until there are enough or a search
// has reached its bounds.
func (s *jobSearch) read(ctx context.Context, position string, limit int) (*jobPage, error) {
	page := &jobPage{}
	states, cursor := s.states, ""
	if position != "" {
		state, rest, found := strings.Cut(position, stateDivider)
		i := slices.Index(states, queue.State(state))
		if !found || i < 0 {
			return nil, problem("bad-cursor", "it is damaged")
		}
		states, cursor = states[i:], rest
	}
	for i, state := range states {
		found, err := s.search(ctx, state, cursor, limit-len(page.jobs))
		if err != nil {
			return nil, err
		}
		for _, job := range found.Jobs {
			page.jobs = append(page.jobs, s.call.withoutWorkers(job))
		}
		page.lookedAt, page.back, page.asOf = page.lookedAt+found.Examined, utc(found.Back), utc(found.AsOf)
		page.total = 0
		for _, state := range s.states {
			page.total += ops.InState(found.Depth, state)
		}
		cursor = ""
		if found.Next != "" {
			page.next = string(state) + stateDivider + found.Next
			return page, nil
		}
		if i+1 < len(states) && (len(page.jobs) == limit || page.lookedAt >= maxLooked) {
			page.next = string(states[i+1]) + stateDivider
			return page, nil
		}
	}
	return page, nil
}

func (s *jobSearch) search(ctx context.Context, state queue.State, cursor string, limit int) (*ops.SearchPage, error) {
	match, err := s.short.Match(state, s.match)
	if err != nil {
		return nil, err
	}
	page, err := s.call.ops.Search(ctx, s.queue, ops.SearchOptions{State: state, Match: match, Limit: limit, Cursor: cursor})
	if err != nil && cursor != "" && errors.Is(err, queue.ErrInvalid) {
		return nil, problem("bad-cursor", "it is damaged: %v", err)
	}
	return page, err
}

func listJobs(ctx context.Context, c *call) (any, error) {
	s, err := newJobSearch(ctx, c)
	if err != nil {
		return nil, err
	}
	position, limit, err := c.listPart()
	if err != nil {
		return nil, err
	}
	if mediaType := listType(c.request); mediaType != jsonType {
		return exportJobs(ctx, c, s, position, mediaType)
	}
	page, err := s.read(ctx, position, limit)
	if err != nil {
		return nil, err
	}
	list := &List[Job]{Items: []Job{}, Next: c.next(page.next), LookedAt: page.lookedAt, Complete: page.next == "", AsOf: page.asOf, Total: page.total, Back: page.back}
	for _, job := range page.jobs {
		list.Items = append(list.Items, jobOf(job, nil))
	}
	if list.AsOf.IsZero() { // the filter names no state
		list.AsOf, err = c.now(ctx)
	}
	return list, err
}

// listType returns the type of a list of jobs that the client accepts most.
func listType(q *request) string { return q.accepts(jsonType, ndjsonType, csvType) }

// extraExportTime returns how much longer the list may take than other requests.
func extraExportTime(q *request) time.Duration {
	if listType(q) == jsonType {
		return 0
	}
	return exportTime
}

// waitTime returns the time that the request waits for the end of a job.
func waitTime(q *request) time.Duration {
	wait, err := q.duration("wait", maxWait)
	if err != nil {
		return 0
	}
	return wait
}

// exportJobs writes the jobs after a position, as they are read, at most maxExport and those that can
// be read in the time of the request. The trailer Link has the address of the rest. If it ends because
// of an error the connection is cut, so that the client notices.
func exportJobs(ctx context.Context, c *call, s *jobSearch, position, mediaType string) (any, error) {
	page, err := s.read(ctx, position, maxLimit)
	if err != nil {
		return nil, err
	}
	header := c.w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Content-Disposition", `attachment; filename="jobs`+map[string]string{ndjsonType: ".ndjson", csvType: ".csv"}[mediaType]+`"`)
	header.Set("Trailer", "Link")
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return written, nil
	}
	end, _ := ctx.Deadline()
	reading, cancel := context.WithDeadline(ctx, end.Add(-exportMargin))
	defer cancel()
	write := jobWriter(c.w, mediaType)
	for n := 0; ; {
		n += len(page.jobs)
		if err := write(page.jobs); err != nil {
			panic(http.ErrAbortHandler)
		}
		next := page.next
		if next == "" {
			return written, nil
		}
		if n < maxExport {
			page, err = s.readWhileBusy(reading, next, min(maxLimit, maxExport-n))
		}
		switch {
		case n >= maxExport, err != nil && reading.Err() != nil && ctx.Err() == nil:
			query := c.r.URL.Query()
			query.Set("cursor", c.next(next))
			header.Set("Link", "<"+c.config.BasePath+c.r.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
			return written, nil
		case err != nil:
			c.log.Warn("an export ended early", "queue", s.queue, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// readWhileBusy is read, but waits while other searches use the time that searches may take.
func (s *jobSearch) readWhileBusy(ctx context.Context, position string, limit int) (page *jobPage, err error) {
	err = ops.RetryWhileBusy(ctx, func() error {
		page, err = s.read(ctx, position, limit)
		return err
	})
	return page, err
}

// jobColumns are the columns of jobs in CSV.
var jobColumns = []string{"id", "queue", "state", "kind", "priority", "enqueued", "due", "ended", "worker", "failed_attempts", "outcome", "reason", "last_error", "args"}

// jobWriter returns a function that writes jobs as NDJSON or CSV.
func jobWriter(w io.Writer, mediaType string) func([]*queue.Job) error {
	if mediaType == ndjsonType {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return func(jobs []*queue.Job) error {
			for _, job := range jobs {
				if err := encoder.Encode(jobOf(job, nil)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	out, first := csv.NewWriter(w), true
	return func(jobs []*queue.Job) error {
		if first {
			_ = out.Write(jobColumns) // Error returns the error
			first = false
		}
		for _, job := range jobs {
			_ = out.Write(safeCells(jobCells(job)))
		}
		out.Flush()
		return out.Error()
	}
}

func jobCells(j *queue.Job) []string {
	last := ""
	if n := len(j.Errors); n > 0 {
		last = j.Errors[n-1].Error
	}
	return []string{
		j.ID, j.Queue, string(j.State), j.Kind, j.Priority.String(), stamp(j.Enqueued), stamp(j.Due), stamp(j.Ended), j.Worker,
		strconv.Itoa(j.Attempts), string(j.Outcome), j.Reason, last, string(j.Args),
	}
}

// safeCells returns cells of CSV that are no formulas.
func safeCells(cells []string) []string {
	for i := range cells {
		cells[i] = escape.Cell(cells[i])
	}
	return cells
}

// stamp returns a time in UTC, "" for the zero time.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

func showJob(ctx context.Context, c *call) (any, error) {
	id := c.values["id"]
	wait, err := c.duration("wait", maxWait)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		job, err := waitFor(ctx, c, id, wait)
		if job != nil || err != nil {
			return job, err
		}
	}
	job, err := c.ops.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	progress, err := c.ops.Progress(ctx, id)
	if err != nil {
		return nil, err
	}
	return jobOf(c.withoutWorkers(job), progress), nil
}

// withoutWorkers returns a job without the names of workers, if the principal does not see them.
func (c *call) withoutWorkers(job *queue.Job) *queue.Job {
	if c.principal.SeesWorker(nil) {
		return job
	}
	hidden := *job
	hidden.Worker, hidden.Errors = "", slices.Clone(job.Errors)
	for i := range hidden.Errors {
		hidden.Errors[i].Worker = ""
	}
	return &hidden
}

// waitFor waits until a job has ended, and returns nil if that takes too long, or the job is
// not there or has ended before.
func waitFor(ctx context.Context, c *call, id string, wait time.Duration) (any, error) {
	switch job, err := c.queues.Get(ctx, id); {
	case errors.Is(err, queue.ErrNoJob): // its outcome may be known for a while
		if _, err := c.ops.Queue(ctx, queueOfID(id)); err != nil {
			return nil, nil
		}
	case err != nil:
		return nil, err
	case job.State == queue.Finished || job.State == queue.Dead:
		return nil, nil
	}
	leave, ok := c.waits.enter(c.who(), queueOfID(id))
	if !ok {
		return nil, problem("busy", "too many requests wait for jobs: %d are possible, %d for you, for jobs of %d queues", maxWaits, maxWaitsEach, maxWaitQueues).retry(time.Second)
	}
	defer leave()
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(c.work, cancel)() // the handler is closed
	job, err := c.queues.Wait(waiting, id)
	switch {
	case err == nil:
		return jobOf(c.withoutWorkers(c.ops.Redactor().Job(job)), nil), nil
	case waiting.Err() != nil && ctx.Err() == nil:
		return nil, nil
	}
	return nil, err
}

// A JobLog is the last lines that a job logged.
type JobLog struct {
	Lines []string `json:"lines"`
}

func showLog(ctx context.Context, c *call) (any, error) {
	if _, err := c.queues.Get(ctx, c.values["id"]); err != nil {
		return nil, err
	}
	lines, err := c.ops.Log(ctx, c.values["id"])
	return JobLog{nonNil(lines)}, err
}

// A JobResult is how a job ended.
type JobResult struct {
	State   string          `json:"state"`
	Outcome string          `json:"outcome,omitzero" jsonschema:"of a job that has ended"`
	Reason  string          `json:"reason,omitzero"`
	Ended   time.Time       `json:"ended,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
}

func showResult(ctx context.Context, c *call) (any, error) {
	job, err := c.ops.Job(ctx, c.values["id"])
	if err != nil {
		return nil, err
	}
	return JobResult{string(job.State), string(job.Outcome), job.Reason, utc(job.Ended), opaqueOrNone(job.Result)}, nil
}
