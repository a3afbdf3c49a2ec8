package delayed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// daily is a schedule that doesn't fire during a test.
func (s *fixture) daily(name string) queue.CronSchedule {
	return queue.CronSchedule{Name: name, Expr: "0 0 1 1 *", Queue: s.queue.Name(), Kind: "report", Args: []byte(`{"n":1}`)}
}

// everySecond is a schedule that fires all the time.
func (s *fixture) everySecond(name string) queue.CronSchedule {
	schedule := s.daily(name)
	schedule.Expr = "* * * * * *"
	return schedule
}

// put adds a schedule that must be new or another one.
func (s *fixture) put(t testing.TB, schedule queue.CronSchedule) {
	t.Helper()
	if changed, err := delayed.AddSchedule(t.Context(), s.client, schedule); err != nil || !changed {
		t.Fatalf("add %s: changed %t, %v", schedule.Name, changed, err)
	}
}

// info returns a schedule as it is listed, with its version.
func (s *fixture) info(t testing.TB, name string) queue.CronScheduleInfo {
	t.Helper()
	infos, err := delayed.Schedules(t.Context(), s.client, s.queue.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Name == name {
			one, err := delayed.Schedule(t.Context(), s.client, s.queue.Name(), name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Version = one.Version; !reflect.DeepEqual(info, one) {
				t.Errorf("it is listed as %+v, and shown as %+v", info, one)
			}
			return info
		}
	}
	t.Fatalf("%s is not among %d schedules", name, len(infos))
	return queue.CronScheduleInfo{}
}

// on returns a client that uses another connection, and its queue.
func (s *fixture) on(t testing.TB, db *rdb.DB) (*queue.Client, *queue.PoolQueue) {
	t.Helper()
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool(s.queue.Name())
	if err != nil {
		t.Fatal(err)
	}
	return client, q
}

// watch runs a watch until the test ends or stop is called.
func (s *fixture) watch(t testing.TB, db *rdb.DB, config delayed.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	client, q := s.on(t, db)
	c := delayed.NewCron(client, &config, q)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// jobs waits until a queue has some jobs, and returns all of them in order.
func (s *fixture) jobs(t testing.TB, most int) []*queue.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for mark := (rdb.Mark{Key: s.key("2:normal:fresh"), ID: "0"}); ; {
		page, err := s.queue.List(ctx, queue.Waiting, &queue.ListOptions{Limit: 1000})
		if err != nil {
			t.Fatalf("%d jobs came, want %d: %v", len(page.Jobs), most, err)
		}
		if len(page.Jobs) >= most {
			return page.Jobs
		}
		if n := len(page.Jobs); n > 0 {
			id := page.Jobs[n-1].ID
			mark.ID = id[strings.LastIndexByte(id, ':')+2:] // mail:0:n5-0 is entry 5-0
		}
		if _, err := s.db.Wait(ctx, patience, mark); err != nil {
			t.Fatalf("%d jobs came, want %d: %v", len(page.Jobs), most, err)
		}
	}
}

// everyOnce checks that jobs are one for each second from the first to the last.
func everyOnce(t testing.TB, jobs []*queue.Job) {
	t.Helper()
	first := jobs[0].Headers[queue.HeaderDue]
	due, err := time.Parse(time.RFC3339, first)
	if err != nil {
		t.Fatal(err)
	}
	for i, job := range jobs {
		if want := due.Add(time.Duration(i) * time.Second).Format(time.RFC3339); job.Headers[queue.HeaderDue] != want {
			t.Errorf("job %d of %d is of %s, want %s", i, len(jobs), job.Headers[queue.HeaderDue], want)
		}
	}
}

func TestScheduledJobsAreAsTheirScheduleSays(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.watch(t, db, delayed.Config{})
		schedule := s.everySecond("ticks")
		schedule.Options = queue.Options{MaxAttempts: 3, Timeout: time.Minute, Headers: map[string]string{"tenant": "a"}}
		s.put(t, schedule)
		job := s.jobs(t, 1)[0]
		due, err := time.Parse(time.RFC3339, job.Headers[queue.HeaderDue])
		if err != nil || job.Headers[queue.HeaderSchedule] != "ticks" || job.Headers["tenant"] != "a" || len(job.Headers) != 3 {
			t.Errorf("headers %v (%v)", job.Headers, err)
		}
		if job.Kind != "report" || string(job.Args) != `{"n":1}` || job.MaxAttempts != 3 || job.Timeout != time.Minute {
			t.Errorf("job %+v", job)
		}
		if late := job.Enqueued.Sub(due); late < 0 || late > 15*time.Second { // a watch that does not hear of it looks after a minute
			t.Errorf("it came %s after its time", late)
		}
		info := s.info(t, "ticks")
		if last := info.Last[len(info.Last)-1]; last.JobID != job.ID || !last.Due.Equal(due) || last.Fired.Before(due) || last.Manual {
			t.Errorf("the first firing is noted as %+v, want %s of %s", last, job.ID, due)
		}
		if !info.Next.After(due) {
			t.Errorf("next at %s, after one of %s", info.Next, due)
		}
	})
}

