package workers

import (
	"slices"
	"time"
)

// Runners are goroutines with a slot each: they take one buffered job after the
// other and end when there is none for them.

// spawn starts runners for buffered jobs while there are free slots. The mutex
// is held.
func (p *Pool) spawn() {
	if p.held() {
		return
	}
	for n := min(p.capacity()-p.slots, p.buffered); n > 0; n-- {
		p.slots++
		go p.runner()
	}
}

// held reports whether no job may start now. The mutex is held.
func (p *Pool) held() bool { return p.quiet || len(p.suspects) > 0 || p.alone != nil }

// capacity is how many slots there are. Handlers that were left behind cost
// none until they are as many as the slots; from there on each costs one, so
// that no more than twice the concurrency run at a time. The mutex is held.
func (p *Pool) capacity() int {
	return p.config.Concurrency - max(0, p.stuck-p.config.Concurrency)
}

// release gives a slot back. The mutex is held.
func (p *Pool) release() {
	if p.slots--; p.slots == 0 && p.ended != nil {
		close(p.ended)
		p.ended = nil
	}
	p.wake()
}

// runner has a slot.
func (p *Pool) runner() {
	for r := p.take(); r != nil; r = p.take() {
		if !p.execute(r) {
			return // another runner has the slot now
		}
	}
}

// take gives the next job to a runner, or nil and takes its slot.
func (p *Pool) take() *attempt {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	var r *attempt
	if !p.held() && p.slots <= p.capacity() {
		r = p.next()
	}
	if r == nil {
		p.release()
		return nil
	}
	p.progress = now
	if p.buffered <= p.ahead()/2 {
		p.wake()
	}
	return r
}

// next takes a job out of the buffers: of the first queue that has one if the
// pool is strict, else by the weights. The mutex is held.
func (p *Pool) next() *attempt {
	var s *servedQueue
	if len(p.queues) == 1 {
		s = p.queues[0]
	} else {
		var ready []*servedQueue
		for _, other := range p.queues {
			if len(other.buffer) > 0 && other.mayStart() {
				ready = append(ready, other)
				if p.config.Strict {
					break
				}
			}
		}
		if len(ready) == 0 {
			return nil
		}
		s = ready[0]
		for _, other := range ready[1:] {
			if other.owed() > s.owed() {
				s = other
			}
		}
	}
	if len(s.buffer) == 0 || !s.mayStart() {
		return nil
	}
	r := s.buffer[0]
	s.buffer[0] = nil
	if s.buffer = s.buffer[1:]; len(s.buffer) == 0 {
		s.buffer = nil
	}
	p.buffered--
	s.running++
	return r
}

// mayStart reports whether the source's own limit lets another job start. The
// pool's mutex is held.
func (s *servedQueue) mayStart() bool {
	return s.config.Concurrency == 0 || s.running < s.config.Concurrency
}

// owed is how much of its share a source has to come: most where few run for
// its weight.
func (s *servedQueue) owed() float64 { return -float64(s.running+1) / float64(s.config.Weight) }

// handBackBuffered hands back all jobs that were not started.
func (p *Pool) handBackBuffered() {
	p.mu.Lock()
	var back []*attempt
	for _, s := range p.queues {
		back = append(back, s.buffer...)
		p.buffered -= len(s.buffer)
		s.buffer = nil
	}
	if p.quiet {
		back = append(back, p.suspects...)
		p.suspects = nil
	}
	p.mu.Unlock()
	for _, r := range back {
		r.handBack()
	}
}

// handBackOf hands back a source's jobs that were not started.
func (p *Pool) handBackOf(s *servedQueue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handBackFrom(s)
}

// handBackFrom is handBackOf for those who hold the mutex.
func (p *Pool) handBackFrom(s *servedQueue) {
	back := s.buffer
	p.buffered -= len(s.buffer)
	s.buffer = nil
	p.suspects = slices.DeleteFunc(p.suspects, func(r *attempt) bool {
		if r.queue == s {
			back = append(back, r)
		}
		return r.queue == s
	})
	for _, r := range back {
		r.handBack()
	}
}
