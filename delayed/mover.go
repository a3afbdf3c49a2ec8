package delayed

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// MoverConfig of a [Mover]. The zero value is ready to use.
type MoverConfig struct {
	// Name tells this mover from all others: it must be random and never
	// used again, as a worker's name is. Empty: the mover makes one up.
	Name string

	// Logger is told when a queue can't be moved; nil means [slog.Default].
	Logger *slog.Logger
}

// A Mover moves the delayed jobs of some queues into their lines when their
// time has come. Its duties:
//
//  1. It sleeps until the next job is due, by the answer of Redis and so by
//     Redis's clock, and looks again each minute because clocks jump.
//  2. It is woken when a job comes that is due before all others.
//  3. Where several movers serve a queue, one of them comes on time and the
//     others 50 to 200 ms later, in case that one is dead.
//  4. When very many jobs are due it moves them in steps of some hundred.
//     Queues take turns, and after each step all of them leave Redis to
//     others for as long as the step took.
//
// All methods are safe for concurrent use.
type Mover struct {
	name  string
	loops *queueLoops
}

// NewMover makes a mover for queues, which may be none at first. On db, the
// Redis of the queues, it listens for jobs that are due before all others, all
// the time on one connection. A nil db makes it deaf: then its owner reads the
// queues' signals and calls [Mover.Wake], as a worker's pool does.
func NewMover(db *rdb.DB, config MoverConfig, queues ...*queue.PoolQueue) *Mover {
	log := cmp.Or(config.Logger, slog.Default())
	m := &Mover{cmp.Or(config.Name, rand.Text()), newQueueLoops(db, queue.SignalDue)}
	m.loops.stepFailed = func(ctx context.Context, queue string, wait time.Duration, err error) {
		log.WarnContext(ctx, "delayed jobs wait: can't move those that are due",
			slog.String("queue", queue), slog.Duration("again_in", wait), slog.Any("err", err))
	}
	m.loops.listenFailed = func(ctx context.Context, wait time.Duration, err error) {
		log.WarnContext(ctx, "delayed jobs may be late: can't listen for new ones",
			slog.Duration("again_in", wait), slog.Any("err", err))
	}
	for _, q := range queues {
		m.Add(q)
	}
	return m
}

// Add makes the mover serve one more queue, at once if it runs. A queue that it
// serves already is left as it is.
func (m *Mover) Add(q *queue.PoolQueue) {
	m.loops.add(q.Name(), q, func(ctx context.Context) (time.Duration, error) {
		moved, err := q.MoveDue(ctx, m.name)
		return waitUntil(moved.Next, moved.Waker), err
	})
}

// Remove makes the mover leave a queue, if it serves it. It does not wait for a
// step that is under way.
func (m *Mover) Remove(queue string) { m.loops.remove(queue) }

// Wake makes the mover look at a queue at once: on a [queue.SignalDue]. It does
// not block; a queue that the mover doesn't serve is passed over.
func (m *Mover) Wake(queue string) { m.loops.wake(queue) }

// Run moves jobs until ctx is done, waits for steps that are under way and
// returns the cause of ctx's end. While Redis is away it tries again with growing
// pauses, for ever. Only one Run at a time is allowed; a second returns an error
// at once.
func (m *Mover) Run(ctx context.Context) error { return m.loops.run(ctx) }
