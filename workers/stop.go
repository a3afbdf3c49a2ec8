package workers

import (
	"context"
	"time"
)

// drain waits for running handlers, at most for the time given; then it ends
// their contexts, waits for the grace, and hands back what has not ended.
func (p *Pool) drain(most time.Duration) {
	ended := p.allEnded()
	if wait(ended, most) {
		return
	}
	p.interruptAll()
	if wait(ended, p.config.Grace+time.Second) {
		return
	}
	for _, r := range p.inHand() { // leave should have been there before
		r.handBack()
	}
}

// wait waits for a channel to be closed, at most so long.
func wait(done <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// inHand gives all jobs that are in this worker's hands.
func (p *Pool) inHand() []*attempt {
	p.mu.Lock()
	queues := append([]*servedQueue(nil), p.queues...)
	p.mu.Unlock()
	var runs []*attempt
	for _, s := range queues {
		if t := s.current(); t != nil {
			runs = append(runs, t.unsettled()...)
		}
	}
	return runs
}

func (s *servedQueue) current() *leaseSession {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.session
}

func (p *Pool) interruptAll() {
	for _, r := range p.inHand() {
		r.interrupt(ErrShutdown)
	}
}

// allEnded is closed when no runner has a slot any more.
func (p *Pool) allEnded() <-chan struct{} {
	done := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots == 0 {
		close(done)
		return done
	}
	p.ended = done
	return done
}

// closeSources writes what is left to write and ends all leases.
func (p *Pool) closeSources(ctx context.Context) {
	p.rereadLost(ctx)
	p.handBackBuffered()
	p.mu.Lock()
	for _, s := range p.queues {
		s.end()
	}
	p.mu.Unlock()
	p.tended.Wait()
}

// rereadLost reads what the pool may hold without knowing of it, whether there
// are slots for it or not: what can't be started soon is handed back. It reports
// whether some could not be read.
func (p *Pool) rereadLost(ctx context.Context) (left bool) {
	p.mu.Lock()
	queues := append([]*servedQueue(nil), p.queues...)
	p.mu.Unlock()
	for _, s := range queues {
		if lost, rests := s.lostAnswer(); lost {
			left = left || rests
			if !rests {
				_, err := p.fetch(ctx, s, 1) // an error was logged
				left = left || err != nil
			}
		}
	}
	return left
}

func (s *servedQueue) lostAnswer() (lost, rests bool) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.dirty && s.session != nil, time.Now().Before(s.rest)
}

// awaitStop waits a while for the pool to be stopped, and reports whether it is.
func (p *Pool) awaitStop(ctx context.Context, most time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-p.stopC:
	case <-time.After(most):
		return false
	}
	return true
}
