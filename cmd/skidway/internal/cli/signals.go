package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Errors of commands that a signal ended.
var (
	ErrStoppedAtOnce = errors.New("stopped at once, without the work in progress: run it again")
	ErrStoppedEarly  = errors.New("stopped before the end: run it again for the rest")
)

// Listen handles Ctrl-C and SIGTERM until end is called. The first one ends the context
// stopping, the second cancels the context work with [ErrStoppedAtOnce], and the third
// ends the process.
func (c *Console) Listen(ctx context.Context) (work, stopping context.Context, end func()) {
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	work, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := 1; n <= 2; n++ {
			select {
			case <-over:
				return
			case <-signals:
			}
			if n == 1 {
				c.Notice("stopping when the work in progress is done; press Ctrl-C again to stop at once")
				stop()
			} else {
				cancel(ErrStoppedAtOnce)
				signal.Stop(signals)
			}
		}
	})
	return work, stopping, func() {
		signal.Stop(signals)
		close(over)
		wait.Wait()
		cancel(nil)
		stop()
	}
}

// CancelOnSignal returns a context that the first signal cancels with a cause, until
// end is called.
func (c *Console) CancelOnSignal(ctx context.Context, cause error) (_ context.Context, end func()) {
	ctx, stopping, endListen := c.Listen(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(stopping, func() { cancel(cause) })
	return ctx, func() {
		release()
		cancel(nil)
		endListen()
	}
}

// Follow calls take and wait in turn until Ctrl-C, which lets a running take finish.
// take prints and acknowledges one page. wait blocks until there is another page, or
// until its context ends.
func (a *App) Follow(ctx context.Context, take, wait func(context.Context) error) error {
	ctx, stopping, end := a.Console.Listen(ctx)
	defer end()
	waiting, over := context.WithCancel(ctx)
	defer over()
	defer context.AfterFunc(stopping, over)()
	for {
		if err := take(ctx); err != nil {
			return err
		}
		if stopping.Err() != nil {
			return nil
		}
		if err := wait(waiting); err != nil {
			if stopping.Err() != nil && errors.Is(err, context.Canceled) && ctx.Err() == nil {
				return nil
			}
			return err
		}
	}
}
