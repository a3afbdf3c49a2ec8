package workers

import "time"

// HurrySuspects makes a pool that doesn't run yet wait for less time before it
// runs a suspect beside others, and let others run beside it sooner.
func (p *Pool) HurrySuspects(wait, window time.Duration) {
	p.sched.soloWait, p.executor.soloWindow = wait, window
}

var Window = window
