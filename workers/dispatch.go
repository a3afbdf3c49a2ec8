package workers

import (
	"context"
	"errors"
	"slices"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// The dispatcher is one goroutine. Its duties, in this order:
//
//  1. Start a suspect, when no other job runs (alone.go).
//  2. Fetch jobs while there are free slots, from the queues whose turn it is
//     (turn.go), and some ahead of that where handlers are quick (ahead.go).
//  3. When all queues are empty, block in Redis until one has something new.
//
// Jobs that were fetched wait in their source's buffer; runners take them from
// there (runner.go).

// fetchBytes is how many bytes of payload one fetch may bring, about.
const fetchBytes = 8 << 20

// A queue that can't be reached, as where one node of a Cluster is away, keeps
// the others waiting for at most fetchWait, and then only each restFor.
const (
	fetchWait = time.Second
	restFor   = 3 * time.Second
)

// dispatch runs until taking is done. life is for what must not be cut short.
func (p *Pool) dispatch(life, taking context.Context) {
	news := watch{pool: p}
	for taking.Err() == nil {
		p.rereadLost(life)
		if p.startSuspect(life) {
			continue
		}
		got, err := p.refill(taking)
		switch {
		case got > 0:
		case err != nil:
			sleep(taking, firstPause)
		default:
			p.await(taking, &news)
		}
	}
}

// fetch fetches up to n jobs of a source and starts what there are slots for.
func (p *Pool) fetch(ctx context.Context, s *servedQueue, n int) (int, error) {
	p.mu.Lock()
	t, dirty, signals := s.session, s.dirty, s.signals
	p.mu.Unlock()
	if t == nil {
		return 0, nil
	}
	patient, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	var fetched queue.Fetched
	var err error
	if dirty {
		fetched, err = t.reread(patient)
	} else {
		fetched, err = t.lease.Fetch(patient, n, fetchBytes)
	}
	if err != nil {
		return 0, p.fetchFailed(ctx, s, t, err)
	}
	runs := t.hold(fetched.Jobs)
	if fetched.Malformed > 0 {
		p.log.Warn("malformed jobs are dead now", "queue", s.queue.Name(), "jobs", fetched.Malformed)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.dirty = false
	s.checked = time.Now()
	if !dirty && s.signals == signals { // Reread says nothing of a pause; else the signal may be newer than this answer
		s.paused = fetched.Paused
	}
	s.empty, s.marks = len(fetched.Marks) > 0, fetched.Marks
	if s.session != t { // lost meanwhile; whoever lost it didn't see these
		for _, r := range runs {
			r.settled.Store(true)
		}
		return 0, nil
	}
	s.charge(len(runs))
	p.keep(s, runs)
	if dirty {
		return n, nil // there may be more: that was only what it held
	}
	return len(runs) + fetched.Malformed, nil
}

// keep puts fetched jobs where they wait for a slot. The mutex is held.
func (p *Pool) keep(s *servedQueue, runs []*attempt) {
	for _, r := range runs {
		switch {
		case s.paused || s.removed: // while they were on their way
			r.handBack()
		case r.job.Suspected > 0:
			p.suspect(r)
		default:
			s.buffer = append(s.buffer, r)
			p.buffered++
		}
	}
	p.spawn()
	p.watchBuffer()
}

func (p *Pool) fetchFailed(ctx context.Context, s *servedQueue, t *leaseSession, err error) error {
	if errors.Is(err, queue.ErrLeaseLost) {
		t.lost()
		return nil
	}
	if ctx.Err() == nil {
		p.log.Warn("fetching jobs failed", "queue", s.queue.Name(), "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var unknown *rdb.OutcomeUnknownError
	if errors.As(err, &unknown) {
		s.dirty, s.empty = true, false
	} else {
		s.rest = time.Now().Add(restFor)
		time.AfterFunc(restFor, p.wake)
	}
	return err
}

// await blocks until there is something to do for the dispatcher, which has
// fetched what it could.
func (p *Pool) await(ctx context.Context, news *watch) {
	marks := p.marks()
	if len(marks) == 0 {
		timer := time.NewTimer(idleWait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-p.kick:
		case <-timer.C:
			p.notEmpty(nil)
		}
		return
	}
	select {
	case <-p.kick:
	case keys := <-news.read(ctx, marks):
		news.ended(keys)
		p.notEmpty(keys)
	}
}

// marks are where jobs may come that the dispatcher waits for.
func (p *Pool) marks() (marks []rdb.Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots >= p.capacity() || p.held() {
		return nil
	}
	for _, s := range p.queues {
		if s.empty && s.servable() && s.room(1) > 0 {
			marks = append(marks, s.marks...)
		}
	}
	return marks
}

// lookAgain is how long an idle pool trusts that nothing is there, or that a
// queue is paused: then it looks by itself.
const lookAgain = 5 * time.Minute

// notEmpty notes which sources have something new.
func (p *Pool) notEmpty(keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.queues {
		if time.Since(s.checked) > lookAgain {
			s.empty, s.paused = false, false
		}
		for _, mark := range s.marks {
			if slices.Contains(keys, mark.Key) {
				s.empty = false
			}
		}
	}
}
