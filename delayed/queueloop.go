package delayed

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// maxWait bounds the wait for a time: Redis's clock may jump.
	maxWait = time.Minute

	// A queue without a time is looked at every minIdle, or less often if there are many
	// such queues: one each idlePause. A signal comes before that.
	minIdle   = 5 * time.Minute
	idlePause = 200 * time.Millisecond

	// One of several loops of a queue comes on time, and the others with a delay
	// between these two. The longer leaves a margin to the 250 ms of the package's
	// guarantee.
	minBackupDelay = 50 * time.Millisecond
	maxBackupDelay = 200 * time.Millisecond

	// maxYield bounds how long Redis is left to others after a step of a loop with more
	// to do.
	maxYield = 10 * time.Millisecond

	// maxTurn bounds how long one step delays those of other queues, for example if one
	// node of a cluster does not answer.
	maxTurn = 2 * maxYield
)

// firstBackoff is the pause after the first error of Redis in a row.
const firstBackoff = 100 * time.Millisecond

// A step does a bounded part of what is due in one queue, and returns the wait until
// the next step: zero if more is due, noTime if nothing will be.
type step func(ctx context.Context) (wait time.Duration, err error)

const noTime = time.Duration(-1)

// waitUntil returns the wait until the next time of a queue. A negative next means that
// there is none, and first that this loop is the one to come on time. Redis rounds its
// clock down, so the time has come when the wait is over.
func waitUntil(next time.Duration, first bool) time.Duration {
	switch {
	case next < 0:
		return noTime
	case !first:
		next += minBackupDelay + rand.N(maxBackupDelay-minBackupDelay)
	}
	return min(next, maxWait)
}

// A queueLoop serves one queue.
type queueLoop struct {
	name    string
	queue   *queue.PoolQueue // its signals wake the loop
	step    step
	backoff rdb.Backoff

	cursor queue.StreamCursor // of its signals
	unread atomic.Bool        // there may be signals after the cursor

	// The rest is guarded by the mutex of its queueLoops.

	ctx    context.Context // nil while the loops do not run
	stop   context.CancelFunc
	at     time.Time // of the next step
	place  int       // in the schedule; -1 if it is not there
	woken  bool      // since the latest step began
	paused bool      // after an error: no signal ends the pause
}

// queueLoops calls a step for each of some queues whenever something is due in it, or a
// signal wakes it. The steps of different queues run one after another. An idle queue has
// no goroutine.
type queueLoops struct {
	client  *queue.Client
	config  Config
	backoff rdb.Backoff   // the pauses of each loop after errors of Redis
	failure string        // what an error of Redis means, for the log
	changed chan struct{} // has a buffer of one; received from when the first step may be earlier

	mu       sync.Mutex
	loops    map[string]*queueLoop
	schedule schedule // the loops that wait for their next step
	running  bool
	ctx      context.Context // of the loops; nil while none may start
	watch    *queue.Watch    // of the signals of all queues; nil: the owner calls wake
	started  sync.WaitGroup  // a goroutine for each step, and the watch
}

func newQueueLoops(client *queue.Client, config Config, maxBackoff time.Duration, failure string) *queueLoops {
	return &queueLoops{
		client: client, config: config, failure: failure,
		backoff: rdb.Backoff{First: firstBackoff, Max: maxBackoff},
		changed: make(chan struct{}, 1), loops: map[string]*queueLoop{},
	}
}

// add starts a loop for one more queue. It does nothing if the queue has one.
func (l *queueLoops) add(name string, q *queue.PoolQueue, step step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loops[name] != nil {
		return
	}
	loop := &queueLoop{name: name, queue: q, step: step, backoff: l.backoff, place: -1}
	l.loops[name] = loop
	l.startLocked(loop)
}

// remove ends the loop of a queue. It does not wait for a running step.
func (l *queueLoops) remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loop := l.loops[name]
	if loop == nil {
		return
	}
	delete(l.loops, name)
	if loop.place >= 0 {
		heap.Remove(&l.schedule, loop.place)
	}
	if loop.stop != nil {
		loop.stop()
	}
	if l.watch != nil {
		l.watch.Remove(loop)
	}
}

// wake makes the next step of a queue come at once, after the running one if there is one.
func (l *queueLoops) wake(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loop := l.loops[name]
	if loop == nil {
		return
	}
	loop.woken = true
	if loop.place >= 0 && !loop.paused {
		l.scheduleLocked(loop, 0)
	}
}

