package workers

import (
	"slices"
	"time"

	"skidway/workers/stats"
)

// SetSoloTimes sets how long a job that must run solo waits for running jobs, and the window
// of one that was quarantined once. The pool must not run yet.
func (p *Pool) SetSoloTimes(wait, window time.Duration) {
	p.sched.solo.firstWait, p.executor.firstWindow = wait, window
}

// SetGroupWait sets how long a group that was quarantined once keeps others waiting. The pool must
// not run yet.
func (p *Pool) SetGroupWait(wait time.Duration) { p.sched.quarantine.firstWait = wait }

// SoloWait is the default of the first one.
const SoloWait = soloWait

var Window = window

// RestFor is how long a queue rests after an error.
const RestFor = restFor

// MaxIdle is how long a queue is not fetched from while no news of it come.
const MaxIdle = maxIdle

// KeepEnds is how long a pool knows the outcomes that it has written.
const KeepEnds = keepEnds

// Serves reports whether the pool serves a queue now.
func (p *Pool) Serves(name string) bool {
	return slices.ContainsFunc(p.sched.all(), func(q *servedQueue) bool { return q.name == name })
}

// SetScanEvery sets the interval of full recoveries and of comparisons with Redis. The
// pool must not run yet.
func (p *Pool) SetScanEvery(d time.Duration) { p.control.scanEvery = d }

// SetFlushEvery sets the interval in which the pool writes statistics. It must not have run yet.
func (p *Pool) SetFlushEvery(d time.Duration) {
	p.stats = stats.NewCollector(stats.Config{Client: p.client, Pool: p.name, Mode: p.config.Stats, Logger: p.log, FlushEvery: d})
}
