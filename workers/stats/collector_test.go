package stats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestCountsAreReadByKindInEachRange(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		f.count("a", queue.AttemptSucceeded, 3)
		f.count("b", queue.AttemptSucceeded, 1)
		f.count("b", queue.AttemptRetry, 2, "no")
		f.count("b", queue.AttemptDead, 1, "no")
		f.count("b", queue.AttemptDiscarded, 4)
		f.count("b", queue.AttemptCancelled, 5)
		f.count("c", queue.AttemptSnoozed, 1)
		f.count("c", queue.AttemptReturned, 1)
		f.flush()
		f.count("a", queue.AttemptSucceeded, 2)
		f.flush()
		f.flush() // nothing
		for back := range ranges {
			kinds := f.read(back)
			a, b := kinds["a"], kinds["b"]
			if len(kinds) != 2 || a == nil || a.Done != 5 || a.Run.Count() != 5 || a.Wait.Count() != 5 || a.Run.Mean() != 3*time.Millisecond || a.Wait.Mean() != 5*time.Millisecond {
				t.Errorf("%s: %d kinds, %+v", back, len(kinds), a)
			}
			if b == nil || b.Done != 1 || b.Failed != 3 || b.Dead != 1 || b.Discarded != 4 || b.Cancelled != 5 || b.Attempts() != 4 {
				t.Errorf("%s: %+v", back, b)
			}
		}
	})
}

func TestCountsOfThePastAreReadWithTheBucketsThatAreKept(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	began := time.Date(2026, 11, 20, 9, 30, 30, 0, time.UTC)
	f := newFixture(t, db, "")
	f.must(db.SetEmbeddedTime(began))
	f.count("a", queue.AttemptSucceeded, 3)
	f.flush()
	until := began.Add(10 * time.Minute)
	for _, c := range []struct {
		later      time.Duration
		back       Range
		width      time.Duration
		start, end string // of a day
	}{
		{0, Hour, time.Minute, "20 08:31", "20 09:30"}, // it has not ended
		{45 * time.Minute, Hour, time.Minute, "20 08:41", "20 09:41"},
		{time.Hour, Day, 15 * time.Minute, "19 09:45", "20 09:45"},
		{65 * time.Minute, Hour, time.Minute, "20 08:41", "20 09:41"},
		{9 * time.Hour, Hour, 15 * time.Minute, "20 08:30", "20 09:45"},
		{72 * time.Hour, Hour, 4 * time.Hour, "20 08:00", "20 12:00"},
		{72 * time.Hour, Day, 4 * time.Hour, "19 08:00", "20 12:00"},
	} {
		f.must(db.SetEmbeddedTime(began.Add(c.later)))
		series, err := ReadUntil(f.ctx, f.client, "q", c.back, until)
		f.must(err)
		const layout = "02 15:04"
		if start, end := series.Start().Format(layout), series.End().Format(layout); series.Width != c.width || start != c.start || end != c.end || series.Kinds()["a"] == nil || series.Kinds()["a"].Done != 3 {
			t.Errorf("%s later, the %s is %s of %s to %s: %+v", c.later, c.back, series.Width, start, end, series.Kinds()["a"])
		}
	}
}

func TestQueueModeCountsKindsTogetherAndOffNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), Queues)
	f.count("a", queue.AttemptSucceeded, 3)
	f.count("b", queue.AttemptDead, 2, "no")
	f.flush()
	kinds := f.read(Hour)
	if other := kinds[OtherKind]; len(kinds) != 1 || other.Done != 3 || other.Failed != 2 {
		t.Errorf("counted %v", kinds)
	}
	for _, key := range f.keys() {
		if strings.HasPrefix(key, "errors") {
			t.Errorf("there is the key %s", key)
		}
	}
	off := newFixture(t, redistest.Open(t, "embedded:"), Off)
	off.count("a", queue.AttemptSucceeded, 3)
	off.flush()
	off.collector.Leave(off.counter)
	off.collector.Run(off.ctx)
	if keys := off.keys(); off.counter != nil || len(keys) > 0 {
		t.Errorf("without statistics there are %v", keys)
	}
}

func TestKindsBeyondTwentyAreCountedTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	for i := range 25 {
		f.count(fmt.Sprintf("kind%02d", i), queue.AttemptSucceeded, 1)
	}
	f.flush()
	f.count("kind03", queue.AttemptSucceeded, 1)
	f.count("kind24", queue.AttemptSucceeded, 1)
	f.flush()
	kinds := f.read(Hour)
	if len(kinds) != 21 || kinds["kind03"].Done != 2 || kinds[OtherKind].Done != 6 || kinds["kind24"] != nil {
		t.Errorf("%d kinds, other %+v", len(kinds), kinds[OtherKind])
	}
	// A kind that is not seen for a day makes room.
	now, err := f.db.Time(f.ctx).Result()
	f.must(err)
	f.must(f.db.ZAddXX(f.ctx, f.queue.Key("stats:kinds"), zOf("kind05", float64(now.Add(-25*time.Hour).UnixMilli()))).Err())
	f.must(f.db.ZAddXX(f.ctx, f.queue.Key("stats:kinds"), zOf("kind06", float64(now.Add(-23*time.Hour).UnixMilli()))).Err())
	f.count("kind24", queue.AttemptSucceeded, 1)
	f.flush()
	if kinds := f.read(Hour); kinds["kind24"] == nil || kinds["kind24"].Done != 1 {
		t.Errorf("kind24 is not counted: %v", kinds)
	}
	f.count("kind05", queue.AttemptSucceeded, 1)
	f.flush()
	f.wantDone("kind05", 1)
}

func TestKindsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"), "")
	for i := range 3 * maxLocalKinds {
		f.count(fmt.Sprint("kind", i), queue.AttemptRetry, 1, "no such kind "+strings.Repeat("x", i))
	}
	if n, groups := len(f.counter.current.kinds), len(f.counter.current.groups); n > maxLocalKinds+1 || groups > maxLocalGroups+1 {
		t.Errorf("%d kinds and %d groups are in memory", n, groups)
	}
	f.flush()
	total := Counts{}
	for _, counts := range f.read(Hour) {
		total.Add(counts)
	}
	if total.Failed != 3*maxLocalKinds {
		t.Errorf("counted %d", total.Failed)
	}
}

func TestOnePoolSamplesAQueueAndArrivalsAreCounted(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		other := NewCollector(Config{Client: f.client, Pool: "other"})
		other.Counter(f.queue)
		add := func(n int) {
			for range n {
				_, err := f.client.Enqueue(f.ctx, queue.Raw("a", nil), &queue.Options{Queue: "q"})
				f.must(err)
			}
		}
		now := time.Now().Add(sampleEvery)
		add(3)
		f.collector.sampleDue(f.ctx, now)
		other.sampleDue(f.ctx, now)
		if next := other.counters["q"].sample.next; next.Sub(now) < sampleEvery {
			t.Errorf("the other pool looks again in %s", next.Sub(now))
		}
		add(2)
		f.collector.sampleDue(f.ctx, now.Add(time.Second)) // too early
		f.collector.sampleDue(f.ctx, now.Add(time.Minute))
		for back := range ranges {
			series, err := Read(f.ctx, f.client, "q", back)
			f.must(err)
			last := series.Buckets[len(series.Buckets)-1]
			want := Gauges{Sampled: true, Waiting: 5, Added: 2, Oldest: last.Oldest}
			if back == Hour {
				if want.Time = last.Time; want.Time.IsZero() {
					t.Error("the time of the sample is not known")
				}
			}
			if last.Gauges != want {
				t.Errorf("%s: %+v, want %+v", back, last.Gauges, want)
			}
		}
		// The other pool takes over when this one is gone.
		f.must(db.HSet(f.ctx, f.queue.Key("stats"), "sampled", 1).Err())
		other.sampleDue(f.ctx, now.Add(time.Hour))
		if sampler := db.HGet(f.ctx, f.queue.Key("stats"), "sampler").Val(); sampler != "other" {
			t.Errorf("sampler is %s", sampler)
		}
	})
}

func TestQueueThatIsLeftIsSampledNoMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"), "")
	f.count("a", queue.AttemptSucceeded, 1)
	f.collector.Leave(f.counter)
	f.collector.sampleDue(f.ctx, time.Now().Add(time.Hour))
	if keys := f.keys(); len(keys) > 0 {
		t.Errorf("there are %v", keys)
	}
	f.flush() // its counts are written
	f.wantDone("a", 1)
	if f.collector.all(); len(f.collector.counters) != 0 {
		t.Error("the counter is kept")
	}
}

func TestQueueThatIsServedAgainIsCountedOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	for range 3 {
		f.count("a", queue.AttemptSucceeded, 1)
		f.flush()
	}
	f.collector.Leave(f.counter)
	f.flush() // forgets the counter
	f.counter = f.collector.Counter(f.queue)
	f.count("a", queue.AttemptSucceeded, 1)
	f.flush()
	f.wantDone("a", 4)
}

func TestCountsAfterAQueueWasLeftAreWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	left := f.counter
	f.collector.Leave(left)
	f.flush() // forgets the counter
	f.count("a", queue.AttemptSucceeded, 1)
	f.flush()
	f.wantDone("a", 1)
	f.flush() // forgets it again
	f.counter = f.collector.Counter(f.queue)
	f.count("a", queue.AttemptSucceeded, 1)
	f.counter = left
	f.count("a", queue.AttemptSucceeded, 1)
	f.flush()
	f.wantDone("a", 3)
}

func TestLateLeaveOfAQueueThatIsServedAgainKeepsItsSamples(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"), "")
	f.collector.Counter(f.queue)
	f.collector.Leave(f.counter)
	f.collector.sampleDue(f.ctx, time.Now().Add(time.Hour))
	if keys := f.keys(); len(keys) == 0 {
		t.Error("the queue is not sampled")
	}
}

func TestManyPoolsWriteMoreSeldom(t *testing.T) {
	t.Parallel()
	for pools, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 20: 10 * time.Second, 60: 30 * time.Second, 5000: time.Minute} {
		if got := flushEvery(pools); got != want {
			t.Errorf("%d pools: %s, want %s", pools, got, want)
		}
	}
}

func TestStatisticsOfANewerReleaseAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	f.must(f.db.HSet(f.ctx, f.queue.Key("stats"), "format", "2").Err())
	f.count("a", queue.AttemptSucceeded, 1)
	const want = `the statistics have format "2", this release knows 1: upgrade`
	if err := f.collector.Flush(f.ctx); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("flush: %v", err)
	}
	if _, err := Read(f.ctx, f.client, "q", Hour); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.collector.sampleQueue(f.ctx, f.counter, sampleEvery, f.collector.freeSlots(f.ctx)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("sample: %v", err)
	}
	if keys := f.keys(); len(keys) != 1 {
		t.Errorf("there are %v", keys)
	}
}

func TestPoolOfManyQueuesSamplesFiveOfThemASecond(t *testing.T) {
	t.Parallel()
	for queues, want := range map[int]time.Duration{1: time.Minute, 300: time.Minute, 3000: 10 * time.Minute} {
		if got := sampleInterval(queues); got != want {
			t.Errorf("each of %d queues is sampled every %v, want %v", queues, got, want)
		}
	}
	const queues = 3000
	f := newFixture(t, redistest.Open(t, "embedded:"), "")
	for i := range queues {
		q, err := f.client.Queue(fmt.Sprint("q", i))
		f.must(err)
		f.collector.Counter(q)
	}
	if due, _ := f.collector.due(time.Now().Add(time.Minute)); len(due) < 200 || len(due) > 400 {
		t.Errorf("%d of %d queues are sampled in the first minute, want some 300", len(due), queues)
	}
}

func TestSamplesOfAQueueThatMayBeStalledHaveFreeSlots(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		for _, name := range []string{"q", "other"} {
			for range 3 {
				_, err := f.client.Enqueue(f.ctx, queue.Raw("a", nil), &queue.Options{Queue: name})
				f.must(err)
			}
		}
		pool := func(name, state string, length time.Duration, queues ...string) {
			_, err := f.client.Beat(f.ctx, queue.PoolBeat{Pool: name, Length: length, Info: &queue.PoolInfo{Name: name, Queues: queues, Concurrency: 4, State: state}})
			f.must(err)
		}
		pool("w", "running", time.Minute, "q", "other")
		pool("quiet", "quiet", time.Minute, "q")
		pool("elsewhere", "running", time.Minute, "other")
		take := func(name string) {
			q, err := f.client.ForPool(name)
			f.must(err)
			lease, err := q.NewLease("w.1", time.Minute)
			f.must(err)
			_, err = lease.Fetch(f.ctx, queue.FetchLimits{Jobs: 1, Bytes: 1000})
			f.must(err)
		}
		sample := func(claim string, taken int64, free int) {
			t.Helper()
			_, err := f.collector.sampleQueue(f.ctx, f.counter, sampleEvery, f.collector.freeSlots(f.ctx))
			f.must(err)
			series, err := Read(f.ctx, f.client, "q", Hour)
			f.must(err)
			latest := Gauges{}
			for _, bucket := range series.Buckets {
				if bucket.Sampled {
					latest = bucket.Gauges
				}
			}
			if latest.Taken != taken || latest.Free != free {
				t.Errorf("%s: %d taken and %d free, want %d and %d", claim, latest.Taken, latest.Free, taken, free)
			}
		}
		take("other")
		sample("no job is active", 0, 3)
		take("q")
		sample("a job was taken", 1, 0)
		sample("no other one was taken", 1, 2)
		f.must(f.queue.Pause(f.ctx, "", ""))
		sample("paused", 1, 0)
	})
}
