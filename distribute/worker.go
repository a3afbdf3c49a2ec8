package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// WorkerConfig configures a [Worker]. The zero value is ready to use.
type WorkerConfig struct {
	// Workers is the number of files that are counted at the same time; zero means one
	// for each processor.
	Workers int

	// Lease is how long a claim stays valid after the worker's last
	// heartbeat; zero means DefaultLease.
	Lease time.Duration

	// CommitBytes and CommitInterval bound the work that is done again after a worker
	// dies: it commits what it has counted of a file after so many bytes of content,
	// or that time, whichever comes first. Zero means DefaultCommitBytes and
	// DefaultCommitInterval.
	CommitBytes    int64
	CommitInterval time.Duration

	// UntilDone makes Work return when something was shipped, every shipper
	// that does not follow has ended, and all files are counted.
	UntilDone bool

	// MaxWindow is the largest window that compressed files may need, in bytes; zero
	// means [stream.DefaultMaxWindow]. Each of Workers may use that much memory.
	MaxWindow int64

	Notify Notify
}

// Defaults of [WorkerConfig].
const (
	DefaultCommitBytes    = 64 << 20
	DefaultCommitInterval = 5 * time.Second
)

func (c *WorkerConfig) withDefaults() WorkerConfig {
	var config WorkerConfig
	if c != nil {
		config = *c
	}
	config.Workers = cmp.Or(config.Workers, runtime.GOMAXPROCS(0))
	config.Lease = cmp.Or(config.Lease, DefaultLease)
	config.CommitBytes = cmp.Or(config.CommitBytes, DefaultCommitBytes)
	config.CommitInterval = cmp.Or(config.CommitInterval, DefaultCommitInterval)
	return config
}

func (c WorkerConfig) validate() error {
	return errors.Join(checkNotNegative("Workers", c.Workers), checkNotNegative("Lease", c.Lease),
		checkNotNegative("CommitBytes", c.CommitBytes), checkNotNegative("CommitInterval", c.CommitInterval),
		checkNotNegative("MaxWindow", c.MaxWindow))
}

// A Worker counts files for one subscriber. It is made by [NewWorker]; Work is
// called once. A subscriber may have any number of workers, in any number of
// processes: each file is counted once.
type Worker struct {
	channel     *Channel
	subscriber  string
	aggregation Aggregation
	config      WorkerConfig
	stop        *stopSignal
	claims      claims
	lines       atomic.Int64  // committed
	shown       atomic.Int64  // the highest result of Progress
	active      atomic.Int32  // files that are being counted
	reshipGrace time.Duration // how long an abandoned upload may take to be shipped again

	queueMu sync.Mutex // held by the goroutine that looks for a file, also while it waits
	queue   claimQueue

	mu       sync.Mutex // guards what follows, and calls of Notify
	tally    Tally
	problems []*FileError
}

// A WorkResult is what one worker has read and counted. A line that an earlier count
// read without its end is in both tallies; the sums of a report count it once.
type WorkResult struct {
	Tally    Tally
	Problems []*FileError // files that were counted in part or not at all
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
	if err := channel.Subscribe(ctx, subscriber, aggregation.Settings()); err != nil {
		return nil, err
	}
	w := &Worker{channel: channel, subscriber: subscriber, aggregation: aggregation, config: c, stop: newStopSignal()}
	w.reshipGrace = reshipLeases * w.config.Lease
	w.config.Notify = w.config.Notify.guarded(&w.mu)
	w.queue = claimQueue{channel: channel, subscriber: subscriber, lease: w.config.Lease, notify: w.config.Notify}
	if !w.config.UntilDone { // such a worker must not end before it has looked
		w.queue.lookInterval = w.config.Lease / 2
	}
	return w, nil
}

// Stop makes Work return after the files that are being counted. It may be called
// at any time, by any goroutine, and more than once.
func (w *Worker) Stop() { w.stop.stop() }

