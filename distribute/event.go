package distribute

import (
	"context"
	"sync"
	"time"
)

// An EventKind is what an [Event] reports.
type EventKind string

// Kinds of events. Those of a file have Event.File.
const (
	EventFailed         EventKind = "failed"           // a file failed, or was counted in part: see Err, and then Lines and Reading
	EventRecovered      EventKind = "recovered"        // a shipper that follows: a file or directory that had failed is as it should be
	EventShipped        EventKind = "shipped"          // the shipper has finished a file: see Shipped
	EventCounted        EventKind = "counted"          // the worker has counted a file: see Lines, Reading and Problem
	EventWaitingForTurn EventKind = "waiting-for-turn" // other shippers wait for the window since longer
	EventWindowFull     EventKind = "window-full"      // the shipper waits for room in the window: see Laggards
	EventFileUploading  EventKind = "file-uploading"   // the shipper waits until an earlier one of the file has ended: if it was killed, until its lease expires
	EventFileBusy       EventKind = "file-busy"        // the shipper waits until an earlier shipment of the file is counted: see Laggards
	EventWaitingForAll  EventKind = "waiting-for-all"  // the shipper waits until all files are counted: see Laggards
	EventRestarted      EventKind = "restarted"        // the shipper's lease expired, and it starts the upload again
	EventClaimLost      EventKind = "claim-lost"       // another worker took the file over; its count here is dropped
	EventAbandoned      EventKind = "abandoned"        // the shipper of the file stopped or died; nothing of it is counted
	EventUnsubscribed   EventKind = "unsubscribed"     // a subscriber was removed; the worker goes on for the others
	EventSkipped        EventKind = "skipped"          // a message of the channel's chat can't be read: see Message and Err
)

// An Event reports what happens to a file, or what a shipper or worker waits
// for.
type Event struct {
	Kind       EventKind
	File       string // empty: the event does not concern one file
	Subscriber string // of a worker's event; empty: it does not concern one
	Err        error
	Shipped    ShippedFile // without its Lines
	Lines      int64
	Reading    Reading
	Problem    *Problem // nil: the file has none
	Message    uint64
	Channel    string
	Laggards   []Laggard // empty: the channel has no subscriber
}

// LacksSubscriber reports whether the shipper waits in vain, because the channel
// has no subscriber.
func (e Event) LacksSubscriber() bool {
	switch e.Kind {
	case EventWindowFull, EventFileBusy, EventWaitingForAll:
		return len(e.Laggards) == 0
	}
	return false
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

// A stopSignal is closed by the first call of Stop.
type stopSignal struct {
	once    sync.Once
	stopped chan struct{}
}

func newStopSignal() *stopSignal { return &stopSignal{stopped: make(chan struct{})} }

func (s *stopSignal) stop() { s.once.Do(func() { close(s.stopped) }) }

func (s *stopSignal) isStopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
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
