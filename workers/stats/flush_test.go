package stats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestFlushWhoseReplyIsLostCountsOnce(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	proxy := redistest.StartProxy(t, url)
	f := newFixture(t, redistest.Open(t, proxy.URL), "")
	f.count("a", queue.AttemptSucceeded, 1)
	f.flush()
	for i := range 10 { // each command of a flush, and those of its repetition
		f.count("a", queue.AttemptSucceeded, 1)
		dropped := proxy.DropReply(i/3 + 1)
		f.flush()
		select {
		case <-dropped:
		default:
			proxy.DropReply(0)
		}
	}
	f.wantDone("a", 11)
}

func TestFlushThatFailedIsRepeatedWithTheSameNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	f.count("a", queue.AttemptSucceeded, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.collector.Flush(ctx); err == nil {
		t.Fatal("a flush with a context that has ended succeeded")
	}
	// As if Redis had counted it, and the answer was lost.
	f.must(f.collector.sync(f.ctx))
	w := f.counter.next(time.Now())
	keys, times := bucketKeys(f.queue, f.collector.config.Pool, f.collector.clock.at(w.at))
	reply, err := flushScript.Run(f.ctx, f.db, keys, append(times, w.args()...)...)
	f.must(err)
	if reply.Int(1) != 1 {
		t.Fatalf("the reply is %v", reply)
	}
	f.count("a", queue.AttemptSucceeded, 3) // meanwhile
	f.flush()                               // may be the last one: it writes both
	f.wantDone("a", 5)
}

func TestWriteThatWasFirstSentLongAgoIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	f.count("a", queue.AttemptSucceeded, 2)
	f.must(f.collector.sync(f.ctx))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.collector.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("a flush with a context that has ended: %v", err)
	}
	w := f.counter.pending[0]
	w.sent = w.sent.Add(-keepPending)
	f.count("b", queue.AttemptSucceeded, 3) // meanwhile
	f.flush()                               // gives the write up, as it may have been counted long ago
	f.wantDone("a", 0)
	f.wantDone("b", 3)
}

func TestFlushThatReachesOnlyOneOfTwoQueuesWritesThat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	away, err := f.client.Queue("away")
	f.must(err)
	reached := f.counter
	f.count("a", queue.AttemptSucceeded, 1)
	f.counter = f.collector.Counter(away)
	f.count("a", queue.AttemptSucceeded, 1)
	ctx, cancel := context.WithCancel(t.Context())
	f.db.AddHook(awayHook(cancel))
	if err := f.collector.Flush(ctx); err == nil {
		t.Error("a flush that lost an answer succeeded")
	}
	if len(reached.pending) != 0 || len(f.counter.pending) != 1 {
		t.Errorf("%d and %d writes are left, want 0 and 1", len(reached.pending), len(f.counter.pending))
	}
}

// awayHook loses the answers for the queue "away", and ends the context of the flush.
type awayHook context.CancelFunc

func (awayHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (awayHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (end awayHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if strings.Contains(fmt.Sprint(cmd.Args()), "{away:") {
				cmd.SetErr(io.EOF)
				err = io.EOF
				end()
			}
		}
		return err
	}
}

func TestFlushOfManyCellsIsDividedAndCountsAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	for i := range 20 {
		for n := range 60 {
			f.count(fmt.Sprintf("kind%02d", i), queue.AttemptDead, 1, "error "+strings.Repeat("x", n))
		}
	}
	w := f.counter.next(time.Now())
	if len(f.counter.pending) < 4 || len(w.cells) > maxCells || len(w.groups) > maxGroups {
		t.Errorf("%d writes, the first with %d cells and %d groups", len(f.counter.pending), len(w.cells), len(w.groups))
	}
	f.flush()
	for kind, counts := range f.read(Day) {
		if counts.Dead != 60 || counts.Wait.Count() != 60 {
			t.Errorf("%s: %+v", kind, counts)
		}
	}
	if n := f.db.HLen(f.ctx, f.queue.Key("errors")).Val(); n != maxLocalGroups+1 {
		t.Errorf("there are %d groups of errors", n)
	}
}

func TestBucketsFollowTheClockOfRedis(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{"ahead": 90 * time.Hour, "behind": -90 * time.Hour} {
		db := redistest.Open(t, "embedded:")
		at := time.Now().Add(offset).Truncate(time.Minute).Add(30 * time.Second)
		if err := db.SetEmbeddedTime(at); err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, db, "")
		f.count("a", queue.AttemptSucceeded, 1)
		f.flush()
		series, err := Read(f.ctx, f.client, "q", Hour)
		f.must(err)
		last := series.Buckets[len(series.Buckets)-1]
		if !last.Start.Equal(at.Truncate(time.Minute)) || last.Total("a").Done != 1 {
			t.Errorf("%s: the bucket of %s has %d", name, last.Start, last.Total("a").Done)
		}
		// The clock is set, by some time: the next write finds that.
		later := at.Add(-7 * time.Hour)
		if err := db.SetEmbeddedTime(later); err != nil {
			t.Fatal(err)
		}
		f.count("a", queue.AttemptSucceeded, 1)
		f.flush()
		series, err = Read(f.ctx, f.client, "q", Hour)
		f.must(err)
		if n := series.Kinds()["a"]; n == nil || n.Done != 1 {
			t.Errorf("%s: after the clock was set: %+v", name, n)
		}
	}
}

// clockSetter sets the clock of an embedded server back before each pipeline.
type clockSetter struct {
	db    *rdb.DB
	now   time.Time
	trips int
}

func (c *clockSetter) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (c *clockSetter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (c *clockSetter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.trips++
		c.now = c.now.Add(-10 * time.Minute)
		if err := c.db.SetEmbeddedTime(c.now); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

func TestFlushIsCorrectedOnceWhenTheClockOfRedisJumps(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	f := newFixture(t, db, "")
	f.count("a", queue.AttemptSucceeded, 1)
	f.flush() // loads the script
	setter := &clockSetter{db: db, now: time.Now()}
	db.AddHook(setter)
	f.count("a", queue.AttemptSucceeded, 1)
	for want := 2; want < 5; want++ { // a later flush tries once
		ctx, cancel := context.WithTimeout(f.ctx, 2*time.Second)
		err := f.collector.Flush(ctx)
		cancel()
		if !errors.Is(err, errClock) || setter.trips != want {
			t.Fatalf("after %d round trips: %v, want %d", setter.trips, err, want)
		}
	}
	setter.now = setter.now.Add(10 * time.Minute) // stays
	f.flush()
	if left := len(f.counter.pending); left != 0 || setter.trips != 5 {
		t.Errorf("%d writes are left after %d round trips", left, setter.trips)
	}
}
