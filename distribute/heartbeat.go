package distribute

import (
	"context"
	"sync"
	"time"
)

// heartbeat calls beat at once and then every interval, until stop is called or
// ctx is done. stop returns when no beat runs any more. A beat that fails needs
// no answer: whoever loses a lease over it is told when it next does something.
func heartbeat(ctx context.Context, interval time.Duration, beat func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			beat(ctx)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() { cancel(); beating.Wait() }
}
