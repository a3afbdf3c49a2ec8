package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// Pending gives the messages that member has not dealt with, oldest first:
// those after its cursor and after the id after, whichever is later. Zero
// starts at the cursor; the last id of one page gives the next. It changes
// nothing: call [Group.Ack] when they are dealt with.
//
// limit is at most [MaxMessages]; zero means [DefaultMessages]. A page of big
// messages is shorter (it ends soon after 1 MiB), and only an empty one says
// that there is nothing more.
func (g *Group) Pending(ctx context.Context, id, member string, after uint64, limit int) ([]Message, error) {
	if err := checkNames(id, member); err != nil {
		return nil, err
	}
	var messages []Message
	for from := uint64(0); ; {
		a, err := g.run(ctx, groupCursorScript, id, member, 1)
		if err != nil {
			return nil, err
		}
		cursor := max(after, a.number(0))
		if messages != nil && cursor == from {
			return messages, nil
		}
		from = cursor
		if messages, err = g.read(ctx, id, from, pageLimit(limit)); err != nil {
			return nil, fmt.Errorf("chat %q: read messages: %w", id, err)
		}
		// A message that member sent since the look at its cursor may be read by
		// that: then it looks again.
		if !slices.ContainsFunc(messages, func(m Message) bool { return m.Sender == member }) {
			return messages, nil
		}
	}
}

// read reads a page of the log after a message. What happens between the look
// at the cursor and this does no harm: messages can be missing only because this
// very member dealt with them meanwhile, the chat's limits dropped them, or the
// chat ended.
func (g *Group) read(ctx context.Context, id string, after uint64, limit int) ([]Message, error) {
	entries, err := readLog(ctx, g.db, readFirst, limit, pageBytes, func(last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			last = lastUnder(after)
		}
		return g.db.XRangeN(ctx, g.keys.groupLog(id), "("+last, "+", n)
	})
	return parseMessages(entries), err
}

// Ack says that member has dealt with all messages up to the id upTo, and
// gives the cursor, which never moves back. What every member has dealt with
// is deleted. An id that was not given to a message yet is an
// *[InvalidError], and changes nothing.
func (g *Group) Ack(ctx context.Context, id, member string, upTo uint64) (cursor uint64, err error) {
	if err := checkNames(id, member); err != nil {
		return 0, err
	}
	number := strconv.FormatUint(upTo, 10)
	if upTo > lastExact {
		return 0, &InvalidError{"upTo", number, "no message has so high an id"}
	}
	a, err := g.run(ctx, groupAckScript, id, member, number)
	var ahead *aheadError
	switch {
	case errors.As(err, &ahead):
		return 0, &InvalidError{"upTo", number, ahead.Error()}
	case err != nil:
		return 0, err
	}
	return a.number(0), nil
}

// Fetch is Pending and Ack in one call, for whoever can bear that messages
// are gone when the process dies after Fetch and before they are dealt with.
// When only the acknowledging failed, they come with the error: they may be
// acknowledged or still be pending.
func (g *Group) Fetch(ctx context.Context, id, member string, limit int) ([]Message, error) {
	messages, err := g.Pending(ctx, id, member, 0, limit)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	if _, err := g.Ack(ctx, id, member, messages[len(messages)-1].ID); err != nil {
		return messages, err
	}
	return messages, nil
}

// A Batch is what is pending in one of a member's chats.
type Batch struct {
	Chat     string
	Messages []Message

	// Err says why this chat can't be read, while the others can: a
	// *[FormatError] or a *[CorruptError], or that the key holds something
	// else.
	Err error
}

// PendingAll gives what member has not dealt with in all of its chats, at most
// limit messages of each (as in [Group.Pending]), ordered by the chats' ids.
// Chats with nothing pending are left out.
func (g *Group) PendingAll(ctx context.Context, member string, limit int) ([]Batch, error) {
	if err := checkName("member", member); err != nil {
		return nil, err
	}
	list, err := g.chats.list(ctx, member)
	if err != nil {
		return nil, err
	}
	var batches []Batch
	err = g.ask(ctx, list, groupPendingScript, g.pendingCall(member, pageLimit(limit), nil), func(id string, r reply) error {
		batch := Batch{Chat: id, Err: r.err}
		switch {
		case r.err != nil:
		case len(r.answer) < 2: // big ones are read by themselves
			messages, err := g.read(ctx, id, r.number(0), pageLimit(limit))
			if err != nil {
				return fmt.Errorf("chat %q: read messages: %w", id, err)
			}
			batch.Messages = messages
		default:
			batch.Messages = parseMessages(parseEntries(r.answer[1]))
		}
		if batch.Err != nil || len(batch.Messages) > 0 {
			batches = append(batches, batch)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return batches, nil
}

// pendingCall asks a chat what is pending for a member, after the message that
// is given for that chat.
func (g *Group) pendingCall(member string, limit int, after map[string]uint64) func(id string) rdb.Call {
	return func(id string) rdb.Call {
		return rdb.Call{Keys: g.keys.group(id), Args: []any{member, limit, min(after[id], lastExact)}}
	}
}

// pageLimit gives how many messages a call gives that was asked for limit.
func pageLimit(limit int) int {
	if limit <= 0 {
		return DefaultMessages
	}
	return min(limit, MaxMessages)
}

// unreadable reports whether err speaks of what one chat holds, so that other
// chats may be fine.
func unreadable(err error) bool {
	var format *FormatError
	var corrupt *CorruptError
	var invalid *InvalidError
	var answer redis.Error
	return errors.As(err, &format) || errors.As(err, &corrupt) || errors.As(err, &invalid) ||
		errors.As(err, &answer) && strings.Contains(answer.Error(), "WRONGTYPE")
}
