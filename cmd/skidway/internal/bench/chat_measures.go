package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/mailbox"
	"skidway/distribute/chat/room"
	"skidway/internal/handle"
)

const (
	benchPage    = 100 // messages that a reader takes at once
	benchReaders = 2   // members that read
	chatID       = "bench"
)

func (b *chatBench) content() chat.Content { return chat.Content{Body: make([]byte, b.payload)} }

// all lets goroutines call f for the numbers below n.
func all(ctx context.Context, goroutines, n int, f func(ctx context.Context, number int) error) error {
	return inParallel(ctx, goroutines, n, 1, func(ctx context.Context, number, _ int) error { return f(ctx, number) })
}

// rates measures sending all messages and reading them by each reader. read returns
// the size of the page that it read. between (which may be nil) is called after the
// sending.
func (b *chatBench) rates(ctx context.Context, f figures, key string, readers int,
	send func(context.Context, int) error, between func() error, read func(ctx context.Context, reader int) (int, error),
) error {
	took, err := timed(func() error { return all(ctx, int(b.senders), int(b.messages), send) })
	if err != nil {
		return err
	}
	f.add(key+"send_per_s", perSecond(b.messages, took))
	if between != nil {
		if err := between(); err != nil {
			return err
		}
	}
	took, err = timed(func() error {
		return all(ctx, readers, readers, func(through context.Context, reader int) error {
			for got := 0; got < int(b.messages) && ctx.Err() == nil; {
				n, err := read(through, reader)
				if err != nil {
					return err
				}
				if n == 0 {
					return fmt.Errorf("these figures would be wrong: only %d messages came", got)
				}
				got += n
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	f.add(key+"read_per_s", perSecond(int(b.messages)*readers, took))
	return nil
}

// bytes returns the memory of keys in Redis.
func (b *chatBench) bytes(ctx context.Context, keys ...string) (sum float64, err error) {
	for _, key := range keys {
		n, err := b.db.MemoryUsage(ctx, key, 0).Result()
		if err != nil {
			return 0, err
		}
		sum += float64(n)
	}
	return sum, nil
}

// measureGroup measures a channel: its sender needs to be no member, and so reads
// nothing by sending.
func (b *chatBench) measureGroup(ctx context.Context, names []string, f figures) error {
	first := names[:min(len(names), group.MaxFirstMembers)]
	if _, err := b.group.Create(ctx, chatID, &group.CreateOptions{Kind: group.Channel, Members: first}); err != nil {
		return err
	}
	rest := names[len(first):]
	err := all(ctx, int(b.senders), len(rest), func(ctx context.Context, i int) error {
		return b.group.Join(ctx, chatID, rest[i], group.FromOldest)
	})
	if err != nil {
		return err
	}
	key := b.db.Prefix() + ":chat:{" + chatID + "}"
	members, err := b.bytes(ctx, key+":cursors", key+":seen")
	if err != nil {
		return err
	}
	f.add("bytes_per_member", members/float64(len(names)))
	err = b.rates(ctx, f, "", benchReaders,
		func(ctx context.Context, _ int) error {
			_, err := b.group.Send(ctx, chatID, "sender", b.content())
			return err
		},
		func() error {
			log, err := b.bytes(ctx, key+":log")
			f.add("bytes_per_message", log/float64(b.messages))
			return err
		},
		func(ctx context.Context, reader int) (int, error) {
			messages, err := b.group.Fetch(ctx, chatID, names[reader], benchPage)
			return len(messages), err
		})
	if err != nil {
		return err
	}
	if err := b.group.Delete(ctx, chatID); err != nil {
		return err
	}
	return b.deleteLists(ctx, names)
}

// deleteLists deletes the lists of chats of the members.
func (b *chatBench) deleteLists(ctx context.Context, names []string) error {
	for some := range slices.Chunk(names, 500) {
		var keys []string
		for _, name := range some {
			tag := b.db.Prefix() + ":member:{" + name + "}"
			keys = append(keys, tag+":chats", tag+":wake")
		}
		if err := b.db.Unlink(ctx, keys...).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (b *chatBench) measureMailbox(ctx context.Context) error {
	mail := mailbox.NewClient(handle.New(b.db))
	return b.rates(ctx, b.figures, "mailbox_", 1,
		func(ctx context.Context, _ int) error {
			_, err := mail.Send(ctx, chatID, "ann", b.content())
			return err
		}, nil,
		func(ctx context.Context, _ int) (int, error) {
			messages, err := mail.Take(ctx, chatID, benchPage)
			return len(messages), err
		})
}

func (b *chatBench) measureConversation(ctx context.Context) error {
	pair := conversation.NewClient(handle.New(b.db), &conversation.Config{Keep: uint64(b.messages), MaxUnread: uint64(b.messages)})
	return b.rates(ctx, b.figures, "conversation_", 1,
		func(ctx context.Context, _ int) error {
			_, err := pair.Send(ctx, "ann", "bob", b.content())
			return err
		}, nil,
		func(ctx context.Context, _ int) (int, error) {
			page, err := pair.Read(ctx, "bob", "ann", benchPage)
			return len(page.Messages), err
		})
}

func (b *chatBench) measureRoom(ctx context.Context) error {
	rooms := room.NewClient(handle.New(b.db))
	if err := rooms.Create(ctx, chatID, &room.CreateOptions{Keep: int(b.messages)}); err != nil {
		return err
	}
	pass, err := rooms.Enter(ctx, chatID, &room.EnterOptions{ID: "ann"})
	if err != nil {
		return err
	}
	since := uint64(0)
	err = b.rates(ctx, b.figures, "room_", 1,
		func(ctx context.Context, _ int) error {
			_, err := rooms.Send(ctx, pass, b.content())
			return err
		}, nil,
		func(ctx context.Context, _ int) (int, error) {
			news, err := rooms.Read(ctx, pass, since, benchPage)
			since = news.Position
			return len(news.Messages), err
		})
	if err != nil {
		return err
	}
	return rooms.Delete(ctx, pass)
}

// measureStream does with a stream, and a consumer group for each member, what
// measureGroup does.
func (b *chatBench) measureStream(ctx context.Context, names []string, f figures) error {
	stream := b.db.Prefix() + ":stream"
	empty, err := b.makeStream(ctx, stream, names)
	if err != nil {
		return err
	}
	f.add("stream_bytes_per_member", empty/float64(len(names)))
	err = b.rates(ctx, f, "stream_", benchReaders,
		func(ctx context.Context, _ int) error {
			entry := redis.XAddArgs{Stream: stream, Values: []any{"sender", "sender", "body", make([]byte, b.payload)}}
			return b.db.XAdd(ctx, &entry).Err()
		},
		func() error { return b.weighStream(ctx, stream, names[len(names)-1], empty, f) },
		func(ctx context.Context, reader int) (int, error) {
			ids, err := b.readStream(ctx, stream, names[reader])
			if err != nil {
				return 0, err
			}
			return len(ids), b.db.XAck(ctx, stream, names[reader], ids...).Err()
		})
	if err != nil {
		return err
	}
	return b.db.Unlink(ctx, stream).Err()
}

// makeStream returns the memory of the empty stream with its groups.
func (b *chatBench) makeStream(ctx context.Context, stream string, names []string) (float64, error) {
	for some := range slices.Chunk(names, 500) {
		pipe := b.db.Pipeline()
		for _, name := range some {
			pipe.XGroupCreateMkStream(ctx, stream, name, "0")
			pipe.XGroupCreateConsumer(ctx, stream, name, name)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return 0, err
		}
	}
	return b.bytes(ctx, stream)
}

// weighStream measures the memory of messages, and what a message takes in addition
// when a member has read it and not acknowledged it. The member reads them again later.
func (b *chatBench) weighStream(ctx context.Context, stream, name string, empty float64, f figures) error {
	full, err := b.bytes(ctx, stream)
	if err != nil {
		return err
	}
	f.add("stream_bytes_per_message", (full-empty)/float64(b.messages))
	ids, err := b.readStream(ctx, stream, name)
	if err != nil {
		return err
	}
	pending, err := b.bytes(ctx, stream)
	if err != nil {
		return err
	}
	f.add("stream_bytes_per_pending", (pending-full)/float64(len(ids)))
	if err := b.db.XAck(ctx, stream, name, ids...).Err(); err != nil {
		return err
	}
	return b.db.XGroupSetID(ctx, stream, name, "0").Err()
}

func (b *chatBench) readStream(ctx context.Context, stream, name string) (ids []string, err error) {
	got, err := b.db.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: name, Consumer: name, Streams: []string{stream, ">"}, Count: benchPage,
		Block: -time.Millisecond, // below zero: it does not block
	}).Result()
	if err != nil {
		return nil, err
	}
	for _, entry := range got[0].Messages {
		ids = append(ids, entry.ID)
	}
	return ids, nil
}
