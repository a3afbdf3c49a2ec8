package distribute_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

const mib = 1 << 20

// filler is lines that take up room.
func filler(lines int) []byte {
	return []byte(strings.Repeat("8.8.8.8 2026-11-01 "+strings.Repeat("x", 1004)+"\n", lines))
}

// memory adds up what Redis really uses for keys of a kind.
func memory(ctx context.Context, db *rdb.DB, kind string) int64 {
	var sum int64
	for _, key := range db.Keys(ctx, "*:"+kind+":*").Val() {
		sum += db.MemoryUsage(ctx, key, 0).Val()
	}
	return sum
}

// segmentsOf returns the function that measures the memory of segments.
func segmentsOf(db *rdb.DB) func(context.Context) int64 {
	return func(ctx context.Context) int64 { return memory(ctx, db, "segment") }
}

// watch measures something until ctx is done. The function that it returns ends that and
// returns the largest value.
func watch(ctx context.Context, measure func(context.Context) int64) (most func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	var peak int64
	wait.Go(func() {
		for ctx.Err() == nil {
			peak = max(peak, measure(context.WithoutCancel(ctx)))
		}
	})
	return func() int64 { cancel(); wait.Wait(); return peak }
}

func TestWindowIsNeverExceeded(t *testing.T) {
	t.Parallel()
	ctx, db := context.Background(), redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	const window = 12 * mib
	if err := channel.SetWindow(ctx, window); err != nil {
		t.Fatal(err)
	}
	var shippers [2][]string
	var contents [][]byte
	for i, name := range strings.Split("abcdefghijkl", "") {
		lines := append(content(uint64(i), 100), filler(500+700*i)...)
		contents = append(contents, lines)
		shippers[i%2] = append(shippers[i%2], write(t, folder, name, lines))
	}
	most := watch(ctx, segmentsOf(db))
	var wait sync.WaitGroup
	for _, files := range shippers {
		wait.Go(func() { ship(t, channel, files...) })
	}
	wait.Go(func() { work(t, channel, "s") })
	wait.Wait()
	peak := most()
	if peak > window {
		t.Errorf("segments took up %d bytes, the window is %d", peak, window)
	}
	if peak < window/3 {
		t.Errorf("segments never took up more than %d bytes: nothing was tested", peak)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, contents...))
	onlySmallRecordsAreLeft(t, db)
}

// listener collects events and lets a test wait for one.
type listener chan distribute.Event

func listen() listener { return make(listener, 1000) }

func (l listener) notify(e distribute.Event) {
	select {
	case l <- e:
	default:
	}
}

// await returns the next event of a kind.
func (l listener) await(t testing.TB, kind distribute.EventKind) distribute.Event {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case e := <-l:
			if e.Kind == kind {
				return e
			}
		case <-timeout:
			t.Fatalf("no event %q", kind)
		}
	}
}

func TestShipWithoutSubscriberWaitsAndReportsIt(t *testing.T) {
	t.Parallel()
	ctx, channel, folder := context.Background(), open(t, redistest.DB(t)), t.TempDir()
	if err := channel.SetWindow(ctx, 6*mib); err != nil {
		t.Fatal(err)
	}
	files := []string{write(t, folder, "a", filler(4000)), write(t, folder, "b", append(content(1, 1), filler(4000)...))}
	events := listen()
	shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: events.notify})
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := shipper.Ship(ctx, files); err != nil {
			t.Error(err)
		}
	})
	if e := events.await(t, distribute.EventWindowFull); !e.LacksSubscriber() {
		t.Errorf("laggards %+v, want none", e.Laggards)
	}
	work(t, channel, "s")
	wait.Wait()
	work(t, channel, "s")
	if got := counted(t, channel, "s"); got.lines != 8001 {
		t.Errorf("%d lines counted", got.lines)
	}
}

