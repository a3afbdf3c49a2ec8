package delayed

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// maxWait bounds the wait between two steps: Redis's clock may jump.
	maxWait = time.Minute

	// One of several loops of a queue comes on time, and the others with a delay
	// between these two. The longer leaves a margin to the 250 ms of the package's
	// guarantee.
	minBackupDelay = 50 * time.Millisecond
	maxBackupDelay = 200 * time.Millisecond

	// maxYield bounds how long a loop with more to do leaves Redis to others
	// between two steps.
	maxYield = 10 * time.Millisecond

	// maxStepLock bounds how long one step delays the others, for example if one
	// node of a cluster does not answer.
	maxStepLock = 2 * maxYield

	// maxListen bounds one blocked read. A read of an outdated set of queues goes
	// on until then and keeps its connection.
	maxListen = 2 * time.Second

	// settleTime is how long changes of the set of queues are collected, so that
	// there are few such reads.
	settleTime = 250 * time.Millisecond
)

// newRedisBackoff returns the pauses after errors of Redis.
func newRedisBackoff() rdb.Backoff {
	return rdb.Backoff{First: 100 * time.Millisecond, Max: 30 * time.Second}
}

// A step does a bounded part of what is due in one queue, and returns the wait until
// the next step: zero if more is due.
type step func(ctx context.Context) (wait time.Duration, err error)

// waitUntil returns the wait until the next time of a queue. A negative next means that
// there is none, and first that this loop is the one to come on time. Redis rounds its
// clock down, so the time has come when the wait is over.
func waitUntil(next time.Duration, first bool) time.Duration {
	switch {
	case next < 0:
		return maxWait
	case !first:
		next += minBackupDelay + rand.N(maxBackupDelay-minBackupDelay)
	}
	return min(next, maxWait)
}

// A queueLoop serves one queue.
type queueLoop struct {
	name  string
	queue *queue.PoolQueue // its signals wake the loop
	step  step
	woken chan struct{} // has a buffer of one
	stop  context.CancelFunc
}

// queueLoops calls a step for each of some queues whenever something is due in it, or a
// signal wakes it. The steps of different queues run one after another.
type queueLoops struct {
	client  *queue.Client
	config  Config
	signal  queue.SignalKind // that wakes a loop
	failure string           // what an error of Redis means, for the log

	stepLock chan struct{} // held during a step, and acquired in the order of request

	mu      sync.Mutex
	loops   map[string]*queueLoop
	running bool
	ctx     context.Context    // of the loops; nil while none may start
	started sync.WaitGroup     // a goroutine for each loop
	changed context.CancelFunc // called when the set of loops has changed
}

func newQueueLoops(client *queue.Client, config Config, signal queue.SignalKind, failure string) *queueLoops {
	return &queueLoops{
		client: client, config: config, signal: signal, failure: failure,
		stepLock: make(chan struct{}, 1), loops: map[string]*queueLoop{},
	}
}

// add starts a loop for one more queue. It does nothing if the queue has one.
func (l *queueLoops) add(name string, q *queue.PoolQueue, step step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loops[name] != nil {
		return
	}
	loop := &queueLoop{name: name, queue: q, step: step, woken: make(chan struct{}, 1)}
	l.loops[name] = loop
	l.startLocked(loop)
	l.announceLocked()
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
	if loop.stop != nil {
		loop.stop()
	}
	l.announceLocked()
}

