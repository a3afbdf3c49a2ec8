package distribute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
	"skidway/internal/redistest"
)

// afterCommand calls a function after each command of a connection.
type afterCommand func(name string, args []any)

func (afterCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f afterCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f(cmd.Name(), cmd.Args())
		return err
	}
}

func (f afterCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			f(cmd.Name(), cmd.Args())
		}
		return err
	}
}

// openWebLike opens the same channel by connections of its own.
func openWebLike(t *testing.T, channel *Channel) *Channel {
	t.Helper()
	options := channel.db.UniversalClient.(*redis.Client).Options()
	return openWeb(t, fmt.Sprintf("unix://%s?db=%d", options.Addr, options.DB))
}

func openWeb(t *testing.T, url string) *Channel {
	t.Helper()
	channel, err := Open(t.Context(), redistest.Open(t, url), "web")
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

func shipped(t *testing.T, channel *Channel, config ShipperConfig, path string) {
	t.Helper()
	results, err := NewShipper(channel, config).Ship(t.Context(), []string{path})
	if err != nil || results[0].Outcome != Shipped {
		t.Errorf("%s: %v, %v", path, results, err)
	}
}

func TestUploadStartsAgainWhenItsLeaseRanOut(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel, other := openWeb(t, url), openWeb(t, url)
	appends := 0
	channel.db.AddHook(afterCommand(func(name string, _ []any) {
		if name != "append" {
			return
		}
		if appends++; appends == 3 { // somebody finds the lease expired
			ctx := context.Background()
			for _, id := range other.db.ZRange(ctx, other.keys.uploads(), 0, -1).Val() {
				other.db.ZAdd(ctx, other.keys.uploads(), redis.Z{Score: 1, Member: id})
			}
			if err := other.files.sweep(ctx); err != nil {
				t.Error(err)
			}
		}
	}))
	shipped(t, channel, ShipperConfig{}, logFile(t, "a", 3000))
}

func TestClaimThatReplacesALostOneOfTheSameWorkerIsKeptAlive(t *testing.T) {
	t.Parallel()
	var held claims
	lost, next := &claim{id: "f", token: "1"}, &claim{id: "f", token: "2"}
	work := held.hold(t.Context(), lost)
	held.hold(t.Context(), next)
	if context.Cause(work) != errClaimLost {
		t.Error("the lost claim was not told")
	}
	held.drop(lost)
	if list := held.list(); len(list) != 1 || list[0] != next {
		t.Errorf("the heartbeat renews %v", list)
	}
}

func TestHeartbeatRightAfterTheSealLosesNothing(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	shipped(t, openWeb(t, url), ShipperConfig{}, logFile(t, "a", 10))
	channel := openWeb(t, url)
	worker, err := NewWorker(t.Context(), channel, "s", newCountryDay(t, CountryDayConfig{}), WorkerConfig{UntilDone: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	channel.db.AddHook(afterCommand(func(name string, args []any) {
		if strings.HasPrefix(name, "eval") && args[2] == 12 { // the seal has twelve keys
			worker.renew(context.Background())
		}
	}))
	result, err := worker.Work(t.Context())
	if err != nil || result.Tally.Lines != 11 || result.Tally.Files != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// full gives a channel whose window a file fills, and events of those who wait.
func full(t *testing.T, window int64) (*Channel, chan Event, Notify) {
	t.Helper()
	channel := openWeb(t, redistest.URL(t))
	if err := channel.SetWindow(t.Context(), window); err != nil {
		t.Fatal(err)
	}
	shipped(t, channel, ShipperConfig{}, logFile(t, "first", 4000))
	events := make(chan Event, 100)
	return channel, events, func(e Event) { events <- e }
}

func countEverything(t *testing.T, channel *Channel) {
	t.Helper()
	worker, err := NewWorker(t.Context(), channel, "s", newCountryDay(t, CountryDayConfig{}), WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestShipperThatCanNeverBeAdmittedKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	channel, events, notify := full(t, 12<<20)
	var waiting sync.WaitGroup
	large := logFile(t, "large", 9000)
	waiting.Go(func() {
		results, err := NewShipper(channel, ShipperConfig{Notify: notify, Lease: time.Second}).Ship(t.Context(), []string{large})
		if err != nil || results[0].Outcome != Failed {
			t.Errorf("%v, %v: want it to be refused", results, err)
		}
	})
	<-events // it waits
	if err := channel.SetWindow(t.Context(), 8<<20); err != nil {
		t.Fatal(err)
	}
	shipped(t, channel, ShipperConfig{}, logFile(t, "small", 10))
	waiting.Wait()
}

func TestShipperThatNoLongerAsksLeavesTheLine(t *testing.T) {
	t.Parallel()
	channel, events, notify := full(t, 6<<20)
	same := logFile(t, "same", 4000)
	quit := make(chan struct{})
	var shipping, following sync.WaitGroup
	shipping.Go(func() {
		if _, err := NewShipper(channel, ShipperConfig{Notify: notify}).Ship(t.Context(), []string{same}); err != nil {
			t.Error(err)
		}
	})
	<-events
	following.Go(func() {
		if err := NewShipper(channel, ShipperConfig{Notify: notify, Quit: quit}).Follow(t.Context(), []string{same}); err != nil {
			t.Error(err)
		}
	})
	<-events // both wait for the window with the same file
	countEverything(t, channel)
	shipping.Wait()
	shipped(t, channel, ShipperConfig{}, logFile(t, "small", 10)) // the follower asks for nothing
	close(quit)
	following.Wait()
}

func TestFileThatChangesCostsABatchOnlyItself(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.URL(t))
	changing, good := logFile(t, "changing", 3000), logFile(t, "good", 10)
	var once sync.Once
	db.AddHook(afterCommand(func(name string, _ []any) {
		if name == "append" {
			once.Do(func() {
				if err := os.Truncate(changing, 1000); err != nil {
					t.Error(err)
				}
			})
		}
	}))
	result, err := NewBatch(db, newCountryDay(t, CountryDayConfig{}), BatchConfig{}).Run(t.Context(), []string{changing, good})
	var changed *stream.ChangedError
	if err != nil || !errors.As(result.Files[0].Err, &changed) || result.Report.Subscriber.Tally.Lines != 11 || len(result.Report.Abandoned) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestFileThatGrowsIsOneFile(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	path := logFile(t, "a", 1)
	shipped(t, channel, ShipperConfig{}, path)
	countEverything(t, channel)
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(content, "8.8.8.8 2026-11-02 more\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shipped(t, channel, ShipperConfig{}, path)
	countEverything(t, channel)
	report, err := channel.Report(t.Context(), "s", ReportOptions{})
	if tally := report.Subscriber.Tally; err != nil || tally.Files != 1 || tally.Lines != 3 {
		t.Errorf("%+v, %v", tally, err)
	}
}

func TestStatusTellsOnlyOfShippersThatLive(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	dead := NewShipper(channel, ShipperConfig{})
	if err := dead.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, err := channel.Status(t.Context())
	if err != nil || len(status.Shippers) != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	if err := channel.db.ZAdd(t.Context(), channel.keys.leases(), redis.Z{Score: 1, Member: dead.token}).Err(); err != nil {
		t.Fatal(err)
	}
	if status, err = channel.Status(t.Context()); err != nil || len(status.Shippers) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestForcedUploadThatWasAbandonedIsForgivenWhenItIsShippedAgain(t *testing.T) {
	t.Parallel()
	channel, path := openWeb(t, redistest.URL(t)), logFile(t, "a", 3000)
	shipped(t, channel, ShipperConfig{}, path)
	countEverything(t, channel)
	ctx, cancel := context.WithCancel(t.Context())
	stopping := openWebLike(t, channel)
	stopping.db.AddHook(afterCommand(func(name string, _ []any) {
		if name == "append" {
			cancel() // as if its process were told to end at once
		}
	}))
	if _, err := NewShipper(stopping, ShipperConfig{Force: true}).Ship(ctx, []string{path}); err == nil {
		t.Fatal("it was shipped")
	}
	if names, err := channel.files.abandonedNames(t.Context()); err != nil || len(names) != 1 {
		t.Fatalf("%v, %v: want it to be missed", names, err)
	}
	shipped(t, channel, ShipperConfig{Force: true}, path)
	countEverything(t, channel)
}
