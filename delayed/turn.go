package delayed

import (
	"context"
	"sync"
	"time"
)

const (
	// mostBreath is the longest that a mover leaves Redis alone between two
	// steps.
	mostBreath = 10 * time.Millisecond

	// mostTurn is how long one queue can keep the others waiting, as where
	// one node of a cluster doesn't answer.
	mostTurn = 2 * mostBreath
)

// A turn is had by one queue at a time, in the order in which they asked.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn and gives what ends it, or the cause of ctx's end.
// After mostTurn it ends by itself.
func (t turn) take(ctx context.Context) (release func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	end := sync.OnceFunc(func() { <-t })
	limit := time.AfterFunc(mostTurn, end)
	return func() { limit.Stop(); end() }, nil
}
