package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/metrics"
)

// A service is a running worker: a pool, which a new configuration replaces,
// and what stays beside it.
type service struct {
	read func() (*config, error) // the configuration, again

	db      *rdb.DB
	client  *queue.Client
	metrics *metrics.Metrics
	log     *slog.Logger
	kinds   *kindSet

	pool     *workers.Pool
	pools    sync.WaitGroup // those that run
	crashed  chan error     // of a pool that ended by itself
	stopping chan struct{}  // closed when the end begins
}

// run works until a signal ends it.
func (s *service) run(ctx context.Context, c *config) (err error) {
	if s.log, err = c.Log.logger(os.Stderr); err != nil {
		return err
	}
	s.db, err = openAt(ctx, c.Redis, c.Prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if s.db.Embedded() {
		return wrongUsage("the embedded Redis ends with this process, so nobody could add jobs: give --redis the URL of a server")
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.stopping, s.crashed = make(chan struct{}), make(chan error, 1)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := s.begin(ctx, c); err != nil {
		return configurationError(err)
	}
	stopListening, err := s.listen(c.Listen)
	if err != nil {
		return errors.Join(err, s.stop(ctx, signals))
	}
	defer stopListening()
	s.log.Info("worker is ready", "worker", s.pool.Name(), "queues", queueNames(c), "kinds", s.kinds.names())
	notifySystemd(daemon.SdNotifyReady)
	return s.serve(ctx, signals)
}

// connect makes what stays from one configuration to the next.
func (s *service) connect() (err error) {
	s.client, err = queue.New(s.db, queue.Config{Middleware: []queue.Middleware{
		func(ctx context.Context, inserts []queue.Insert, next func(context.Context, []queue.Insert) []queue.Result) []queue.Result {
			return s.metrics.Enqueue(ctx, inserts, next)
		},
	}})
	if err == nil {
		s.metrics = metrics.New(s.client)
	}
	return err
}

// serve obeys signals until the worker is to end.
func (s *service) serve(ctx context.Context, signals <-chan os.Signal) error {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("WATCHDOG_USEC can't be read", "error", err)
	}
	var alive <-chan time.Time
	if watchdog > 0 {
		ticker := time.NewTicker(watchdog / 2)
		defer ticker.Stop()
		alive = ticker.C
	}
	for {
		select {
		case <-alive:
			notifySystemd(daemon.SdNotifyWatchdog)
		case err := <-s.crashed:
			return fmt.Errorf("the worker's pool ended: %w", err)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), s.stop(context.Background(), signals))
		case got := <-signals:
			if got != syscall.SIGHUP {
				return s.stop(ctx, signals)
			}
			s.reload(ctx)
		}
	}
}

// begin starts a pool by a configuration, instead of the one that runs, which
// may end what it has begun.
func (s *service) begin(ctx context.Context, c *config) error {
	set, err := newKindSet(s.db, c)
	if err != nil {
		return err
	}
	settings := c.Worker.settings()
	settings.Queues, settings.Hooks, settings.Logger = c.queues(), s.metrics.Hooks(), s.log
	pool, err := workers.New(s.db, s.client, settings)
	if err != nil {
		set.close()
		return err
	}
	set.handle(pool)
	if err := s.schedule(ctx, c); err != nil {
		set.close()
		return err
	}
	old := s.pool
	s.pool, s.kinds = pool, set
	s.pools.Go(func() {
		err := pool.Run(context.Background()) // until it is stopped
		set.close()
		if err != nil {
			select {
			case s.crashed <- err:
			default:
			}
		}
	})
	if old != nil {
		s.pools.Go(func() { _ = old.Stop(context.Background()) }) // its Run tells
	}
	return nil
}

// schedule stores the schedules of a configuration. One that Redis has from a
// newer configuration stays.
func (s *service) schedule(ctx context.Context, c *config) error {
	for _, one := range c.Schedules {
		schedule, err := one.schedule(c.Revision)
		if err == nil {
			_, err = delayed.AddSchedule(ctx, s.client, schedule)
		}
		var newer *queue.RevisionError
		switch {
		case errors.As(err, &newer) && newer.Outdated():
			s.log.Warn("a newer configuration has changed a schedule: it stays as that says", "schedule", one.Name, "error", err)
		case err != nil:
			return &configError{c.place(), one.line, fmt.Errorf("schedule %s: %w", one.Name, err)}
		}
	}
	return nil
}

// reload takes over the configuration as it is now, if it is right.
func (s *service) reload(ctx context.Context) {
	notifySystemd(daemon.SdNotifyReloading)
	defer notifySystemd(daemon.SdNotifyReady)
	c, err := s.read()
	if err == nil {
		err = s.begin(ctx, c)
	}
	if err != nil {
		s.log.Error("the new configuration can't be used; the old one stays", "error", err)
		return
	}
	s.log.Info("new configuration", "worker", s.pool.Name(), "queues", queueNames(c), "kinds", s.kinds.names())
}

// stop ends all pools: gently, or at once when another signal comes.
func (s *service) stop(ctx context.Context, signals <-chan os.Signal) error {
	close(s.stopping)
	notifySystemd(daemon.SdNotifyStopping)
	s.log.Info("stopping: running jobs may end, the others go back; once more stops at once")
	ended := make(chan struct{})
	go func() {
		_ = s.pool.Stop(ctx) // its Run tells
		s.pools.Wait()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			s.log.Info("stopped")
			select {
			case err := <-s.crashed:
				return err
			default:
				return nil
			}
		case got := <-signals:
			if got != syscall.SIGHUP {
				return errors.New("stopped at once: the jobs that ran are run again when their lease is over")
			}
		}
	}
}

// notifySystemd tells systemd how the service stands, where it asks for that.
func notifySystemd(state string) { _, _ = daemon.SdNotify(false, state) }

func queueNames(c *config) []string {
	names := make([]string, len(c.Queues))
	for i, q := range c.Queues {
		names[i] = q.Name
	}
	return names
}

// logger logs as the configuration says.
func (c *logConfig) logger(out io.Writer) (*slog.Logger, error) {
	options := &slog.HandlerOptions{}
	if c.Level != "" {
		var level slog.Level
		if err := level.UnmarshalText([]byte(c.Level)); err != nil {
			return nil, fmt.Errorf("log.level: %w", err)
		}
		options.Level = level
	}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return slog.New(slog.NewTextHandler(out, options)), nil
}
