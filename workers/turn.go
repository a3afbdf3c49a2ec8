package workers

import (
	"context"
	"time"
)

// probeEvery is how often a queue that was empty is looked at while others have
// jobs. A strict pool looks at it before every fetch from a later queue.
const probeEvery = 20 * time.Millisecond

// refill fetches jobs for what is free and gives how many came. An error is
// one of Redis; it was logged.
func (p *Pool) refill(ctx context.Context) (got int, failed error) {
	probed := false
	seen := map[*servedQueue]bool{}
	for ctx.Err() == nil {
		s, n := p.turn(seen, &probed)
		if s == nil {
			break
		}
		count, err := p.fetch(ctx, s, n)
		if err != nil {
			failed = err
		}
		if got += count; count < n {
			seen[s] = true // it has no more for now
		}
		if count > 0 && p.config.Strict {
			break // the queues before it are looked at again first
		}
	}
	return got, failed
}

// turn says which source to fetch from, and how many jobs.
func (p *Pool) turn(seen map[*servedQueue]bool, probed *bool) (*servedQueue, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ahead := p.ahead()
	free := p.capacity() - p.slots
	if p.held() || p.buffered > ahead/2 || p.buffered >= free+ahead {
		return nil, 0
	}
	want := free + ahead - p.buffered
	var ready, empty []*servedQueue // empty when they were last looked at
	for _, s := range p.queues {
		if s.opening && !s.removed {
			return nil, 0 // so that no queue is ahead of its turn at the start
		}
		switch {
		case seen[s] || !s.servable() || s.room(want) <= 0:
		case !s.empty:
			ready = append(ready, s)
		case len(ready) == 0 || !p.config.Strict:
			empty = append(empty, s)
		}
	}
	if len(ready) == 0 {
		return nil, 0 // the wait tells
	}
	if p.config.Strict {
		s := append(empty, ready[0])[0]
		return s, s.room(want)
	}
	s := p.leastServed(ready)
	if stale := stalest(empty); stale != nil && !*probed && time.Since(stale.checked) >= probeEvery {
		s, *probed = stale, true
		ready = append(ready, s)
	}
	total := 0
	for _, s := range ready {
		total += s.config.Weight
	}
	// Its share of what is wanted, at least one.
	return s, s.room(max(1, want*s.config.Weight/total))
}

// stalest gives the source that was not looked at for the longest time, nil
// where there is none.
func stalest(queues []*servedQueue) (stalest *servedQueue) {
	for _, s := range queues {
		if stalest == nil || s.checked.Before(stalest.checked) {
			stalest = s
		}
	}
	return stalest
}

// servable reports whether jobs can be fetched. The pool's mutex is held.
func (s *servedQueue) servable() bool {
	return s.session != nil && !s.paused && !s.removed && (s.rest.IsZero() || !time.Now().Before(s.rest))
}

// room is how many of n jobs the source's own limit lets in. The pool's mutex is
// held.
func (s *servedQueue) room(n int) int {
	if s.config.Concurrency > 0 {
		n = min(n, s.config.Concurrency-s.running-len(s.buffer))
	}
	return n
}

// leastServed gives the source that has had the fewest jobs for its weight. The
// mutex is held.
func (p *Pool) leastServed(queues []*servedQueue) *servedQueue {
	least := queues[0]
	for _, s := range queues {
		if s.served < least.served {
			least = s
		}
	}
	p.fair = max(p.fair, least.served)
	return least
}

// charge notes that a source was served. One that had nothing for a while starts
// where the others are: it has no claim to what it could have had. The pool's
// mutex is held.
func (s *servedQueue) charge(jobs int) {
	s.served = max(s.served, s.pool.fair) + float64(jobs)/float64(s.config.Weight)
}
