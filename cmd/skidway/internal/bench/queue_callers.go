package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Adding jobs one a call is measured beside XADDs that are sent in the same way: by one
// caller, or by several that share round trips. The two take turns in short rounds, so that
// other work of the machine slows both.
const (
	loneRounds    = 10
	loneCalls     = 500 // in one round
	callersRounds = 4
	maxCallers    = 40_000 // calls in one round
)

// An addFunc adds count jobs, of which the first has a number.
type addFunc func(ctx context.Context, first, count int) error

// lone measures the time of one call while no other is under way.
func (b *queueBench) lone(ctx context.Context) error {
	xadd := func(ctx context.Context, number, _ int) error { return b.bareLoop().xadd(ctx, b.db, number) }
	return b.inTurn(ctx, "lone_enqueue_us", "bare_lone_xadd_us", loneRounds, xadd, func(add addFunc) (float64, error) {
		took, err := timed(func() error { return inParallel(ctx, 1, loneCalls, 1, add) })
		return took.Seconds() * 1e6 / loneCalls, err
	})
}

// callers measures how many jobs a second several callers add, one a call.
func (b *queueBench) callers(ctx context.Context) error {
	n := min(int(b.jobs), maxCallers)
	for _, callers := range []int{16, 64} {
		key := fmt.Sprintf("callers%d_per_s", callers)
		err := b.inTurn(ctx, key, "bare_"+key, callersRounds, (&bareBatcher{loop: b.bareLoop()}).add, func(add addFunc) (float64, error) {
			took, err := timed(func() error { return inParallel(ctx, callers, n, 1, add) })
			return perSecond(n, took), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inTurn measures adding jobs one a call, and by bare commands, in rounds, and adds the
// medians of both.
func (b *queueBench) inTurn(ctx context.Context, key, bareKey string, rounds int, bare addFunc, measure func(addFunc) (float64, error)) error {
	rates := figures{}
	sides := []struct {
		key string
		add addFunc
	}{{key, b.addOne}, {bareKey, bare}}
	for round := range rounds {
		for turn := range sides {
			side := sides[(round+turn)%2] // each goes first equally often
			value, err := measure(side.add)
			if err != nil {
				return err
			}
			rates.add(side.key, value)
		}
	}
	for _, side := range sides {
		b.figures.add(side.key, rates.median(side.key))
	}
	return b.clean(ctx) // nothing drains these jobs
}

// A bareBatcher lets concurrent callers share pipelines of XADD: while one is on its way,
// calls gather for the next. It stays as simple as it is, so that ratios of different
// releases can be compared.
type bareBatcher struct {
	loop bareLoop

	mu      sync.Mutex
	waiting []bareCall
	sending bool // whether a pipeline is on its way
}

type bareCall struct {
	number int
	result chan error
}

func (b *bareBatcher) add(ctx context.Context, number, _ int) error {
	b.mu.Lock()
	if !b.sending {
		b.sending = true
		b.mu.Unlock()
		err := b.loop.xadd(ctx, b.loop.db, number)
		if calls := b.next(); len(calls) > 0 {
			go b.send(ctx, calls)
		}
		return err
	}
	call := bareCall{number, make(chan error, 1)}
	b.waiting = append(b.waiting, call)
	b.mu.Unlock()
	return <-call.result
}

// next returns the calls of the next pipeline.
func (b *bareBatcher) next() []bareCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.waiting
	b.waiting, b.sending = nil, len(calls) > 0
	return calls
}

// send sends pipelines until no call is waiting.
func (b *bareBatcher) send(ctx context.Context, calls []bareCall) {
	for ; len(calls) > 0; calls = b.next() {
		pipe := b.loop.db.Pipeline()
		for _, call := range calls {
			_ = b.loop.xadd(ctx, pipe, call.number)
		}
		replies, _ := pipe.Exec(ctx) // each reply has its error
		for i, call := range calls {
			call.result <- replies[i].Err()
		}
		runtime.Gosched() // lets the callers make their next calls
	}
}
