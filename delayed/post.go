package delayed

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"skidway/queue"
)

const (
	// lookAgain bounds the sleep at one queue: Redis's clock may jump.
	lookAgain = time.Minute

	// A mover that is not the one to come on time comes between these after
	// it. The longer leaves a margin to the promise of 250 ms.
	standInAfter = 50 * time.Millisecond
	standInUntil = 200 * time.Millisecond
)

// trouble is how long a mover waits when Redis has given an error. MoveDue
// itself has been patient before that.
var trouble = Backoff{First: 100 * time.Millisecond, Most: 30 * time.Second}

// A post is one queue that a mover serves.
type post struct {
	queue source
	woken chan struct{} // holds at most one
	leave context.CancelFunc
}

func (p *post) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // it is going to look anyway
	}
}

// keep serves one queue until ctx is done.
func (m *Mover) keep(ctx context.Context, p *post) {
	failures := 0
	for ctx.Err() == nil {
		next, err := m.step(ctx, p)
		if err == nil {
			failures = 0
			p.sleep(ctx, next)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		failures++
		pause := trouble.Wait(failures)
		m.log.WarnContext(ctx, "delayed jobs wait: can't move those that are due",
			slog.String("queue", p.queue.Name()), slog.Duration("again_in", pause), slog.Any("err", err))
		sleep(ctx, pause) // nothing wakes it earlier: the trouble isn't over
	}
}

// sleep ends after d, when the post is woken, or with ctx.
func (p *post) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.woken:
	case <-timer.C:
	}
}

// step moves some jobs and says how long to sleep then.
func (m *Mover) step(ctx context.Context, p *post) (time.Duration, error) {
	release, err := m.turn.take(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	select {
	case <-p.woken: // this step is the answer
	default:
	}
	begin := time.Now()
	moved, err := p.queue.MoveDue(ctx, m.name)
	if err != nil {
		return 0, err
	}
	if moved.More && moved.Mine {
		// The time as seen from here counts what others made Redis do
		// meanwhile: the busier it is, the longer the breath.
		sleep(ctx, min(time.Since(begin), mostBreath))
	}
	return pauseAfter(moved), nil
}

// pauseAfter gives the sleep that the answer of a step asks for. Redis rounds
// its clock down, so that the job is due when the sleep is over.
func pauseAfter(moved queue.Moved) time.Duration {
	switch {
	case moved.Next < 0:
		return lookAgain
	case moved.Mine:
		return min(moved.Next, lookAgain)
	}
	return min(moved.Next+standInAfter+rand.N(standInUntil-standInAfter), lookAgain)
}
