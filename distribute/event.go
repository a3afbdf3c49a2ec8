package distribute

import (
	"context"
	"sync"
	"time"
)

// An Event reports what happens to a file, or what a shipper or worker waits
// for.
type Event struct {
	File string // empty: not about one file
	Text string // what happens, in words; empty if Err has it
	Err  error  // what went wrong
}

// A Notify is called with each event, by one goroutine at a time for one
// shipper or worker. It should return soon. Nil discards events.
type Notify func(Event)

func (n Notify) send(event Event) {
	if n != nil {
		n(event)
	}
}

// guarded returns a Notify for calls by several goroutines.
func (n Notify) guarded(mu *sync.Mutex) Notify {
	return func(event Event) {
		mu.Lock()
		defer mu.Unlock()
		n.send(event)
	}
}

// A throttle limits how often a long wait is reported.
type throttle struct{ last time.Time }

// waitEventInterval is the time between two events of one wait.
const waitEventInterval = 30 * time.Second

// allow reports whether an event is due, and if so counts it as sent.
func (t *throttle) allow() bool {
	if time.Since(t.last) < waitEventInterval {
		return false
	}
	t.last = time.Now()
	return true
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// heartbeat calls beat at once and then every interval, until stop is called or
// ctx is done. stop returns when no beat runs any more. A beat needs no error: a
// process that lost its lease finds out at its next script call.
func heartbeat(ctx context.Context, interval time.Duration, beat func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			beat(ctx)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() { cancel(); beating.Wait() }
}

// atEnd returns a context for the last calls of a process, also if ctx is done.
func atEnd(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
