package workers

import (
	"context"
	"slices"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A servedQueue is one queue that a pool serves. Its fields are guarded by the
// pool's mutex.
type servedQueue struct {
	pool   *Pool
	queue  *queue.Queue
	config Queue
	end    context.CancelFunc // ends the source's goroutine

	heard   rdb.Mark // up to where the listener has read its signals
	signals int      // how many of them said pause or resume
	opening bool     // the first lease is on its way: others wait for that

	session *leaseSession // nil while there is no lease
	buffer  []*attempt    // held, in order, not started
	running int
	empty   bool       // nothing was there, and news would come after marks
	marks   []rdb.Mark // where
	paused  bool
	dirty   bool // an answer of fetch was lost: it may hold more than it knows
	removed bool
	checked time.Time // when it was last fetched from
	rest    time.Time // until when it is not: it could not be reached
	served  float64   // jobs that it has had for its weight, see charge
}

// serve adds a queue, unless it is served already. The mutex is held.
func (p *Pool) serve(how Queue, name string) {
	for _, s := range p.queues {
		if s.queue.Name() == name {
			if s.config = how; s.removed {
				s.removed, s.empty = false, false
				p.mover.Add(s.queue)
				p.crons.Add(s.queue)
			}
			return
		}
	}
	q, err := p.client.Queue(name)
	if err != nil {
		p.log.Warn("queue can't be served", "queue", name, "error", err)
		return
	}
	ctx, end := context.WithCancel(p.life)
	s := &servedQueue{pool: p, queue: q, config: how, end: end, opening: !how.pattern()}
	p.queues = append(p.queues, s)
	p.mover.Add(q)
	p.crons.Add(q)
	l := &leaseLoop{pool: p, queue: s, log: p.log.With("queue", name)}
	p.tended.Go(func() { l.run(ctx) })
}

const (
	firstPause = 20 * time.Millisecond
	mostPause  = 2 * time.Second
)

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// opened notes that a queue's first lease is there or is long in coming. session
// is nil while there is none.
func (p *Pool) opened(s *servedQueue, session *leaseSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session != nil {
		s.session, s.empty, s.paused, s.dirty = session, false, false, false
	}
	if session != nil || s.opening {
		s.opening = false
		p.wake()
	}
}

// listenFrom sets the place from which a queue's signals are read.
func (p *Pool) listenFrom(s *servedQueue, cursor rdb.Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.heard = cursor
	p.announce()
	p.mover.Wake(s.queue.Name()) // for signals that came before the cursor
	p.crons.Wake(s.queue.Name())
}

// dropSession takes the jobs of a lost session that were not started out of the
// buffer and the quarantine.
func (p *Pool) dropSession(session *leaseSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := session.queue
	if s.session == session {
		s.session = nil
	}
	drop := func(a *attempt) bool {
		if a.session == session {
			a.settled.Store(true)
		}
		return a.session == session
	}
	before := len(s.buffer)
	s.buffer = slices.DeleteFunc(s.buffer, drop)
	p.buffered -= before - len(s.buffer)
	p.suspects = slices.DeleteFunc(p.suspects, drop)
}
