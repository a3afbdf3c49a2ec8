package delayed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// patience bounds what a test waits for; it takes a fraction of that.
const patience = 30 * time.Second

// A fixture is a queue, with a mover if the test starts one.
type fixture struct {
	db     *rdb.DB
	client *queue.Client
	queue  *queue.PoolQueue
	due    map[string]int64 // by id, in ms
	added  int64            // in ms; lateness of a job counts from then if it was due before
}

func newFixture(t testing.TB, db *rdb.DB) *fixture {
	t.Helper()
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool("mail")
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{db: db, client: client, queue: q, due: map[string]int64{}}
}

// key returns a key of the queue.
func (s *fixture) key(name string) string {
	return s.db.Prefix() + ":{" + s.queue.Name() + ":0}:" + name
}

// delay adds jobs that are due at some times.
func (s *fixture) delay(t testing.TB, at ...time.Time) (ids []string) {
	t.Helper()
	inserts := make([]queue.NewJob, len(at))
	for i := range at {
		inserts[i] = queue.NewJob{Args: queue.Raw("k", nil), Options: queue.Options{Queue: s.queue.Name(), At: at[i]}}
	}
	for i, result := range s.client.EnqueueMany(t.Context(), inserts) {
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		ids = append(ids, result.ID)
		s.due[result.ID] = at[i].UnixMilli()
	}
	return ids
}

// makeAllDue halves the times of all delayed jobs, which keeps their order.
func (s *fixture) makeAllDue(t testing.TB) {
	t.Helper()
	key := s.key("delayed")
	if err := s.db.ZUnionStore(t.Context(), key, &redis.ZStore{Keys: []string{key}, Weights: []float64{0.5}}).Err(); err != nil {
		t.Fatal(err)
	}
	for id := range s.due {
		s.due[id] /= 2
	}
}

// run runs a mover until the test ends or stop is called.
func (s *fixture) run(t testing.TB, m *delayed.Mover) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// moved waits until some jobs are in the due line, and returns how late each of
// them came there, by Redis's clock, in the order of the line.
func (s *fixture) moved(t testing.TB, jobs int) (lateness []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mark := rdb.Mark{Key: s.key("2:normal:due"), ID: "0"}
	for len(lateness) < jobs {
		entries, err := s.db.XRange(ctx, mark.Key, "("+mark.ID, "+").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			mark.ID = entry.ID
			lateness = append(lateness, s.late(t, entry))
		}
		if len(lateness) < jobs {
			if _, err := s.db.Wait(ctx, patience, mark); err != nil {
				t.Fatalf("%d of %d jobs are in their line: %v", len(lateness), jobs, err)
			}
		}
	}
	if len(lateness) > jobs {
		t.Fatalf("%d jobs in the line, want %d", len(lateness), jobs)
	}
	return lateness
}

func (s *fixture) late(t testing.TB, entry redis.XMessage) time.Duration {
	t.Helper()
	id := s.queue.Name() + ":0:" + fmt.Sprint(entry.Values["id"])
	due, known := s.due[id]
	ms, _, _ := strings.Cut(entry.ID, "-")
	came, err := strconv.ParseInt(ms, 10, 64)
	if !known || err != nil {
		t.Fatalf("in the line is %+v, which is no job of this test", entry)
	}
	if came < due {
		t.Errorf("job %s came %d ms early", id, due-came)
	}
	return time.Duration(max(0, came-max(due, s.added))) * time.Millisecond
}

func TestDelayedJobsComeInTheOrderOfTheirTimes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		soon := time.Now().Add(time.Hour)
		var at []time.Time
		for i := range 100 {
			at = append(at, soon.Add(-time.Duration(i)*time.Second))
		}
		ids := s.delay(t, at...)
		s.makeAllDue(t)
		s.run(t, delayed.NewMover(s.client, nil, s.queue))
		s.moved(t, len(ids))
		lease, err := s.queue.NewLease("w", 0)
		if err != nil {
			t.Fatal(err)
		}
		fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: len(ids), Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, job := range fetched.Jobs {
			got = append(got, job.ID)
		}
		slices.Reverse(ids)
		if !slices.Equal(got, ids) {
			t.Errorf("fetched %v, want %v", got, ids)
		}
	})
}

