package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/distribute/stream"
)

// A Worker counts files for one subscriber, or for several with one download and one
// decompression of each file. It is made by [NewWorker]; Work is called once. A subscriber
// may have any number of workers, in any number of processes: each file is counted once.
type Worker struct {
	channel       *Channel
	subscriptions []*subscription
	config        WorkerConfig
	stop          *stopSignal
	lines         atomic.Int64 // committed
	shown         atomic.Int64 // the highest result of Progress
	active        atomic.Int32 // files that are being counted
	windows       *stream.Windows
	aside         asideFiles
	reshipGrace   time.Duration // how long an abandoned upload may take to be shipped again
	lookInterval  time.Duration // between two looks for small files, while others are counted
	detourMu      sync.Mutex    // held while small files are counted in between
	detoured      atomic.Int64  // when that ended, ms
	detourTook    atomic.Int64  // how long that took, ns

	queueMu sync.Mutex // held by the goroutine that looks for a file, also while it waits
	queues  claimQueues

	mu       sync.Mutex // guards what follows, the tallies of subscriptions, and calls of Notify
	problems []*stream.FileError
}

// A subscription is one of the subscribers of a worker.
type subscription struct {
	subscriber  string
	aggregation agingAggregation
	claims      claims
	tally       Tally
}

// A WorkResult is what one worker has read and counted. A line that an earlier count
// read without its end is in both tallies; the sums of a report count it once.
type WorkResult struct {
	Tally       Tally               // of all subscribers of the worker together
	Subscribers map[string]Tally    // of each of them
	Problems    []*stream.FileError // files that were counted in part or not at all: the latest 1000
}

// An AbandonedError names files whose upload was abandoned and that were not
// shipped again: they are not counted to their end.
type AbandonedError struct{ Files []string }

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("not counted to their end, because their shipper gave up or died: %s: ship them again", strings.Join(e.Files, ", "))
}

// reshipLeases is the number of leases that a worker with UntilDone waits for an abandoned
// upload to be shipped again.
const reshipLeases = 2

// NewWorker subscribes to a channel and returns a worker. A nil config is the
// zero one; for an invalid one the error is a ConfigError. If the subscriber has
// other settings than the aggregation, it is a SettingsError.
func NewWorker(ctx context.Context, channel *Channel, subscriber string, aggregation Aggregation, config *WorkerConfig) (*Worker, error) {
	c := config.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	w := &Worker{channel: channel, config: c, stop: newStopSignal()}
	w.windows = stream.NewWindows(cmp.Or(c.MaxWindow, DefaultWindows))
	w.aside.windows = w.windows
	w.reshipGrace, w.lookInterval = reshipLeases*w.config.Lease, lookInterval
	w.detoured.Store(time.Now().UnixMilli())
	w.config.Notify = w.config.Notify.guarded(&w.mu)
	if err := w.AddSubscriber(ctx, subscriber, aggregation); err != nil {
		return nil, err
	}
	return w, nil
}

// AddSubscriber makes the worker count for one more subscriber. Each file that the worker
// can claim for several subscribers is downloaded and decompressed once for all of them;
// each has its own aggregation, claim and commits. Its errors are those of NewWorker. It
// must be called before Work.
func (w *Worker) AddSubscriber(ctx context.Context, subscriber string, aggregation Aggregation) error {
	if slices.Contains(w.queues.subscribers(), subscriber) {
		return fmt.Errorf("the worker counts for subscriber %q already", subscriber)
	}
	if err := w.channel.Subscribe(ctx, subscriber, aggregation.Settings()); err != nil {
		return err
	}
	if counting, ok := aggregation.(*Counting); ok {
		key, err := w.channel.visitorKey(ctx, subscriber)
		if err != nil {
			return err
		}
		aggregation = counting.withVisitors(key)
	}
	added := &claimQueue{channel: w.channel, subscriber: subscriber, settings: aggregation.Settings(), lease: w.config.Lease, aside: &w.aside, notify: w.config.Notify}
	if !w.config.UntilDone { // such a worker must not end before it has looked
		added.lookInterval = w.config.Lease / 2
	}
	w.queues.add(added)
	w.subscriptions = append(w.subscriptions, &subscription{
		subscriber: subscriber, aggregation: agingAggregation{Aggregation: aggregation, retention: w.channel.retention(subscriber, aggregation.Settings())},
	})
	return nil
}