func (l *queueLoops) wake(name string) {
	l.mu.Lock()
	loop := l.loops[name]
	l.mu.Unlock()
	if loop != nil {
		loop.wake()
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
	for _, loop := range l.loops {
		l.startLocked(loop)
	}
	l.mu.Unlock()
	if !l.config.NoSignals {
		l.listen(ctx)
	}
	<-ctx.Done()
	l.mu.Lock()
	l.ctx = nil // no loop starts any more
	l.mu.Unlock()
	l.started.Wait()
	l.mu.Lock()
	l.running = false
	l.mu.Unlock()
	return context.Cause(ctx)
}

// startLocked starts a loop if the loops run.
func (l *queueLoops) startLocked(loop *queueLoop) {
	if l.ctx == nil {
		return
	}
	var ctx context.Context
	ctx, loop.stop = context.WithCancel(l.ctx)
	l.started.Go(func() { l.serve(ctx, loop) })
}

// announceLocked makes listen read the signals of the current set of loops.
func (l *queueLoops) announceLocked() {
	if l.changed != nil {
		l.changed()
	}
}

// serve calls the steps of one queue until ctx is done.
func (l *queueLoops) serve(ctx context.Context, loop *queueLoop) {
	for backoff := newRedisBackoff(); ctx.Err() == nil; {
		wait, err := l.lockedStep(ctx, loop)
		if err == nil {
			backoff.Reset()
			loop.sleep(ctx, wait)
			continue
		}
		l.pauseAfter(ctx, err, &backoff, "queue", loop.name) // signals do not end it
	}
}

// pauseAfter logs an error of Redis and pauses, unless ctx is done.
func (l *queueLoops) pauseAfter(ctx context.Context, err error, backoff *rdb.Backoff, attrs ...any) {
	if ctx.Err() == nil {
		pause := backoff.Next()
		l.config.Logger.With(attrs...).WarnContext(ctx, l.failure+": an error of Redis", "again_in", pause, "error", err)
		_ = rdb.Sleep(ctx, pause)
	}
}

// lockedStep calls a step while it holds the step lock, for at most maxStepLock.
func (l *queueLoops) lockedStep(ctx context.Context, loop *queueLoop) (time.Duration, error) {
	select {
	case l.stepLock <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	unlock := sync.OnceFunc(func() { <-l.stepLock })
	defer unlock()
	defer time.AfterFunc(maxStepLock, unlock).Stop()
	select {
	case <-loop.woken: // by this step
	default:
	}
	begin := time.Now()
	wait, err := loop.step(ctx)
	if err == nil && wait <= 0 {
		// This time includes the work of Redis for other clients: the busier it is,
		// the longer it is left to them.
		_ = rdb.Sleep(ctx, min(time.Since(begin), maxYield))
	}
	return wait, err
}

func (q *queueLoop) wake() {
	select {
	case q.woken <- struct{}{}:
	default: // it will make a step anyway
	}
}

// sleep blocks for d, until the loop is woken, or until ctx is done.
func (q *queueLoop) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-q.woken:
	case <-timer.C:
	}
}

// listen reads the signals of the queues and wakes their loops, until ctx is done.
func (l *queueLoops) listen(ctx context.Context) {
	cursors := map[string]queue.StreamCursor{}
	for backoff := newRedisBackoff(); ctx.Err() == nil; {
		current, stop := context.WithCancel(ctx)
		loops := l.all(stop)
		var err error
		if cursors, err = l.readSignals(ctx, loops, cursors); err == nil {
			backoff.Reset()
			err = l.awaitSignal(current, cursors)
		}
		outdated := current.Err() != nil
		stop()
		switch {
		case ctx.Err() != nil:
		case outdated:
			_ = rdb.Sleep(ctx, settleTime)
		case err != nil:
			l.pauseAfter(ctx, err, &backoff)
		}
	}
}

// all returns the loops. changed is called when their set changes.
func (l *queueLoops) all(changed context.CancelFunc) []*queueLoop {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
	return slices.Collect(maps.Values(l.loops))
}

// readSignals reads the signals after the cursors, wakes loops, and returns the next
// cursors.
func (l *queueLoops) readSignals(ctx context.Context, loops []*queueLoop, cursors map[string]queue.StreamCursor) (map[string]queue.StreamCursor, error) {
	next := make(map[string]queue.StreamCursor, len(loops))
	for _, loop := range loops {
		cursor, known := cursors[loop.name]
		signals, cursor, err := loop.queue.Signals(ctx, cursor)
		if err != nil {
			return cursors, err
		}
		next[loop.name] = cursor
		// A signal before the first cursor was not read.
		if !known || slices.ContainsFunc(signals, func(s queue.Signal) bool { return s.Kind == l.signal }) {
			loop.wake()
		}
	}
	return next, nil
}

// awaitSignal blocks until there may be a signal, or ctx is done.
func (l *queueLoops) awaitSignal(ctx context.Context, cursors map[string]queue.StreamCursor) error {
	if len(cursors) == 0 {
		<-ctx.Done()
		return nil
	}
	places := slices.Collect(maps.Values(cursors))
	for {
		begin := time.Now()
		keys, err := l.client.AwaitStreams(ctx, maxListen, places...)
		// A wait that ends early without keys has lost its connection: the next
		// call returns the error.
		if len(keys) > 0 || err != nil || time.Since(begin) < maxListen {
			return err
		}
	}
}
