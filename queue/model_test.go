package queue_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/queue"
)

// A place is the place of a job in the model.
type place int

const (
	inLine place = iota // waiting or active
	inDelayed
	inDead
	inResults
	gone
)

// A modelJob is a job as the documentation describes it.
type modelJob struct {
	id      string // within the queue
	kind    string
	args    string
	options queue.Options
	foreign bool // added by a bare XADD
	garbage bool // no job at all

	place  place
	line   int
	entry  string // learned from Redis
	worker string // that holds it; "": it waits
	due    int64  // ms; by the test's clock until it is learned
	exact  bool   // due is learned
	failed bool   // its last attempt failed: it enters the retry line when it is due
	aged   bool   // in an archive for longer than it is kept

	attempts, suspect, crashes int
	group                      string
	groupSize                  int
	forgiven                   int // attempts before it was let run again
	errors                     []string
	outcome, reason, result    string
	cancelled, noted           bool
	enqueued                   string // ms, as it was seen first
}

func (j *modelJob) letter() string { return j.options.Priority.String()[:1] }

// first returns the line before the first one of the job's priority.
func (j *modelJob) first() int { return map[string]int{"h": 0, "n": 3, "l": 6}[j.letter()] }

// retryLine returns the retry line of the job's priority.
func (j *modelJob) retryLine() int { return map[string]int{"h": 10, "n": 11, "l": 12}[j.letter()] }

func (j *modelJob) spot() string { return fmt.Sprintf("%d %s", j.line, j.entry) }

// A modelWorker is one incarnation of a worker.
type modelWorker struct {
	name   string
	opened bool // its lease was opened
	row    bool // it has a lease
	tomb   bool
	length time.Duration // of its lease
	solo   string        // spot of the job that it runs solo
	given  []handed

	closed        bool        // its lease, with jobs that it held
	cohort, taken map[int]int // when it died, and recovered since: jobs of other lines, of quarantine lines
}

// A handed is a job as a worker fetched it, possibly long ago.
type handed struct {
	got  *queue.Job
	job  *modelJob
	spot string // where: the same entry id can come up in two lines
}

type heldKey struct {
	owner   string
	expires bool // its scope is a duration
	expired bool
}

// A model is the promise of a queue, in plain Go.
type model struct {
	lines   [len(lineNames)][]*modelJob
	jobs    []*modelJob // all that ever were
	workers []*modelWorker
	tombs   []*modelWorker // in the order of their deaths
	unique  map[string]*heldKey
	counts  map[string]int
	paused  bool
	events  []string // nil: the queue has none
	waited  map[string]bool
	done    []string
	signals int // that woke the mover

	amnesty modelAmnesty

	deleted int // before they had ended

	waker    string
	wakerDue int64
}

func nowMillis() int64 { return time.Now().UnixMilli() }

// at returns the jobs in a place, sorted by time if they have one.
func (m *model) at(where place) (jobs []*modelJob) {
	for _, j := range m.jobs {
		if j.place == where {
			jobs = append(jobs, j)
		}
	}
	if where == inDelayed {
		slices.SortFunc(jobs, func(a, b *modelJob) int { return cmp.Or(cmp.Compare(a.due, b.due), strings.Compare(a.id, b.id)) })
	}
	return jobs
}

