package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/workers/stats"
)

// A diagnosisRow is a rule with what it means.
type diagnosisRow struct {
	Rule
	summary string

	// judge reports whether the rule holds for a history, and since when.
	judge func(Rule, History) (since time.Time, holds bool)

	// expression returns a condition of PromQL that holds where judge does, if it holds for as
	// long as wait.
	expression func(Rule) (text string, wait time.Duration)
}

// diagnoses is the table of diagnoses, the worst first.
var diagnoses = []diagnosisRow{
	{Rule{Name: "unserved", Rank: Problem, Within: time.Minute}, "jobs wait and no worker serves the queue", Rule.unserved, Rule.unservedExpression},
	{Rule{Name: "stalled", Rank: Problem, Within: time.Minute}, "jobs wait, workers have free slots, and nothing is taken", Rule.stalled, Rule.stalledExpression},
	{Rule{Name: "failing", Rank: Problem, Within: 10 * time.Minute, Attempts: 20, Percent: 20}, "many attempts fail", Rule.failing, Rule.failingExpression},
	{Rule{Name: "grows", Rank: Warning, Within: 10 * time.Minute, Oldest: 5 * time.Minute}, "the oldest waiting job gets older and older", Rule.grows, Rule.growsExpression},
}

// A Diagnosis is a rule that holds for a queue.
type Diagnosis struct {
	Name    string
	Rank    Rank
	Summary string
	Since   time.Time // by Redis's clock
}

// String returns the diagnosis in one line.
func (d Diagnosis) String() string {
	return fmt.Sprintf("%s: %s: %s since %s", d.Rank, d.Name, d.Summary, d.Since.UTC().Format(time.RFC3339))
}

// A History is statuses of one queue, the oldest first.
type History []QueueStatus

// Add returns the history with a later status, and without those that no rule needs any more.
// A status with an Err, or of a queue whose counters began anew, starts the history again.
func (h History) Add(status QueueStatus) History {
	if status.Err != nil {
		return nil
	}
	if n := len(h); n > 0 && (h[n-1].Total.Succeeded > status.Total.Succeeded || !h[n-1].Time.Before(status.Time)) {
		return History{status}
	}
	h = append(h, status)
	first := 0
	for first+1 < len(h) && status.Time.Sub(h[first+1].Time) >= maxWithin {
		first++
	}
	return slices.Delete(h, 0, first)
}

// window returns the part of the history that covers a time before its end, and whether the
// history began by then.
func (h History) window(within time.Duration) (part History, covered bool) {
	end := h[len(h)-1].Time
	for i := len(h) - 1; i >= 0; i-- {
		if end.Sub(h[i].Time) >= within {
			return h[i:], true
		}
	}
	return h, false
}

// Diagnose returns the rules that hold at the end of a queue's history, the worst first.
func (c *Client) Diagnose(history History) (found []Diagnosis) {
	if len(history) == 0 || history[len(history)-1].Err != nil {
		return nil
	}
	for i, row := range diagnoses {
		rule := c.rules[i]
		if rule.Rank == Off {
			continue
		}
		if since, holds := row.since(rule, history); holds {
			found = append(found, Diagnosis{rule.Name, rule.Rank, row.summary, since})
		}
	}
	slices.SortStableFunc(found, func(a, b Diagnosis) int { return strings.Compare(string(a.Rank), string(b.Rank)) })
	return found
}

// since reports whether a rule holds at the end of a history, and since when it has held without a break.
func (row diagnosisRow) since(rule Rule, h History) (since time.Time, holds bool) {
	if since, holds = row.judge(rule, h); !holds {
		return since, false
	}
	last := h[len(h)-1].Time
	for n := len(h) - 1; n > 0; n-- {
		if last.Sub(h[n-1].Time) < time.Minute { // so a long history of close statuses costs little
			continue
		}
		last = h[n-1].Time
		earlier, held := row.judge(rule, h[:n])
		if !held {
			break
		}
		if earlier.Before(since) {
			since = earlier
		}
	}
	return since, true
}

// keepSince is the time after which a rule that holds again is assumed to have begun anew.
const keepSince = 5 * time.Minute

