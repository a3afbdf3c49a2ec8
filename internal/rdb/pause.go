package rdb

import (
	"cmp"
	"context"
	"time"
)

// Defaults of a [Backoff].
const (
	DefaultFirstPause = 20 * time.Millisecond
	DefaultMaxPause   = 2 * time.Second
)

// A Backoff is the pauses between tries: each is twice the one before. The zero
// value is ready to use. It is not safe for concurrent use.
type Backoff struct {
	First time.Duration // zero: [DefaultFirstPause]
	Max   time.Duration // zero: [DefaultMaxPause]

	last time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	if b.last == 0 {
		b.last = cmp.Or(b.First, DefaultFirstPause)
	} else {
		b.last = min(2*b.last, cmp.Or(b.Max, DefaultMaxPause))
	}
	return b.last
}

// Reset begins with the first pause again.
func (b *Backoff) Reset() { b.last = 0 }

// Sleep blocks for the next pause, or until ctx is done: then it returns the
// cause.
func (b *Backoff) Sleep(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Sleep blocks for d, or until ctx is done: then it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
