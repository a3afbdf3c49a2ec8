package bench

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The bare loop sends the commands that the queue can't do without, and nothing
// else: no lease is checked, no pause heeded, no byte budget kept, nothing
// counted and no handler called.

// mostFetchers is up to how many goroutines drain the bare loop's stream: more
// than the machine has processors to spare are no faster.
const mostFetchers = 4

const bareGroup = "bench"

// bareFinish takes what was handled out of a stream. KEYS: the stream. ARGV:
// group, entries. Returns how many there were.
var bareFinish = redis.NewScript(`
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
return redis.call('XDEL', KEYS[1], unpack(ARGV, 2))`)

// bare measures the bare loop with each number of fetchers.
func (b *queueBench) bare(ctx context.Context) error {
	stream := b.db.Prefix() + ":{bare}"
	for i := range b.bareDrains {
		if err := b.db.XGroupCreateMkStream(ctx, stream, bareGroup, "0").Err(); err != nil {
			return err
		}
		err := b.fill(ctx, "bare_enqueue_batch_per_s", benchBatch, func(ctx context.Context, first, count int) error {
			return b.bareAdd(ctx, stream, first, count)
		})
		if err != nil {
			return err
		}
		took, err := timed(func() error { return b.bareDrain(ctx, stream, i+1) })
		if err != nil {
			return err
		}
		b.bareDrains[i] = append(b.bareDrains[i], perSecond(b.jobs, took))
		if err := b.db.Del(ctx, stream).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (b *queueBench) bareAdd(ctx context.Context, stream string, first, count int) error {
	pipe := b.db.Pipeline()
	for number := first; number < first+count; number++ {
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"kind", benchKind, "args", b.benchPayload(number)}})
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (b *queueBench) bareDrain(ctx context.Context, stream string, fetchers int) error {
	errs := make([]error, fetchers)
	var wait sync.WaitGroup
	for i := range fetchers {
		wait.Go(func() { errs[i] = b.bareFetch(ctx, stream, strconv.Itoa(i)) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// bareFetch takes batches until there are none.
func (b *queueBench) bareFetch(ctx context.Context, stream, consumer string) error {
	for {
		got, err := b.db.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: bareGroup, Consumer: consumer, Streams: []string{stream, ">"}, Count: benchBatch,
			Block: -time.Millisecond, // below zero: it doesn't
		}).Result()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		args := []any{bareGroup}
		for _, entry := range got[0].Messages {
			args = append(args, entry.ID)
		}
		if err := bareFinish.Run(ctx, b.db, []string{stream}, args...).Err(); err != nil {
			return err
		}
	}
}
