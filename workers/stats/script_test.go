package stats

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func zOf(member string, score float64) redis.Z { return redis.Z{Member: member, Score: score} }

// TestScriptsReplyAsTheirHeadersState has a case for each reply.
func TestScriptsReplyAsTheirHeadersState(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		now, err := db.Time(f.ctx).Result()
		f.must(err)
		call := func(script *rdb.Script, at time.Time, args ...any) string {
			keys, times := bucketKeys(f.queue, "p", at)
			reply, err := script.Run(f.ctx, db, keys, append(times, args...)...)
			if err != nil {
				return err.Error()
			}
			return strings.Join(append([]string{reply.Word}, reply.From(1).Texts()...), " ")
		}
		want := func(claim, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %q, want %q", claim, got, want)
			}
		}
		cell := []any{1, "a", "done", 2}
		flush := func(at time.Time, number int) string {
			return call(flushScript, at, append([]any{number}, cell...)...)
		}
		want("a write of the future", flush(now.Add(10*time.Minute), 1), "clock")
		if keys := f.keys(); len(keys) > 0 {
			t.Errorf("it wrote %v", keys)
		}
		want("first write", flush(now, 1), "ok 1")
		want("the same again", flush(now, 1), "ok 0")
		want("an earlier one", flush(now, 0), "ok 0")
		want("next write", flush(now, 2), "ok 1")
		want("no cells", call(flushScript, now, 3, 0), "ok 1")
		want("a write of yesterday", flush(now.Add(-24*time.Hour), 4), "ok 1")
		want("a write of last year", flush(now.Add(-365*24*time.Hour), 5), "ok 1")
		if got := f.read(Hour)["a"].Done; got != 4 {
			t.Errorf("the last hour has %d", got)
		}
		if got := f.read(Month)["a"].Done; got != 6 {
			t.Errorf("the last month has %d", got)
		}

		at := now.UnixMilli()
		want("claim", call(sampleScript, now, "p", 60000), "ok")
		want("claim again", call(sampleScript, now, "p", 60000), "ok")
		want("claim of another pool", call(sampleScript, now, "o", 60000), "taken")
		want("another pool's values", call(sampleScript, now, "o", 60000, 1, 2, 3, 4, 5, 6, at, 7, 8), "taken")
		want("values", call(sampleScript, now, "p", 60000, 1, 2, 3, 4, 5, 10, at, 7, 8), "ok")
		want("values again", call(sampleScript, now, "p", 60000, 1, 2, 3, 4, 5, 10, at, 7, 8), "ok")
		want("lower values", call(sampleScript, now, "p", 60000, 0, 0, 0, 0, 0, 13, at, 6, 9), "ok")
		want("a counter that began anew", call(sampleScript, now, "p", 60000, 0, 0, 0, 0, 0, 1, at, 5, 4), "ok")
		want("a claim when the other pool is gone", call(sampleScript, now, "o", -1), "ok")
		want("a sample of the future", call(sampleScript, now.Add(10*time.Minute), "o", 0), "clock")
		series, err := Read(f.ctx, f.client, "q", Hour)
		f.must(err)
		gauges := Gauges{}
		for _, b := range series.Buckets {
			if b.Sampled {
				gauges = b.Gauges
			}
		}
		if want := (Gauges{true, 1, 2, 0, 0, 5 * time.Millisecond, 3, time.UnixMilli(at).UTC(), 5, 4}); gauges != want {
			t.Errorf("the sample is %+v, want %+v", gauges, want)
		}

		f.must(db.HSet(f.ctx, f.queue.Key("stats"), "format", "2").Err())
		for _, got := range []string{flush(now, 9), call(sampleScript, now, "p", 0)} {
			if !strings.Contains(got, "upgrade") {
				t.Errorf("of another format: %s", got)
			}
		}
	})
}

func TestScriptsInAFullRedisWriteNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)), "")
	f.must(f.db.ConfigSet(f.ctx, "maxmemory", "1").Err())
	f.count("a", queue.AttemptSucceeded, 1)
	if err := f.collector.Flush(f.ctx); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("flush: %v", err)
	}
	if _, err := f.collector.sampleQueue(f.ctx, f.counter, sampleEvery, f.collector.freeSlots(f.ctx)); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("sample: %v", err)
	}
	f.must(f.db.ConfigSet(f.ctx, "maxmemory", "0").Err())
	if keys := f.keys(); len(keys) > 0 {
		t.Errorf("there are %v", keys)
	}
	f.count("a", queue.AttemptSucceeded, 1) // is written later
	f.flush()
	f.flush()
	f.wantDone("a", 2)
}

func TestAllKeysExpire(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	f.count("a", queue.AttemptDead, 1, "no")
	f.flush()
	_, err := f.collector.sampleQueue(f.ctx, f.counter, sampleEvery, f.collector.freeSlots(f.ctx))
	f.must(err)
	keys := f.keys()
	if len(keys) != 8 {
		t.Errorf("there are %v", keys)
	}
	for _, key := range keys {
		kept := f.db.PTTL(f.ctx, f.queue.Key(key)).Val()
		want := 31 * 24 * time.Hour
		switch {
		case strings.HasPrefix(key, "stats:1m:"):
			want = 2*time.Hour + time.Minute
		case strings.HasPrefix(key, "stats:15m:"):
			want = 26*time.Hour + 15*time.Minute
		case strings.HasPrefix(key, "stats:4h:"):
			want = 31*24*time.Hour + 4*time.Hour
		case strings.HasPrefix(key, "stats:flush:"):
			want = time.Hour
		}
		if kept <= 0 || kept > want {
			t.Errorf("%s is kept for %s, want at most %s", key, kept, want)
		}
	}
}
