package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// both are the subscribers that one worker serves in these tests.
var both = []string{"s", "t"}

// jointWorker returns a worker with one slot that serves several subscribers.
func jointWorker(t testing.TB, channel *distribute.Channel, config distribute.WorkerConfig, subscribers ...string) *distribute.Worker {
	t.Helper()
	config.Workers = 1
	worker, err := distribute.NewWorker(t.Context(), channel, subscribers[0], countryDay(t), &config)
	for _, subscriber := range subscribers[1:] {
		if err == nil {
			err = worker.AddSubscriber(t.Context(), subscriber, countryDay(t))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return worker
}

// workJointly counts all for several subscribers with one worker.
func workJointly(t testing.TB, db *rdb.DB, subscribers ...string) distribute.WorkResult {
	t.Helper()
	worker := jointWorker(t, open(t, db), distribute.WorkerConfig{UntilDone: true, CommitBytes: partSize}, subscribers...)
	result, err := worker.Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A fetchHook counts the bytes that are fetched of each segment.
type fetchHook struct {
	mu    sync.Mutex
	bytes map[string]int64
}

func (h *fetchHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *fetchHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *fetchHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, command := range commands {
			if part, ok := command.(*redis.ZeroCopyStringCmd); ok && len(part.Bytes()) > 0 {
				h.bytes[fmt.Sprint(part.Args()[1])] += int64(len(part.Bytes()))
			}
		}
		return err
	}
}

func hookFetches(db *rdb.DB) *fetchHook {
	hook := &fetchHook{bytes: map[string]int64{}}
	db.AddHook(hook)
	return hook
}

// lengths returns the lengths of all segments in Redis.
func lengths(t testing.TB, db *rdb.DB) map[string]int64 {
	t.Helper()
	lengths := map[string]int64{}
	for _, key := range db.Keys(t.Context(), "*:segment:*").Val() {
		lengths[key] = db.StrLen(t.Context(), key).Val()
	}
	return lengths
}

func TestOneWorkerServesTwoSubscribersWithOneDownload(t *testing.T) {
	t.Parallel()
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		channel, folder := open(t, db), t.TempDir()
		contents := [][]byte{partContent(1), partContent(2), partContent(3)}
		for i, name := range partNames {
			ship(t, channel, write(t, folder, name, contents[i]))
		}
		segments := lengths(t, db)
		hook := hookFetches(db)
		result := workJointly(t, db, both...)
		if fmt.Sprint(hook.bytes) != fmt.Sprint(segments) {
			t.Errorf("fetched %v, the segments are %v", hook.bytes, segments)
		}
		for _, subscriber := range both {
			same(t, counted(t, channel, subscriber), reference(t, contents...))
			if tally := result.Subscribers[subscriber]; tally.Lines != 48_000 || tally.Files != 3 {
				t.Errorf("%s: %+v", subscriber, tally)
			}
		}
		if result.Tally.Lines != 2*48_000 {
			t.Errorf("%+v", result.Tally)
		}
		onlySmallRecordsAreLeft(t, db)
	})
}

func TestSubscribersOfOneWorkerCountWithTheirOwnSettings(t *testing.T) {
	t.Parallel()
	db, lines := redistest.DB(t), content(1, 1000)
	channel := open(t, db)
	ship(t, channel, write(t, t.TempDir(), "a.log.gz", lines))
	worker := jointWorker(t, channel, distribute.WorkerConfig{UntilDone: true}, "s")
	days, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day"}}, Zone: time.UTC})
	if err == nil {
		err = worker.AddSubscriber(t.Context(), "days", days)
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := distribute.NewCounting(&distribute.CountingConfig{Format: "common"}) // refuses the file
	if err == nil {
		err = worker.AddSubscriber(t.Context(), "common", other)
	}
	if err != nil {
		t.Fatal(err)
	}
	result, err := worker.Work(t.Context())
	if err != nil || result.Subscribers["common"].Failed != 1 || len(result.Problems) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	want := reference(t, lines)
	same(t, counted(t, channel, "s"), want)
	sums := map[string]int64{}
	for cell, n := range want.requests {
		day, _, _ := strings.Cut(cell, " ")
		sums[day] += n
	}
	if got := counted(t, channel, "days"); !maps.Equal(got.requests, sums) {
		t.Errorf("%v, want %v", got.requests, sums)
	}
	onlySmallRecordsAreLeft(t, db)
}

// One subscriber is ahead of the other one in the same file.
func TestSubscribersThatAreAtDifferentPlacesAreServedTogether(t *testing.T) {
	t.Parallel()
	for _, name := range partNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, lines := redistest.DB(t), partContent(4)
			channel := open(t, db)
			if err := channel.Subscribe(t.Context(), "t", ""); err != nil {
				t.Fatal(err)
			}
			ship(t, channel, write(t, t.TempDir(), name, lines))
			workParts(t, db, 9_000) // of s
			segments := lengths(t, db)
			hook := hookFetches(db)
			result := workJointly(t, db, both...)
			if ahead, behind := result.Subscribers["s"].Lines, result.Subscribers["t"].Lines; ahead == 0 || ahead >= behind {
				t.Errorf("%d lines for the subscriber that is ahead, %d for the other one", ahead, behind)
			}
			if fmt.Sprint(hook.bytes) != fmt.Sprint(segments) {
				t.Errorf("fetched %v, the segments are %v", hook.bytes, segments)
			}
			for _, subscriber := range both {
				same(t, counted(t, channel, subscriber), reference(t, lines))
			}
			onlySmallRecordsAreLeft(t, db)
		})
	}
}

