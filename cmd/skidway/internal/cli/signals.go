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

// A Stopper reports the first Ctrl-C or SIGTERM.
type Stopper struct {
	Quit chan struct{} // closed by the first signal
}

// Stopped reports whether there was a signal.
func (s *Stopper) Stopped() bool {
	select {
	case <-s.Quit:
		return true
	default:
		return false
	}
}

// Then calls f after the first signal, unless ctx is done before.
func (s *Stopper) Then(ctx context.Context, f func()) {
	go func() {
		select {
		case <-s.Quit:
			f()
		case <-ctx.Done():
		}
	}()
}

// Listen handles signals until end is called. The first one closes the channel of the
// Stopper, the second cancels the context with [ErrStoppedAtOnce], and the third ends
// the process.
func (c *Console) Listen(ctx context.Context) (_ context.Context, s *Stopper, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s = &Stopper{Quit: make(chan struct{})}
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
				close(s.Quit)
			} else {
				cancel(ErrStoppedAtOnce)
				signal.Stop(signals)
			}
		}
	})
	return ctx, s, func() {
		signal.Stop(signals)
		close(over)
		wait.Wait()
		cancel(nil)
	}
}

// CancelOnSignal returns a context that the first signal cancels with a cause, until
// end is called.
func (c *Console) CancelOnSignal(ctx context.Context, cause error) (_ context.Context, end func()) {
	ctx, stop, endListen := c.Listen(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-stop.Quit:
			cancel(cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		endListen()
	}
}

// Follow calls take and wait in turn until Ctrl-C, which lets a running take finish.
// take prints and acknowledges one page. wait blocks until there is another page, or
// until its context ends.
func (a *App) Follow(ctx context.Context, take, wait func(context.Context) error) error {
	ctx, stop, end := a.Console.Listen(ctx)
	defer end()
	waiting, over := context.WithCancel(ctx)
	defer over()
	go func() {
		select {
		case <-stop.Quit:
			over()
		case <-waiting.Done():
		}
	}()
	for {
		if err := take(ctx); err != nil {
			return err
		}
		if stop.Stopped() {
			return nil
		}
		if err := wait(waiting); err != nil {
			if stop.Stopped() && errors.Is(err, context.Canceled) && ctx.Err() == nil {
				return nil
			}
			return err
		}
	}
}
