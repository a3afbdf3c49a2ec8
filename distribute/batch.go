package distribute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/distribute/cuts"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// On the embedded Redis, which lives in the memory of this process, a batch has a smaller window. It
// commits less often, because a process that dies loses the commits as well.
const (
	embeddedWindow      = 64 << 20
	embeddedCommitBytes = 1 << 30
)

// BatchConfig configures a [Batch]. The zero value is ready to use.
type BatchConfig struct {
	// Window is the number of bytes that the files may use in Redis at once. Zero means
	// DefaultWindow; on the embedded Redis 64 MiB.
	Window int64

	// Workers is the number of files that are counted at the same time; zero means one
	// for each processor.
	Workers int

	// Force counts files that have the content of another one, too.
	Force bool

	// Members, Open and MaxWindow are those of [ShipperConfig] and [WorkerConfig]. Both may use
	// MaxWindow at the same time.
	Members   stream.Members
	Open      func(ctx context.Context, path string) (stream.Object, error)
	MaxWindow int64

	// Query is that of BatchResult.Report; nil: everything.
	Query *cuts.Query

	// Notify is called by several goroutines, but not at the same time.
	Notify Notify
}

// A Batch ships and counts files in one process, through a channel of its own
// that it deletes afterwards. If a batch is killed, the next one deletes its
// channel.
type Batch struct {
	db          *rdb.DB
	aggregation Aggregation
	config      BatchConfig
	stop        *stopSignal
	mu          sync.Mutex // guards Notify
	shipper     atomic.Pointer[Shipper]
	worker      atomic.Pointer[Worker]
	channel     atomic.Pointer[Channel]
}

// A BatchResult has the outcome of each file and the counts.
type BatchResult struct {
	Files    []ShippedFile
	Problems []*stream.FileError // files that were counted in part or not at all: the latest 1000
	Report   Report
}

func (c BatchConfig) validate() error {
	return errors.Join(checkNotNegative("Window", c.Window), checkNotNegative("Workers", c.Workers), checkNotNegative("MaxWindow", c.MaxWindow))
}

// NewBatch returns a batch. A nil config is the zero one; for an invalid one Run
// returns a ConfigError. Run may be called once.
func NewBatch(db *skidway.DB, aggregation Aggregation, config *BatchConfig) *Batch {
	b := &Batch{db: handle.Conn(db), aggregation: aggregation, stop: newStopSignal()}
	if config != nil {
		b.config = *config
	}
	b.config.Notify = b.config.Notify.guarded(&b.mu)
	return b
}

// Stop makes Run return after the current files. It may be called at any time,
// by any goroutine, and more than once.
func (b *Batch) Stop() { b.stop.stop() }

// Progress returns how many bytes of files are shipped and how many lines are
// counted. It is safe for concurrent use.
func (b *Batch) Progress() (bytes, lines int64) {
	if s := b.shipper.Load(); s != nil {
		bytes = s.Progress()
	}
	if w := b.worker.Load(); w != nil {
		lines = w.Progress()
	}
	return bytes, lines
}

// Live returns what is counted at present, as [Channel.Live] does; the zero LiveCounts before Run has
// begun and after its end. It is safe for concurrent use.
func (b *Batch) Live(ctx context.Context) (LiveCounts, error) {
	channel := b.channel.Load()
	if channel == nil {
		return LiveCounts{}, nil
	}
	return channel.Live(ctx, batchSubscriber)
}

// batchSubscriber is the one subscriber of a batch's channel.
const batchSubscriber = "batch"

// Run ships and counts the files and blocks until that is done. Errors of single
// files are in the result; an error that Run returns ends the batch.
func (b *Batch) Run(ctx context.Context, files []string) (result BatchResult, err error) {
	if err := b.config.validate(); err != nil {
		return result, err
	}
	registry := batchRegistry{b.db}
	if err := registry.clean(ctx); err != nil {
		return result, err
	}
	name := "batch-" + strings.ToLower(rand.Text())
	if err := registry.beat(ctx, name); err != nil {
		return result, err
	}
	channel, err := openChannel(ctx, b.db, name, (*Channel).create)
	if err != nil {
		return result, err
	}
	defer func() {
		if err != nil || ctx.Err() != nil { // else a slow Redis has the time that it needs
			var cancel context.CancelFunc
			ctx, cancel = atEnd(ctx, 10*time.Second)
			defer cancel()
		}
		err = errors.Join(err, registry.end(ctx, channel))
	}()
	if err := channel.SetWindow(ctx, b.window()); err != nil {
		return result, err
	}
	worker, err := NewWorker(ctx, channel, batchSubscriber, b.aggregation,
		&WorkerConfig{Workers: b.config.Workers, UntilDone: true, MaxWindow: b.config.MaxWindow, CommitBytes: b.commitBytes(), Notify: b.config.Notify})
	if err != nil {
		return result, err
	}
	worker.reshipGrace = 0 // there is one shipper, and it ships each file once
	stop := heartbeat(ctx, batchHeartbeat, func(ctx context.Context) { _ = registry.beat(ctx, name) })
	defer stop()
	return b.run(ctx, channel, worker, files)
}