// subscription returns the worker's subscription with a name, which must be one of its
// subscribers.
func (w *Worker) subscription(subscriber string) *subscription {
	return w.subscriptions[slices.IndexFunc(w.subscriptions, func(s *subscription) bool { return s.subscriber == subscriber })]
}

// Stop makes Work return after the files that are being counted. It may be called
// at any time, by any goroutine, and more than once.
func (w *Worker) Stop() { w.stop.stop() }

// Progress returns how many lines this worker has counted, for all its subscribers
// together, including those of the files that it is counting. It never decreases. It is
// safe for concurrent use.
func (w *Worker) Progress() int64 {
	lines := w.lines.Load()
	for _, s := range w.subscriptions {
		for _, c := range s.claims.list() {
			lines += c.lines.Load()
		}
	}
	for {
		shown := w.shown.Load() // lines are in no sum while they are being committed
		if lines <= shown {
			return shown
		}
		if w.shown.CompareAndSwap(shown, lines) {
			return lines
		}
	}
}

// Work claims and counts files until ctx is done, Stop is called or, with
// UntilDone, all is counted. Between files it blocks in Redis. When ctx is done
// it releases its claims; other workers count the rest of those files. With UntilDone, an
// upload that was abandoned and not shipped again is an AbandonedError. If all subscribers
// are removed meanwhile, the error is ErrNoSubscriber; if the channel is gone, because Redis
// has lost it, ErrNoChannel. The result is valid even if there is an error.
func (w *Worker) Work(ctx context.Context) (WorkResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := heartbeat(ctx, min(w.config.Lease, DefaultLease)/3, w.renew) // see [Laggard.Gone]
	var slots sync.WaitGroup
	for range w.config.Workers {
		slots.Go(func() {
			if err := w.workSlot(ctx); err != nil {
				cancel(err)
			}
		})
	}
	slots.Wait()
	stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	result := WorkResult{Subscribers: map[string]Tally{}, Problems: w.problems}
	var names []string
	for _, s := range w.subscriptions {
		result.Tally.Add(s.tally)
		result.Subscribers[s.subscriber] = s.tally
		names = append(names, strconv.Quote(s.subscriber))
	}
	if err := context.Cause(ctx); err != nil {
		if errors.Is(err, ErrNoSubscriber) && w.isGone(ctx) {
			err = errGone
		}
		return result, fmt.Errorf("work on channel %q for subscriber %s: %w", w.channel.name, strings.Join(names, ", "), err)
	}
	return result, nil
}

// isGone reports whether the channel does not exist any more.
func (w *Worker) isGone(ctx context.Context) bool {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	return errors.Is(w.channel.checkVersion(ctx), ErrNoChannel)
}

// renew is the worker's heartbeat: for each subscriber it records that a worker lives, and
// renews its claims. While Redis is away claims may expire; the next heartbeat, or the
// commit, finds out.
func (w *Worker) renew(ctx context.Context) {
	present := w.queues.subscribers()
	for _, s := range w.subscriptions {
		if slices.Contains(present, s.subscriber) { // else it is another one that was created under the name
			w.renewClaims(ctx, s)
		}
	}
}

func (w *Worker) renewClaims(ctx context.Context, s *subscription) {
	held := s.claims.list()
	args := []any{s.subscriber, w.config.Lease.Milliseconds()}
	for _, c := range held {
		args = append(args, c.id, c.token)
	}
	lost, err := w.channel.call(ctx, renewScript, target{subscriber: s.subscriber}, args...)
	if err != nil {
		return
	}
	for _, id := range lost.Texts() {
		for _, c := range held {
			if c.id == id {
				c.cancel(errClaimLost)
			}
		}
	}
}

