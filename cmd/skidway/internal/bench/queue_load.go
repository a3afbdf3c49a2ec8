package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

const (
	benchQueueName = "bench"
	benchKind      = "bench"
)

// A queueLoad adds and runs the jobs of "bench queue".
type queueLoad struct {
	rig
	payload, producers, concurrency cli.Number

	headers      []map[string]string // of each benchBatch jobs, in turn; nil for none
	clientConfig queue.Config
	poolConfig   workers.Config

	client *queue.Client
	log    *slog.Logger // of the pools

	unrecordedMax int // the highest number of handlers that had returned before Redis had their outcomes
}

// benchPayload returns the payload of a job, which begins with its number.
func (l *queueLoad) benchPayload(number int) []byte {
	payload := make([]byte, l.payload)
	binary.BigEndian.PutUint64(payload, uint64(number))
	return payload
}

func benchNumber(job *queue.Job) int { return int(binary.BigEndian.Uint64(job.Args)) }

// insert returns the job with a number. A zero time means that it is due at once.
func (l *queueLoad) insert(number int, at time.Time) queue.NewJob {
	job := queue.NewJob{
		Args:    queue.Raw(benchKind, l.benchPayload(number)),
		Options: queue.Options{Queue: benchQueueName, At: at},
	}
	if l.headers != nil {
		job.Options.Headers = l.headers[number/benchBatch%len(l.headers)]
	}
	return job
}

// produce lets all producers call add for the numbers below n, batch at a time.
func (l *queueLoad) produce(ctx context.Context, n, batch int, add addFunc) error {
	return inParallel(ctx, int(l.producers), n, batch, add)
}

// addOne adds one job with one call.
func (l *queueLoad) addOne(ctx context.Context, number, _ int) error {
	insert := l.insert(number, time.Time{})
	_, err := l.client.Enqueue(ctx, insert.Args, &insert.Options)
	return err
}

// addBatch adds jobs with one call.
func (l *queueLoad) addBatch(ctx context.Context, first, count int) error {
	return l.addDue(ctx, first, count, func(int) time.Time { return time.Time{} })
}

func (l *queueLoad) addDue(ctx context.Context, first, count int, due func(number int) time.Time) error {
	inserts := make([]queue.NewJob, count)
	for i := range inserts {
		inserts[i] = l.insert(first+i, due(first+i))
	}
	for _, result := range l.client.EnqueueMany(ctx, inserts) {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}

// A benchPool runs jobs until it is stopped. It has its own connections, like a worker
// process: a pool that has ended leaves reads behind, each of which blocks a
// connection for some seconds.
type benchPool struct {
	db     *rdb.DB
	pool   *workers.Pool
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // how it ended
}

func (l *queueLoad) startPool(ctx context.Context, handle func(*queue.Job)) (*benchPool, error) {
	db, err := rdb.Open(ctx, l.URL(), rdb.Options{Prefix: l.Prefix})
	if err != nil {
		return nil, err
	}
	pool, err := l.newPool(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	pool.HandleRaw(benchKind, func(_ context.Context, job *queue.Job) error {
		handle(job)
		return nil
	}, workers.Kind{})
	ctx, cancel := context.WithCancel(ctx)
	p := &benchPool{db: db, pool: pool, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = pool.Run(ctx)
	}()
	return p, nil
}

func (l *queueLoad) newPool(db *rdb.DB) (*workers.Pool, error) {
	client, err := queue.NewClient(handle.New(db), &l.clientConfig)
	if err != nil {
		return nil, err
	}
	config := l.poolConfig
	config.Queues, config.Concurrency, config.Logger = []workers.Queue{{Name: benchQueueName}}, int(l.concurrency), l.log
	return workers.NewPool(client, &config), nil
}

// stop blocks until the results of all jobs are written.
func (p *benchPool) stop() error {
	p.cancel()
	<-p.ended
	return errors.Join(p.err, p.db.Close())
}

// runAll starts pools, calls meanwhile (which may be nil), and returns when n jobs are
// handled and finished in Redis. It returns an error if one was handled twice or is not
// finished.
func (l *queueLoad) runAll(ctx context.Context, pools, n int, handle func(*queue.Job), meanwhile func() error) (err error) {
	all := &countdown{done: make(chan struct{})}
	all.left.Store(int64(n))
	var running []*benchPool
	for range pools {
		pool, startErr := l.startPool(ctx, func(job *queue.Job) {
			handle(job)
			all.tick()
		})
		if err = startErr; err != nil {
			break
		}
		running = append(running, pool)
	}
	if err == nil && meanwhile != nil {
		err = meanwhile()
	}
	if err == nil {
		err = all.wait(ctx)
	}
	for _, pool := range running {
		err = errors.Join(err, pool.stop())
		_, highest, _ := pool.pool.Unrecorded()
		l.unrecordedMax = max(l.unrecordedMax, highest)
	}
	if err != nil {
		return err
	}
	return l.checkFinished(ctx, all)
}

func (l *queueLoad) checkFinished(ctx context.Context, all *countdown) error {
	q, err := l.client.ForPool(benchQueueName)
	if err != nil {
		return err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return err
	}
	if twice, rest := -all.left.Load(), depth.Waiting+depth.Active+depth.Delayed+depth.Dead; twice+int64(rest) != 0 {
		return fmt.Errorf("these figures would be wrong: %d jobs were handled twice, and %d are not finished", twice, rest)
	}
	return nil
}

// A countdown closes done when so many handlers have ended.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func (c *countdown) tick() {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

func (c *countdown) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
