package mailbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// A boxState is what the receiver needs to know before it reads.
type boxState struct {
	last   uint64 // id of the newest message ever
	unread bool
	ahead  int    // how many messages to read first
	born   string // differs from earlier boxes with this name
	after  uint64 // id after which to read: 0 if the requested one is of an earlier box
}

// messages parses entries of the box.
func (v boxState) messages(entries []redis.XMessage) []chat.Message {
	messages := store.ParseMessages(entries)
	for i := range messages {
		messages[i].Origin = v.born
	}
	return messages
}

// touch records a visit of the receiver, and returns the state of the box for
// messages after an id.
func (m *Client) touch(ctx context.Context, box string, after uint64) (boxState, error) {
	a, err := m.run(ctx, visitScript, box, strconv.FormatUint(min(after, store.LastExact), 10))
	if err != nil {
		return boxState{}, err
	}
	v := boxState{last: a.Uint(0), unread: a.Uint(1) == 1, ahead: store.MaxRead, born: a.Text(3), after: a.Uint(4)}
	if a.Uint(2) == 1 { // there are large messages
		v.ahead = store.FirstRead
	}
	return v, nil
}

// Read returns unread messages of the box with ids after an id, oldest first. Zero
// starts with the oldest; for the next page, after is the last id of this one. An id
// that the box has never had, because it is of an earlier box of this name, starts with
// the oldest, too. The messages stay unread until [Client.AckMessages].
//
// limit is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. A page of
// large messages is shorter: it ends soon after 1 MiB. Only an empty page means
// that there are no more.
func (m *Client) Read(ctx context.Context, box string, after uint64, limit int) ([]chat.Message, error) {
	_, messages, err := m.read(ctx, box, after, limit)
	return messages, err
}

func (m *Client) read(ctx context.Context, box string, after uint64, limit int) (boxState, []chat.Message, error) {
	v, err := m.touch(ctx, box, after)
	if err != nil || !v.unread {
		return v, nil, err
	}
	entries, err := m.entries(ctx, box, v.ahead, store.PageLimit(limit), store.PageBytes, func(key, last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			last = store.LastUnder(v.after)
		}
		return m.boxes.XRangeN(ctx, key, "("+last, "+", n)
	})
	return v, v.messages(entries), err
}

// Newest returns the newest n unread messages, oldest first, and leaves them
// unread. n is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. All
// are in memory at once, whatever their size.
func (m *Client) Newest(ctx context.Context, box string, n int) ([]chat.Message, error) {
	v, err := m.touch(ctx, box, 0)
	if err != nil || !v.unread {
		return nil, err
	}
	entries, err := m.entries(ctx, box, v.ahead, store.PageLimit(n), math.MaxInt, func(key, last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			return m.boxes.XRevRangeN(ctx, key, "+", "-", n)
		}
		return m.boxes.XRevRangeN(ctx, key, "("+last, "-", n)
	})
	slices.Reverse(entries)
	return v.messages(entries), err
}

// entries reads a page of the log, see store.ReadLog.
func (m *Client) entries(ctx context.Context, box string, ahead, limit, maxBytes int, command func(key, last string, n int64) *redis.XMessageSliceCmd) ([]redis.XMessage, error) {
	entries, err := store.ReadLog(ctx, m.boxes.DB, ahead, limit, maxBytes, func(last string, n int64) *redis.XMessageSliceCmd {
		return command(m.boxes.Log(box), last, n)
	})
	if err != nil {
		return nil, fmt.Errorf("mailbox %q: read messages: %w", box, err)
	}
	return entries, nil
}

// Wait blocks until a message with an id after this one is unread, or ctx is done;
// zero waits for any unread message. While it blocks, the visit of the receiver is
// recorded with a read every few seconds. It uses one connection.
func (m *Client) Wait(ctx context.Context, box string, after uint64) error {
	for {
		// It reads large messages too: they may have been deleted by hand.
		v, messages, err := m.read(ctx, box, after, 1)
		if err != nil || len(messages) > 0 {
			return err
		}
		mark := rdb.Mark{Key: m.boxes.Log(box), ID: store.LastUnder(max(v.after, v.last))}
		if _, err := m.boxes.Wait(ctx, store.WaitTimeout, mark); err != nil {
			return fmt.Errorf("mailbox %q: wait for messages: %w", box, err)
		}
	}
}

// ackBatch is the number of messages that one script removes from a box. That takes 0.4 ms
// for small ones, 0.9 ms if each has 10 KiB (go test -bench MailboxStep).
const ackBatch = 100

// Ack acknowledges exactly the messages with these ids, in any order, and returns how many of
// them were unread until now. They are removed from the box. Other ids change
// nothing. Many messages take several steps. A step whose reply was lost is
// repeated, and its messages may then be missing in the result.
func (m *Client) Ack(ctx context.Context, box string, ids ...uint64) (acknowledged int, err error) {
	for batch := range slices.Chunk(ids, ackBatch) {
		a, err := m.run(ctx, ackScript, box, ackArgs("", batch)...)
		if err != nil {
			return acknowledged, err
		}
		acknowledged += a.Len()
	}
	return acknowledged, nil
}

// AckMessages is [Client.Ack] for messages that Read or Newest returned. If the box was
// deleted since then, those of a new box with the same ids stay unread.
func (m *Client) AckMessages(ctx context.Context, box string, messages []chat.Message) (acknowledged int, err error) {
	for len(messages) > 0 {
		origin, ids := messages[0].Origin, []uint64(nil)
		for len(messages) > 0 && messages[0].Origin == origin && len(ids) < ackBatch {
			ids, messages = append(ids, messages[0].ID), messages[1:]
		}
		a, err := m.run(ctx, ackScript, box, ackArgs(origin, ids)...)
		if err != nil {
			return acknowledged, err
		}
		acknowledged += a.Len()
	}
	return acknowledged, nil
}

func ackArgs(born string, ids []uint64) []any {
	args := make([]any, 1, len(ids)+1)
	args[0] = born
	for _, id := range ids {
		args = append(args, strconv.FormatUint(id, 10))
	}
	return args
}

// Take reads the oldest messages and removes them in one atomic step, so each
// message goes to one of several concurrent takers. Messages are lost if the process
// dies before it has handled them: to prevent that, use [Client.Read] and
// [Client.Ack].
//
// limit is at most 100; zero means 100. Take may return fewer messages than there
// are, and none only if none is unread.
//
// If the reply of Redis was lost, the error is a *skidway.OutcomeUnknownError, and
// the messages are returned with it: they may be removed or still be in the box, so
// a caller that handles them loses none.
func (m *Client) Take(ctx context.Context, box string, limit int) ([]chat.Message, error) {
	limit = min(store.PageLimit(limit), ackBatch)
	for {
		v, messages, err := m.read(ctx, box, 0, limit)
		if err != nil || len(messages) == 0 {
			return nil, err
		}
		ids := make([]uint64, len(messages))
		for i, message := range messages {
			ids[i] = message.ID
		}
		// The script removes the messages that are still unread, and returns
		// their ids. A message never changes, so those read above are current.
		a, err := m.run(ctx, takeScript, box, ackArgs(v.born, ids)...)
		var unknown *rdb.OutcomeUnknownError
		if errors.As(err, &unknown) {
			return messages, err
		}
		if err != nil {
			return nil, err
		}
		taken := make(map[uint64]bool, a.Len())
		for i := range a.Len() {
			taken[a.Uint(i)] = true
		}
		messages = slices.DeleteFunc(messages, func(message chat.Message) bool { return !taken[message.ID] })
		if len(messages) > 0 {
			return messages, nil
		} // else other takers were faster
	}
}
