package workers

import (
	"context"
	"sync"
	"time"
)

// A jobContext is the context of a handler. It is part of the attempt, and has no parent
// to register with, so that a start costs little. Most handlers do not wait for its end:
// the first call that needs a context of the standard library makes one.
type jobContext struct {
	attempt  *attempt
	deadline time.Time

	mu     sync.Mutex
	cause  error           // why it has ended, nil if it has not
	inner  context.Context // ends with it; nil if it was not needed yet
	cancel context.CancelCauseFunc
}

type attemptKey struct{}

// Deadline returns the deadline of the attempt.
func (c *jobContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done returns a channel that is closed when the context has ended.
func (c *jobContext) Done() <-chan struct{} { return c.standard().Done() }

// Err returns [context.Canceled] if the context has ended; context.Cause tells why.
func (c *jobContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return context.Canceled
	}
	return nil
}

// Value returns the attempt for attemptKey. Package context asks by a key of its own for
// what it needs to derive contexts.
func (c *jobContext) Value(key any) any {
	if key == (attemptKey{}) {
		return c.attempt
	}
	return c.standard().Value(key)
}

// standard returns the inner context, and makes it if there is none.
func (c *jobContext) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(context.Background())
		if c.cause != nil {
			c.cancel(c.cause)
		}
	}
	return c.inner
}

// end ends the context, unless it has ended before.
func (c *jobContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// A deadlineTimer interrupts the attempts of a slot at their deadlines. Attempts that end
// earlier leave it set, so that they cost no operation on a timer: when it fires it is set
// to the deadline of the attempt that runs then. The zero value is ready for use.
type deadlineTimer struct {
	mu      sync.Mutex
	attempt *attempt // that runs; nil if there is none
	timer   *time.Timer
	at      time.Time // when timer fires; zero if it is not set
}

// begin makes the timer interrupt an attempt that starts.
func (t *deadlineTimer) begin(a *attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempt = a
	if t.at.IsZero() || a.ctx.deadline.Before(t.at) {
		t.setLocked()
	}
}

// end must be called when the attempt has ended.
func (t *deadlineTimer) end() {
	t.mu.Lock()
	t.attempt = nil
	t.mu.Unlock()
}

// stop releases the timer.
func (t *deadlineTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempt = nil
	if t.timer != nil {
		t.timer.Stop()
	}
}

// setLocked sets the timer to the deadline of the attempt.
func (t *deadlineTimer) setLocked() {
	t.at = t.attempt.ctx.deadline
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(t.at), t.fire)
	} else {
		t.timer.Reset(time.Until(t.at))
	}
}

func (t *deadlineTimer) fire() {
	t.mu.Lock()
	t.at = time.Time{}
	a := t.attempt
	if a != nil && a.ctx.deadline.After(time.Now()) {
		t.setLocked()
		a = nil
	}
	t.mu.Unlock()
	if a != nil {
		a.interrupt(ErrTimeout)
	}
}
