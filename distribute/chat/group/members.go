package group

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
)

// A Member is somebody in a chat.
type Member struct {
	Name   string
	Cursor uint64 // id of the last message dealt with
	Unread uint64 // messages after that which are kept
	Missed uint64 // messages after that which the chat's limits have dropped

	// Seen is when it last read, acknowledged, sent or joined, by the clock of
	// Redis and to a second; zero if nobody knows.
	Seen time.Time
}

// Leave ends a membership; with the last one, a chat between people ends.
// Leaving a chat that one is not in, or that does not exist, changes nothing
// and is no error.
func (g *Client) Leave(ctx context.Context, id, member string) error {
	if err := store.CheckNames(id, member); err != nil {
		return err
	}
	// The list is read first: only an entry that was not written to since
	// then may be dropped.
	list, err := g.chats.Read(ctx, member)
	if err != nil {
		return err
	}
	if _, err := g.run(ctx, leaveScript, id, member); err != nil && !errors.Is(err, chat.ErrNoChat) {
		return err
	}
	return g.chats.Forget(ctx, list, id)
}

// Drop is [Client.Leave], done by an operator for a member who never comes back
// and keeps messages from being deleted.
func (g *Client) Drop(ctx context.Context, id, member string) error { return g.Leave(ctx, id, member) }

// Members gives all members, ordered by name. More than a hundred or so are
// read in several steps, so that what happens meanwhile may be seen for some
// and not for others.
func (g *Client) Members(ctx context.Context, id string) ([]Member, error) {
	if err := store.CheckName("chat", id); err != nil {
		return nil, err
	}
	found := map[string]Member{} // a page may repeat some of an earlier one
	for next := "0"; ; {
		a, err := g.run(ctx, membersScript, id, next)
		if err != nil {
			return nil, err
		}
		for i := 3; i+2 < a.Len(); i += 3 {
			member := Member{Name: a.Text(i), Cursor: a.Uint(i + 1)}
			member.Unread, member.Missed = behind(member.Cursor, a.Uint(0), a.Uint(1))
			if seen := a.Uint(i + 2); seen > 0 {
				member.Seen = time.UnixMilli(int64(seen))
			}
			found[member.Name] = member
		}
		if next = a.Text(2); next == "0" || next == "" {
			break
		}
	}
	members := make([]Member, 0, len(found))
	for _, member := range found {
		members = append(members, member)
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members, nil
}

// An Info describes a chat.
type Info struct {
	Kind    Kind
	Created time.Time // by the clock of Redis
	Last    uint64    // id of the newest message ever sent; 0: none was
	Oldest  uint64    // id of the oldest message that is kept; 0: none is kept
	Kept    uint64    // messages in Redis
	Bytes   uint64    // of these, as [Limits].Bytes counts them
	Members uint64
	Limits  Limits
}

// Info tells about a chat.
func (g *Client) Info(ctx context.Context, id string) (Info, error) {
	if err := store.CheckName("chat", id); err != nil {
		return Info{}, err
	}
	a, err := g.run(ctx, infoScript, id)
	if err != nil {
		return Info{}, err
	}
	return Info{
		Kind: Kind(a.Text(0)), Last: a.Uint(1), Created: time.UnixMilli(int64(a.Uint(2))),
		Kept: a.Uint(3), Members: a.Uint(4), Oldest: a.Uint(5),
		Bytes: a.Uint(6), Limits: parseLimits(a.Text(7)),
	}, nil
}
