package workers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/queue"
)

// A Pool runs the jobs of some queues. All methods are safe for concurrent use.
type Pool struct {
	db      *rdb.DB
	client  *queue.Client
	config  Config
	name    string
	born    time.Time
	log     *slog.Logger
	kinds   sync.Map // name → *kind
	unknown *kind
	mover   *delayed.Mover
	crons   *delayed.Cron

	aloneWait, aloneWindow time.Duration // see alone.go; tests have less time

	kick   notification  // the dispatcher has something to look at
	quietC chan struct{} // closed: no more jobs are taken
	stopC  chan struct{} // closed: running handlers have until the drain is over
	endC   chan struct{} // closed: Run has returned

	changedAbout notification // what the worker says of itself is out of date
	respecified  notification // there may be other patterns

	leases atomic.Int64    // leases, so that none has the name of another
	life   context.Context // of a run, for what must go on until all is written
	live   sync.WaitGroup  // its goroutines
	tended sync.WaitGroup  // those of its sources

	mu       sync.Mutex
	started  bool
	quiet    bool
	stopping bool
	queues   []*servedQueue
	served   []Queue   // what is to be served, by name or pattern
	slots    int       // runners that run or look for a job
	stuck    int       // handlers that were left behind and go on
	buffered int       // jobs that are held and not started
	progress time.Time // when a runner last took a job
	watching bool      // that what is buffered gets its turn
	suspects []*attempt
	alone    *attempt      // the suspect that no job is started beside
	since    time.Time     // when the first of the suspects began to wait
	pace     time.Duration // about how long handlers take
	fair     float64       // what the least served of the queues has had
	ended    chan struct{} // closed when no runner has a slot, once somebody waits for it
	changed  chan struct{} // closed and replaced when sources change
}

// New makes a pool. Give it handlers, then call [Pool.Run].
func New(db *rdb.DB, client *queue.Client, config Config) (*Pool, error) {
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	p := &Pool{
		db: db, client: client, config: config, log: config.Logger, unknown: unknownKind(),
		name: workerName(config.Name), born: time.Now(), served: config.Queues,
		aloneWait: aloneWait, aloneWindow: aloneWindow,
		kick: newNotification(), quietC: make(chan struct{}), stopC: make(chan struct{}), endC: make(chan struct{}),
		changed: make(chan struct{}), changedAbout: newNotification(), respecified: newNotification(),
	}
	p.mover = delayed.NewMover(nil, delayed.MoverConfig{Name: p.name, Logger: config.Logger})
	p.crons = delayed.NewCron(nil, delayed.CronConfig{Name: p.name, Logger: config.Logger})
	Handle(p, p.forward, Kind{})
	return p, nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// workerName is new for every pool: a name is never used again.
func workerName(name string) string {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	name = notInNames.ReplaceAllString(name, "-")
	return name[:min(len(name), 80)] + "-" + strings.ToLower(rand.Text()[:10])
}

// Name is the name of this worker, as others see it.
func (p *Pool) Name() string { return p.name }

// ErrStarted says that a pool's Run was called a second time.
var ErrStarted = errors.New("this pool was run before: make a new one")

// Run runs jobs until ctx is done or the pool is stopped, and returns when all
// is handed back or written. When ctx is done, running handlers get
// [Config.Drain] to end. While Redis is away it keeps running what runs and
// goes on by itself. A pool runs once.
func (p *Pool) Run(ctx context.Context) error {
	p.mu.Lock()
	if p.started {
		p.mu.Unlock()
		return ErrStarted
	}
	p.started = true
	stopped := p.stopping
	p.mu.Unlock()
	defer close(p.endC)
	if stopped {
		return nil
	}
	return p.run(ctx)
}

func (p *Pool) run(ctx context.Context) error {
	// What must go on until all is written lives as long as life; what
	// takes more jobs ends earlier.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	taking, quiet := context.WithCancel(life)
	defer quiet()
	p.mu.Lock()
	p.life = life
	p.serveNamed()
	p.mu.Unlock()
	p.live.Go(func() { p.listen(life) })
	p.live.Go(func() { p.describe(life) })
	p.live.Go(func() { _ = p.mover.Run(life) }) // they end with life
	p.live.Go(func() { _ = p.crons.Run(life) })
	var take sync.WaitGroup
	take.Go(func() { p.discover(taking) })
	take.Go(func() { p.dispatch(life, taking) })

	select {
	case <-ctx.Done():
		p.Quiet()
	case <-p.quietC:
	}
	quiet()
	take.Wait()
	for p.rereadLost(life) && !p.awaitStop(ctx, firstPause) {
	}
	p.handBackBuffered()
	p.news()

	select {
	case <-ctx.Done():
	case <-p.stopC:
	}
	p.news()
	p.drain(p.config.Drain)
	p.closeSources(life)
	end()
	p.live.Wait()
	return nil
}

// Quiet makes the pool take no more jobs; those that run go on. It doesn't
// block.
func (p *Pool) Quiet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		p.quiet = true
		close(p.quietC)
	}
}

// IsQuiet reports whether the pool was told to take no more jobs, by [Pool.Quiet],
// [Pool.Stop], or a signal.
func (p *Pool) IsQuiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet
}

// Stop makes the pool take no more jobs and blocks until Run has returned: when
// running handlers have ended, or [Config.Drain] is over and their jobs are
// handed back. If ctx is done before, it returns the cause and the stopping
// goes on. It may be called before Run and more than once.
func (p *Pool) Stop(ctx context.Context) error {
	p.stop()
	p.mu.Lock()
	started := p.started
	p.mu.Unlock()
	if !started {
		return nil
	}
	select {
	case <-p.endC:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Pool) stop() {
	p.Quiet()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopping {
		p.stopping = true
		close(p.stopC)
	}
}

// wake lets the dispatcher look again.
func (p *Pool) wake() { p.kick.send() }

// A notification wakes the one goroutine that receives from it. What is sent
// before it receives is received once.
type notification chan struct{}

func newNotification() notification { return make(notification, 1) }

// send does not block.
func (n notification) send() {
	select {
	case n <- struct{}{}:
	default:
	}
}