// held returns the jobs of a worker, in the order of lines and entries.
func (m *model) held(w *modelWorker) (jobs []*modelJob) {
	for _, line := range m.lines {
		for _, j := range line {
			if j.worker == w.name {
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// waiting returns the waiting jobs, in the order in which they are listed.
func (m *model) waiting() (jobs []*modelJob) {
	for _, line := range readOrder {
		for _, j := range m.lines[line] {
			if j.worker == "" {
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// deliverable returns the waiting jobs that a fetch of a worker may deliver, in order.
func (m *model) deliverable(w *modelWorker, limits queue.FetchLimits) (jobs []*modelJob) {
	waiting, quarantined := m.waiting(), m.oneGroup(w, limits.Quarantined)
	retries := 0
	deliver := func(maxRetries int, suits func(*modelJob) bool) {
		for _, j := range waiting {
			if slices.Contains(jobs, j) || !suits(j) || isRetry(j.line) && retries >= maxRetries || isQuarantine(j.line) && !slices.Contains(quarantined, j) {
				continue
			}
			if jobs = append(jobs, j); isRetry(j.line) {
				retries++
			}
		}
	}
	all := func(*modelJob) bool { return true }
	if limits.Retries == nil {
		deliver(len(waiting), all)
		return jobs
	}
	if limits.Retries.First && len(waiting) > 0 {
		first := waiting[0].options.Priority
		deliver(min(1, limits.Retries.BesideOthers), func(j *modelJob) bool { return isRetry(j.line) && j.options.Priority == first })
	}
	deliver(limits.Retries.BesideOthers, all)
	deliver(limits.Retries.Max, all)
	return jobs
}

// oneGroup returns at most n waiting jobs of one quarantined group: of that of which a worker
// holds jobs, if there is one. In each line no job is passed over.
func (m *model) oneGroup(w *modelWorker, n int) (jobs []*modelJob) {
	group := ""
	for _, j := range m.held(w) {
		if isQuarantine(j.line) {
			group = j.group
		}
	}
	for _, line := range readOrder {
		if !isQuarantine(line) {
			continue
		}
		for _, j := range m.lines[line] {
			if j.worker != "" {
				continue
			}
			if len(jobs) == n || group != "" && j.group != group {
				break
			}
			jobs, group = append(jobs, j), j.group
		}
	}
	return jobs
}

func (m *model) record(event string, j *modelJob, ended bool) {
	if m.events != nil {
		m.events = append(m.events, event+" "+j.id)
	}
	if ended && m.waited[j.id] {
		delete(m.waited, j.id)
		m.done = append(m.done, j.id)
	}
}

// owner returns the job that holds the unique key of these options.
func (m *model) owner(o queue.Options) string {
	if held := m.unique[o.Unique.Key]; held != nil && !held.expired {
		return held.owner
	}
	return ""
}

// add adds a job with the id that Redis returned.
func (m *model) add(j *modelJob, now int64) {
	m.jobs = append(m.jobs, j)
	o := j.options
	switch {
	case o.Delay > 0:
		m.delay(j, now+o.Delay.Milliseconds())
	case o.At.IsZero():
		m.enter(j, j.first()+3)
	case o.At.UnixMilli() > now:
		m.delay(j, o.At.UnixMilli())
	default:
		m.enter(j, j.first()+2)
	}
	if j.foreign {
		return
	}
	if o.Unique.Key != "" {
		m.hold(j)
	}
	m.counts["enqueued"]++
	m.record("enqueued", j, false)
}

func (m *model) hold(j *modelJob) {
	m.unique[j.options.Unique.Key] = &heldKey{owner: j.id, expires: j.options.Unique.Scope == queue.ForDuration}
	for key, held := range m.unique { // never more than the four that one call drops
		if held.expired {
			delete(m.unique, key)
		}
	}
}

func (m *model) enter(j *modelJob, line int) {
	j.place, j.line, j.entry, j.worker = inLine, line, "", ""
	m.lines[line] = append(m.lines[line], j)
}

// leave removes a job from its line.
func (m *model) leave(j *modelJob) {
	m.lines[j.line] = slices.DeleteFunc(m.lines[j.line], func(other *modelJob) bool { return other == j })
	j.worker, j.entry = "", ""
}

func (m *model) delay(j *modelJob, due int64) {
	if others := m.at(inDelayed); len(others) == 0 || due < others[0].due {
		m.signals++
	}
	j.place, j.due, j.exact = inDelayed, due, false
}

func (m *model) release(j *modelJob) {
	if held := m.unique[j.options.Unique.Key]; held != nil && held.owner == j.id && !j.foreign {
		delete(m.unique, j.options.Unique.Key)
	}
}

// end removes a job that has ended. A key that is held for a duration stays.
func (m *model) end(j *modelJob, outcome, counter string) {
	j.outcome, j.cancelled = outcome, false
	if j.options.Unique.Scope != queue.ForDuration {
		m.release(j)
	}
	m.counts[counter]++
	waited := m.waited[j.id]
	m.record(outcome, j, true)
	switch {
	case j.options.Retain > 0:
		m.archive(j, inResults)
		j.due = nowMillis() + j.options.Retain.Milliseconds()
	case waited: // kept for clients that wait, without its log
		m.archive(j, inResults)
		j.due, j.noted = nowMillis()+30_000, false
	default:
		j.place, j.noted = gone, false
	}
}

// bury adds a job to the dead ones.
func (m *model) bury(j *modelJob, reason string) {
	if j.options.Unique.Scope != queue.ForDuration {
		m.release(j)
	}
	j.reason, j.cancelled = reason, false
	m.counts["dead_dropped"] += m.archive(j, inDead)
	m.counts["dead"]++
	m.record("dead", j, true)
}

// archive keeps a job and drops expired ones.
func (m *model) archive(j *modelJob, where place) (dropped int) {
	for _, old := range m.at(where) {
		if old.aged {
			old.place, old.noted = gone, false
			dropped++
		}
	}
	j.place, j.aged = where, false
	return dropped
}

// move moves the due jobs.
func (m *model) move(caller string, now int64) (moved int, next *modelJob, isWaker bool) {
	delayed := m.at(inDelayed)
	for len(delayed) > 0 && delayed[0].due <= now && moved < 250 {
		line := delayed[0].first() + 2
		if delayed[0].failed {
			line = delayed[0].retryLine()
		}
		m.enter(delayed[0], line)
		delayed = delayed[1:]
		moved++
	}
	if len(delayed) == 0 {
		return moved, nil, false
	}
	isWaker = m.wakerDue != delayed[0].due || m.waker == caller
	if isWaker {
		m.waker, m.wakerDue = caller, delayed[0].due
	}
	return moved, delayed[0], isWaker
}

// state returns the state of a job.
func (j *modelJob) state() queue.State {
	switch {
	case j.place == inLine && j.worker != "":
		return queue.Active
	case j.place == gone:
		return ""
	}
	return map[place]queue.State{inLine: queue.Waiting, inDelayed: queue.Delayed, inDead: queue.Dead, inResults: queue.Finished}[j.place]
}

// remove deletes a job. Its key is free in every scope.
func (m *model) remove(j *modelJob) {
	if j.place == inLine {
		m.leave(j)
	}
	if j.place == inLine || j.place == inDelayed {
		m.deleted++
	}
	m.release(j)
	j.place, j.noted = gone, false
	m.counts["deleted"]++
	m.record("deleted", j, true)
}

// cancel ends a job, or requests that its worker ends it.
func (m *model) cancel(j *modelJob) {
	if j.state() == queue.Active {
		j.cancelled = true
		return
	}
	if j.place == inLine {
		m.leave(j)
	}
	m.end(j, "cancelled", "cancelled")
}

// revive moves a delayed or dead job to its line.
func (m *model) revive(j *modelJob) {
	if j.place == inDead {
		if j.options.Unique.Key != "" && !j.foreign && j.options.Unique.Scope != queue.ForDuration {
			m.hold(j)
		}
		j.forgiven, j.suspect, j.crashes, j.reason = j.attempts, 0, 0, ""
		m.counts["revived"]++
	}
	m.enter(j, j.first()+2)
	m.record("retried", j, false)
}
