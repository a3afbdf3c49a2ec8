package workers

import "time"

// SetQuarantineTimes sets how long a quarantined job waits for running jobs, and the
// window of a job that is quarantined for the first time. The pool must not run yet.
func (p *Pool) SetQuarantineTimes(wait, window time.Duration) {
	p.sched.soloWait, p.executor.firstWindow = wait, window
}

var Window = window

// SetScanEvery sets the interval of full recoveries and of comparisons with Redis. The
// pool must not run yet.
func (p *Pool) SetScanEvery(d time.Duration) { p.control.scanEvery = d }