// run runs the loops until ctx is done, waits for running steps and returns the cause
// of the end of ctx. A second run at the same time is an error.
func (l *queueLoops) run(ctx context.Context) error {
	l.mu.Lock()
	if l.running {
		l.mu.Unlock()
		return errors.New("Run is running already: call it once, or create another one")
	}
	l.running, l.ctx = true, ctx
	if !l.config.NoSignals {
		watch := l.client.NewWatch(l.config.Logger)
		l.started.Go(func() { watch.Run(ctx) })
		l.watch = watch
	}
	for _, loop := range l.loops {
		l.startLocked(loop)
	}
	l.mu.Unlock()
	l.serve(ctx)
	l.started.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.ctx, l.schedule = false, nil, nil
	for _, loop := range l.loops {
		loop.place = -1
	}
	return context.Cause(ctx)
}

// startLocked schedules the first step of a loop if the loops run.
func (l *queueLoops) startLocked(loop *queueLoop) {
	if l.ctx == nil {
		return
	}
	loop.ctx, loop.stop = context.WithCancel(l.ctx)
	loop.unread.Store(l.watch != nil)
	l.scheduleLocked(loop, 0)
}

// scheduleLocked sets the time of the next step of a loop.
func (l *queueLoops) scheduleLocked(loop *queueLoop, wait time.Duration) {
	loop.at = time.Now().Add(wait)
	if loop.place >= 0 {
		heap.Fix(&l.schedule, loop.place)
	} else {
		heap.Push(&l.schedule, loop)
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// serve starts the steps that are due until ctx is done.
func (l *queueLoops) serve(ctx context.Context) {
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for ctx.Err() == nil {
		loop, wait := l.next()
		if loop != nil {
			l.takeTurn(loop, timer)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-l.changed:
		case <-timer.C:
		}
	}
}

// next takes the loop whose step is due from the schedule. If there is none, it returns the
// wait until one is.
func (l *queueLoops) next() (*queueLoop, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.schedule) == 0 {
		return nil, maxWait
	}
	loop := l.schedule[0]
	if wait := time.Until(loop.at); wait > 0 {
		return nil, wait
	}
	heap.Pop(&l.schedule)
	loop.woken, loop.paused = false, false
	return loop, 0
}

// takeTurn makes a step of a loop, and blocks until it has ended, for at most maxTurn.
func (l *queueLoops) takeTurn(loop *queueLoop, timer *time.Timer) {
	ended := make(chan struct{})
	l.started.Go(func() {
		defer close(ended)
		wait, err := l.makeStep(loop)
		l.ended(loop, wait, err)
	})
	timer.Reset(maxTurn)
	select {
	case <-ended:
	case <-timer.C:
	}
}

func (l *queueLoops) makeStep(loop *queueLoop) (time.Duration, error) {
	begin := time.Now()
	if err := l.readSignals(loop); err != nil {
		return 0, err
	}
	wait, err := loop.step(loop.ctx)
	if err == nil && wait == 0 {
		// This time includes the work of Redis for other clients: the busier it is,
		// the longer it is left to them.
		_ = rdb.Sleep(loop.ctx, min(time.Since(begin), maxYield))
	}
	return wait, err
}

// ended schedules the next step of a loop. It logs an error of Redis.
func (l *queueLoops) ended(loop *queueLoop, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case loop.ctx.Err() != nil: // removed, or the loops have ended
		return
	case err != nil:
		wait, loop.paused = loop.backoff.Next(), true
		l.config.Logger.Warn(l.failure+": an error of Redis", "queue", loop.name, "again_in", wait, "error", err)
	case loop.woken:
		wait = 0
	case wait == noTime:
		wait = max(minIdle, time.Duration(len(l.loops))*idlePause)
		wait = wait/2 + rand.N(wait) // queues that were looked at together are not again
	}
	if err == nil {
		loop.backoff.Reset()
	}
	l.scheduleLocked(loop, wait)
}

// readSignals moves the cursor behind the signals that there are, of any kind: the next
// step finds what they are about. The loop is woken by those that come later.
func (l *queueLoops) readSignals(loop *queueLoop) error {
	if !loop.unread.Load() {
		return nil
	}
	_, cursor, err := loop.queue.Signals(loop.ctx, loop.cursor)
	if err != nil {
		return err
	}
	loop.cursor = cursor
	loop.unread.Store(false)
	l.watch.Set(loop, func() {
		loop.unread.Store(true)
		l.wake(loop.name)
	}, cursor)
	if loop.ctx.Err() != nil { // it was removed meanwhile
		l.watch.Remove(loop)
	}
	return nil
}

// A schedule is a heap of loops by the times of their next steps.
type schedule []*queueLoop

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

// Push adds a loop, for package heap.
func (s *schedule) Push(loop any) {
	loop.(*queueLoop).place = len(*s)
	*s = append(*s, loop.(*queueLoop))
}

// Pop removes the last loop, for package heap.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	loop := (*s)[last]
	(*s)[last] = nil
	*s, loop.place = (*s)[:last], -1
	return loop
}
