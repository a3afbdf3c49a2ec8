package chat

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// waitTimeout bounds one blocked read. It needs no wake-up to be lost to be
// useful: it frees the connections of waits that were given up.
const waitTimeout = 5 * time.Second

// Wait blocks until something is pending in any of member's chats, or ctx is
// done. It returns at once if something is pending already, and it notices
// chats that member joins or is put into meanwhile. While it blocks it costs
// Redis nothing but a look every few seconds. It holds one connection; on a
// Redis Cluster, one for each chat.
func (g *Group) Wait(ctx context.Context, member string) error {
	if err := checkName("member", member); err != nil {
		return err
	}
	for {
		marks, found, err := g.look(ctx, member)
		if err != nil || found {
			return err
		}
		reads := [][]rdb.Mark{marks}
		if _, cluster := g.db.UniversalClient.(*redis.ClusterClient); cluster {
			reads = apart(marks)
		}
		if err := g.block(ctx, reads); err != nil {
			return fmt.Errorf("wait for messages for %q: %w", member, err)
		}
	}
}

// look reports whether anything is pending for member. If not, the marks say
// after what to wait: taken before the look, so that nothing that came since
// is missed.
func (g *Group) look(ctx context.Context, member string) (marks []rdb.Mark, found bool, err error) {
	var mu sync.Mutex
	var pending atomic.Bool
	list, err := g.list(ctx, member)
	if err != nil {
		return nil, false, err
	}
	marks = append(marks, rdb.Mark{Key: g.keys.index(member)[1], ID: list.wake})
	err = g.visit(ctx, member, list, func(ctx context.Context, id string) error {
		if checkName("chat", id) != nil {
			return nil
		}
		cursor, messages, err := g.pending(ctx, id, member, 0, 1)
		switch {
		case unreadable(err):
			return nil // nothing to wait for there
		case err != nil:
			return err
		case len(messages) > 0:
			pending.Store(true)
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		marks = append(marks, rdb.Mark{Key: g.keys.groupLog(id), ID: lastUnder(cursor)})
		return nil
	})
	return marks, pending.Load(), err
}

// apart gives each mark a read of its own: their keys may be on different
// slots.
func apart(marks []rdb.Mark) [][]rdb.Mark {
	reads := make([][]rdb.Mark, len(marks))
	for i := range marks {
		reads[i] = marks[i : i+1]
	}
	return reads
}

// block returns when the first of the reads does, or ctx is done.
func (g *Group) block(ctx context.Context, reads [][]rdb.Mark) error {
	first, end := context.WithCancel(ctx)
	defer end()
	var group sync.WaitGroup
	errs := make([]error, len(reads))
	for i, marks := range reads {
		group.Go(func() {
			defer end()
			if _, err := g.db.Wait(first, waitTimeout, marks...); first.Err() == nil {
				errs[i] = err
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
