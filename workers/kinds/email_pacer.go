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
}

func newPacer(perMinute int) *pacer {
	if perMinute == 0 {
		return &pacer{}
	}
	return &pacer{interval: time.Minute / time.Duration(perMinute)}
}

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
// longer than most.
func (p *pacer) take(most time.Duration) (turn time.Duration, granted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	turn = max(0, p.next.Sub(now))
	if turn > most {
		return turn, false
	}
	p.next = now.Add(turn + p.interval)
	return turn, true
}