func TestMoverIsWokenByAnEarlierJob(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.run(t, delayed.NewMover(s.client, nil, s.queue))
		s.delay(t, time.Now().Add(time.Hour))
		// Each is due before all that wait: one that isn't heard would be up
		// to a minute late.
		for i := range 3 {
			s.delay(t, time.Now().Add(50*time.Millisecond))
			s.moved(t, i+1)
		}
	})
}

func TestMoverWithoutSignalsIsWokenByItsOwner(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		_, mark, err := s.queue.Signals(t.Context(), queue.StreamCursor{})
		if err != nil {
			t.Fatal(err)
		}
		m := delayed.NewMover(s.client, &delayed.Config{NoSignals: true})
		s.run(t, m)
		m.Add(s.queue)
		s.delay(t, time.Now().Add(time.Hour))
		if news, err := db.Wait(t.Context(), patience, rdb.Mark{Key: mark.Key, ID: mark.ID}); !news {
			t.Fatalf("no signal came: %v", err)
		}
		signals, _, err := s.queue.Signals(t.Context(), mark)
		if err != nil || len(signals) != 1 || signals[0].Kind != queue.SignalDue {
			t.Fatalf("signals %v, %v; want one that a job is due before all others", signals, err)
		}
		s.makeAllDue(t)
		m.Wake(s.queue.Name())
		s.moved(t, 1)
	})
}

func TestQueueAddedToARunningMoverIsServedAndListenedTo(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		m := delayed.NewMover(s.client, nil)
		s.run(t, m)
		m.Add(s.queue)
		for i := range 2 {
			s.delay(t, time.Now().Add(20*time.Millisecond))
			s.moved(t, i+1)
		}
	})
}

func TestAnotherMoverTakesOverFromADeadOne(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.delay(t, time.Now().Add(time.Second))
		// This one is to come at that time, and never does.
		if moved, err := s.queue.MoveDue(t.Context(), "dead"); err != nil || !moved.Waker {
			t.Fatalf("%+v, %v; want to be the one to come", moved, err)
		}
		s.run(t, delayed.NewMover(s.client, nil, s.queue))
		// Within 250 ms, and what a busy machine takes. Without that it would come after a minute.
		if late := s.moved(t, 1)[0]; late > 15*time.Second {
			t.Errorf("came %s late", late)
		}
	})
}

func TestManyMoversMoveEachJobOnce(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		now := time.Now()
		at := make([]time.Time, 500)
		for i := range at {
			at[i] = now.Add(time.Duration(i) * time.Millisecond)
		}
		for i := range 4 {
			stop := s.run(t, delayed.NewMover(s.client, nil, s.queue))
			if i == 0 {
				defer time.AfterFunc(250*time.Millisecond, stop).Stop() // in the middle
			}
		}
		s.delay(t, at...)
		s.moved(t, len(at))
		if left := db.ZCard(t.Context(), s.key("delayed")).Val() + db.HLen(t.Context(), s.key("delayed:jobs")).Val(); left != 0 {
			t.Errorf("%d delayed jobs are left", left)
		}
	})
}

func TestMoverGoesOnWhenRedisHasBeenAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	s := newFixture(t, db)
	s.run(t, delayed.NewMover(s.client, nil, s.queue))
	s.delay(t, time.Now().Add(10*time.Millisecond))
	s.moved(t, 1)
	server.Kill()
	if err := server.Restart(); err != nil { // it has forgotten everything
		t.Fatal(err)
	}
	s.delay(t, time.Now().Add(50*time.Millisecond))
	s.moved(t, 1)
}