func TestSubscriberWhoseFileAnotherWorkerCountsIsLeftToThatOne(t *testing.T) {
	t.Parallel()
	db, lines := redistest.DB(t), partContent(5)
	channel := open(t, db)
	ship(t, channel, write(t, t.TempDir(), "a.log.gz", lines))
	held, release := make(chan struct{}), make(chan struct{})
	blocked := &watchedCount{Counting: countryDay(t), stopAt: 1, stop: func() { close(held); <-release }}
	other, err := distribute.NewWorker(t.Context(), channel, "t", blocked, &distribute.WorkerConfig{UntilDone: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var counting sync.WaitGroup
	counting.Go(func() {
		if _, err := other.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-held
	events := listen()
	joint := jointWorker(t, channel, distribute.WorkerConfig{UntilDone: true, Notify: events.notify}, both...)
	var result distribute.WorkResult
	counting.Go(func() {
		var err error
		if result, err = joint.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if e := events.await(t, distribute.EventCounted); e.Subscriber != "s" {
		t.Errorf("counted for %q", e.Subscriber)
	}
	close(release)
	counting.Wait()
	if result.Subscribers["t"].Lines != 0 || result.Subscribers["s"].Lines != 16_000 {
		t.Errorf("%+v", result.Subscribers)
	}
	for _, subscriber := range both {
		same(t, counted(t, channel, subscriber), reference(t, lines))
	}
	onlySmallRecordsAreLeft(t, db)
}

func TestSubscriberRemovedInTheMiddleOfAFileLeavesTheOthers(t *testing.T) {
	t.Parallel()
	db, contents := redistest.DB(t), [][]byte{partContent(6), content(7, 1000)}
	channel, folder := open(t, db), t.TempDir()
	ship(t, channel, write(t, folder, "a.log.gz", contents[0]))
	watched := &watchedCount{Counting: countryDay(t), stopAt: 8_000}
	watched.stop = func() {
		if err := channel.Unsubscribe(context.Background(), "t"); err != nil {
			t.Error(err)
		}
		ship(t, channel, write(t, folder, "b.log", contents[1]))
	}
	var unsubscribed atomic.Int32
	config := &distribute.WorkerConfig{UntilDone: true, Workers: 1, CommitBytes: partSize, Notify: func(e distribute.Event) {
		if e.Kind == distribute.EventUnsubscribed && e.Subscriber == "t" {
			unsubscribed.Add(1)
		}
	}}
	worker, err := distribute.NewWorker(t.Context(), channel, "s", watched, config)
	if err == nil {
		err = worker.AddSubscriber(t.Context(), "t", countryDay(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, counted(t, channel, "s"), reference(t, contents...))
	if unsubscribed.Load() != 1 {
		t.Errorf("%d events, want one", unsubscribed.Load())
	}
	if left, err := db.Keys(t.Context(), "*:subscriber:t*").Result(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	onlySmallRecordsAreLeft(t, db)
}

func TestWorkerWhoseSubscribersAreAllRemovedEnds(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	channel := open(t, db)
	worker := jointWorker(t, channel, distribute.WorkerConfig{}, both...)
	for _, subscriber := range both {
		if err := channel.Unsubscribe(t.Context(), subscriber); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := worker.Work(t.Context()); !errors.Is(err, distribute.ErrNoSubscriber) || !strings.Contains(err.Error(), `"t" was removed`) {
		t.Errorf("%v", err)
	}
}

// An older file of one subscriber comes first, although the other one has counted it.
func TestOlderFileOfOneSubscriberComesFirst(t *testing.T) {
	t.Parallel()
	db, folder := redistest.DB(t), t.TempDir()
	channel := open(t, db)
	if err := channel.Subscribe(t.Context(), "t", ""); err != nil {
		t.Fatal(err)
	}
	contents := [][]byte{content(8, 500), content(9, 500)}
	older := write(t, folder, "a.log", contents[0])
	ship(t, channel, older)
	work(t, channel, "s")
	newer := write(t, folder, "b.log", contents[1])
	ship(t, channel, newer)
	var mu sync.Mutex
	var files []string
	worker := jointWorker(t, channel, distribute.WorkerConfig{UntilDone: true, Notify: func(e distribute.Event) {
		mu.Lock()
		defer mu.Unlock()
		files = append(files, e.Subscriber+" "+e.File)
	}}, both...)
	if _, err := worker.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(files[1:])
	if want := []string{"t " + older, "s " + newer, "t " + newer}; !slices.Equal(files, want) {
		t.Errorf("%v, want %v", files, want)
	}
	for _, subscriber := range both {
		same(t, counted(t, channel, subscriber), reference(t, contents...))
	}
}

func TestFileOfManyWindowsFlowsThroughOneWorkerOfTwoSubscribers(t *testing.T) {
	t.Parallel()
	lines := noisyLines(8, 13_000)
	for _, name := range partNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			channel := flowChannel(t, db, flowWindow)
			worker := jointWorker(t, channel, distribute.WorkerConfig{UntilDone: true}, both...)
			most := watch(t.Context(), segmentsOf(db))
			var wait sync.WaitGroup
			wait.Go(func() { ship(t, channel, write(t, t.TempDir(), name, lines)) })
			wait.Go(func() {
				if _, err := worker.Work(t.Context()); err != nil {
					t.Error(err)
				}
			})
			wait.Wait()
			if peak := most(); peak > flowWindow {
				t.Errorf("segments took up %d bytes, the window is %d", peak, flowWindow)
			}
			for _, subscriber := range both {
				work(t, channel, subscriber) // on a busy machine the upload may have been abandoned for a while
				same(t, counted(t, channel, subscriber), reference(t, lines))
			}
			onlySmallRecordsAreLeft(t, db)
		})
	}
}

// Another worker releases its claim for one subscriber of a file that flows. A worker that reads the file
// for the other subscriber, and has no other slot, waits then for room that only the count
// for the first one frees.
func TestWorkerThatWaitsForRoomTakesOverTheOtherSubscriberOfItsFile(t *testing.T) {
	t.Parallel()
	db, lines := redistest.DB(t), noisyLines(9, 13_000)
	channel := flowChannel(t, db, flowWindow)
	path := write(t, t.TempDir(), "a.log.gz", lines)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // instead of for ever
	defer cancel()
	working, giveUp := context.WithCancel(ctx)
	defer giveUp()
	held, begun := make(chan struct{}), make(chan struct{})
	blocked := &watchedCount{Counting: countryDay(t), stopAt: 1, stop: func() { close(held); <-working.Done() }}
	other, err := distribute.NewWorker(t.Context(), channel, "t", blocked, &distribute.WorkerConfig{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	watched := &watchedCount{Counting: countryDay(t), stopAt: 1, stop: func() { close(begun) }}
	joint, err := distribute.NewWorker(t.Context(), channel, "s", watched, &distribute.WorkerConfig{UntilDone: true, Workers: 1, Lease: testLease})
	if err == nil {
		err = joint.AddSubscriber(t.Context(), "t", countryDay(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := other.Work(working); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	wait.Go(func() {
		shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: func(e distribute.Event) {
			if e.Kind == distribute.EventWindowFull {
				<-begun
				giveUp()
			}
		}})
		if results, err := shipper.Ship(ctx, []string{path}); err != nil || results[0].Err != nil {
			t.Error(results, err)
		}
	})
	<-held
	if _, err := joint.Work(ctx); err != nil {
		t.Error(err)
	}
	wait.Wait()
	for _, subscriber := range both {
		same(t, counted(t, channel, subscriber), reference(t, lines))
	}
	onlySmallRecordsAreLeft(t, db)
}