// runWatches runs watches until the test ends, each of which is ended again and again,
// wherever it is, and followed by another.
func (s *fixture) runWatches(t testing.TB, url string, watches int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range watches {
		client, q := s.on(t, redistest.Open(t, url))
		life := 500*time.Millisecond + time.Duration(i)*170*time.Millisecond
		running.Go(func() {
			for ctx.Err() == nil {
				current, end := context.WithTimeout(ctx, life)
				_ = delayed.NewCron(client, nil, q).Run(current)
				end()
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}

func TestManyWatchesFireEachSecondOnceThoughTheyEndInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, watches := range []int{2, 5} {
		t.Run(fmt.Sprint(watches), func(t *testing.T) {
			t.Parallel()
			url := redistest.URL(t)
			s := newFixture(t, redistest.Open(t, url))
			s.put(t, s.everySecond("ticks"))
			s.runWatches(t, url, watches)
			everyOnce(t, s.jobs(t, 5))
		})
	}
}

func TestLostRepliesFireNothingTwice(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	s := newFixture(t, redistest.Open(t, url))
	s.put(t, s.everySecond("ticks"))
	proxy := redistest.StartProxy(t, url)
	s.watch(t, redistest.Open(t, proxy.URL), delayed.Config{})
	for range 4 {
		n := len(s.jobs(t, 1))
		lost := proxy.DropReply(2)
		s.jobs(t, n+1)
		<-lost
	}
	everyOnce(t, s.jobs(t, 5))
}

func TestAnotherWatchTakesOverFromADeadOne(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.put(t, s.everySecond("ticks"))
		// This one is to come at that time, and never does.
		if found, err := s.queue.DueSchedules(t.Context(), "dead", time.Minute, nil); err != nil || !found.Waker {
			t.Fatalf("%+v, %v; want to be the one to come", found, err)
		}
		s.watch(t, db, delayed.Config{})
		everyOnce(t, s.jobs(t, 2))
	})
}

func TestChangesTakeEffectAtOnce(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		s.watch(t, db, delayed.Config{})
		s.put(t, s.daily("a"))
		quiet := s.info(t, "a")
		if changed, err := delayed.AddSchedule(t.Context(), s.client, s.daily("a")); err != nil || changed {
			t.Errorf("the same again: changed %t, %v", changed, err)
		}
		s.put(t, s.everySecond("a")) // its watch sleeps until next year
		s.jobs(t, 2)
		other := s.daily("a")
		other.Kind = "other"
		s.put(t, other)
		if info := s.info(t, "a"); !info.Next.Equal(quiet.Next) || info.Kind != "other" || len(info.Last) < 2 {
			t.Errorf("after the change %+v, want the next time of the first one, %s, and what has fired", info, quiet.Next)
		}
		if err := s.queue.RemoveSchedule(t.Context(), "a", ""); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"schedules", "schedules:due", "schedules:fired"} {
			if db.Exists(t.Context(), s.key(key)).Val() != 0 {
				t.Errorf("%s is left", key)
			}
		}
		if err := s.queue.RemoveSchedule(t.Context(), "a", ""); !errors.Is(err, queue.ErrNoSchedule) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

func TestWatchWithoutSignalsIsWoken(t *testing.T) {
	t.Parallel()
	s := newFixture(t, redistest.DB(t))
	ctx, cancel := context.WithCancel(t.Context())
	c := delayed.NewCron(s.client, &delayed.Config{NoSignals: true})
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	c.Add(s.queue)
	_, mark, err := s.queue.Signals(t.Context(), queue.StreamCursor{})
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, s.everySecond("ticks"))
	signals, _, err := s.queue.Signals(t.Context(), mark)
	if err != nil || len(signals) != 1 || signals[0].Kind != queue.SignalSchedule {
		t.Fatalf("signals %v, %v; want one about schedules", signals, err)
	}
	c.Wake(s.queue.Name())
	s.jobs(t, 2)
	c.Remove(s.queue.Name())
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
}

