package distribute

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// An EventKind is what an [Event] reports.
type EventKind int

// Kinds of events. Those of a file have Event.File.
const (
	EventFailed         EventKind = iota // a file failed, or was counted in part: see Err
	EventShipped                         // the shipper has finished a file: see Outcome and Note
	EventCounted                         // the worker has counted a file: see Lines and Note
	EventWaitingForTurn                  // other shippers wait for the window since longer
	EventWindowFull                      // the shipper waits for room in the window: see Laggards
	EventFileBusy                        // the shipper waits until an earlier shipment of the file is counted: see Laggards
	EventWaitingForAll                   // the shipper waits until all files are counted: see Laggards
	EventRestarted                       // the shipper's lease expired, and it starts the upload again
	EventClaimLost                       // another worker took the file over; its count here is dropped
	EventAbandoned                       // the shipper of the file stopped or died; nothing of it is counted
	EventSkipped                         // a message of the channel's chat can't be read: see Message and Err
)

// An Event reports what happens to a file, or what a shipper or worker waits
// for.
type Event struct {
	Kind     EventKind
	File     string // empty: the event does not concern one file
	Err      error
	Outcome  Outcome
	Lines    int64
	Note     string // for people
	Message  uint64
	Channel  string
	Laggards []Laggard // empty: the channel has no subscriber
}

// String returns the event as text for people, without the file's name.
func (e Event) String() string {
	switch e.Kind {
	case EventShipped:
		if e.Note == "" {
			return e.Outcome.String()
		}
		return e.Outcome.String() + " (" + e.Note + ")"
	case EventCounted:
		if e.Note == "" {
			return fmt.Sprintf("counted %d lines", e.Lines)
		}
		return fmt.Sprintf("counted %d lines; %s", e.Lines, e.Note)
	case EventWaitingForTurn:
		return "waits for its turn: other shippers asked first"
	case EventWindowFull:
		return "waits, the window is full: " + e.laggards()
	case EventFileBusy:
		return "waits until what was shipped of it before is counted: " + e.laggards()
	case EventWaitingForAll:
		return "waits until all is counted: " + e.laggards()
	case EventRestarted:
		return "this process was taken for dead and its upload given up: starting it again"
	case EventClaimLost:
		return "another worker took this file over: its count here is dropped"
	case EventAbandoned:
		return errAbandoned.Error() + "; nothing of it is counted until it is shipped again"
	case EventSkipped:
		return fmt.Sprintf("skipped message %d of the channel: %v", e.Message, e.Err)
	}
	return fmt.Sprint(e.Err)
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

func (e Event) laggards() string {
	if len(e.Laggards) == 0 {
		return fmt.Sprintf("channel %q has no subscriber, so nothing is counted or freed", e.Channel)
	}
	texts := make([]string, len(e.Laggards))
	for i, l := range e.Laggards {
		texts[i] = l.String()
	}
	return strings.Join(texts, ", ")
}

// A Laggard is a subscriber that a shipper waits for.
type Laggard struct {
	Subscriber string
	Seen       time.Time     // last heartbeat of one of its workers; zero: none yet
	Idle       time.Duration // since then
}

func (l Laggard) String() string {
	state := "its workers are counting"
	if l.Seen.IsZero() {
		state = "no worker was ever seen"
	} else if l.Idle > 2*DefaultLease {
		state = fmt.Sprintf("no worker seen for %s", l.Idle.Round(time.Second))
	}
	return fmt.Sprintf("subscriber %q: %s", l.Subscriber, state)
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
