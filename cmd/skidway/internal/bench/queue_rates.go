package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// benchBatch is how many jobs go in one call, or one pipeline of the bare loop.
const benchBatch = 100

func perSecond[N int | cli.Number](n N, took time.Duration) float64 {
	return float64(n) / took.Seconds()
}

// singles measures adding jobs one a call, what they take of Redis's memory and
// draining them.
func (b *queueBench) singles(ctx context.Context) error {
	before, err := b.memory(ctx, "used_memory")
	if err != nil {
		return err
	}
	if err := b.fill(ctx, "enqueue_per_s", 1, b.addOne); err != nil {
		return err
	}
	after, err := b.memory(ctx, "used_memory")
	if err != nil {
		return err
	}
	b.figures.add("redis_bytes_per_job", (after-before)/float64(b.jobs))
	return b.drain(ctx, "drain_per_s")
}

// batches measures adding jobs a hundred a call, and draining them.
func (b *queueBench) batches(ctx context.Context) error {
	if err := b.fill(ctx, "enqueue_batch_per_s", benchBatch, b.addBatch); err != nil {
		return err
	}
	return b.drain(ctx, "drain_per_s")
}

func (b *queueBench) fill(ctx context.Context, key string, batch int, add func(ctx context.Context, first, count int) error) error {
	took, err := timed(func() error { return b.produce(ctx, int(b.jobs), batch, add) })
	if err != nil {
		return err
	}
	b.figures.add(key, perSecond(b.jobs, took))
	return nil
}

// drain measures from a pool's start until all jobs are finished in Redis.
func (b *queueBench) drain(ctx context.Context, key string) error {
	took, err := timed(func() error { return b.runAll(ctx, int(b.jobs), func(*queue.Job) {}, nil) })
	if err != nil {
		return err
	}
	b.figures.add(key, perSecond(b.jobs, took))
	return nil
}

// steady measures adding jobs one a call while they are run, from the start of
// both until all are finished in Redis.
func (b *queueBench) steady(ctx context.Context) error {
	took, err := timed(func() error {
		return b.runAll(ctx, int(b.jobs), func(*queue.Job) {}, func() error {
			return b.produce(ctx, int(b.jobs), 1, b.addOne)
		})
	})
	if err != nil {
		return err
	}
	b.figures.add("steady_per_s", perSecond(b.jobs, took))
	return nil
}

// withAOF measures adding and draining while Redis writes a file.
func (b *queueBench) withAOF(ctx context.Context) error {
	return b.appendOnly(ctx, func() error {
		if err := b.fill(ctx, "enqueue_aof_per_s", 1, b.addOne); err != nil {
			return err
		}
		if err := b.drain(ctx, "drain_aof_per_s"); err != nil {
			return err
		}
		if err := b.fill(ctx, "enqueue_batch_aof_per_s", benchBatch, b.addBatch); err != nil {
			return err
		}
		return b.drain(ctx, "drain_aof_per_s")
	})
}

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

// pinnedEach is of how many jobs one stays unfinished.
const pinnedEach = 100

// pinned measures what unfinished jobs take of Redis's memory when all the
// others are done: each keeps the node of its stream, with room for others.
func (b *queueBench) pinned(ctx context.Context) (err error) {
	// Not used_memory: what connections take would show beside so few jobs.
	before, err := b.memory(ctx, "used_memory_dataset")
	if err != nil {
		return err
	}
	if err := b.produce(ctx, int(b.jobs), benchBatch, b.addBatch); err != nil {
		return err
	}
	q, err := b.client.Queue(benchQueueName)
	if err != nil {
		return err
	}
	lease, err := q.Lease(ctx, "bench-"+rand.Text(), 10*time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Close(context.WithoutCancel(ctx))) }()
	unfinished, err := finishMost(ctx, lease)
	if err != nil {
		return err
	}
	after, err := b.memory(ctx, "used_memory_dataset")
	if err != nil {
		return err
	}
	b.figures.add("pinned_bytes_per_job", (after-before)/float64(len(unfinished)))
	_, err = lease.Finish(ctx, unfinished)
	return err
}

// finishMost takes all jobs and finishes them but for one in a hundred, which it
// gives.
func finishMost(ctx context.Context, lease *queue.Lease) (unfinished []queue.Ending, err error) {
	taken := 0
	for {
		fetched, err := lease.Fetch(ctx, benchBatch, 1<<20)
		if err != nil || len(fetched.Jobs) == 0 {
			return unfinished, err
		}
		var finished []queue.Ending
		for _, job := range fetched.Jobs {
			ending := queue.Ending{Job: job, As: queue.AsSucceeded}
			if taken%pinnedEach == 0 {
				unfinished = append(unfinished, ending)
			} else {
				finished = append(finished, ending)
			}
			taken++
		}
		if _, err := lease.Finish(ctx, finished); err != nil {
			return nil, err
		}
	}
}
