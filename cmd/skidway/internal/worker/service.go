package worker

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/serve"
	"skidway/cmd/skidway/internal/telemetry"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/metrics"
)

// A service is a running worker process. Each configuration that it takes over starts
// a new generation of the pool; the rest stays.
type service struct {
	read      func() (*config, error) // reads the configuration again
	config    *config                 // the first one
	flags     *serve.Flags            // of the API and the dashboard
	printLine func(any) error         // to standard output

	db        *rdb.DB
	client    *queue.Client
	telemetry *telemetry.Telemetry // nil if the environment wants none
	metrics   *metrics.Metrics
	channels  *channelMetrics
	log       *slog.Logger
	level     slog.LevelVar
	signals   chan os.Signal
	alive     <-chan time.Time // ticks when systemd expects a sign of life

	generation  *generation                  // the current one, which takes jobs
	taking      atomic.Pointer[workers.Pool] // of the current generation, for other goroutines
	generations sync.WaitGroup               // those that run jobs
	started     []*generation                // those whose pool may still run
	over        chan *generation             // sends those that ended by themselves
	stopping    chan struct{}                // closed when the end begins
}

// run works until a signal ends it.
func (s *service) run(ctx context.Context, c *config) (err error) {
	s.config = c
	s.log = c.Log.logger(os.Stderr, &s.level)
	signal.Ignore(syscall.SIGHUP) // the configuration is new
	if err := s.flags.Complete(s.log); err != nil {
		return cli.InvalidAsUsage(err)
	}
	s.db, err = cli.OpenAt(ctx, c.Redis, c.Prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if s.db.Embedded() {
		return cli.WrongUsage("the embedded Redis is inside this process, so no other process can add jobs: give --redis the URL of a server")
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	defer s.telemetry.Stop(ctx)
	s.stopping, s.over, s.signals = make(chan struct{}), make(chan *generation), make(chan os.Signal, 4)
	signal.Notify(s.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(s.signals)
	listener, err := listen(c.Listen)
	if err != nil {
		return err
	}
	servers, err := s.listenServers()
	if err != nil {
		return errors.Join(err, listener.close())
	}
	if err := s.begin(ctx, c); err != nil {
		return errors.Join(configurationError(err), listener.close(), servers.Close())
	}
	defer s.answer(listener)()
	defer s.answerServers(ctx, servers)()
	defer s.tick()()
	s.log.Info("worker is ready", s.about(c)...)
	notifySystemd(daemon.SdNotifyReady)
	return s.serve(ctx)
}

// connect sets the client, the telemetry and the metrics, which all generations share.
func (s *service) connect(ctx context.Context) (err error) {
	if s.telemetry, err = telemetry.Start(ctx, handle.New(s.db), s.log, s.config.patterns()); err != nil {
		return err
	}
	s.client, err = queue.NewClient(handle.New(s.db), s.telemetry.Client(s.clientConfig()))
	if err == nil {
		s.metrics, s.channels = metrics.New(s.client), newChannelMetrics(handle.New(s.db))
		err = s.telemetry.Queues(handle.New(s.db), s.config.AllQueues)
	}
	return err
}

// clientConfig returns the configuration of the clients that add jobs, without telemetry.
func (s *service) clientConfig() queue.Config {
	return queue.Config{MaxPayload: int(s.config.Worker.MaxPayload), Middleware: []queue.Middleware{
		func(ctx context.Context, inserts []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
			return s.metrics.Enqueue(ctx, inserts, next)
		},
	}}
}

// patterns returns the queues of the configuration that are patterns.
func (c *config) patterns() (patterns []string) {
	for _, q := range c.Queues {
		if strings.ContainsAny(q.Name, "*?[") {
			patterns = append(patterns, q.Name)
		}
	}
	return patterns
}

// about returns the log attributes of the current generation.
func (s *service) about(c *config) []any {
	return []any{"worker", s.generation.pool.Name(), "queues", queueNames(c), "kinds", s.generation.kinds.names()}
}

// serve handles signals until the worker stops.
func (s *service) serve(ctx context.Context) error {
	for {
		select {
		case <-s.alive:
			notifySystemd(daemon.SdNotifyWatchdog)
		case over := <-s.over:
			if over == s.generation { // by 'skidway workers stop'
				return errors.Join(over.err, s.stop(ctx))
			}
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), s.stop(context.WithoutCancel(ctx)))
		case got := <-s.signals:
			if got != syscall.SIGHUP {
				return s.stop(ctx)
			}
			s.reload(ctx)
		}
	}
}

// stop ends all generations: gently, or at once after another signal.
func (s *service) stop(ctx context.Context) error {
	close(s.stopping)
	notifySystemd(daemon.SdNotifyStopping)
	s.log.Info("stopping: waiting for running jobs; a second signal stops at once",
		"drain", cmp.Or(time.Duration(s.generation.worker.Drain), workers.DefaultDrain), "grace", cmp.Or(time.Duration(s.generation.worker.Grace), workers.DefaultGrace))
	ended := make(chan struct{})
	go func() {
		_ = s.generation.pool.Stop(ctx) // the error is that of Run, which is reported there
		s.generations.Wait()
		close(ended)
	}()
	for {
		select {
		case <-s.alive:
			notifySystemd(daemon.SdNotifyWatchdog)
		case <-ended:
			s.log.Info("stopped")
			return nil
		case got := <-s.signals:
			if got != syscall.SIGHUP {
				for _, h := range s.started {
					h.kinds.kill()
				}
				return errors.New("stopped at once: the jobs that ran are run again when their lease is over")
			}
		}
	}
}

// tick starts the signs of life for systemd, if it expects any.
func (s *service) tick() (end func()) {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("WATCHDOG_USEC can't be read", "error", err)
	}
	if watchdog == 0 {
		return func() {}
	}
	ticker := time.NewTicker(watchdog / 2)
	s.alive = ticker.C
	return ticker.Stop
}

