package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// An enqueuedMachine adds jobs in every way and compares the counter with their number.
type enqueuedMachine struct {
	*fixture
	added int
	lease *queue.Lease
}

func (m *enqueuedMachine) AddNatively(*rapid.T) {
	m.queue.SetSettingsAge(-time.Hour)
	m.add()
}

func (m *enqueuedMachine) AddByTheScript(*rapid.T) {
	m.queue.SetSettingsAge(time.Hour)
	m.add()
}

func (m *enqueuedMachine) AddMany(t *rapid.T) {
	options := rapid.Custom(func(t *rapid.T) queue.Options {
		return rapid.SampledFrom([]queue.Options{
			{}, {Priority: queue.High}, {MaxAttempts: 3}, {Delay: time.Hour}, {At: time.UnixMilli(1)},
			{Priority: queue.Low, Unique: queue.Unique{Key: "k"}},
		}).Draw(t, "options")
	})
	var jobs []queue.NewJob
	for _, o := range rapid.SliceOfN(options, 1, 4).Draw(t, "jobs") {
		o.Queue = "q"
		jobs = append(jobs, queue.NewJob{Args: queue.Raw("a", nil), Options: o})
	}
	for _, result := range m.client.EnqueueMany(m.Context(), jobs) {
		if result.Err == nil { // no duplicate
			m.added++
		}
	}
}

func (m *enqueuedMachine) add() {
	m.fixture.add("a", queue.Options{})
	m.added++
}

func (m *enqueuedMachine) AddByXAdd(t *rapid.T) {
	line := rapid.SampledFrom([]string{"2:high:fresh", "2:normal:fresh", "2:low:fresh"}).Draw(t, "line")
	m.must(m.db.XAdd(m.Context(), &redis.XAddArgs{Stream: m.key(line), Values: []string{"kind", "a"}}).Err())
	if !m.db.Embedded() { // which does not count
		m.added++
	}
}

func (m *enqueuedMachine) RunSome(t *rapid.T) {
	fetched, err := m.lease.Fetch(m.Context(), queue.FetchLimits{Jobs: rapid.IntRange(1, 5).Draw(t, "jobs"), Bytes: 1 << 20})
	m.must(err)
	if len(fetched.Jobs) == 0 {
		return
	}
	m.end(m.lease, rapid.SampledFrom([]queue.Disposition{queue.AttemptSucceeded, queue.AttemptReturned, queue.AttemptRetry, queue.AttemptDead}).Draw(t, "as"), fetched.Jobs...)
}

func (m *enqueuedMachine) Purge(t *rapid.T) {
	state := rapid.SampledFrom([]queue.State{queue.Waiting, queue.Delayed, queue.Dead}).Draw(t, "state")
	_, err := m.changeAll("delete", state)
	m.must(err)
}

func (m *enqueuedMachine) Tidy(*rapid.T) { m.must(m.queue.Tidy(m.Context())) }

// ADayPasses makes the next script that adds count what was added before it.
func (m *enqueuedMachine) ADayPasses(*rapid.T) {
	m.must(m.db.HDel(m.Context(), m.key("meta"), "day").Err())
}

// LoseALine deletes the stream of a line and what Redis has counted there.
func (m *enqueuedMachine) LoseALine(t *rapid.T) {
	m.Tidy(t)
	m.RunSome(t)
	line := rapid.SampledFrom([]string{"2:high:fresh", "2:normal:fresh", "2:low:fresh"}).Draw(t, "line")
	m.must(m.db.Del(m.Context(), m.key(line)).Err())
}

func (m *enqueuedMachine) DeleteTheQueue(*rapid.T) {
	for _, state := range []queue.State{queue.Waiting, queue.Delayed, queue.Dead, queue.Finished} {
		_, err := m.changeAll("delete", state)
		m.must(err)
	}
	m.close(m.lease)
	m.must(m.db.ZAdd(m.Context(), m.db.Prefix()+":{queues}:used", redis.Z{Score: 1, Member: "q"}).Err())
	m.must(m.queue.Delete(m.Context()))
	m.added = 0
	m.open()
}

func (m *enqueuedMachine) open() { m.lease = m.fixture.lease(fmt.Sprint("w", time.Now().UnixNano())) }

func (m *enqueuedMachine) Check(t *rapid.T) {
	total, days, err := m.queue.Counters(m.Context(), 2)
	m.must(err)
	if sum := days[0].Enqueued + days[1].Enqueued; total.Enqueued != int64(m.added) || sum != total.Enqueued {
		t.Fatalf("%d jobs were added; %d are counted, %d of them today and yesterday", m.added, total.Enqueued, sum)
	}
}

func TestTheCounterOfEnqueuedJobsIsExact(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			if err := empty(db, db.Prefix()+":{q:0}:"); err != nil {
				rt.Fatal(err)
			}
			m := &enqueuedMachine{fixture: setup(t, db)}
			m.open()
			rt.Repeat(rapid.StateMachineActions(m))
		})
	})
}

func TestJobsCountForTheDayOnWhichTheyWereAdded(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	d := setup(t, db)
	counted := func(when string, today, yesterday, before int64) {
		t.Helper()
		total, days, err := d.queue.Counters(t.Context(), 3)
		d.must(err)
		if days[0].Enqueued != today || days[1].Enqueued != yesterday || days[2].Enqueued != before || total.Enqueued != today+yesterday+before {
			t.Errorf("%s: %d today, %d yesterday, %d before that, %d in all, want %d, %d and %d",
				when, days[0].Enqueued, days[1].Enqueued, days[2].Enqueued, total.Enqueued, today, yesterday, before)
		}
	}
	now, err := db.Time(t.Context()).Result()
	d.must(err)
	xadd := func(daysAgo int) {
		id := fmt.Sprint(now.AddDate(0, 0, -daysAgo).UnixMilli(), "-*")
		d.must(db.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:normal:fresh"), ID: id, Values: []string{"kind", "a"}}).Err())
	}
	d.must(db.HSet(t.Context(), d.key("meta"), "format", "2").Err()) // clients have used the queue before
	xadd(2)
	counted("read before they are folded", 0, 0, 1)
	d.must(d.queue.Tidy(t.Context()))
	xadd(1)
	xadd(1)
	counted("the next day", 0, 2, 1)
	d.add("a", queue.Options{}) // by the script, which is the first of its day
	counted("when a job is added today", 1, 2, 1)
	d.must(d.queue.Tidy(t.Context()))
	counted("after all are folded", 1, 2, 1)
}

func TestAFullRedisFoldsTheCounter(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0))
	d := setup(t, db)
	d.add("a", queue.Options{})
	d.must(db.ConfigSet(t.Context(), "maxmemory", "1").Err())
	d.must(d.queue.Tidy(t.Context()))
	if n := db.HGet(t.Context(), d.key("counts"), "total:enqueued").Val(); n != "1" {
		t.Errorf("%q are folded, want 1", n)
	}
}
