package delayed

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"skidway/queue"
)

// maxMoverBackoff is the maximal pause of a [Mover] after an error of Redis.
const maxMoverBackoff = 30 * time.Second

// Config configures a [Mover] or a [Cron]. The zero value is ready to use.
type Config struct {
	// Name identifies the Mover or Cron in Redis. It must be random and never be
	// used again, as a worker's name; empty means a new one.
	Name string

	// Logger logs errors of Redis and times that were missed; nil means
	// [slog.Default].
	Logger *slog.Logger

	// NoSignals is set if the owner reads the signals of the queues itself and
	// calls Wake, as a worker pool does. Otherwise a [queue.Watch] waits for them.
	NoSignals bool
}

func (c *Config) withDefaults() Config {
	if c == nil {
		c = &Config{}
	}
	return Config{cmp.Or(c.Name, rand.Text()), cmp.Or(c.Logger, slog.Default()), c.NoSignals}
}

// A Mover moves the delayed jobs of some queues into their lines when they are due:
//
//  1. It sleeps until the next job is due by Redis's clock, and at most a minute,
//     because clocks may jump. A queue without delayed jobs is looked at every five
//     minutes, or less often if there are thousands.
//  2. A signal wakes it when a job is added that is due before all others.
//  3. If several movers serve a queue, one of them comes on time and the others 50
//     to 200 ms later, in case that the first has died.
//  4. If very many jobs are due it moves some hundred in each step. The queues take
//     turns, and after each step it leaves Redis to other clients for as long as the
//     step took.
//
// A Mover is safe for concurrent use.
type Mover struct {
	name  string
	loops *queueLoops
}

// NewMover returns a mover of some queues of the client's Redis; others can be added
// later. A nil config means the defaults.
func NewMover(client *queue.Client, config *Config, queues ...*queue.PoolQueue) *Mover {
	c := config.withDefaults()
	m := &Mover{c.Name, newQueueLoops(client, c, maxMoverBackoff, "delayed jobs wait")}
	for _, q := range queues {
		m.Add(q)
	}
	return m
}

// Add makes the mover serve one more queue. It does nothing if the queue is served
// already.
func (m *Mover) Add(q *queue.PoolQueue) {
	m.loops.add(q.Name(), q, func(ctx context.Context) (time.Duration, error) {
		moved, err := q.MoveDue(ctx, m.name)
		return waitUntil(moved.Next, moved.Waker), err
	})
}

// Remove makes the mover leave a queue. It does not wait for a running step.
func (m *Mover) Remove(queue string) { m.loops.remove(queue) }

// Wake makes the mover look at a queue at once, as after a [queue.SignalDue]. It does
// not block, and does nothing if the queue is not served.
func (m *Mover) Wake(queue string) { m.loops.wake(queue) }

// Run moves jobs until ctx is done, waits for running steps, and returns the cause of
// the end of ctx. After an error of Redis it tries again, with growing pauses. A second
// Run at the same time returns an error.
func (m *Mover) Run(ctx context.Context) error { return m.loops.run(ctx) }
