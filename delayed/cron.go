package delayed

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// A time that falls due within lateGrace of the last check is late: it
	// fires. After that it is missed, and [queue.CatchUp] decides.
	lateGrace = 30 * time.Second

	// renewGrace is the time between checks while a time is that near: one
	// that comes between two checks has 20 s of grace at least.
	renewGrace = 10 * time.Second
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
	name  string
	log   *slog.Logger
	loops *queueLoops
}

// NewCron makes a watch for queues, which may be none at first. On db, the Redis
// of the queues, it listens for changes of schedules, all the time on one
// connection. A nil db makes it deaf: then its owner reads the queues' signals
// and calls [Cron.Wake], as a worker's pool does.
func NewCron(db *rdb.DB, config CronConfig, queues ...*queue.PoolQueue) *Cron {
	c := &Cron{cmp.Or(config.Name, rand.Text()), cmp.Or(config.Logger, slog.Default()), newQueueLoops(db, queue.SignalSchedule)}
	c.loops.stepFailed = func(ctx context.Context, queue string, _ time.Duration, err error) {
		c.log.WarnContext(ctx, "schedules may fire late: can't fire those that are due, and will try again",
			slog.String("queue", queue), slog.Any("err", err))
	}
	c.loops.listenFailed = func(context.Context, time.Duration, error) {} // then steps fail too
	for _, q := range queues {
		c.Add(q)
	}
	return c
}

// Add makes it watch one more queue, at once if it runs. A queue that it watches
// already is left as it is.
func (c *Cron) Add(q *queue.PoolQueue) { c.loops.add(q.Name(), q, newWatch(q, c.name, c.log).step) }

// Remove makes it leave a queue, if it watches it. It does not wait for a step
// that is under way.
func (c *Cron) Remove(queue string) { c.loops.remove(queue) }

// Wake makes it look at a queue at once: on a [queue.SignalSchedule]. It does not
// block; a queue that it doesn't watch is passed over.
func (c *Cron) Wake(queue string) { c.loops.wake(queue) }

// Run fires schedules until ctx is done, waits for steps that are under way and
// returns the cause of ctx's end. While Redis is away it tries again with growing
// pauses, for ever. Only one Run at a time is allowed; a second returns an error
// at once.
func (c *Cron) Run(ctx context.Context) error { return c.loops.run(ctx) }

// A watch is one queue that is watched.
type watch struct {
	*queue.PoolQueue
	watcher string // its name in Redis
	log     *slog.Logger

	unreadable map[string]string // versions by name of schedules that it can't read
}

func newWatch(q *queue.PoolQueue, watcher string, log *slog.Logger) *watch {
	return &watch{q, watcher, log.With(slog.String("queue", q.Name())), map[string]string{}}
}

// step fires what is due.
func (w *watch) step(ctx context.Context) (wait time.Duration, err error) {
	found, err := w.DueSchedules(ctx, w.watcher, lateGrace, w.unreadable)
	for i := range found.Due {
		err = errors.Join(err, w.fire(ctx, &found.Due[i], &found))
	}
	switch {
	case err != nil || len(found.Due) > 0:
		return 0, err
	case found.Next > lateGrace:
		return min(found.Next-lateGrace, maxWait), nil
	case found.Next > renewGrace:
		return renewGrace, nil
	}
	return waitUntil(found.Next, found.Waker), nil
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
	p := planOf(table, due, found, due.MaxFirings())
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

// MaxCatchUp is how many times before now fire at most, be they late, or missed
// with [queue.CatchUpAll]: the newest of them, oldest first.
const MaxCatchUp = 1000

// caughtUp is how many of the times that were missed fire: the newest ones.
func caughtUp(how queue.CatchUp) int {
	switch how {
	case queue.CatchUpAll:
		return MaxCatchUp
	case queue.CatchUpLast:
		return 1
	}
	return 0
}

// A plan is what to do with a schedule that is due.
type plan struct {
	fire    []time.Time
	next    time.Time
	skipped bool // times that were missed are passed over
}

// planOf says for which times, at most so many, a schedule is to fire now, and
// which is the next one. It depends on nothing but what Redis holds: whoever
// goes on, after a crash too, comes to the same end.
func planOf(table *timetable, due *queue.DueSchedule, found *queue.DueSchedules, most int) plan {
	var p plan
	resumed := false
	at := due.At
	// What is late fires, but not without end: nobody may have been able to read
	// the schedule for months, though others were watched.
	if from := table.resume(at, found.Now, MaxCatchUp); !from.IsZero() {
		p.skipped = !from.Equal(at)
		at = from
	}
	for ; !at.IsZero() && !at.After(found.Now) && len(p.fire) < most; at = table.next(at) {
		if missed := at.After(found.Old) && at.Before(found.Since); missed && !resumed {
			resumed = true
			from := table.resume(at, found.Since, caughtUp(due.CatchUp))
			p.skipped = p.skipped || !from.Equal(at)
			if at = from; at.After(found.Now) {
				break
			}
		}
		p.fire = append(p.fire, at)
	}
	p.next = at
	return p
}

// resume gives the first time, at itself or a later one, from which on at most so
// many lie before the end.
func (t *timetable) resume(at, end time.Time, most int) time.Time {
	if most > 0 && !t.more(at, end, most-1) {
		return at
	}
	if !t.more(at, end, most) {
		return t.next(at)
	}
	// After low there are more, after high there are not. It is searched, not
	// counted: a schedule of each second may have been asleep for years.
	low, high := at, end
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		if t.more(middle, end, most) {
			low = middle
		} else {
			high = middle
		}
	}
	return t.next(high)
}

// more reports whether more times than so many lie after one and before the end.
func (t *timetable) more(after, end time.Time, most int) bool {
	for range most + 1 {
		if after = t.next(after); after.IsZero() || !after.Before(end) {
			return false
		}
	}
	return true
}