// notifySystemd sends a state to systemd, if it started this process.
func notifySystemd(state string) { _, _ = daemon.SdNotify(false, state) }

// reloadTimeout bounds the time in which a new configuration is stored in Redis.
const reloadTimeout = 5 * time.Second

// errReload is the cause of a reload that took too long.
var errReload = errors.New("redis did not take it over within " + reloadTimeout.String())

// reload reads the configuration again and begins a generation with it, if it is
// valid.
func (s *service) reload(ctx context.Context) {
	notifySystemd(daemon.SdNotifyReloading)
	defer notifySystemd(daemon.SdNotifyReady)
	if s.generation.pool.IsQuiet() { // a new generation would take jobs again
		s.log.Warn("told to take no more jobs: the configuration is not read again")
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTimeout, errReload)
	defer cancel()
	c, err := s.read()
	if err == nil {
		err = s.begin(ctx, c)
	}
	if err != nil {
		s.log.Error("the new configuration can't be used; the old one stays", "error", err)
		return
	}
	s.level.Set(c.Log.level())
	for _, setting := range s.config.needsRestart(c) {
		s.log.Warn("a setting has changed that needs a restart: the old one stays", "setting", setting)
	}
	s.log.Info("new configuration; jobs that run go on under the old one", s.about(c)...)
}

// needsRestart returns the settings that differ in the next configuration and take
// effect only after a restart, sorted.
func (c *config) needsRestart(next *config) []string {
	changes := map[string]bool{
		"redis": c.Redis != next.Redis, "prefix": c.Prefix != next.Prefix, "listen": c.Listen != next.Listen,
		"queue_metrics": c.AllQueues != next.AllQueues, "log.format": c.Log.Format != next.Log.Format,
		"worker.max_payload": c.Worker.MaxPayload != next.Worker.MaxPayload,
	}
	maps.DeleteFunc(changes, func(_ string, changed bool) bool { return !changed })
	return slices.Sorted(maps.Keys(changes))
}

// logger returns a logger with the format of the configuration, and sets level.
func (c *logConfig) logger(out io.Writer, level *slog.LevelVar) *slog.Logger {
	level.Set(c.level())
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// level returns the lowest level that is logged.
func (c *logConfig) level() slog.Level {
	var level slog.Level
	if c.Level != "" {
		_ = level.UnmarshalText([]byte(c.Level))
	}
	return level
}

func queueNames(c *config) []string {
	names := make([]string, len(c.Queues))
	for i, q := range c.Queues {
		names[i] = q.Name
	}
	return names
}
