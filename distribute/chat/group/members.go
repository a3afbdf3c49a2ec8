package group

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/distribute/chat"
)

// A Member is a member of a chat.
type Member struct {
	Name   string
	Cursor uint64 // id of the last message that it has acknowledged
	Unread uint64 // messages after that which are kept
	Missed uint64 // messages after that which were dropped by the chat's limits

	// Seen is when it last read, acknowledged, sent or joined, by the clock of
	// Redis, in whole seconds; zero if unknown.
	Seen time.Time
}

// Leave ends a membership: that of the caller, or of an absent member, for whom the
// chat would keep every message. A chat between people ends with its last member. It
// is no error if there is no such member or no such chat.
func (g *Client) Leave(ctx context.Context, id, member string) error {
	if err := g.checkNames(id, member); err != nil {
		return err
	}
	if isReserved(member) { // it has no list
		return g.leave(ctx, id, member)
	}
	// The list is read first: an entry that is written after that must stay.
	list, err := g.chats.Read(ctx, member)
	if err != nil {
		return err
	}
	if err := g.leave(ctx, id, member); err != nil {
		return err
	}
	return g.chats.Forget(ctx, list, id)
}

func (g *Client) leave(ctx context.Context, id, member string) error {
	_, err := g.run(ctx, leaveScript, id, member)
	if errors.Is(err, chat.ErrNoChat) {
		return nil
	}
	return err
}

// Members returns all members, ordered by name. Large chats are read in several
// steps, so the result may be of slightly different times.
func (g *Client) Members(ctx context.Context, id string) ([]Member, error) {
	if err := g.check("chat", id); err != nil {
		return nil, err
	}
	found := map[string]Member{} // pages may overlap
	for next := "0"; ; {
		a, err := g.run(ctx, membersScript, id, next)
		if err != nil {
			return nil, err
		}
		for i := 3; i+2 < a.Len(); i += 3 {
			member := Member{Name: a.Text(i), Cursor: a.Uint(i + 1), Seen: a.Time(i + 2)}
			member.Unread, member.Missed = behind(member.Cursor, a.Uint(0), a.Uint(1))
			found[member.Name] = member
		}
		if next = a.Text(2); next == "0" || next == "" {
			break
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Member) int { return strings.Compare(a.Name, b.Name) }), nil
}

// An Info is the state of a chat.
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

// Info returns the state of a chat.
func (g *Client) Info(ctx context.Context, id string) (Info, error) {
	if err := g.check("chat", id); err != nil {
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
