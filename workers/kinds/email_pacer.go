package kinds

import (
	"context"
	"sync"
	"time"

	"skidway/workers"
)

// A pacer lets one message through every interval: a bucket of one token.
type pacer struct {
	interval time.Duration // zero: no limit

	mu   sync.Mutex
	next time.Time // when the next message may go
	line time.Time // when the next job that is snoozed comes back, at the earliest
}

func newPacer(perMinute int) *pacer {
	if perMinute == 0 {
		return &pacer{}
	}
	return &pacer{interval: time.Minute / time.Duration(perMinute)}
}

// maxSnooze bounds how far behind one another jobs are snoozed: no turn may be
// left unused because all are asleep, and a worker with another rate may come.
const maxSnooze = 15 * time.Minute

// wait returns when a message may be sent. Where that takes more than half of
// the time that is left, it snoozes the job at once: an attempt shall not be used
// up by waiting.
func (p *pacer) wait(ctx context.Context) error {
	left := time.Duration(1<<63 - 1)
	if deadline, has := ctx.Deadline(); has {
		left = time.Until(deadline)
	}
	turn, granted := p.take(left / 2)
	if !granted {
		return workers.Snooze(turn)
	}
	timer := time.NewTimer(turn)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take gives the time until the next turn, and the turn itself if that is no
// longer than most; else the time after which to ask again.
func (p *pacer) take(most time.Duration) (turn time.Duration, granted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	turn = max(0, p.next.Sub(now))
	if turn > most {
		// One after another: if all came back for the same turn, all but one
		// would be fetched, made and snoozed for nothing, again and again.
		back := p.line
		if back.Before(p.next) || back.Sub(now) > maxSnooze {
			back = p.next // also where the line is too long: then several share a turn
		}
		p.line = back.Add(p.interval)
		return back.Sub(now), false
	}
	p.next = now.Add(turn + p.interval)
	return turn, true
}
