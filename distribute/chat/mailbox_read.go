package chat

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

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
func (m *Mailbox) visit(ctx context.Context, box string, after uint64) (visit, error) {
	a, err := m.run(ctx, mailboxVisitScript, box, strconv.FormatUint(after, 10))
	if err != nil {
		return visit{}, err
	}
	v := visit{last: a.number(0), found: a.number(1) == 1, ahead: readMost, born: a.text(3)}
	if a.number(2) == 1 { // there are big ones
		v.ahead = readFirst
	}
	return v, nil
}

// Read gives unread messages of the box with ids after an id, oldest first;
// zero starts with the oldest, and the last id of one page gives the next. The
// messages stay unread: call [Mailbox.Ack] when they are dealt with.
//
// limit is at most [MaxMessages]; zero means [DefaultMessages]. A page of big
// messages is shorter (it ends soon after 1 MiB), and only an empty one says
// that there is nothing more.
func (m *Mailbox) Read(ctx context.Context, box string, after uint64, limit int) ([]Message, error) {
	_, messages, err := m.read(ctx, box, after, limit)
	return messages, err
}

func (m *Mailbox) read(ctx context.Context, box string, after uint64, limit int) (visit, []Message, error) {
	v, err := m.visit(ctx, box, after)
	if err != nil || !v.found {
		return v, nil, err
	}
	entries, err := m.entries(ctx, box, v.ahead, pageLimit(limit), pageBytes, func(key, last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			last = lastUnder(after)
		}
		return m.db.XRangeN(ctx, key, "("+last, "+", n)
	})
	return v, parseMessages(entries), err
}

// Newest gives the newest n unread messages, in order, and leaves them unread.
// n is at most [MaxMessages]; zero means [DefaultMessages]. All are in memory
// at once, however big they are.
func (m *Mailbox) Newest(ctx context.Context, box string, n int) ([]Message, error) {
	v, err := m.visit(ctx, box, 0)
	if err != nil || !v.found {
		return nil, err
	}
	entries, err := m.entries(ctx, box, v.ahead, pageLimit(n), math.MaxInt, func(key, last string, n int64) *redis.XMessageSliceCmd {
		if last == "" {
			return m.db.XRevRangeN(ctx, key, "+", "-", n)
		}
		return m.db.XRevRangeN(ctx, key, "("+last, "-", n)
	})
	slices.Reverse(entries)
	return parseMessages(entries), err
}

// ReadOne gives one unread message and leaves it unread. The error is
// [ErrNoMessage] when it is not there: [Mailbox.Status] says why.
func (m *Mailbox) ReadOne(ctx context.Context, box string, id uint64) (Message, error) {
	if _, err := m.visit(ctx, box, 0); err != nil {
		return Message{}, err
	}
	number := strconv.FormatUint(id, 10)
	entries, err := m.entries(ctx, box, 1, 1, pageBytes, func(key, _ string, n int64) *redis.XMessageSliceCmd {
		return m.db.XRangeN(ctx, key, number, number, n)
	})
	switch {
	case err != nil:
		return Message{}, err
	case len(entries) == 0:
		return Message{}, fmt.Errorf("mailbox %q, message %d: %w", box, id, ErrNoMessage)
	}
	return parseMessage(entries[0]), nil
}

// entries reads a page of the log, ahead of them first. command reads n of them
// beyond the last one, "" at first.
func (m *Mailbox) entries(ctx context.Context, box string, ahead, limit, mostBytes int, command func(key, last string, n int64) *redis.XMessageSliceCmd) ([]redis.XMessage, error) {
	entries, err := readLog(ctx, m.db, ahead, limit, mostBytes, func(last string, n int64) *redis.XMessageSliceCmd {
		return command(m.keys.mailboxLog(box), last, n)
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
func (m *Mailbox) Wait(ctx context.Context, box string, after uint64) error {
	for {
		// A big message is looked for: somebody may have deleted it by hand.
		v, messages, err := m.read(ctx, box, after, 1)
		if err != nil || len(messages) > 0 {
			return err
		}
		mark := rdb.Mark{Key: m.keys.mailboxLog(box), ID: lastUnder(max(after, v.last))}
		if _, err := m.db.Wait(ctx, waitTimeout, mark); err != nil {
			return fmt.Errorf("mailbox %q: wait for messages: %w", box, err)
		}
	}
}
