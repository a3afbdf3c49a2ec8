package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Why a command ended before it was through.
var (
	ErrStoppedAtOnce = errors.New("stopped at once, what was in hand is not counted: run it again")
	ErrStoppedEarly  = errors.New("stopped before the end: run it again for the rest")
)

// A Stopper turns Ctrl-C and SIGTERM into a gentle end, and the second of them
// into an end at once.
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

// Listen handles signals until end is called. The second signal ends the
// context with ErrStoppedAtOnce; a third is left to the system.
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
				c.Notice("stopping after what is in hand; press Ctrl-C again to stop at once")
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

// Follow takes a page of what is there and waits for more, in turn, until
// Ctrl-C, which ends it after the page in hand, however much there is behind it.
// take prints and acknowledges one page; wait blocks until there is something to
// take, or its context ends.
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
