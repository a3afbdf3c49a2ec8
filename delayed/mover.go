package delayed

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
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
	db   *rdb.DB
	name string
	log  *slog.Logger
	turn turn

	mu      sync.Mutex
	posts   map[string]*post
	running bool
	ctx     context.Context    // of the posts; nil while none may start
	keepers sync.WaitGroup     // a goroutine for each post
	changed context.CancelFunc // tells the listener of another set of posts
}

// NewMover makes a mover for queues, which may be none at first. On db, the
// Redis of the queues, it listens for jobs that are due before all others, all
// the time on one connection. A nil db makes it deaf: then its owner reads the
// queues' signals and calls [Mover.Wake], as a worker's pool does.
func NewMover(db *rdb.DB, config MoverConfig, queues ...*queue.Queue) *Mover {
	m := &Mover{db: db, name: config.Name, log: config.Logger, turn: newTurn(), posts: map[string]*post{}}
	if m.name == "" {
		m.name = rand.Text()
	}
	if m.log == nil {
		m.log = slog.Default()
	}
	for _, q := range queues {
		m.Add(q)
	}
	return m
}

// A source is what a mover needs of a [queue.Queue].
type source interface {
	Name() string
	MoveDue(ctx context.Context, who string) (queue.Moved, error)
	Signals(ctx context.Context, mark rdb.Mark) ([]queue.Signal, rdb.Mark, error)
}

// Add makes the mover serve one more queue, at once if it runs. A queue that it
// serves already is left as it is.
func (m *Mover) Add(q *queue.Queue) { m.add(q) }

func (m *Mover) add(q source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.posts[q.Name()] != nil {
		return
	}
	p := &post{queue: q, woken: make(chan struct{}, 1)}
	m.posts[q.Name()] = p
	m.start(p)
	m.announce()
}

// Remove makes the mover leave a queue, if it serves it. It does not wait for a
// step that is under way.
func (m *Mover) Remove(queue string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.posts[queue]
	if p == nil {
		return
	}
	delete(m.posts, queue)
	if p.leave != nil {
		p.leave()
	}
	m.announce()
}

// Wake makes the mover look at a queue at once: on a [queue.SignalDue]. It does
// not block; a queue that the mover doesn't serve is passed over.
func (m *Mover) Wake(queue string) {
	m.mu.Lock()
	p := m.posts[queue]
	m.mu.Unlock()
	if p != nil {
		p.wake()
	}
}

// Run moves jobs until ctx is done, waits for steps that are under way and
// gives the cause of ctx's end. While Redis is away it tries again with growing
// pauses, for ever. Only one Run at a time is allowed; a second gives an error
// at once.
func (m *Mover) Run(ctx context.Context) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	if m.db != nil {
		m.listen(ctx)
	}
	<-ctx.Done()
	m.end()
	return context.Cause(ctx)
}

func (m *Mover) begin(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		return errors.New("this mover runs already: call Run once, or make another one")
	}
	m.running, m.ctx = true, ctx
	for _, p := range m.posts {
		m.start(p)
	}
	return nil
}

// end waits for all posts. First it keeps new ones from starting.
func (m *Mover) end() {
	m.mu.Lock()
	m.ctx = nil
	m.mu.Unlock()
	m.keepers.Wait()
	m.mu.Lock()
	m.running = false
	m.mu.Unlock()
}

// start puts a goroutine on a post while the mover runs. m.mu is held.
func (m *Mover) start(p *post) {
	if m.ctx == nil {
		return
	}
	var ctx context.Context
	ctx, p.leave = context.WithCancel(m.ctx)
	m.keepers.Go(func() { m.keep(ctx, p) })
}

// announce tells the listener. m.mu is held.
func (m *Mover) announce() {
	if m.changed != nil {
		m.changed()
	}
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