func TestTwoShippersWithFilesOfMoreThanHalfTheWindow(t *testing.T) {
	t.Parallel()
	ctx, channel, folder := context.Background(), open(t, redistest.DB(t)), t.TempDir()
	if err := channel.SetWindow(ctx, 10*mib); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for _, names := range []string{"abc", "def"} {
		var files []string
		for _, name := range strings.Split(names, "") {
			files = append(files, write(t, folder, name, append([]byte("8.8.8.8 2026-11-01 "+name+"\n"), filler(6*1024)...)))
		}
		wait.Go(func() { ship(t, channel, files...) })
	}
	wait.Go(func() { work(t, channel, "s") })
	wait.Wait()
	work(t, channel, "s")
	if got := counted(t, channel, "s"); got.lines != 6*(6*1024+1) {
		t.Errorf("%d lines counted", got.lines)
	}
}

func TestWorkBeforeShip(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx, channel, folder := context.Background(), open(t, db), t.TempDir()
		worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := worker.Work(ctx)
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("did not wait for the first shipment: %v", err)
		case <-time.After(100 * time.Millisecond): // it goes on waiting; there is no signal for that
		}
		lines := content(1, 1000)
		ship(t, channel, write(t, folder, "a.gz", lines))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		same(t, counted(t, channel, "s"), reference(t, lines))
	})
}

func TestLateUntilDoneEndsAtOnce(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	ship(t, channel, write(t, folder, "a", content(1, 100)))
	work(t, channel, "s")
	if again := work(t, channel, "s"); again.Tally.Lines != 0 {
		t.Errorf("counted again: %+v", again.Tally)
	}
}

func TestShipWithWaitReturnsWhenAllIsCounted(t *testing.T) {
	t.Parallel()
	ctx, channel, folder := context.Background(), open(t, redistest.DB(t)), t.TempDir()
	worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := worker.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	lines := content(1, 5000)
	shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Wait: true})
	if _, err := shipper.Ship(ctx, []string{write(t, folder, "a", lines)}); err != nil {
		t.Fatal(err)
	}
	same(t, counted(t, channel, "s"), reference(t, lines))
	wait.Wait()
}

// The first shipper was killed when all was in Redis.
func TestShipWithWaitWaitsForWhatAnotherHasShipped(t *testing.T) {
	t.Parallel()
	ctx, channel, folder := context.Background(), open(t, redistest.DB(t)), t.TempDir()
	path, lines := write(t, folder, "a", content(1, 500)), reference(t, content(1, 500))
	if err := channel.Subscribe(ctx, "s", ""); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, path)
	events := listen()
	var wait sync.WaitGroup
	wait.Go(func() {
		events.await(t, distribute.EventWaitingForAll)
		work(t, channel, "s")
	})
	for _, outcome := range []distribute.Outcome{distribute.AlreadyShipped, distribute.AlreadyCounted} {
		results, err := distribute.NewShipper(channel, &distribute.ShipperConfig{Wait: true, Notify: events.notify}).Ship(ctx, []string{path})
		if err != nil || results[0].Outcome != outcome || results[0].Lines["s"] != 500 {
			t.Errorf("got %+v, %v", results[0], err)
		}
	}
	wait.Wait()
	same(t, counted(t, channel, "s"), lines)
}

func TestFollowShipsWholeLinesAsTheyCome(t *testing.T) {
	t.Parallel()
	ctx, channel, folder := context.Background(), open(t, redistest.DB(t)), t.TempDir()
	first, second := content(1, 100), content(2, 100)
	write(t, folder, "a.log", append(bytes.Clone(first), "8.8.8.8 2026-1"...))
	events := listen()
	shipper := distribute.NewShipper(channel, nil)
	worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), &distribute.WorkerConfig{Notify: events.notify})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := shipper.Follow(ctx, []string{folder}); err != nil {
			t.Error(err)
		}
	})
	wait.Go(func() {
		if _, err := worker.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	if e := events.await(t, distribute.EventCounted); e.Lines != 100 {
		t.Errorf("counted %d lines, want 100", e.Lines)
	}
	whole := append(append(bytes.Clone(first), "8.8.8.8 2026-11-05 x\n"...), second...)
	write(t, folder, "a.log", whole)
	if e := events.await(t, distribute.EventCounted); e.Lines != 101 {
		t.Errorf("counted %d lines, want 101", e.Lines)
	}
	shipper.Stop()
	worker.Stop()
	wait.Wait()
	same(t, counted(t, channel, "s"), reference(t, whole))
}
