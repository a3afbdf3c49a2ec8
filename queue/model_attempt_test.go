package queue_test

import (
	"fmt"
	"slices"
	"strings"

	"skidway/queue"
)

// fetch moves n jobs to a worker: as many as Redis delivered.
func (m *model) fetch(w *modelWorker, jobs []*modelJob) (garbage int) {
	for _, j := range jobs {
		j.worker = w.name
		if j.options.Unique.Scope == queue.WhileWaiting {
			m.release(j)
		}
	}
	for _, j := range jobs {
		if j.garbage {
			m.leave(j)
			m.bury(j, "malformed")
			garbage++
		}
	}
	return garbage
}

// finish ends an attempt, if the worker still has that delivery of the job.
func (m *model) finish(w *modelWorker, h handed, e queue.Completion, now int64) (changed bool) {
	j := h.job
	if j.place != inLine || j.worker != w.name || j.spot() != h.spot {
		return false
	}
	if e.Disposition == queue.AttemptReturned {
		m.handBack(j)
		return true
	}
	m.leave(j)
	switch e.Disposition {
	case queue.AttemptSucceeded:
		j.result = string(e.Result)
		m.end(j, "succeeded", "done")
	case queue.AttemptDiscarded, queue.AttemptCancelled:
		outcome := map[queue.Disposition]string{queue.AttemptDiscarded: "discarded", queue.AttemptCancelled: "cancelled"}[e.Disposition]
		j.reason = e.Reason
		m.end(j, outcome, outcome)
	case queue.AttemptDead:
		j.fail(e.Reason)
		m.counts["failed"]++
		m.bury(j, e.Reason)
	case queue.AttemptRetry, queue.AttemptSnoozed:
		event := "snoozed"
		j.suspect = 0 // its handler returned
		if e.Disposition == queue.AttemptRetry {
			event = "failed"
			j.fail(e.Reason)
		}
		if j.cancelled {
			m.end(j, "cancelled", "cancelled")
			break
		}
		j.failed = e.Disposition == queue.AttemptRetry
		if j.failed && e.Wait == 0 {
			m.enter(j, j.retryLine())
		} else {
			m.delay(j, now+e.Wait.Milliseconds())
		}
		if e.Disposition == queue.AttemptRetry {
			m.counts["failed"]++
			m.counts["retried"]++
		}
		m.record(event, j, false)
	}
	return true
}

func (j *modelJob) fail(reason string) {
	j.attempts++
	j.errors = append(j.errors, reason)
	j.errors = j.errors[max(0, len(j.errors)-10):]
}

// handBack moves an active job to the front, or to the retry or quarantine line if it was
// there.
func (m *model) handBack(j *modelJob) {
	line := j.first() + 1
	if isRetry(j.line) || isQuarantine(j.line) {
		line = j.line
	}
	m.handBackTo(j, line)
}

func (m *model) handBackTo(j *modelJob, line int) {
	m.leave(j)
	if j.cancelled {
		m.end(j, "cancelled", "cancelled")
		return
	}
	m.enter(j, line)
	m.record("returned", j, false)
}

// close ends a lease.
func (m *model) close(w *modelWorker) {
	if !w.row {
		return
	}
	w.row = false
	if len(m.held(w)) > 0 {
		w.closed = true // it did not crash: no job is quarantined
		m.die(w)
	}
}

func (m *model) die(w *modelWorker) {
	w.row, w.tomb = false, true
	w.cohort, w.taken = map[int]int{}, map[int]int{}
	for _, j := range m.held(w) {
		w.cohort[cohortOf(j)]++
	}
	m.tombs = append(m.tombs, w)
}

// recover hands back at most 100 jobs of dead workers. expired are the workers whose
// leases have expired.
func (m *model) recover(crashes int, fullScan bool, expired []*modelWorker) (want queue.RecoverResult) {
	m.counts["lost_leases"] += len(expired)
	dying := slices.Clone(expired)
	for _, w := range m.workers {
		if fullScan && !w.row && !w.tomb && len(m.held(w)) > 0 {
			dying = append(dying, w)
		}
	}
	slices.SortFunc(dying, func(a, b *modelWorker) int { return strings.Compare(a.name, b.name) })
	for _, w := range dying {
		m.die(w)
	}
	left := 100
	for _, w := range slices.Clone(m.tombs[:min(10, len(m.tombs))]) {
		held := m.held(w)
		for _, j := range held[:min(left, len(held))] {
			if m.crash(w, j, crashes) {
				want.Dead++
			} else {
				want.Returned++
			}
			left--
		}
		if left == 0 {
			break
		}
		w.tomb = false
		m.tombs = m.tombs[1:]
	}
	want.More = len(m.tombs) > 0
	return want
}

// cohortOf returns the index of a job's part of a cohort: jobs of a quarantined group are
// halved separately.
func cohortOf(j *modelJob) int {
	if isQuarantine(j.line) {
		return 1
	}
	return 0
}

// crash recovers a job of a dead worker, and reports whether it is dead now.
func (m *model) crash(w *modelWorker, j *modelJob, crashes int) (died bool) {
	if w.closed {
		m.handBack(j)
		return false
	}
	m.counts["crashed"]++
	part := cohortOf(j)
	half, group := (w.cohort[part]+1)/2, w.name+"/"+[]string{"others", "group"}[part]+"-1"
	if w.taken[part] >= half {
		half, group = w.cohort[part]-half, group[:len(group)-1]+"2"
	}
	w.taken[part]++
	if alone := w.solo == j.spot(); w.solo != "shared" && part == 1 && j.groupSize == 1 && (alone || j.crashes+1 < crashes) {
		if j.crashes++; j.crashes >= crashes {
			m.leave(j)
			m.bury(j, fmt.Sprintf("its worker died %d times with this job, the last time while it ran alone", j.crashes))
			return true
		}
	}
	if j.suspect++; half == 1 && (part == 0 || j.groupSize > 1) {
		j.suspect = 1
	}
	j.group, j.groupSize = group, half
	m.handBackTo(j, map[string]int{"h": 13, "n": 14, "l": 15}[j.letter()])
	return false
}
