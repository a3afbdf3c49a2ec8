package chat

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Member is somebody in a chat.
type Member struct {
	Name   string
	Cursor uint64 // id of the last message dealt with
	Unread uint64 // messages sent after that
}

// Members gives all members, ordered by name. More than a hundred or so are
// read in several steps, so that what happens meanwhile may be seen for some
// and not for others.
func (g *Group) Members(ctx context.Context, id string) ([]Member, error) {
	if err := checkName("chat", id); err != nil {
		return nil, err
	}
	found := map[string]Member{} // a page may repeat some of an earlier one
	for next := "0"; ; {
		a, err := g.run(ctx, groupMembersScript, id, next)
		if err != nil {
			return nil, err
		}
		last := a.number(0)
		for i := 2; i+1 < len(a); i += 2 {
			cursor := a.number(i + 1)
			found[a.text(i)] = Member{a.text(i), cursor, last - min(cursor, last)}
		}
		if next = a.text(1); next == "0" || next == "" {
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
	Members uint64
}

// Info tells about a chat.
func (g *Group) Info(ctx context.Context, id string) (Info, error) {
	if err := checkName("chat", id); err != nil {
		return Info{}, err
	}
	a, err := g.run(ctx, groupInfoScript, id)
	if err != nil {
		return Info{}, err
	}
	return Info{
		Kind: Kind(a.text(0)), Last: a.number(1), Created: time.UnixMilli(int64(a.number(2))),
		Kept: a.number(3), Members: a.number(4), Oldest: a.number(5),
	}, nil
}
