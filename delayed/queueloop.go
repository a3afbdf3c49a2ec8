package delayed

import (
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

	cursor queue.StreamCursor // of its signals
	unread atomic.Bool        // there may be signals after the cursor
}

// queueLoops calls a step for each of some queues whenever something is due in it, or a
// signal wakes it. The steps of different queues run one after another.
type queueLoops struct {
	client  *queue.Client
	config  Config
	failure string // what an error of Redis means, for the log

	stepLock chan struct{} // held during a step, and acquired in the order of request

	mu      sync.Mutex
	loops   map[string]*queueLoop
	running bool
	ctx     context.Context // of the loops; nil while none may start
	watch   *queue.Watch    // of the signals of all queues; nil: the owner calls wake
	started sync.WaitGroup  // a goroutine for each loop, and the watch
}

func newQueueLoops(client *queue.Client, config Config, failure string) *queueLoops {
	return &queueLoops{
		client: client, config: config, failure: failure,
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
	if !l.config.NoSignals {
		watch := l.client.NewWatch(l.config.Logger)
		l.started.Go(func() { watch.Run(ctx) })
		l.watch = watch
	}
	for _, loop := range l.loops {
		l.startLocked(loop)
	}
	l.mu.Unlock()
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
	watch := l.watch
	loop.unread.Store(watch != nil)
	l.started.Go(func() { l.serve(ctx, loop, watch) })
}

// serve calls the steps of one queue until ctx is done: after a wait, and when it has new
// signals.
func (l *queueLoops) serve(ctx context.Context, loop *queueLoop, watch *queue.Watch) {
	if watch != nil {
		defer watch.Remove(loop)
	}
	for backoff := newRedisBackoff(); ctx.Err() == nil; {
		var wait time.Duration
		err := loop.readSignals(ctx, watch)
		if err == nil {
			wait, err = l.lockedStep(ctx, loop)
		}
		switch {
		case err != nil:
			l.pauseAfter(ctx, err, &backoff, loop.name) // signals do not end it
		case loop.unread.Load():
			backoff.Reset()
		default:
			backoff.Reset()
			loop.sleep(ctx, wait)
		}
	}
}

// readSignals moves the cursor behind the signals that there are, of any kind: the next
// step finds what they are about. The loop is woken by those that come later.
func (q *queueLoop) readSignals(ctx context.Context, watch *queue.Watch) error {
	if !q.unread.Load() {
		return nil
	}
	_, cursor, err := q.queue.Signals(ctx, q.cursor)
	if err != nil {
		return err
	}
	q.cursor = cursor
	q.unread.Store(false)
	watch.Set(q, func() {
		q.unread.Store(true)
		q.wake()
	}, cursor)
	return nil
}

// pauseAfter logs an error of Redis and pauses, unless ctx is done.
func (l *queueLoops) pauseAfter(ctx context.Context, err error, backoff *rdb.Backoff, queue string) {
	if ctx.Err() == nil {
		pause := backoff.Next()
		l.config.Logger.WarnContext(ctx, l.failure+": an error of Redis", "queue", queue, "again_in", pause, "error", err)
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
