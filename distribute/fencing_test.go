package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// openHeld opens the channel of a URL through a proxy that holds the reply to the
// first transaction, which appends to an upload.
func openHeld(t *testing.T, url string) (*Channel, *redistest.HeldReply) {
	t.Helper()
	proxy := redistest.StartProxy(t, url)
	channel := openWeb(t, proxy.URL)
	return channel, proxy.HoldReply("exec", "")
}

func openWeb(t *testing.T, url string) *Channel {
	t.Helper()
	channel, err := Open(t.Context(), handle.New(redistest.Open(t, url)), "web")
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

// logFile writes a log of so many KiB that begins with a line of its own.
func logFile(t *testing.T, name string, kib int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	content := "8.8.8.8 2026-11-01 " + name + "\n" + strings.Repeat("8.8.8.8 2026-11-01 "+strings.Repeat("x", 1004)+"\n", kib)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func shipped(t *testing.T, channel *Channel, config *ShipperConfig, path string) {
	t.Helper()
	results, err := NewShipper(channel, config).Ship(t.Context(), []string{path})
	if err != nil || results[0].Outcome != Shipped {
		t.Errorf("%s: %v, %v", path, results, err)
	}
}

func TestUploadStartsAgainWhenItsLeaseRanOut(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	other := openWeb(t, url)
	channel, appended := openHeld(t, url)
	path := logFile(t, "a", 3000)
	var shipping sync.WaitGroup
	shipping.Go(func() { shipped(t, channel, nil, path) })
	<-appended.Held()
	for _, id := range other.db.ZRange(t.Context(), other.keys.uploads(), 0, -1).Val() {
		other.db.ZAdd(t.Context(), other.keys.uploads(), redis.Z{Score: 1, Member: id})
	}
	if err := other.files.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	appended.Release()
	shipping.Wait()
	if r := recordOf(t, other); r.shipment != 2 || r.state != FileUploaded {
		t.Errorf("shipment %d is %s, want the second to be uploaded", r.shipment, r.state)
	}
}

// recordOf returns the record of the only file of a channel.
func recordOf(t *testing.T, channel *Channel) record {
	t.Helper()
	ids := channel.db.ZRange(t.Context(), channel.keys.files(), 0, -1).Val()
	if len(ids) != 1 {
		t.Fatalf("%d files", len(ids))
	}
	r, err := channel.files.record(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestClaimThatReplacesALostOneOfTheSameWorkerIsKeptAlive(t *testing.T) {
	t.Parallel()
	var held claims
	lost, next := &claim{id: "f", token: "1"}, &claim{id: "f", token: "2"}
	work := held.hold(t.Context(), lost)
	held.hold(t.Context(), next)
	if context.Cause(work) != errClaimLost {
		t.Error("the context of the lost claim goes on")
	}
	held.drop(lost)
	if list := held.list(); len(list) != 1 || list[0] != next {
		t.Errorf("the heartbeat renews %v", list)
	}
}

func TestHeartbeatRightAfterTheSealLosesNothing(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	shipped(t, openWeb(t, url), nil, logFile(t, "a", 10))
	proxy := redistest.StartProxy(t, url)
	channel := openWeb(t, proxy.URL)
	worker, err := NewWorker(t.Context(), channel, "s", newCounting(t, nil), &WorkerConfig{UntilDone: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	sealed := proxy.HoldReply("eval", ":2\r\n") // the seal is the only script that returns 2
	var working sync.WaitGroup
	var result WorkResult
	working.Go(func() { result, err = worker.Work(t.Context()) })
	<-sealed.Held()
	worker.renew(t.Context())
	sealed.Release()
	working.Wait()
	if err != nil || result.Tally.Lines != 11 || result.Tally.Files != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// full returns a channel whose window a file fills, and the events of waiting
// shippers.
func full(t *testing.T, window int64) (*Channel, chan Event, Notify) {
	t.Helper()
	channel := openWeb(t, redistest.URL(t))
	if err := channel.SetWindow(t.Context(), window); err != nil {
		t.Fatal(err)
	}
	shipped(t, channel, nil, logFile(t, "first", 4000))
	events := make(chan Event, 100)
	return channel, events, func(e Event) { events <- e }
}

func countEverything(t *testing.T, channel *Channel) {
	t.Helper()
	worker, err := NewWorker(t.Context(), channel, "s", newCounting(t, nil), &WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestShipperThatNoLongerAsksLeavesTheLine(t *testing.T) {
	t.Parallel()
	channel, events, notify := full(t, 6<<20)
	same := logFile(t, "same", 4000)
	follower := NewShipper(channel, &ShipperConfig{Notify: notify})
	var shipping, following sync.WaitGroup
	shipping.Go(func() {
		if _, err := NewShipper(channel, &ShipperConfig{Notify: notify}).Ship(t.Context(), []string{same}); err != nil {
			t.Error(err)
		}
	})
	<-events
	following.Go(func() {
		if err := follower.Follow(t.Context(), []string{same}); err != nil {
			t.Error(err)
		}
	})
	<-events // both wait for the window with the same file
	countEverything(t, channel)
	shipping.Wait()
	shipped(t, channel, nil, logFile(t, "small", 10)) // the follower asks for nothing
	follower.Stop()
	following.Wait()
}

func TestFileThatChangesCostsABatchOnlyItself(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db := redistest.Open(t, proxy.URL)
	appended := proxy.HoldReply("exec", "")
	changing, good := logFile(t, "changing", 3000), logFile(t, "good", 10)
	var counting sync.WaitGroup
	var result BatchResult
	var err error
	counting.Go(func() {
		result, err = NewBatch(handle.New(db), newCounting(t, nil), nil).Run(t.Context(), []string{changing, good})
	})
	<-appended.Held()
	if err := os.Truncate(changing, 1000); err != nil {
		t.Error(err)
	}
	appended.Release()
	counting.Wait()
	var changed *stream.ChangedError
	if err != nil || !errors.As(result.Files[0].Err, &changed) || result.Report.Subscriber.Tally.Lines != 11 || len(result.Report.Abandoned) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// A commitWatch closes committed when the count goes on after a commit.
type commitWatch struct {
	Aggregation
	once      sync.Once
	committed chan struct{}
}

func (w *commitWatch) Begin(sample []byte, state string) (Counter, error) {
	if sample == nil {
		w.once.Do(func() { close(w.committed) })
	}
	return w.Aggregation.Begin(sample, state)
}

func TestFileThatChangesIsCountedUpToTheChange(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel := openWeb(t, url)
	shipping, appended := openHeld(t, url)
	path := filepath.Join(t.TempDir(), "a")
	line := "8.8.8.8 2026-11-01 " + strings.Repeat("x", 100) + "\n"
	content := []byte(strings.Repeat(line, 30_000))
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(content)
	watch := &commitWatch{Aggregation: newCounting(t, nil), committed: make(chan struct{})}
	worker, err := NewWorker(t.Context(), channel, "s", watch, &WorkerConfig{UntilDone: true, CommitBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	var results []ShippedFile
	running.Go(func() { results, err = NewShipper(shipping, nil).Ship(t.Context(), []string{path}) })
	<-appended.Held()
	<-watch.committed
	write([]byte(strings.ReplaceAll(string(content), "x", "y"))) // as long, from here on another content
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Error(err)
	}
	appended.Release()
	running.Wait()
	var changed *stream.ChangedError
	if err != nil || !errors.As(results[0].Err, &changed) || !changed.Counted || results[0].Bytes != 2*stream.BlockSize {
		t.Fatalf("%+v, %v: want an error after the first piece", results, err)
	}
	report, err := channel.Report(t.Context(), "s", nil)
	lines := report.Subscriber.Tally.Lines
	if err != nil || lines == 0 || lines > 2*stream.BlockSize/int64(len(line)) || report.Tables[0].Rows[0].Requests != lines {
		t.Errorf("%+v, %v", report, err)
	}
	if len(report.Problems) != 1 || report.Problems[0].Kind != CountedInPart || len(report.Abandoned) > 0 {
		t.Errorf("%+v, %+v: want a file that is counted in part", report.Problems, report.Abandoned)
	}

	write(content)
	shipped(t, channel, nil, path)
	countEverything(t, channel)
	report, err = channel.Report(t.Context(), "s", nil)
	if tally := report.Subscriber.Tally; err != nil || tally.Lines != 30_000 || tally.Files != 1 || tally.Partial != 0 || len(report.Problems) > 0 {
		t.Errorf("shipped again: %+v, %+v, %v", tally, report.Problems, err)
	}
	if at := recordOf(t, channel).counted["s"]; at.cut != "" {
		t.Errorf("the note stays: %s", at.cut)
	}
}

// They do not know with which window and settings the channel was made, so they end: what starts them again
// makes it as it was.
func TestEmptiedRedisEndsShippersAndWorkers(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel, path, counted := openWeb(t, url), logFile(t, "a", 10), make(chan struct{}, 1)
	worker, err := NewWorker(t.Context(), channel, "s", newCounting(t, nil), &WorkerConfig{Lease: time.Second, Notify: func(e Event) {
		if e.Kind == EventCounted {
			counted <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ends := func(what string, err error) {
		if !errors.Is(err, ErrNoChannel) || !strings.Contains(err.Error(), "the channel is gone: it was deleted, or Redis was emptied") {
			t.Errorf("the %s ended with %v", what, err)
		}
	}
	running.Go(func() { _, err := worker.Work(t.Context()); ends("worker", err) })
	running.Go(func() {
		ends("shipper", NewShipper(channel, &ShipperConfig{Lease: time.Second}).Follow(t.Context(), []string{path}))
	})
	<-counted
	if err := channel.db.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("8.8.8.8 2026-11-01 more\n"); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	running.Wait()
}

func TestDeletedChannelStaysDeletedBesideItsShipper(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel := openWeb(t, url)
	shipping, appended := openHeld(t, url)
	path := logFile(t, "a", 3000)
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := NewShipper(shipping, nil).Ship(t.Context(), []string{path}); !errors.Is(err, ErrNoChannel) {
			t.Errorf("shipping to a deleted channel: %v", err)
		}
	})
	<-appended.Held()
	if err := channel.Delete(t.Context(), true); err != nil {
		t.Error(err)
	}
	appended.Release()
	running.Wait()
	if keys := channel.db.Keys(t.Context(), "*web*").Val(); len(keys) > 0 {
		t.Errorf("left behind: %v", keys)
	}
}

func TestKilledBatchOfAnotherFormatBlocksNoOther(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		registry := batchRegistry{db}
		for name, version := range map[string]int{"older": formatVersion - 1, "newer": formatVersion + 1, "gone": 0} {
			channel := newChannel(db, name)
			if version > 0 {
				if err := channel.create(t.Context()); err != nil {
					t.Fatal(err)
				}
				db.HSet(t.Context(), channel.keys.channel(), "v", version)
			}
			db.HSet(t.Context(), registry.key(), name, 1)
		}
		if err := registry.clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := db.HKeys(t.Context(), registry.key()).Val()
		if len(left) != 1 || left[0] != "newer" || db.Exists(t.Context(), newChannel(db, "newer").keys.channel()).Val() != 1 {
			t.Errorf("left are %v, want the channel of the newer format", left)
		}
		if keys := db.Keys(t.Context(), "*older*").Val(); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
	})
}

func TestFileThatGrowsIsOneFile(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	path := logFile(t, "a", 1)
	shipped(t, channel, nil, path)
	countEverything(t, channel)
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(content, "8.8.8.8 2026-11-02 more\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shipped(t, channel, nil, path)
	countEverything(t, channel)
	report, err := channel.Report(t.Context(), "s", nil)
	if tally := report.Subscriber.Tally; err != nil || tally.Files != 1 || tally.Lines != 3 {
		t.Errorf("%+v, %v", tally, err)
	}
}

func TestStatusListsOnlyLiveShippers(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	dead := NewShipper(channel, nil)
	if err := dead.registration.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, err := channel.Status(t.Context())
	if err != nil || len(status.Shippers) != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	if err := channel.db.ZAdd(t.Context(), channel.keys.leases(), redis.Z{Score: 1, Member: dead.registration.token}).Err(); err != nil {
		t.Fatal(err)
	}
	if status, err = channel.Status(t.Context()); err != nil || len(status.Shippers) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestForcedShipmentClearsTheAbandonedOne(t *testing.T) {
	t.Parallel()
	url, path := redistest.URL(t), logFile(t, "a", 3000)
	channel := openWeb(t, url)
	shipped(t, channel, nil, path)
	countEverything(t, channel)
	ctx, cancel := context.WithCancel(t.Context())
	stopping, appended := openHeld(t, url)
	var shipping sync.WaitGroup
	shipping.Go(func() {
		if _, err := NewShipper(stopping, &ShipperConfig{Force: true}).Ship(ctx, []string{path}); err == nil {
			t.Error("it was shipped")
		}
	})
	<-appended.Held()
	cancel()
	appended.Release()
	shipping.Wait()
	if names, err := channel.files.abandonedNames(t.Context()); err != nil || len(names) != 1 {
		t.Fatalf("%v, %v: want it to be reported as abandoned", names, err)
	}
	shipped(t, channel, &ShipperConfig{Force: true}, path)
	countEverything(t, channel)
}

// Redis is away for longer than the leases, for all of them. A worker is the first to come back.
func TestStreamGoesOnAfterAnOutageOfRedis(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel, shipperLink, workerLink := openWeb(t, url), redistest.StartProxy(t, url), redistest.StartProxy(t, url)
	config := &WorkerConfig{Workers: 1, Lease: streamLease, CommitInterval: 40 * time.Millisecond}
	worker, err := NewWorker(t.Context(), openWeb(t, workerLink.URL), "s", newCounting(t, nil), config)
	if err != nil {
		t.Fatal(err)
	}
	var shipping, working sync.WaitGroup
	working.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	writer := shipStream(t, &shipping, openWeb(t, shipperLink.URL), "a")
	_, _ = io.WriteString(writer, streamLines("a", streamBlock))
	awaitLines(t, channel, streamBlock)
	shipperLink.Hold()
	workerLink.Hold()
	for expired := int64(0); expired == 0; {
		now, err := channel.now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		expired = channel.db.ZCount(t.Context(), channel.keys.uploads(), "-inf", fmt.Sprint(now.UnixMilli())).Val()
	}
	workerLink.Release()
	if err := channel.files.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	shipperLink.Release()
	_, _ = io.WriteString(writer, streamLines("a", streamBlock))
	awaitLines(t, channel, 2*streamBlock)
	_ = writer.Close()
	shipping.Wait() // it shipped all
	worker.Stop()
	working.Wait()
	report, err := channel.Report(t.Context(), "s", nil)
	if tally := report.Subscriber.Tally; err != nil || len(report.Problems) > 0 || tally.Lines != 2*streamBlock || tally.Files != 1 {
		t.Errorf("%+v, problems %v, %v", tally, report.Problems, err)
	}
}

func TestStreamGoesOnWhenItsShipperAloneLosesRedis(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel, link := openWeb(t, url), redistest.StartProxy(t, url)
	if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	var shipping sync.WaitGroup
	writer := shipStream(t, &shipping, openWeb(t, link.URL), "a")
	_, _ = io.WriteString(writer, streamLines("a", streamBlock))
	renewed := func(leases time.Duration) bool {
		now, err := channel.now(t.Context())
		lease := channel.db.ZRangeWithScores(t.Context(), channel.keys.uploads(), 0, 0).Val()
		if err != nil || len(lease) != 1 {
			t.Fatal(lease, err)
		}
		return time.Duration(lease[0].Score-float64(now.UnixMilli()))*time.Millisecond > leases
	}
	if !renewed(2 * streamLease) { // which leaves a busy machine the time of two
		t.Error("it has a short lease from the start")
	}
	channel.db.ZAddXX(t.Context(), channel.keys.uploads(), redis.Z{Score: 1, Member: channel.db.ZRange(t.Context(), channel.keys.uploads(), 0, 0).Val()[0]})
	for !renewed(7 * streamLease / 2) { // by the heartbeat
	}
	link.Hold()
	for _, leases := range []string{channel.keys.uploads(), channel.keys.leases()} { // as if time passed
		holder := channel.db.ZRange(t.Context(), leases, 0, 0).Val()
		if len(holder) != 1 {
			t.Fatalf("%s: %v", leases, holder)
		}
		channel.db.ZIncrBy(t.Context(), leases, -3*float64(streamLease.Milliseconds()), holder[0])
	}
	if err := channel.files.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	link.Release()
	_, _ = io.WriteString(writer, streamLines("a", streamBlock))
	_ = writer.Close()
	shipping.Wait() // it shipped all
	worker, err := NewWorker(t.Context(), channel, "s", newCounting(t, nil), &WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := worker.Work(t.Context()); err != nil || result.Tally.Lines != 2*streamBlock || result.Tally.Partial > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
