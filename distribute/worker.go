package distribute

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// WorkerConfig says how to work. The zero value is ready to use.
type WorkerConfig struct {
	// Workers is how many files are counted at once; zero means one for each
	// processor.
	Workers int

	// Lease is how long a claim is believed to be worked on after the last
	// sign of life; zero means DefaultLease.
	Lease time.Duration

	// UntilDone makes Work return when something has been shipped, every
	// shipper that does not follow has said done, and all files are counted.
	UntilDone bool

	// Quit, when closed, makes Work finish the files in hand and return.
	Quit <-chan struct{}

	Notify Notify
}

// A Worker counts files for one subscriber. It is made by [NewWorker]; Work is
// called once. Any number of workers, in any number of processes, may serve a
// subscriber: each file is counted once.
type Worker struct {
	channel     *Channel
	subscriber  string
	aggregation Aggregation
	config      WorkerConfig
	claims      claims
	lines       atomic.Int64  // committed
	counting    atomic.Int32  // files in hand
	reshipGrace time.Duration // how long an abandoned upload may take to come again
	looking     sync.Mutex    // held by the one goroutine that looks for a file
	backlog     backlog       // its own

	mu       sync.Mutex // guards what follows, and calls of Notify
	tally    Tally
	problems []*FileError
}

// A WorkResult is what one worker has done.
type WorkResult struct {
	Tally    Tally
	Problems []*FileError // files that were counted in part or not at all
}

// NewWorker subscribes to a channel and makes a worker. If the subscriber counts
// in another way than the aggregation, the error is a SettingsError.
func NewWorker(ctx context.Context, channel *Channel, subscriber string, aggregation Aggregation, config WorkerConfig) (*Worker, error) {
	if config.Workers <= 0 {
		config.Workers = runtime.GOMAXPROCS(0)
	}
	if config.Lease <= 0 {
		config.Lease = DefaultLease
	}
	if err := channel.Subscribe(ctx, subscriber, aggregation.Settings()); err != nil {
		return nil, err
	}
	w := &Worker{channel: channel, subscriber: subscriber, aggregation: aggregation, config: config, reshipGrace: reshipLeases * config.Lease}
	w.config.Notify = config.Notify.guarded(&w.mu)
	return w, nil
}

// Progress is how many lines this worker has counted, those of the files in
// hand included.
func (w *Worker) Progress() int64 {
	lines := w.lines.Load()
	for _, cl := range w.claims.list() {
		lines += cl.lines.Load()
	}
	return lines
}

// Work claims and counts files until ctx is done, Quit is closed or, with
// UntilDone, all is counted. Between files it blocks in Redis. When ctx ends it
// gives its claims back; files in hand are counted by another worker, or later.
// An upload that was abandoned and not shipped again is an AbandonedError, with
// UntilDone only. The result is valid beside an error.
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

// workSlot counts one file after the other.
func (w *Worker) workSlot(ctx context.Context) error {
	for {
		claim, err := w.next(ctx)
		if err != nil || claim == nil {
			return err
		}
		if err := w.workOn(ctx, claim); err != nil {
			return err
		}
	}
}

// next waits until there is a file to claim; nil means that there is nothing
// more to do. Only one goroutine of a worker looks and waits at a time, so that
// idle ones cost Redis nothing.
func (w *Worker) next(ctx context.Context) (*claim, error) {
	w.looking.Lock()
	defer w.looking.Unlock()
	for !closed(w.config.Quit) {
		since, err := w.channel.moment(ctx)
		if err != nil {
			return nil, err
		}
		shippers, err := w.channel.shipping(ctx)
		if err != nil {
			return nil, err
		}
		found, err := w.find(ctx)
		if err != nil || found.claim != nil {
			return found.claim, err
		}
		if err := w.channel.idle(ctx, w.subscriber); err != nil {
			return nil, err
		}
		pause := w.config.Lease / 2
		switch {
		case found.pending:
			pause = min(pause, max(found.retryIn, time.Millisecond))
		case w.config.UntilDone && shippers.started && shippers.batch == 0:
			if pause, err = w.reshipPause(ctx); err != nil || pause <= 0 {
				return nil, err
			}
		}
		if err := w.channel.wait(ctx, since, pause, w.config.Quit); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// idle cleans up what others left, while there is nothing else to do.
func (c *Channel) idle(ctx context.Context, subscriber string) error {
	if err := c.sweep(ctx); err != nil {
		return err
	}
	return c.foldAll(ctx, subscriber)
}

// workOn counts and commits one file. Its error ends the worker.
func (w *Worker) workOn(ctx context.Context, cl *claim) error {
	work := w.claims.hold(ctx, cl)
	started := time.Now()
	everybody := false
	name, result, err := w.countClaim(work, cl)
	cause := context.Cause(work)
	if err == nil {
		// Not under the claim's context: the heartbeat can't tell a claim that
		// was lost from one that the seal has just ended. The scripts can.
		everybody, err = w.commit(ctx, cl, result, time.Since(started))
	} else if cause != nil && ctx.Err() == nil {
		err = cause // the heartbeat found out first
	}
	w.claims.drop(cl)
	if err == nil {
		w.account(name, result)
		return w.settle(ctx, cl, everybody)
	}
	released := w.release(ctx, cl)
	switch {
	case errors.Is(err, errClaimLost):
		w.config.Notify.tell(Event{File: name, Text: "another worker took this file over: its count here is dropped"})
		return nil
	case errors.Is(err, errAbandoned):
		w.config.Notify.tell(Event{File: name, Text: errAbandoned.Error() + "; nothing of it is counted until it is shipped again"})
		return nil
	}
	return errors.Join(fmt.Errorf("count %s: %w", name, err), released)
}

// countClaim counts the file of a claim. It also returns the file's name.
func (w *Worker) countClaim(ctx context.Context, cl *claim) (name string, result *fileResult, err error) {
	r, err := w.channel.record(ctx, cl.id)
	if err != nil {
		return cl.id, nil, err
	}
	if r.shipment != cl.shipment {
		return r.name, nil, errAbandoned
	}
	w.counting.Add(1)
	defer w.counting.Add(-1)
	result, err = w.countFile(ctx, r, &cl.lines)
	return r.name, result, err
}

// busy reports whether there is a file in hand for every processor.
func (w *Worker) busy() bool { return int(w.counting.Load()) >= runtime.GOMAXPROCS(0) }

// account notes a file that was committed.
func (w *Worker) account(name string, result *fileResult) {
	w.lines.Add(result.tally.Lines)
	event := Event{File: name, Text: fmt.Sprintf("counted %d lines", result.tally.Lines)}
	var problem error
	switch {
	case result.failure != nil:
		problem = result.failure
		event = Event{File: name, Err: problem}
	case result.damage != nil:
		problem = fmt.Errorf("counted in part: %w", result.damage)
		event = Event{File: name, Err: problem}
	case result.progress.note != "":
		event.Text += "; " + result.progress.note
	}
	w.config.Notify.tell(event)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tally.Add(result.tally)
	if problem != nil {
		w.problems = append(w.problems, &FileError{name, problem})
	}
}
