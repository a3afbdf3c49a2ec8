package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// A member's list of chats is an index: it may lie on another slot than the
// chats, so no script can change both. The membership in the chat is the
// truth. The list is written before it and again after it; so every chat is in
// the list before it is joined, and one that another process dropped in
// between is back afterwards. An entry that the chat denies is dropped only
// when it is so old that nobody can be between the two writes.
const settled = time.Minute

// visitors is how many chats are asked at the same time.
const visitors = 16

// A listing is a member's list at one time.
type listing struct {
	wake  string             // id of the last wake-up, before the list was read
	chats map[string]written // by the chats' ids
}

// written is when an entry was written.
type written struct {
	score string // as Redis holds it
	old   bool   // longer ago than settled, by the clock of Redis
}

func (g *Group) list(ctx context.Context, member string) (listing, error) {
	list := listing{chats: map[string]written{}}
	for next := "0"; ; {
		a, err := indexListScript.run(ctx, g.db, g.keys.index(member), next)
		if err != nil {
			return listing{}, fmt.Errorf("member %q: %w", member, err)
		}
		if list.wake == "" {
			list.wake = a.text(1)
		}
		now := float64(a.number(0))
		for i := 3; i+1 < len(a); i += 2 {
			score, err := strconv.ParseFloat(a.text(i+1), 64)
			old := err != nil || score < now-float64(settled.Milliseconds())
			list.chats[a.text(i)] = written{a.text(i + 1), old}
		}
		if next = a.text(2); next == "0" || next == "" {
			return list, nil
		}
	}
}

// enlist writes the chat into the lists of the members.
func (g *Group) enlist(ctx context.Context, id string, members []string) error {
	return each(ctx, members, func(ctx context.Context, member string) error {
		if _, err := indexWriteScript.run(ctx, g.db, g.keys.index(member), id); err != nil {
			return fmt.Errorf("member %q: %w", member, err)
		}
		return nil
	})
}

// forget drops a chat that denied the membership, after the list was read.
func (g *Group) forget(ctx context.Context, member string, list listing, id string) error {
	entry, listed := list.chats[id]
	if !listed || !entry.old {
		return nil
	}
	if _, err := indexDropScript.run(ctx, g.db, g.keys.index(member), id, entry.score); err != nil {
		return fmt.Errorf("member %q: %w", member, err)
	}
	return nil
}

// visit calls f for every chat of the list, several at a time, and forgets
// those of which f says that member is not in them.
func (g *Group) visit(ctx context.Context, member string, list listing, f func(ctx context.Context, id string) error) error {
	ids := make([]string, 0, len(list.chats))
	for id := range list.chats {
		ids = append(ids, id)
	}
	return each(ctx, ids, func(ctx context.Context, id string) error {
		err := f(ctx, id)
		if errors.Is(err, ErrNoChat) || errors.Is(err, ErrNotMember) {
			return g.forget(ctx, member, list, id)
		}
		return err
	})
}

// each calls f for all names, a bounded number at a time, and gives the first
// error, after which no further call starts.
func each(ctx context.Context, names []string, f func(ctx context.Context, name string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	places := make(chan struct{}, visitors)
	for _, name := range names {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-places }()
			if err := f(ctx, name); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
