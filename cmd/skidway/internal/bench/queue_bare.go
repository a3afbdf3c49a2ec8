package bench

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxFetchers bounds the goroutines that drain the stream of the bare loop: more than
// the machine has processors to spare are not faster.
const maxFetchers = 4

const bareGroup = "bench"

// bareFinish deletes finished entries. KEYS: the stream. ARGV: group, entries.
// Returns how many there were.
var bareFinish = redis.NewScript(`
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
return redis.call('XDEL', KEYS[1], unpack(ARGV, 2))`)

// A bareLoop sends only the commands that a queue needs: it checks no lease, no pause and no
// byte budget, counts nothing and calls no handler.
type bareLoop struct{ *queueLoad }

func (b *queueBench) bareLoop() bareLoop { return bareLoop{&b.queueLoad} }

// stream returns the key of its stream.
func (l bareLoop) stream() string { return l.db.Prefix() + ":{bare}" }

// xadd adds a job.
func (l bareLoop) xadd(ctx context.Context, client redis.Cmdable, number int) error {
	values := []any{"kind", benchKind, "args", l.benchPayload(number)}
	return client.XAdd(ctx, &redis.XAddArgs{Stream: l.stream(), Values: values}).Err()
}

// add adds jobs by one pipeline.
func (l bareLoop) add(ctx context.Context, first, count int) error {
	pipe := l.db.Pipeline()
	for number := first; number < first+count; number++ {
		_ = l.xadd(ctx, pipe, number)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// drain fetches and finishes all jobs.
func (l bareLoop) drain(ctx context.Context, fetchers int) error {
	errs := make([]error, fetchers)
	var wait sync.WaitGroup
	for i := range fetchers {
		wait.Go(func() { errs[i] = l.fetch(ctx, strconv.Itoa(i)) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// fetch fetches and finishes batches until the stream is empty.
func (l bareLoop) fetch(ctx context.Context, consumer string) error {
	stream := l.stream()
	for {
		got, err := l.db.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: bareGroup, Consumer: consumer, Streams: []string{stream, ">"}, Count: benchBatch,
			Block: -time.Millisecond, // below zero: it does not block
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
		if err := bareFinish.Run(ctx, l.db, []string{stream}, args...).Err(); err != nil {
			return err
		}
	}
}