// diagnoseSampled sets the diagnoses of a queue. They join what the statistics show with what the sampler
// has observed and with the diagnoses before, each rule since the earliest of their times: the time since
// which a rule holds by a history alone may be a fixed time before now.
func (c *Client) diagnoseSampled(q *SampledQueue) {
	if q.Stored || q.Time.IsZero() {
		return
	}
	var found []Diagnosis
	join := func(d Diagnosis, add bool) {
		i := slices.IndexFunc(found, func(other Diagnosis) bool { return other.Name == d.Name })
		switch {
		case i >= 0 && d.Since.Before(found[i].Since):
			found[i].Since = d.Since
		case i < 0 && add:
			found = append(found, d)
		}
	}
	if q.series != nil {
		found = c.Diagnose(history(q.series, q.QueueStatus))
	}
	for _, d := range c.Diagnose(append(slices.Clone(q.observed), q.QueueStatus)) {
		join(d, true)
	}
	if q.Time.Sub(q.diagnosed) < keepSince {
		for _, d := range q.Diagnoses {
			join(d, false)
		}
	}
	slices.SortStableFunc(found, func(a, b Diagnosis) int { return cmp.Compare(a.Rank, b.Rank) })
	q.Diagnoses, q.diagnosed = found, q.Time
}

// unserved holds if jobs have waited, and no worker has served the queue, for the time of the
// rule. One status may show it: when the last worker ended is in the list of pools, unless it
// stopped in order.
func (r Rule) unserved(h History) (time.Time, bool) {
	last := h[len(h)-1]
	waited := last.Depth.Oldest
	if !last.Depth.NextDue.IsZero() {
		waited = max(waited, last.Time.Sub(last.Depth.NextDue)) // no worker makes it ready
	}
	since := last.Time.Add(-waited)
	if last.LastWorker.After(since) {
		since = last.LastWorker
	}
	for _, s := range h {
		if s.Workers > 0 && s.Time.After(since) {
			since = s.Time
		}
	}
	return since, last.Workers == 0 && last.Time.Sub(since) >= r.Within
}

// readingTime is how far apart the clock and the depth of a status may have been read.
const readingTime = time.Second

// stalled holds if jobs have waited and workers had free slots for the time of the rule, and no
// attempt began. Attempts that were snoozed are not counted in Redis, but where there are free
// slots the job that has waited for the longest is among those that are taken.
func (r Rule) stalled(h History) (time.Time, bool) {
	h, covered := h.window(r.Within)
	came := h[0].Time.Add(-h[0].Depth.Oldest)
	for _, s := range h {
		if s.Depth.Waiting == 0 || s.Depth.Paused || s.Free == 0 || s.taken() != h[0].taken() || s.Time.Add(-s.Depth.Oldest).Sub(came) > readingTime {
			return time.Time{}, false
		}
	}
	return h[0].Time, covered
}

// taken returns a number that grows with each job that is taken, and with others that leave.
func (s *QueueStatus) taken() int64 {
	if s.sampledTaken != nil {
		return *s.sampledTaken
	}
	return stats.Taken(s.Total, s.Depth)
}

// attempts returns how many attempts have ended.
func (s *QueueStatus) attempts() int64 {
	return s.Total.Succeeded + s.Total.Failed + s.Total.Discarded
}

// failing holds if there were enough attempts in the time of the rule, and enough of them failed: since
// the first of these.
func (r Rule) failing(h History) (time.Time, bool) {
	h, _ = h.window(r.Within)
	first, last := h[0], h[len(h)-1]
	attempts, failed := last.attempts()-first.attempts(), last.Total.Failed-first.Total.Failed
	for i := 1; i < len(h) && h[i].Total.Failed == h[0].Total.Failed; i++ {
		first = h[i]
	}
	return first.Time, attempts >= int64(r.Attempts) && 100*failed >= int64(r.Percent)*attempts
}

// grows holds if the oldest waiting job is above an age and got older for the time of the rule.
func (r Rule) grows(h History) (time.Time, bool) {
	h, covered := h.window(r.Within)
	for i := 1; i < len(h); i++ {
		if h[i].Depth.Oldest <= h[i-1].Depth.Oldest {
			return time.Time{}, false
		}
	}
	return h[0].Time, covered && h[len(h)-1].Depth.Oldest > r.Oldest
}
