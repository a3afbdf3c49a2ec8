package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A refusing aggregation counts no file.
type refusing struct{ *distribute.Counting }

func (r refusing) Begin([]byte, string) (distribute.Counter, error) {
	return nil, errors.New("no such format")
}

// workAhead counts a subscriber's first lines.
func workAhead(t testing.TB, channel *distribute.Channel, subscriber string, lines int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watched := &watchedCount{Counting: countryDay(t), stopAt: lines, stop: cancel}
	worker, err := distribute.NewWorker(t.Context(), channel, subscriber, watched, &distribute.WorkerConfig{Workers: 1, CommitBytes: partSize})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// workForTwo counts for s, and for t with an aggregation of its own.
func workForTwo(t testing.TB, channel *distribute.Channel, aggregation distribute.Aggregation) {
	t.Helper()
	worker, err := distribute.NewWorker(t.Context(), channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true, Workers: 1})
	if err == nil {
		err = worker.AddSubscriber(t.Context(), "t", aggregation)
	}
	if err == nil {
		_, err = worker.Work(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The subscriber t, for which the file is read from its begin, leaves before the reading has
// reached the place where s goes on. Then nothing keeps the segments between them.
func TestSubscriberThatIsAheadCountsTheRestWhenTheOneBehindLeaves(t *testing.T) {
	t.Parallel()
	leave := map[string]func(*testing.T, *distribute.Channel, *rdb.DB) distribute.Aggregation{
		"refused": func(t *testing.T, _ *distribute.Channel, _ *rdb.DB) distribute.Aggregation {
			return refusing{countryDay(t)}
		},
		"removed": func(t *testing.T, channel *distribute.Channel, _ *rdb.DB) distribute.Aggregation {
			return &watchedCount{Counting: countryDay(t), stopAt: 500, stop: func() {
				if err := channel.Unsubscribe(context.Background(), "t"); err != nil {
					t.Error(err)
				}
				work(t, channel, "u") // it commits, which frees the segments
			}}
		},
		"taken over": func(t *testing.T, channel *distribute.Channel, db *rdb.DB) distribute.Aggregation {
			return &watchedCount{Counting: countryDay(t), stopAt: 500, stop: func() { // as if this process had stood still for a lease
				db.Del(context.Background(), db.Keys(context.Background(), "*:subscriber:t:claims").Val()...)
				db.Del(context.Background(), db.Keys(context.Background(), "*:subscriber:t:owners").Val()...)
				work(t, channel, "t")
				work(t, channel, "u")
			}}
		},
	}
	for how, aggregation := range leave {
		for i, name := range partNames {
			if redistest.LongForm == 0 && how != []string{"refused", "removed", "taken over"}[i] {
				continue // each way and each codec once
			}
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				db, lines := redistest.DB(t), noisyLines(1, 20_000)
				channel := flowChannel(t, db, 32*mib)
				subscribers := []string{"t"}
				if how != "refused" {
					subscribers = append(subscribers, "u")
				}
				for _, subscriber := range subscribers {
					if err := channel.Subscribe(t.Context(), subscriber, ""); err != nil {
						t.Fatal(err)
					}
				}
				ship(t, channel, write(t, t.TempDir(), name, lines))
				workAhead(t, channel, "s", 19_000)
				workForTwo(t, channel, aggregation(t, channel, db))
				same(t, counted(t, channel, "s"), reference(t, lines))
			})
		}
	}
}

// A recordHook calls a function once after a record of a file was read.
type recordHook struct {
	armed atomic.Bool
	call  func()
}

func (h *recordHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *recordHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.see(cmd)
		return err
	}
}
func (h *recordHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		h.see(cmds...)
		return err
	}
}

// see calls call if one of some commands has read a record.
func (h *recordHook) see(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if cmd.Name() == "hgetall" && strings.Contains(fmt.Sprint(cmd.Args()[1]), ":file:") && h.armed.CompareAndSwap(true, false) {
			h.call()
		}
	}
}

// The file is shipped again after its first upload was abandoned, and three subscribers have
// counted different parts of it. The one that is behind leaves with its first commit.
func TestNoLineIsSkippedWhenTheSubscriberBehindLeavesAtOnce(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel := flowChannel(t, redistest.Open(t, url), 16*mib)
	for _, subscriber := range []string{"a", "t"} {
		if err := channel.Subscribe(t.Context(), subscriber, ""); err != nil {
			t.Fatal(err)
		}
	}
	lines := noisyLines(1, 60_000)
	path := write(t, t.TempDir(), "a.log", lines)
	stop := shipWindow(t, channel, path)
	workAhead(t, channel, "s", 25_000)
	workAhead(t, channel, "t", 12_500)
	stop()
	if err := channel.SetWindow(t.Context(), 256*mib); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, path)
	db := redistest.Open(t, url)
	hook := &recordHook{call: func() {
		if err := channel.Unsubscribe(context.Background(), "t"); err != nil {
			t.Error(err)
		}
	}}
	db.AddHook(hook)
	joint := open(t, db)
	if err := joint.Subscribe(t.Context(), "t", countryDay(t).Settings()); err != nil {
		t.Fatal(err)
	}
	hook.armed.Store(true)
	workForTwo(t, joint, countryDay(t))
	if hook.armed.Load() {
		t.Error("no record was read")
	}
	same(t, counted(t, channel, "s"), reference(t, lines))
}

func TestSubscriberThatWasCreatedAgainIsNotServedWithTheOldSettings(t *testing.T) {
	t.Parallel()
	channel := open(t, redistest.DB(t))
	gone, countedFile := make(chan struct{}), make(chan struct{})
	var once, onceCounted sync.Once
	worker, err := distribute.NewWorker(t.Context(), channel, "s", countryDay(t), &distribute.WorkerConfig{Workers: 1, Notify: func(e distribute.Event) {
		switch e.Kind {
		case distribute.EventUnsubscribed:
			once.Do(func() { close(gone) })
		case distribute.EventCounted:
			onceCounted.Do(func() { close(countedFile) })
		}
	}})
	if err == nil {
		err = worker.AddSubscriber(t.Context(), "t", countryDay(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.AddSubscriber(t.Context(), "t", countryDay(t)); err == nil {
		t.Error("the worker has t twice")
	}
	var working sync.WaitGroup
	working.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := channel.Unsubscribe(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	<-gone
	days, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day"}}, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if err := channel.Subscribe(t.Context(), "t", days.Settings()); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, write(t, t.TempDir(), "a.log", content(1, 500)))
	<-countedFile
	worker.Stop()
	working.Wait()
	if got := counted(t, channel, "t"); len(got.requests) > 0 {
		t.Errorf("t has %d cells: it was counted with settings that it does not have", len(got.requests))
	}
}
