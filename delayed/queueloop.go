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

	// One of several loops of a queue comes on time, and the others between
	// these after it. The longer leaves a margin to the promise of 250 ms.
	minBackupDelay = 50 * time.Millisecond
	maxBackupDelay = 200 * time.Millisecond

	// maxYield is the longest that a loop with more to do leaves Redis alone
	// between two steps.
	maxYield = 10 * time.Millisecond

	// maxStepLock is how long one step can keep the others waiting, as where
	// one node of a cluster does not answer.
	maxStepLock = 2 * maxYield

	// maxListen bounds one blocked read. A read whose set of queues is out of
	// date goes on until then and keeps its connection.
	maxListen = 2 * time.Second

	// settleTime gathers changes of the set of queues, so that only a few such
	// reads are left behind.
	settleTime = 250 * time.Millisecond
)

// redisBackoff is the wait after an error of Redis, which itself comes only when
// the patience of a call is used up.
var redisBackoff = Backoff{First: 100 * time.Millisecond, Most: 30 * time.Second}

// A step does what is due in one queue, up to some amount, and returns the wait
// until the next step: zero where more is due.
type step func(ctx context.Context) (wait time.Duration, err error)

// waitUntil returns the wait until the next time of a queue, which is below zero
// where there is none. first reports whether this loop is the one to come on
// time. Redis rounds its clock down, so the time has come when the wait is over.
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
	queue *queue.PoolQueue // whose signals wake the loop
	step  step
	woken chan struct{} // holds at most one
	stop  context.CancelFunc
}

// queueLoops call a step for each of some queues whenever something is due in
// it, or a signal says so. The steps of different queues follow one another.
type queueLoops struct {
	db     *rdb.DB          // where signals are read; nil: the owner calls wake
	signal queue.SignalKind // that wakes a loop

	stepFailed   func(ctx context.Context, queue string, wait time.Duration, err error)
	listenFailed func(ctx context.Context, wait time.Duration, err error)

	stepLock chan struct{} // held for a step, and given in the order of request

	mu      sync.Mutex
	loops   map[string]*queueLoop
	running bool
	ctx     context.Context    // of the loops; nil while none may start
	started sync.WaitGroup     // a goroutine for each loop
	changed context.CancelFunc // tells the listener of another set of loops
}

func newQueueLoops(db *rdb.DB, signal queue.SignalKind) *queueLoops {
	return &queueLoops{db: db, signal: signal, stepLock: make(chan struct{}, 1), loops: map[string]*queueLoop{}}
}

// add serves one more queue. It does nothing if the queue is served already.
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

// remove ends the loop of a queue, without waiting for a step under way.
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

// run serves the queues until ctx is done, waits for steps under way and returns
// the cause of ctx's end. A second run at the same time is an error.
func (l *queueLoops) run(ctx context.Context) error {
	l.mu.Lock()
	if l.running {
		l.mu.Unlock()
		return errors.New("this mover runs already: call Run once, or make another one")
	}
	l.running, l.ctx = true, ctx
	for _, loop := range l.loops {
		l.startLocked(loop)
	}
	l.mu.Unlock()
	if l.db != nil {
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

// announceLocked tells the listener that the set of loops has changed.
func (l *queueLoops) announceLocked() {
	if l.changed != nil {
		l.changed()
	}
}

// serve calls the steps of one queue until ctx is done.
func (l *queueLoops) serve(ctx context.Context, loop *queueLoop) {
	failures := 0
	for ctx.Err() == nil {
		wait, err := l.lockedStep(ctx, loop)
		if err == nil {
			failures = 0
			loop.sleep(ctx, wait)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		failures++
		wait = redisBackoff.Wait(failures)
		l.stepFailed(ctx, loop.name, wait, err)
		_ = rdb.Sleep(ctx, wait) // a signal does not end it: Redis is still in trouble
	}
}

// lockedStep calls a step while it holds the step lock.
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
	case <-loop.woken: // this step is the answer
	default:
	}
	begin := time.Now()
	wait, err := loop.step(ctx)
	if err == nil && wait <= 0 {
		// The time as seen from here counts what others made Redis do
		// meanwhile: the busier it is, the longer it is left to others.
		_ = rdb.Sleep(ctx, min(time.Since(begin), maxYield))
	}
	return wait, err
}

func (q *queueLoop) wake() {
	select {
	case q.woken <- struct{}{}:
	default: // it has a step before it anyway
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

// listen wakes loops by the signals of their queues until ctx is done.
func (l *queueLoops) listen(ctx context.Context) {
	marks := map[string]rdb.Mark{}
	failures := 0
	for ctx.Err() == nil {
		current, stop := context.WithCancel(ctx)
		loops := l.all(stop)
		var err error
		if marks, err = l.hear(ctx, loops, marks); err == nil {
			failures = 0
			err = l.awaitSignal(current, marks)
		}
		outdated := current.Err() != nil
		stop()
		switch {
		case ctx.Err() != nil:
		case outdated:
			_ = rdb.Sleep(ctx, settleTime)
		case err != nil:
			failures++
			wait := redisBackoff.Wait(failures)
			l.listenFailed(ctx, wait, err)
			_ = rdb.Sleep(ctx, wait)
		}
	}
}

// all returns the loops, and has changed called when they are no longer all.
func (l *queueLoops) all(changed context.CancelFunc) []*queueLoop {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
	return slices.Collect(maps.Values(l.loops))
}

// hear reads the signals after the marks, wakes loops, and returns the marks to
// go on with.
func (l *queueLoops) hear(ctx context.Context, loops []*queueLoop, marks map[string]rdb.Mark) (map[string]rdb.Mark, error) {
	next := make(map[string]rdb.Mark, len(loops))
	for _, loop := range loops {
		mark, known := marks[loop.name]
		signals, mark, err := loop.queue.Signals(ctx, mark)
		if err != nil {
			return marks, err
		}
		next[loop.name] = mark
		// What came before the first mark was not heard.
		if !known || slices.ContainsFunc(signals, func(s queue.Signal) bool { return s.Kind == l.signal }) {
			loop.wake()
		}
	}
	return next, nil
}

// awaitSignal blocks until there is a signal, there may be one, or ctx is done.
func (l *queueLoops) awaitSignal(ctx context.Context, marks map[string]rdb.Mark) error {
	if len(marks) == 0 {
		<-ctx.Done()
		return nil
	}
	places := slices.Collect(maps.Values(marks))
	for {
		begin := time.Now()
		news, err := l.db.Wait(ctx, maxListen, places...)
		// A wait that ends early without news has lost its connection:
		// the next call finds out.
		if news || err != nil || time.Since(begin) < maxListen {
			return err
		}
	}
}