// Progress returns how many lines this worker has counted, including those of
// the files that it is counting. It never decreases. It is safe for concurrent use.
func (w *Worker) Progress() int64 {
	lines := w.lines.Load()
	for _, c := range w.claims.list() {
		lines += c.lines.Load()
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
// upload that was abandoned and not shipped again is an AbandonedError. The
// result is valid even if there is an error.
func (w *Worker) Work(ctx context.Context) (WorkResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := heartbeat(ctx, w.config.Lease/3, w.renew)
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
	result := WorkResult{w.tally, w.problems}
	if err := context.Cause(ctx); err != nil {
		return result, fmt.Errorf("work on channel %q for subscriber %q: %w", w.channel.name, w.subscriber, err)
	}
	return result, nil
}

// renew is the worker's heartbeat: it records that the worker lives, and renews
// its claims. While Redis is away claims may expire; the next heartbeat, or the
// commit, finds out.
func (w *Worker) renew(ctx context.Context) {
	held := w.claims.list()
	args := []any{w.subscriber, w.config.Lease.Milliseconds()}
	for _, c := range held {
		args = append(args, c.id, c.token)
	}
	lost, err := w.channel.call(ctx, renewScript, target{subscriber: w.subscriber}, args...)
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
		claim, err := w.next(ctx)
		if err != nil || claim == nil {
			return err
		}
		if err := w.process(ctx, claim); err != nil {
			return err
		}
	}
}

// next blocks until it has claimed a file; it returns nil if the work is done.
// One goroutine at a time looks and waits, so that idle slots cost Redis nothing.
func (w *Worker) next(ctx context.Context) (*claim, error) {
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
		found, err := w.queue.next(ctx)
		if err != nil || found.claim != nil {
			return found.claim, err
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
		if err := w.channel.wait(ctx, since, pause, w.stop.stopped); err != nil {
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
	return w.channel.totals(w.subscriber).foldAll(ctx)
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

// process counts and commits the file of a claim. Its error ends the worker.
func (w *Worker) process(ctx context.Context, c *claim) error {
	work := w.claims.hold(ctx, c)
	c.since = time.Now()
	allCounted := false
	name, result, err := w.count(work, c)
	cause := context.Cause(work)
	if err == nil {
		// Not with the claim's context: the heartbeat can't distinguish a claim
		// that was lost from one that the seal has just ended. The scripts can.
		cut := result.failure != nil || result.damage != nil
		allCounted, err = c.commit(ctx, part{result: result, last: true, cut: cut, build: w.aggregation.Build()})
	} else if cause != nil && ctx.Err() == nil {
		err = cause // the heartbeat found out first
	}
	w.claims.drop(c)
	if err == nil {
		w.record(name, result)
		return c.foldAndFree(ctx, allCounted, math.MaxInt64)
	}
	released := c.release(ctx)
	switch {
	case errors.Is(err, errOlder):
		w.queue.older.Store(true)
		return released
	case errors.Is(err, errClaimLost):
		w.config.Notify.send(Event{Kind: EventClaimLost, File: name})
		return nil
	case errors.Is(err, errAbandoned):
		w.config.Notify.send(Event{Kind: EventAbandoned, File: name})
		return nil
	}
	return errors.Join(fmt.Errorf("count %s: %w", name, err), released)
}

// count counts what the subscriber has not counted of a claimed file, and commits it but
// for the last part. An error means that there is no valid result; what is wrong with the
// file itself is in the result.
func (w *Worker) count(ctx context.Context, c *claim) (name string, result *fileResult, err error) {
	r, err := w.channel.files.record(ctx, c.id)
	if err != nil {
		return c.id, nil, err
	}
	if r.shipment != c.shipment {
		return r.name, nil, errAbandoned
	}
	w.active.Add(1)
	defer w.active.Add(-1)
	upload := uploadReader{w.channel.files, w.subscriber, r, w.config.MaxWindow, w.config.Lease}
	before := r.counted[w.subscriber]
	late := r.freed > 0 && before.part != c.shipment
	if before.part == c.shipment {
		c.commits = before.commits
	} else {
		before.keep = 0
	}
	c.segment = r.segment
	if r.malformed() || before.part == c.shipment && before.commits == 0 {
		result = &fileResult{progress: before}
		result.fail(errMalformed)
	} else if late || before.resume < r.base {
		result = &fileResult{progress: before}
		result.fail(errLaterPart)
	} else if result, before, err = w.scan(ctx, c, upload, before); err != nil {
		return r.name, nil, err
	}
	result.tallyFile(before)
	return r.name, result, err
}

// scan counts an upload, of which the subscriber has counted what is before. It returns
// the last part and the progress before it.
func (w *Worker) scan(ctx context.Context, c *claim, upload uploadReader, before progress) (*fileResult, progress, error) {
	from, err := c.checkpoint(ctx, upload.record, before)
	if err != nil {
		return nil, before, err
	}
	window, err := w.channel.window(ctx)
	if err != nil {
		return nil, before, err
	}
	scan := newFileScan(w.aggregation, before, upload.base, from, &c.lines)
	scan.parts = newPartCommits(w.config, upload.record, window, from, func(result *fileResult, checkpoint []byte) error {
		_, err := c.commit(ctx, part{result: result, checkpoint: checkpoint, build: w.aggregation.Build()})
		if err != nil {
			return err
		}
		c.lines.Store(0) // first, so that Progress counts no line twice
		w.addTally(result.read)
		return c.foldAndFree(ctx, false, result.progress.keep)
	})
	// What this subscriber has counted before, and another one has not, is not kept for it.
	if err := scan.commitPart(from.Raw > before.keep); err != nil {
		return nil, before, err
	}
	for {
		err = scanFile(ctx, upload, from, scan, w.saturated)
		var starved *starvedError
		if !errors.As(err, &starved) && !errors.Is(err, errOlder) {
			break
		}
		committed := scan.commitAll()
		if err = cmp.Or(committed, err); committed != nil || starved == nil {
			break
		}
		if err = upload.awaitRoom(ctx, starved.position, scan.before.keep, window); err != nil {
			break
		}
		from = scan.rewind()
	}
	result, err := scan.result(err)
	return result, scan.before, err
}

// addTally adds what was committed to the worker's tally.
func (w *Worker) addTally(read Tally) {
	w.lines.Add(read.Lines)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tally.Add(read)
}

// saturated reports whether every processor has a file to count.
func (w *Worker) saturated() bool { return int(w.active.Load()) >= runtime.GOMAXPROCS(0) }

// record adds a committed result to those of the worker.
func (w *Worker) record(name string, result *fileResult) {
	w.addTally(result.read)
	problem := result.failure
	if problem == nil && result.damage != nil {
		problem = result.damage
	}
	event := Event{Kind: EventCounted, File: name, Lines: result.lines, Reading: result.reading, Problem: result.progress.problem(name)}
	if problem != nil {
		event = Event{Kind: EventFailed, File: name, Err: problem}
	}
	w.config.Notify.send(event)
	w.mu.Lock()
	defer w.mu.Unlock()
	if problem != nil {
		w.problems = append(w.problems, &FileError{name, problem})
	}
}
