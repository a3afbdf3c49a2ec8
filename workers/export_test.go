package workers

import "time"

// SetSoloWait sets how long a job that must run solo waits for running jobs. The pool must
// not run yet.
func (p *Pool) SetSoloWait(wait time.Duration) { p.sched.soloWait = wait }

// SetScanEvery sets the interval of full recoveries and of comparisons with Redis. The
// pool must not run yet.
func (p *Pool) SetScanEvery(d time.Duration) { p.control.scanEvery = d }
