package worker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"skidway/delayed"
	"skidway/internal/handle"
	"skidway/queue"
	"skidway/workers"
)

// A generation is a pool with the kinds of one configuration. When the next one
// begins it takes no more jobs, and it ends when its jobs have ended, however long
// that takes: until then both count as workers.
type generation struct {
	pool   *workers.Pool
	kinds  *kindSet
	worker workerConfig
	err    error         // of the pool; set before over is closed
	over   chan struct{} // closed when its pool has ended

	mu      sync.Mutex
	running int           // handlers
	retired bool          // it takes no more jobs
	idle    chan struct{} // closed when it is retired and runs nothing
}

func (s *service) newGeneration(c *config) (*generation, error) {
	set, err := newKindSet(handle.New(s.db), s.telemetry, c)
	if err != nil {
		return nil, err
	}
	h := &generation{kinds: set, worker: c.Worker, over: make(chan struct{}), idle: make(chan struct{})}
	settings := c.Worker.settings()
	settings.Queues, settings.Hooks, settings.Logger = c.queues(), s.metrics.Hooks(), s.log
	settings.Middleware = []workers.Middleware{h.count}
	s.telemetry.Pool(&settings)
	if err := settings.Validate(); err != nil {
		set.close()
		return nil, c.wrong("worker", "%w", err)
	}
	h.pool = workers.NewPool(s.client, &settings)
	for _, handle := range set.handlers() {
		handle(h.pool)
	}
	return h, nil
}

// count is middleware that counts the handlers that run.
func (h *generation) count(next workers.Handler) workers.Handler {
	return func(ctx context.Context, job *queue.Job) error {
		h.change(1)
		defer h.change(-1)
		return next(ctx, job)
	}
}

func (h *generation) change(by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running += by
	h.closeIdleLocked()
}

// closeIdleLocked closes idle if the generation is retired and runs nothing.
func (h *generation) closeIdleLocked() {
	if h.retired && h.running == 0 {
		select {
		case <-h.idle:
		default:
			close(h.idle)
		}
	}
}

// run runs the pool until it is stopped.
func (h *generation) run(s *service) {
	defer s.metrics.AddPool(h.pool)()
	h.err = h.pool.Run(context.Background())
	h.kinds.close()
	s.log.Info("pool has ended", "worker", h.pool.Name())
	close(h.over)
	select {
	case s.over <- h:
	case <-s.stopping:
	}
}

// hasEnded reports whether the pool has ended.
func (h *generation) hasEnded() bool {
	select {
	case <-h.over:
		return true
	default:
		return false
	}
}

// retire makes the generation take no more jobs. Those that it runs go on until they
// end, or the service does.
func (h *generation) retire(s *service) {
	h.pool.Quiet()
	h.mu.Lock()
	h.retired = true
	h.closeIdleLocked()
	h.mu.Unlock()
	s.generations.Go(func() {
		select {
		case <-h.idle:
		case <-s.stopping:
		case <-h.over:
		}
		_ = h.pool.Stop(context.Background()) // the error is that of Run
	})
}

// begin starts a generation with a configuration, and retires the current one.
func (s *service) begin(ctx context.Context, c *config) error {
	next, err := s.newGeneration(c)
	if err != nil {
		return err
	}
	if err := s.store(ctx, c); err != nil {
		next.kinds.close()
		return err
	}
	if s.generation != nil {
		s.generation.retire(s)
	}
	s.generation = next
	s.started = append(slices.DeleteFunc(s.started, (*generation).hasEnded), next)
	s.taking.Store(next.pool)
	s.generations.Go(func() { next.run(s) })
	s.channels.watch(c.Channels)
	return nil
}

// storeQueue writes what a configuration says of a queue to Redis.
func (s *service) storeQueue(ctx context.Context, one queueConfig) error {
	if one.Retention == nil && one.Events == nil {
		return nil
	}
	q, err := s.client.ForPool(one.Name)
	if err != nil {
		return err
	}
	if one.Retention != nil {
		if err := q.SetRetention(ctx, one.Retention.settings()); err != nil {
			return err
		}
	}
	if one.Events == nil {
		return nil
	}
	kept, err := q.EventsKept(ctx)
	if err != nil || kept == int(*one.Events) {
		return err
	}
	return q.KeepEvents(ctx, int(*one.Events))
}

// store writes the queues and schedules of a configuration to Redis. A schedule that is
// refused by its revision prevents all writes.
func (s *service) store(ctx context.Context, c *config) error {
	var unstored []scheduleConfig
	for _, one := range c.Schedules {
		newer, err := s.isNewer(ctx, c, one)
		if err != nil {
			return err
		}
		if newer {
			unstored = append(unstored, one)
		} else if err := s.schedule(ctx, c, one); err != nil { // never replaces the stored one
			return err
		}
	}
	for _, one := range c.Queues {
		if err := s.storeQueue(ctx, one); err != nil {
			return err
		}
	}
	for _, one := range unstored {
		if err := s.schedule(ctx, c, one); err != nil {
			return err
		}
	}
	return nil
}

// isNewer reports whether Redis has no such schedule, or one of a lower revision.
func (s *service) isNewer(ctx context.Context, c *config, one scheduleConfig) (bool, error) {
	schedule, err := one.schedule(c.Revision)
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", one.Name, err)
	}
	stored, err := delayed.Schedule(ctx, s.client, schedule.Queue, schedule.Name)
	switch {
	case errors.Is(err, queue.ErrNoSchedule):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("schedule %q: %w", one.Name, err)
	}
	return stored.Revision < schedule.Revision, nil // zero if it is malformed
}

// schedule stores a schedule, unless Redis has it from a newer configuration.
func (s *service) schedule(ctx context.Context, c *config, one scheduleConfig) error {
	schedule, err := one.schedule(c.Revision)
	if err == nil {
		_, err = delayed.AddSchedule(ctx, s.client, schedule)
	}
	var revision *queue.RevisionError
	isRevision := errors.As(err, &revision)
	switch {
	case err == nil:
		s.warnUnserved(c, one)
		return nil
	case isRevision && revision.Given < revision.Stored:
		s.log.Warn("a newer configuration has changed a schedule: its values stay", "schedule", one.Name, "error", err)
		return nil
	}
	err = fmt.Errorf("schedule %q: %w", one.Name, err)
	if isRevision || errors.Is(err, queue.ErrInvalid) {
		err = &configError{c.file, one.line, err}
	}
	return err
}

// warnUnserved warns of a schedule in a queue that this worker does not serve: it
// fires only while another worker does.
func (s *service) warnUnserved(c *config, one scheduleConfig) {
	name := one.Job.Options.Queue
	if name == "" {
		name = queue.DefaultQueue
	}
	for _, q := range c.Queues {
		if matches, _ := path.Match(q.Name, name); matches {
			return
		}
	}
	s.log.Warn("a schedule is in a queue that this worker does not serve: it fires only while another one does", "schedule", one.Name, "queue", name)
}
