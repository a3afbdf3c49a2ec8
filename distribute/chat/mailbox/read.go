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

// A visit is what the receiver finds.
type visit struct {
	last  uint64 // id of the newest message ever
	found bool   // something is unread
	ahead int    // how many messages to read first
	born  string // tells this box from earlier ones of its name
}

// visit notes that the receiver is here, and looks what is unread after an id.
func (m *Client) visit(ctx context.Context, box string, after uint64) (visit, error) {
	a, err := m.run(ctx, visitScript, box, strconv.FormatUint(after, 10))
	if err != nil {
		return visit{}, err
	}
	v := visit{last: a.Uint(0), found: a.Uint(1) == 1, ahead: store.ReadMost, born: a.Text(3)}
	if a.Uint(2) == 1 { // there are big ones
		v.ahead = store.ReadFirst
	}
	return v, nil
}

// Read gives unread messages of the box with ids after an id, oldest first;
// zero starts with the oldest, and the last id of one page gives the next. The
// messages stay unread: call [Client.Ack] when they are dealt with.
//
// limit is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. A page of big
// messages is shorter (it ends soon after 1 MiB), and only an empty one says
// that there is nothing more.
func (m *Client) Read(ctx context.Context, box string, after uint64, limit int) ([]chat.Message, error) {
	_, messages, err := m.read(ctx, box, after, limit)
	return messages, err
}

func (m *Client) read(ctx context.Context, box string, after uint64, limit int) (visit, []chat.Message, error) {
	v, err := m.visit(ctx, box, after)
	if err != nil || !v.found {
		return v, nil, err
	}
	entries, err := m.entries(ctx, box, v.ahead, store.PageLimit(limit), store.PageBytes, func(key, last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			last = store.LastUnder(after)
		}
		return m.db.XRangeN(ctx, key, "("+last, "+", n)
	})
	return v, store.ParseMessages(entries), err
}

// Newest gives the newest n unread messages, in order, and leaves them unread.
// n is at most [chat.MaxMessages]; zero means [chat.DefaultMessages]. All are in memory
// at once, however big they are.
func (m *Client) Newest(ctx context.Context, box string, n int) ([]chat.Message, error) {
	v, err := m.visit(ctx, box, 0)
	if err != nil || !v.found {
		return nil, err
	}
	entries, err := m.entries(ctx, box, v.ahead, store.PageLimit(n), math.MaxInt, func(key, last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			return m.db.XRevRangeN(ctx, key, "+", "-", n)
		}
		return m.db.XRevRangeN(ctx, key, "("+last, "-", n)
	})
	slices.Reverse(entries)
	return store.ParseMessages(entries), err
}

// ReadOne gives one unread message and leaves it unread. The error is
// [chat.ErrNoMessage] when it is not there: [Client.Status] says why.
func (m *Client) ReadOne(ctx context.Context, box string, id uint64) (chat.Message, error) {
	if _, err := m.visit(ctx, box, 0); err != nil {
		return chat.Message{}, err
	}
	number := strconv.FormatUint(id, 10)
	entries, err := m.entries(ctx, box, 1, 1, store.PageBytes, func(key, _ string, n int64) *redis.XMessageSliceCmd {
		return m.db.XRangeN(ctx, key, number, number, n)
	})
	switch {
	case err != nil:
		return chat.Message{}, err
	case len(entries) == 0:
		return chat.Message{}, fmt.Errorf("mailbox %q, message %d: %w", box, id, chat.ErrNoMessage)
	}
	return store.ParseMessage(entries[0]), nil
}

// entries reads a page of the log, ahead of them first. command reads n of them
// beyond the last one, "" at first.
func (m *Client) entries(ctx context.Context, box string, ahead, limit, mostBytes int, command func(key, last string, n int64) *redis.XMessageSliceCmd) ([]redis.XMessage, error) {
	entries, err := store.ReadLog(ctx, m.db, ahead, limit, mostBytes, func(last string, n int64) *redis.XMessageSliceCmd {
		return command(m.keys.log(box), last, n)
	})
	if err != nil {
		return nil, fmt.Errorf("mailbox %q: read messages: %w", box, err)
	}
	return entries, nil
}

// Wait blocks until a message with an id after this one is unread, or ctx is
// done; zero waits for any. It returns at once if there is one already. While it
// blocks the receiver counts as here, and costs Redis nothing but a look every
// few seconds. It holds one connection.
func (m *Client) Wait(ctx context.Context, box string, after uint64) error {
	for {
		// A big message is looked for: somebody may have deleted it by hand.
		v, messages, err := m.read(ctx, box, after, 1)
		if err != nil || len(messages) > 0 {
			return err
		}
		mark := rdb.Mark{Key: m.keys.log(box), ID: store.LastUnder(max(after, v.last))}
		if _, err := m.db.Wait(ctx, store.WaitTimeout, mark); err != nil {
			return fmt.Errorf("mailbox %q: wait for messages: %w", box, err)
		}
	}
}

// ackedAtOnce is how many messages one script takes out of a box: that takes
// 0.4 ms when they are small, 0.9 ms when each has 10 KiB (go test -bench
// MailboxStep).
const ackedAtOnce = 100

// Ack says that the receiver has dealt with exactly these messages, in whatever
// order, and gives how many of them were unread until now. They leave the box.
// Ids that are not unread change nothing. Many are acknowledged in several
// steps. Where an answer got lost on the way Ack is repeated, and does not
// count again what had happened already.
func (m *Client) Ack(ctx context.Context, box string, ids ...uint64) (acknowledged int, err error) {
	for some := range slices.Chunk(ids, ackedAtOnce) {
		a, err := m.run(ctx, ackScript, box, ackArgs("", some)...)
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

// Take reads the oldest messages and removes them in one atomic step, so that
// of many who take at the same time each message comes to one. What was taken
// is lost when the process dies before it is dealt with: who can't bear that
// calls [Client.Read] and then [Client.Ack].
//
// limit is at most 100, which zero means. It may give fewer than
// there are, and none only when nothing is unread.
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError
// and comes with the messages that were about to be taken: they may be removed
// or still be in the box, so nothing is lost to a caller that deals with them.
func (m *Client) Take(ctx context.Context, box string, limit int) ([]chat.Message, error) {
	limit = min(store.PageLimit(limit), ackedAtOnce)
	for {
		v, messages, err := m.read(ctx, box, 0, limit)
		if err != nil || len(messages) == 0 {
			return nil, err
		}
		ids := make([]uint64, len(messages))
		for i, message := range messages {
			ids[i] = message.ID
		}
		// The script removes what is still unread, and tells. What was read
		// before is what was removed: a message never changes.
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
		} // else others were faster: look again
	}
}
