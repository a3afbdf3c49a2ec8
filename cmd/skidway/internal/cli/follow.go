package cli

import (
	"context"
	"errors"
)

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
