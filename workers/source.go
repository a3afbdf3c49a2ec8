package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A source is one queue that a pool serves. Its fields are guarded by the
// pool's mutex.
type source struct {
	pool  *Pool
	queue *queue.Queue
	how   Queue
	end   context.CancelFunc // ends the source's goroutine

	heard   rdb.Mark // up to where the listener has read its signals
	signals int      // how many of them said pause or resume
	mending bool     // somebody recovers jobs
	opening bool     // the first lease is on its way: others wait for that

	tenure  *tenure // nil while there is no lease
	buffer  []*run  // held, in order, not started
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
	for _, s := range p.sources {
		if s.queue.Name() == name {
			if s.how = how; s.removed {
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
	s := &source{pool: p, queue: q, how: how, end: end, opening: !how.pattern()}
	p.sources = append(p.sources, s)
	p.mover.Add(q)
	p.crons.Add(q)
	p.tended.Go(func() { s.tend(ctx) })
}

// tend keeps a lease until the source is ended: opens one, prolongs it, opens
// the next one when it is lost, and recovers the jobs of dead workers.
func (s *source) tend(ctx context.Context) {
	s.hear(ctx)
	for pause := firstPause; ctx.Err() == nil; {
		t, err := s.open(ctx)
		s.opened()
		if err != nil {
			if ctx.Err() == nil {
				s.pool.log.Warn("no lease yet", "queue", s.queue.Name(), "error", err)
			}
			sleep(ctx, pause)
			pause = min(2*pause, mostPause)
			continue
		}
		pause = firstPause
		over, end := context.WithCancel(ctx)
		go func() { defer end(); t.write(ctx) }()
		s.beat(over, t)
		end()
		<-t.written
		t.close()
	}
}

// hear notes from where on the source's signals are heard. That comes before
// the first lease: no job that is held can be cancelled unheard.
func (s *source) hear(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
		_, mark, err := s.queue.Signals(ctx, rdb.Mark{})
		if err == nil {
			s.pool.mu.Lock()
			defer s.pool.mu.Unlock()
			s.heard = mark
			s.pool.announce()
			s.pool.mover.Wake(s.queue.Name()) // for what came before the mark
			s.pool.crons.Wake(s.queue.Name())
			return
		}
		s.opened()
		if ctx.Err() == nil {
			s.pool.log.Warn("no signals yet", "queue", s.queue.Name(), "error", err)
		}
		sleep(ctx, pause)
	}
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

func (s *source) open(ctx context.Context) (*tenure, error) {
	// A name is never used again, not for another lease of the queue either.
	name := fmt.Sprintf("%s.%d", s.pool.name, s.pool.opened.Add(1))
	lease, err := s.queue.Lease(ctx, name, s.pool.config.Lease, s.pool.aboutJSON())
	if err != nil {
		return nil, err
	}
	t := &tenure{source: s, lease: lease, held: map[string]*run{}, cancelled: map[string]time.Time{}, written: make(chan struct{})}
	t.completer = &completer{
		write: func(ctx context.Context, outcomes []queue.Ending) error {
			_, err := lease.Finish(ctx, outcomes)
			return err
		},
		written: t.finished, linger: s.pool.config.Lease, log: s.pool.log.With("queue", s.queue.Name()), wake: newNotification(),
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.tenure, s.empty, s.paused, s.dirty = t, false, false, false
	s.pool.wake()
	return t, nil
}

// opened notes that the first lease is there or is long in coming.
func (s *source) opened() {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if s.opening {
		s.opening = false
		s.pool.wake()
	}
}

// beats is how often a lease is prolonged in its time: it survives one beat
// that is lost.
const beats = 2.5

// sweepEvery is how often a worker looks for jobs that are held by nobody
// known.
const sweepEvery = time.Minute

// beat prolongs the lease until it is lost or ctx is done.
func (s *source) beat(ctx context.Context, t *tenure) {
	interval := time.Duration(float64(s.pool.config.Lease) / beats)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	swept := time.Now()
	for {
		recover, err := t.lease.Beat(ctx)
		switch {
		case errors.Is(err, queue.ErrLeaseLost):
			t.lost()
			return
		case err != nil && ctx.Err() == nil:
			s.pool.log.Warn("heartbeat failed", "queue", s.queue.Name(), "error", err)
		}
		sweep := time.Since(swept) > sweepEvery
		if sweep {
			swept = time.Now()
		}
		if recover || sweep {
			s.mend(ctx, sweep)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// mend recovers jobs, beside the heartbeat: that waits for nobody.
func (s *source) mend(ctx context.Context, sweep bool) {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.mending {
		return
	}
	s.mending = true
	p.tended.Go(func() {
		s.recover(ctx, sweep)
		p.mu.Lock()
		s.mending = false
		p.mu.Unlock()
	})
}

// recover hands back what dead workers held, in steps between which others get
// their turn.
func (s *source) recover(ctx context.Context, sweep bool) {
	var all queue.Recovered
	for ctx.Err() == nil {
		done, err := s.queue.Recover(ctx, s.pool.config.Crashes, sweep)
		if err != nil {
			if ctx.Err() == nil {
				s.pool.log.Warn("recovery failed", "queue", s.queue.Name(), "error", err)
			}
			return
		}
		all.Returned, all.Dead = all.Returned+done.Returned, all.Dead+done.Dead
		sweep = false
		if !done.More {
			break
		}
		sleep(ctx, time.Millisecond)
	}
	if all.Returned+all.Dead > 0 {
		s.pool.log.Warn("recovered jobs of dead workers", "queue", s.queue.Name(), "returned", all.Returned, "dead", all.Dead)
	}
	if err := s.queue.Tidy(ctx); err != nil && ctx.Err() == nil {
		s.pool.log.Warn("tidying up failed", "queue", s.queue.Name(), "error", err)
	}
}

// dropBuffered takes a tenure's jobs that were not started out of the buffer
// and the suspects. The pool's mutex is held.
func (s *source) dropBuffered(t *tenure) []*run {
	var dropped []*run
	keep := func(runs []*run) []*run {
		kept := runs[:0]
		for _, r := range runs {
			if r.tenure == t {
				dropped = append(dropped, r)
			} else {
				kept = append(kept, r)
			}
		}
		return kept
	}
	before := len(s.buffer)
	s.buffer = keep(s.buffer)
	s.pool.buffered -= before - len(s.buffer)
	s.pool.suspects = keep(s.pool.suspects)
	return dropped
}
