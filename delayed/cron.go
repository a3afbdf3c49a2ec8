package delayed

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"skidway/queue"
)

const (
	// A time that comes within lateGrace after the last check is late: it fires.
	// One that comes later is missed, and [queue.CatchUp] decides.
	lateGrace = 30 * time.Second

	// renewGrace is the time between two checks before a time comes, so that the
	// grace has at least 20 s left then.
	renewGrace = 10 * time.Second

	// maxCronBackoff is the maximal pause of a [Cron] after an error of Redis. A full
	// Redis refuses to fire schedules, but records the check before that. The checks
	// must follow within the grace, or times that come meanwhile would be missed.
	maxCronBackoff = 10 * time.Second

	// maxUnreadable bounds the schedules of a queue that a watch remembers as
	// unreadable. A queue has at most as many schedules.
	maxUnreadable = 1000
)

// A Cron watches the schedules of some queues and adds their jobs when they are due.
// Several may watch a queue: each time fires once.
//
//  1. It sleeps until the next time by Redis's clock. A signal wakes it when a
//     schedule is added, changed or removed.
//  2. If several watch a queue, one of them comes on time and the others 50 to 200 ms
//     later, in case that the first has died.
//  3. Shortly before each time it records in Redis that the queue is watched, so that
//     a late time can be distinguished from one that was missed.
//  4. It logs a schedule that it cannot read once, and fires the others.
//
// A Cron is safe for concurrent use.
type Cron struct {
	name  string
	log   *slog.Logger
	loops *queueLoops
}

// NewCron returns a Cron that watches some queues of the client's Redis; others can be
// added later. A nil config means the defaults.
func NewCron(client *queue.Client, config *Config, queues ...*queue.PoolQueue) *Cron {
	conf := config.withDefaults()
	c := &Cron{conf.Name, conf.Logger, newQueueLoops(client, conf, maxCronBackoff, "schedules may fire late")}
	for _, q := range queues {
		c.Add(q)
	}
	return c
}

// Add makes the Cron watch one more queue. It does nothing if the queue is watched
// already.
func (c *Cron) Add(q *queue.PoolQueue) { c.loops.add(q.Name(), q, newWatch(q, c.name, c.log).step) }

// Remove makes the Cron leave a queue. It does not wait for a running step.
func (c *Cron) Remove(queue string) { c.loops.remove(queue) }

// Wake makes the Cron look at a queue at once, as after a [queue.SignalSchedule]. It
// does not block, and does nothing if the queue is not watched.
func (c *Cron) Wake(queue string) { c.loops.wake(queue) }

// Run fires schedules until ctx is done, waits for running steps, and returns the
// cause of the end of ctx. After an error of Redis it tries again, with growing
// pauses. A second Run at the same time returns an error.
func (c *Cron) Run(ctx context.Context) error { return c.loops.run(ctx) }

// A watch watches one queue.
type watch struct {
	*queue.PoolQueue
	watcher string // its name in Redis
	log     *slog.Logger

	unreadable map[string]string // versions of the schedules that it cannot read, by name
}

func newWatch(q *queue.PoolQueue, watcher string, log *slog.Logger) *watch {
	return &watch{q, watcher, log.With("queue", q.Name()), map[string]string{}}
}

// step fires the schedules that are due.
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
		w.ignore(ctx, due, due.Err)
		return nil
	}
	table, err := parseTimetable(due.Expr, due.Zone)
	if err != nil {
		w.ignore(ctx, due, err)
		return nil
	}
	p := planOf(table, due, found, due.MaxFirings())
	fired, err := w.FireSchedule(ctx, due, p.fire, p.next)
	switch {
	case errors.Is(err, queue.ErrInvalid):
		w.ignore(ctx, due, err)
		return nil
	case fired && p.skipped:
		w.log.InfoContext(ctx, "a schedule was not watched while it was due: not all of these times fire",
			"schedule", due.Name, "catch_up", due.CatchUp, "first", due.At, "next", p.next)
	}
	return err
}

// ignore ignores a schedule until it is changed. It stays in Redis: another release,
// or a host with more time zones, may be able to read it.
func (w *watch) ignore(ctx context.Context, due *queue.DueSchedule, err error) {
	if len(w.unreadable) >= maxUnreadable { // most of them no longer exist
		clear(w.unreadable)
	}
	w.unreadable[due.Name] = due.Version
	w.log.ErrorContext(ctx, "a schedule cannot be read and does not fire: add it again, or remove it",
		"schedule", due.Name, "error", err)
}

// MaxCatchUp is the maximal number of past times that fire, whether they are late or
// were missed with [queue.CatchUpAll]: the newest ones, the oldest of them first.
const MaxCatchUp = 1000

// maxMissed returns the number of missed times that fire; they are the newest ones.
func maxMissed(policy queue.CatchUp) int {
	switch policy {
	case queue.CatchUpAll:
		return MaxCatchUp
	case queue.CatchUpLast:
		return 1
	}
	return 0
}

// A plan has the times for which a schedule that is due fires.
type plan struct {
	fire    []time.Time
	next    time.Time
	skipped bool // some missed times do not fire
}

// planOf returns the times for which a schedule fires now, at most maxTimes, and the
// next time. It depends only on what Redis has stored, so that another watch that goes
// on after a crash has the same plan.
func planOf(table *timetable, due *queue.DueSchedule, found *queue.DueSchedules, maxTimes int) plan {
	var p plan
	resumed := false
	at := due.At
	// Late times fire, but not without limit: no watch may have been able to read
	// the schedule for months while it watched the others.
	if from := table.resume(at, found.Now, MaxCatchUp); !from.IsZero() {
		p.skipped = !from.Equal(at)
		at = from
	}
	for ; !at.IsZero() && !at.After(found.Now) && len(p.fire) < maxTimes; at = table.next(at) {
		if missed := at.After(found.Old) && at.Before(found.Since); missed && !resumed {
			resumed = true
			from := table.resume(at, found.Since, maxMissed(due.CatchUp))
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

// resume returns the first time, at itself or a later one, from which at most maxTimes
// times lie before end.
func (t *timetable) resume(at, end time.Time, maxTimes int) time.Time {
	if maxTimes > 0 && !t.more(at, end, maxTimes-1) {
		return at
	}
	if !t.more(at, end, maxTimes) {
		return t.next(at)
	}
	// After low there are more, after high there are not. A binary search, because a
	// schedule of each second may not have been watched for years.
	low, high := at, end
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		if t.more(middle, end, maxTimes) {
			low = middle
		} else {
			high = middle
		}
	}
	return t.next(high)
}

// more reports whether more than n times lie after one time and before end.
func (t *timetable) more(after, end time.Time, n int) bool {
	for range n + 1 {
		if after = t.next(after); after.IsZero() || !after.Before(end) {
			return false
		}
	}
	return true
}
