package bench

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// measureStream does with a stream, and a consumer group for each member, what
// measureGroup does.
func (b *chatBench) measureStream(ctx context.Context, names []string, f queueFigures) error {
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

// makeStream gives the bytes that the empty stream with its groups takes.
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

// weighStream measures what messages take, and what those take more that a
// member has read and not acknowledged. The member reads them again later.
func (b *chatBench) weighStream(ctx context.Context, stream, name string, empty float64, f queueFigures) error {
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
		Block: -time.Millisecond, // below zero: it doesn't
	}).Result()
	if err != nil {
		return nil, err
	}
	for _, entry := range got[0].Messages {
		ids = append(ids, entry.ID)
	}
	return ids, nil
}
