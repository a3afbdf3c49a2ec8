package delayed

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// vouchFor is how long after a watch has looked a time that falls due is
	// late, and not missed, though nobody looks any more.
	vouchFor = 30 * time.Second

	// vouchAgain is how often it looks while a time is that near: one that
	// ends between two looks has vouched for 20 s at least.
	vouchAgain = 10 * time.Second
)

// CronConfig of a [Cron]. The zero value is ready to use.
type CronConfig struct {
	// Name tells this watch from all others: it must be random and never
	// used again, as a worker's name is. Empty: it makes one up.
	Name string

	// Logger is told what can't be fired, and what was missed; nil means
	// [slog.Default].
	Logger *slog.Logger
}

// A Cron watches the schedules of some queues and adds their jobs when they fall
// due. Any number may watch a queue: each time fires once. Its duties:
//
//  1. It sleeps until the next time by Redis's clock, and is woken when a
//     schedule is added, changed or removed.
//  2. Where several watch a queue, one comes on time and the others 50 to
//     200 ms later, in case that one is dead.
//  3. While a time is near it vouches in Redis that somebody watches, so that
//     what is merely late is told from what was missed.
//  4. A schedule that it can't read is logged once, and holds up no other.
//
// All methods are safe for concurrent use.
type Cron struct {
	mover *Mover // sleeps, wakes, takes turns: a watch is a mover of times
	log   *slog.Logger
}

// NewCron makes a watch for queues, which may be none at first. On db, the Redis
// of the queues, it listens for changes of schedules, all the time on one
// connection. A nil db makes it deaf: then its owner reads the queues' signals
// and calls [Cron.Wake], as a worker's pool does.
func NewCron(db *rdb.DB, config CronConfig, queues ...*queue.Queue) *Cron {
	log := config.Logger
	if log == nil {
		log = slog.Default()
	}
	// What goes wrong is logged here, in words that speak of schedules.
	quiet := MoverConfig{Name: config.Name, Logger: slog.New(slog.DiscardHandler)}
	c := &Cron{mover: NewMover(db, quiet), log: log}
	for _, q := range queues {
		c.Add(q)
	}
	return c
}

// Add makes it watch one more queue, at once if it runs. A queue that it watches
// already is left as it is.
func (c *Cron) Add(q *queue.Queue) { c.mover.add(newWatch(q, c.log)) }

// Remove makes it leave a queue, if it watches it. It does not wait for a step
// that is under way.
func (c *Cron) Remove(queue string) { c.mover.Remove(queue) }

// Wake makes it look at a queue at once: on a [queue.SignalSchedule]. It does not
// block; a queue that it doesn't watch is passed over.
func (c *Cron) Wake(queue string) { c.mover.Wake(queue) }

// Run fires schedules until ctx is done, waits for steps that are under way and
// gives the cause of ctx's end. While Redis is away it tries again with growing
// pauses, for ever. Only one Run at a time is allowed; a second gives an error
// at once.
func (c *Cron) Run(ctx context.Context) error { return c.mover.Run(ctx) }

// A watch is one queue that is watched.
type watch struct {
	*queue.Queue
	log *slog.Logger

	unreadable map[string]string // versions by name of schedules that it can't read
}

func newWatch(q *queue.Queue, log *slog.Logger) *watch {
	return &watch{q, log.With(slog.String("queue", q.Name())), map[string]string{}}
}

// Signals gives the signals that wake a mover: here, those about schedules.
func (w *watch) Signals(ctx context.Context, mark rdb.Mark) ([]queue.Signal, rdb.Mark, error) {
	signals, mark, err := w.Queue.Signals(ctx, mark)
	var due []queue.Signal
	for _, signal := range signals {
		if signal.Do == queue.SignalSchedule {
			due = append(due, queue.Signal{Do: queue.SignalDue})
		}
	}
	return due, mark, err
}

// MoveDue fires what is due, and says when to look again.
func (w *watch) MoveDue(ctx context.Context, who string) (queue.Moved, error) {
	found, err := w.DueSchedules(ctx, who, vouchFor, w.unreadable)
	for i := range found.Due {
		err = errors.Join(err, w.fire(ctx, &found.Due[i], &found))
	}
	switch {
	case err != nil:
		if ctx.Err() == nil {
			w.log.WarnContext(ctx, "schedules may fire late: can't fire those that are due, and will try again", slog.Any("err", err))
		}
		return queue.Moved{}, err
	case len(found.Due) > 0:
		return queue.Moved{Jobs: len(found.Due), Mine: true, More: true}, nil
	case found.Next > vouchFor:
		return queue.Moved{Next: found.Next - vouchFor, Mine: true}, nil
	case found.Next > vouchAgain:
		return queue.Moved{Next: vouchAgain, Mine: true}, nil
	}
	return queue.Moved{Next: found.Next, Mine: found.Mine}, nil
}

// fire fires one schedule, as far as one step goes.
func (w *watch) fire(ctx context.Context, due *queue.DueSchedule, found *queue.DueSchedules) error {
	if due.Err != nil {
		w.passOver(ctx, due, due.Err)
		return nil
	}
	table, err := parseTimetable(due.Expr, due.Zone)
	if err != nil {
		w.passOver(ctx, due, err)
		return nil
	}
	p := planOf(table, due, found, due.MostFirings())
	fired, err := w.FireSchedule(ctx, due, p.fire, p.next)
	switch {
	case errors.Is(err, queue.ErrInvalid):
		w.passOver(ctx, due, err)
		return nil
	case fired && p.skipped:
		w.log.InfoContext(ctx, "a schedule fell due while nobody watched, and not all of these times fire",
			slog.String("schedule", due.Name), slog.String("catch_up", string(due.CatchUp)),
			slog.Time("first", due.At), slog.Time("next", p.next))
	}
	return err
}

// passOver leaves a schedule alone until it is changed. It stays in Redis as it
// is: another release, or a machine that knows more zones, may read it.
func (w *watch) passOver(ctx context.Context, due *queue.DueSchedule, err error) {
	if len(w.unreadable) >= queue.MaxSchedules { // of most of them nothing is left
		clear(w.unreadable)
	}
	w.unreadable[due.Name] = due.Version
	w.log.ErrorContext(ctx, "a schedule can't be read and doesn't fire: add it again, or remove it",
		slog.String("schedule", due.Name), slog.Any("err", err))
}