// run ships in one goroutine and counts in this one.
func (b *Batch) run(ctx context.Context, channel *Channel, worker *Worker, files []string) (BatchResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shipper := NewShipper(channel, &ShipperConfig{
		Force: b.config.Force, Members: b.config.Members, Open: b.config.Open, MaxWindow: b.config.MaxWindow, Notify: b.config.Notify,
	})
	shipper.stop = b.stop
	b.shipper.Store(shipper)
	b.worker.Store(worker)
	b.channel.Store(channel)
	defer b.channel.Store(nil) // before it is deleted

	var result BatchResult
	var shipping sync.WaitGroup
	shipping.Go(func() {
		var err error
		if result.Files, err = shipper.Ship(ctx, files); err != nil {
			cancel(err)
		}
	})
	worked, err := worker.Work(ctx)
	result.Problems = worked.Problems
	if _, ok := errors.AsType[*AbandonedError](err); ok {
		err = nil // each of those files has its own error
	}
	if err != nil {
		cancel(err) // no worker frees the window any more
	}
	shipping.Wait()
	if err != nil {
		return result, err
	}
	result.Report, err = channel.Report(ctx, batchSubscriber, b.config.Query)
	return result, err
}

// commitBytes returns the content between two commits, zero for the default.
func (b *Batch) commitBytes() int64 {
	if b.db.Embedded() {
		return embeddedCommitBytes
	}
	return 0
}

func (b *Batch) window() int64 {
	if b.config.Window > 0 {
		return b.config.Window
	}
	if !b.db.Embedded() {
		return DefaultWindow
	}
	return embeddedWindow
}

// A batchRegistry lists the channels of running batches with their last
// heartbeat, so that the channels of killed batches are found.
type batchRegistry struct{ db *rdb.DB }

const (
	batchHeartbeat = 10 * time.Second
	batchTimeout   = 6 * batchHeartbeat
)

func (r batchRegistry) key() string { return batchesKey(r.db.Prefix()) }

func (r batchRegistry) beat(ctx context.Context, name string) error {
	return r.db.Retry(ctx, func() error {
		now, err := serverTime(ctx, r.db, r.key())
		if err != nil {
			return err
		}
		return r.db.HSet(ctx, r.key(), name, now.UnixMilli()).Err()
	})
}

func (r batchRegistry) end(ctx context.Context, channel *Channel) error {
	if err := channel.Delete(ctx, true); err != nil {
		return err
	}
	return r.db.Retry(ctx, func() error { return r.db.HDel(ctx, r.key(), channel.name).Err() })
}

// clean deletes the channels of batches that were killed, also those of an older format.
// It leaves those of a newer format to a newer Skidway, and those whose worker or shipper has acted
// lately: a Redis without free memory takes their heartbeats, but refuses beat.
func (r batchRegistry) clean(ctx context.Context) error {
	var all map[string]string
	var now time.Time
	err := r.db.Retry(ctx, func() (err error) {
		if all, err = r.db.HGetAll(ctx, r.key()).Result(); err != nil {
			return err
		}
		now, err = serverTime(ctx, r.db, r.key())
		return err
	})
	if err != nil {
		return fmt.Errorf("look for batches that were killed: %w", err)
	}
	for name, beat := range all {
		if now.Sub(parseMillis(beat)) < batchTimeout {
			continue
		}
		channel := newChannel(r.db, name)
		var other *VersionError
		switch err := channel.checkVersion(ctx); {
		case errors.As(err, &other) && other.Version > formatVersion:
			continue
		case err != nil && other == nil && !errors.Is(err, ErrNoChannel):
			return fmt.Errorf("delete the channel of a batch that was killed: %w", err)
		}
		acted, err := query(ctx, r.db, func() (string, error) { return r.db.HGet(ctx, channel.keys.channel(), "beat").Result() })
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("look for batches that were killed: %w", err)
		}
		if now.Sub(parseMillis(acted)) < batchTimeout {
			continue
		}
		if err := r.end(ctx, channel); err != nil {
			return err
		}
	}
	return nil
}
