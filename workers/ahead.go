package workers

import "time"

// worthAhead is how much work is fetched ahead of free slots. It bounds by how
// much a job can be started too early or too late, and what a slow pool hoards:
// handlers that take longer have nothing fetched ahead.
const (
	worthAhead = 5 * time.Millisecond
	mostAhead  = 400
)

// ahead is how many jobs are fetched beyond the free slots. A pool with one slot
// fetches none: who asks for one wants order. The mutex is held.
func (p *Pool) ahead() int {
	if p.config.Concurrency == 1 || p.pace == 0 {
		return 0
	}
	return int(min(mostAhead, worthAhead*time.Duration(p.config.Concurrency)/p.pace))
}

// learnPace follows how long handlers take. The mutex is held.
func (p *Pool) learnPace(took time.Duration) {
	if took == 0 {
		return // it was not called, or goes on
	}
	if took > p.pace {
		p.pace += (took - p.pace) / 4 // slow ones at once, quick ones with time
		p.pace = max(p.pace, 1)
		return
	}
	p.pace -= (p.pace - took) / 16
}

// mostBuffered is how long jobs may be buffered while no runner takes any.
const mostBuffered = 200 * time.Millisecond

// watchBuffer hands back what was fetched ahead when handlers turn out to be
// slower than those before: another worker may be free. The mutex is held.
func (p *Pool) watchBuffer() {
	if p.watching || p.buffered == 0 {
		return
	}
	p.watching = true
	p.progress = time.Now()
	time.AfterFunc(mostBuffered, p.lookAtBuffer)
}

func (p *Pool) lookAtBuffer() {
	p.mu.Lock()
	since := time.Since(p.progress)
	idle := p.buffered > 0 && since >= mostBuffered
	p.watching = p.buffered > 0 && !idle
	if p.watching {
		time.AfterFunc(max(mostBuffered-since, mostBuffered/4), p.lookAtBuffer)
	}
	if idle && !p.held() {
		p.pace = max(p.pace, mostBuffered)
	}
	p.mu.Unlock()
	if idle {
		p.handBackBuffered()
	}
}
