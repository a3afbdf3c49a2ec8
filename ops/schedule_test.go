package ops_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// addSchedule adds a schedule that fires once a year.
func (f *fixture) addSchedule(name, in string) {
	f.Helper()
	_, err := delayed.AddSchedule(f.Context(), f.queues, queue.CronSchedule{Name: name, Queue: in, Expr: "@yearly", Kind: "report", Args: []byte("{}")})
	f.must(err)
}

// spoilSchedules overwrites a key of the schedules of a queue by one of another type.
func (f *fixture) spoilSchedules(in, key string) {
	f.Helper()
	f.must(f.db.Set(f.Context(), f.db.Prefix()+":{"+in+":0}:"+key, "x", 0).Err())
}

func TestQueueWhoseSchedulesCannotBeReadDoesNotHideOthers(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		names := []string{"damaged", "mail", "no name!", "none", "reports", "unsorted"}
		for _, name := range []string{"mail", "reports", "unsorted"} {
			f.addSchedule("of-"+name, name)
		}
		f.spoilSchedules("damaged", "schedules")
		f.spoilSchedules("unsorted", "schedules:due")
		report, err := f.client.Schedules(t.Context(), names)
		f.must(err)
		if len(report.Schedules) != 2 || report.Schedules[0].Name != "of-mail" || report.Schedules[1].Name != "of-reports" {
			t.Errorf("the schedules are %+v", report.Schedules)
		}
		if len(report.Unreadable) != 2 || !strings.Contains(report.Unreadable[0].Error(), "queue damaged: ") || !strings.Contains(report.Unreadable[1].Error(), "queue unsorted: ") {
			t.Errorf("the queues that can't be read: %v", report.Unreadable)
		}
	})
}

// beforeNames is a hook that is called before the names of the schedules of a queue are read.
type beforeNames func(ctx context.Context)

func (h beforeNames) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h beforeNames) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h beforeNames) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hkeys" {
			h(ctx)
		}
		return next(ctx, cmd)
	}
}

func TestInterruptedReadOfSchedulesIsNoReport(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.addSchedule("of-mail", "mail")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.db.AddHook(beforeNames(func(context.Context) { cancel() }))
	if report, err := f.client.Schedules(ctx, []string{"mail"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestSchedulesOfSeveralQueuesAreReadAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.addSchedule("of-mail", "mail")
	f.addSchedule("of-reports", "reports")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var reading atomic.Int32
	both := make(chan struct{})
	f.db.AddHook(beforeNames(func(ctx context.Context) {
		if reading.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-ctx.Done():
		}
	}))
	if report, err := f.client.Schedules(ctx, []string{"mail", "reports"}); err != nil || len(report.Schedules) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestOverviewShowsThatSchedulesCannotBeRead(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.addSchedule("of-mail", "mail")
	f.add("damaged", "a", "", queue.Options{})
	f.spoilSchedules("damaged", "schedules")
	s := f.client.NewSampler()
	defer s.Close()
	o := overview(t, s, func(o *ops.Overview) bool { return o.ExaminedQueues() == 2 })
	i := slices.IndexFunc(o.Troubles, func(t ops.Trouble) bool { return t.Name == "schedules" })
	if i < 0 || o.Troubles[i].Rank != ops.Problem || o.Troubles[i].Queue.Name != "damaged" || !strings.Contains(o.Troubles[i].Queue.SchedulesErr.Error(), "WRONGTYPE") {
		t.Errorf("the troubles are %+v", o.Troubles)
	}
	if q := o.Queue("damaged"); q.Depth.Waiting != 1 || q.Hour == nil || q.Done == nil {
		t.Errorf("the figures of the queue are %+v", q)
	}
	if len(o.Schedules) != 1 || o.Schedules[0].Name != "of-mail" || o.Queue("mail").SchedulesErr != nil {
		t.Errorf("the schedules are %+v", o.Schedules)
	}
}

func TestLastSchedulesStayWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.addSchedule("of-mail", "mail")
	var silent atomic.Bool
	f.db.AddHook(beforeNames(func(ctx context.Context) {
		if silent.Load() {
			<-ctx.Done()
		}
	}))
	s := f.client.NewSampler()
	defer s.Close()
	overview(t, s, func(o *ops.Overview) bool { return len(o.Schedules) == 1 })
	pause(t, s)
	silent.Store(true)
	if o := overview(t, s, func(o *ops.Overview) bool { return o.Away != nil }); len(o.Schedules) != 1 || o.Queue("mail").SchedulesErr != nil {
		t.Errorf("the overview is %+v", o)
	}
}
