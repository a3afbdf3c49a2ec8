package workers

import "time"

// SetSoloTimes sets how long a quarantined job waits for running jobs, and how long it
// runs solo. The pool must not run yet.
func (p *Pool) SetSoloTimes(wait, window time.Duration) {
	p.sched.soloWait, p.executor.soloWindow = wait, window
}

var Window = window