// workSlot counts one file after the other.
func (w *Worker) workSlot(ctx context.Context) error {
	for {
		claims, err := w.next(ctx)
		if err != nil || len(claims) == 0 {
			return err
		}
		if err := w.process(ctx, claims, false); err != nil {
			return err
		}
	}
}

// next blocks until it has claimed a file; it returns no claims if the work is done.
// One goroutine at a time looks and waits, so that idle slots cost Redis nothing.
func (w *Worker) next(ctx context.Context) ([]*claim, error) {
	w.queueMu.Lock()
	defer w.queueMu.Unlock()
	for !w.stop.isStopped() {
		since, err := w.channel.latestWake(ctx)
		if err != nil {
			return nil, err
		}
		// Before the files: what a shipper announced before it ended is then
		// found.
		started, ending, err := w.channel.shippers(ctx)
		if err != nil {
			return nil, err
		}
		freed := w.windows.Freed()
		found, err := w.queues.next(ctx)
		if found.blocked && len(found.claims) == 0 && err == nil {
			found.claims, err = w.queues.nextSmall(ctx, maxDetour)
		}
		if err != nil || len(found.claims) > 0 {
			return found.claims, err
		}
		if err := w.cleanUp(ctx); err != nil {
			return nil, err
		}
		pause := w.config.Lease / 2
		switch {
		case found.pending:
			pause = min(pause, max(found.retryIn, time.Millisecond))
		case w.config.UntilDone && started && ending == 0:
			if pause, err = w.reshipPause(ctx); err != nil || pause <= 0 {
				return nil, err
			}
		}
		if !found.blocked {
			freed = nil
		}
		since.marks = append(since.marks, found.rested...)
		if err := w.channel.wait(ctx, since, pause, w.stop.stopped, freed); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// cleanUp finishes what dead processes left, while there is no file to count.
func (w *Worker) cleanUp(ctx context.Context) error {
	if err := w.channel.files.sweep(ctx); err != nil {
		return err
	}
	for _, subscriber := range w.queues.subscribers() {
		if err := w.channel.totals(subscriber).tidy(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reshipPause returns how long to wait, when all is counted, for abandoned
// uploads to be shipped again: their shipper may be restarting. Zero means that
// there are none; an AbandonedError, that the wait is over.
func (w *Worker) reshipPause(ctx context.Context) (time.Duration, error) {
	ids, newest, err := w.channel.files.abandoned(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	now, err := w.channel.now(ctx)
	if err != nil {
		return 0, err
	}
	if left := w.reshipGrace - now.Sub(newest); left > 0 {
		return left, nil
	}
	names, err := w.channel.files.abandonedNames(ctx)
	if err != nil {
		return 0, err
	}
	return 0, &AbandonedError{names}
}

// addTally adds what was committed for a subscriber to its tally.
func (w *Worker) addTally(s *subscription, read Tally) {
	w.lines.Add(read.Lines)
	w.mu.Lock()
	defer w.mu.Unlock()
	s.tally.Add(read)
}

// record adds a committed result for a subscriber to those of the worker.
func (w *Worker) record(s *subscription, name string, result *fileResult) {
	w.addTally(s, result.read)
	problem := result.failure
	if problem == nil && result.damage != nil {
		problem = result.damage
	}
	event := Event{
		Kind: EventCounted, Subscriber: s.subscriber, File: name, Lines: result.lines, Reading: result.reading, Problem: result.progress.problem(name),
	}
	if problem != nil {
		event.Kind, event.Err = EventFailed, problem
	}
	w.config.Notify.send(event)
	w.mu.Lock()
	defer w.mu.Unlock()
	if problem != nil {
		w.addProblemLocked(&stream.FileError{Path: name, Err: problem})
	}
}

// addProblemLocked adds a problem instead of an earlier one of the file, and removes the oldest one
// beyond maxProblems: a worker need not end.
func (w *Worker) addProblemLocked(problem *stream.FileError) {
	w.problems = append(slices.DeleteFunc(w.problems, func(earlier *stream.FileError) bool { return earlier.Path == problem.Path }), problem)
	if len(w.problems) > maxProblems {
		w.problems = slices.Delete(w.problems, 0, 1)
	}
}