func TestMissedTimesAreCaughtUpOnEveryBackend(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		schedule := s.daily("late")
		schedule.Expr, schedule.CatchUp = "@every 1h", queue.CatchUpAll
		s.put(t, schedule)
		next := s.info(t, "late").Next
		if err := db.ZAdd(t.Context(), s.key("schedules:due"), redis.Z{Score: float64(next.Add(-70 * time.Hour).UnixMilli()), Member: "late"}).Err(); err != nil {
			t.Fatal(err)
		}
		s.watch(t, db, delayed.Config{Logger: slog.New(slog.DiscardHandler)})
		jobs := s.jobs(t, 70)
		for i, job := range jobs {
			if want := next.Add(time.Duration(i-70) * time.Hour).UTC().Format(time.RFC3339); job.Headers[queue.HeaderDue] != want {
				t.Fatalf("job %d is of %s, want %s", i, job.Headers[queue.HeaderDue], want)
			}
		}
		if info := s.info(t, "late"); !info.Next.Equal(next) || len(info.Last) != 10 || info.Last[0].JobID != jobs[69].ID {
			t.Errorf("next at %s, last ones %v", info.Next, info.Last)
		}
	})
}

// A lines is a place for a log that can be waited for.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

func TestScheduleThatCannotBeReadIsLoggedOnceAndDelaysNoOther(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newFixture(t, db)
		good := s.everySecond("good")
		s.put(t, good)
		record := db.HGet(t.Context(), s.key("schedules"), "good").Val()
		bad := map[string]string{
			"garbage": "what is this?",
			"newer":   "9n4:kind1:k",
			"cut":     record[:len(record)-3],
			"zone":    strings.Replace(record, "3:UTC", "4:Mars", 1),
			"expr":    strings.Replace(record, "11:* * * * * *", "11:* * * * * x", 1),
			"digits":  strings.Replace(record, "4:kind", "00000000004:kind", 1),
		}
		for name, record := range bad {
			if record == db.HGet(t.Context(), s.key("schedules"), "good").Val() {
				t.Fatalf("%s is no other record", name)
			}
			if err := db.HSet(t.Context(), s.key("schedules"), name, record).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"garbage", "newer", "cut", "zone", "expr", "digits", "nothing"} {
			if err := db.ZAdd(t.Context(), s.key("schedules:due"), redis.Z{Score: 1, Member: name}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		log := make(lines, 1000)
		stop := s.watch(t, db, delayed.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		s.jobs(t, 3)
		stop()
		close(log)
		logged := map[string]int{}
		for line := range log {
			for name := range bad {
				if strings.Contains(line, "cannot be read") && strings.Contains(line, "schedule="+name+" ") {
					logged[name]++
				}
			}
		}
		for name := range bad {
			if logged[name] != 1 {
				t.Errorf("%s: logged %d times, want once", name, logged[name])
			}
			if name != "digits" && s.info(t, name).Err == nil {
				t.Errorf("%s is listed without an error", name)
			}
		}
		if info := s.info(t, "good"); info.Err != nil {
			t.Errorf("the good one has an error: %v", info.Err)
		}
		mended := s.daily("garbage")
		s.put(t, mended)
		if info := s.info(t, "garbage"); info.Err != nil || !info.Next.After(time.Now()) {
			t.Errorf("after it was added again: %+v", info)
		}
		if err := s.queue.RemoveSchedule(t.Context(), "cut", ""); err != nil {
			t.Errorf("a damaged one can't be removed: %v", err)
		}
	})
}
