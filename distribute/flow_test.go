package distribute_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// flowWindow is the window of the tests in which files are far larger than it.
const flowWindow = 2 * mib

// noisyLines are lines of some 400 bytes that can't be compressed well: a file of them
// needs many windows in each codec.
func noisyLines(seed uint64, lines int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	var out bytes.Buffer
	var noise [360]byte
	for i, line := range bytes.SplitAfter(content(seed, lines), []byte("\n")) {
		if i == lines {
			break
		}
		for j := 0; j < len(noise); j += 8 { // 64 characters from '0' on
			binary.LittleEndian.PutUint64(noise[j:], random.Uint64()&0x3f3f3f3f3f3f3f3f+0x3030303030303030)
		}
		out.Write(bytes.TrimSuffix(line, []byte("\n")))
		fmt.Fprintf(&out, " %s\n", noise[:])
	}
	return out.Bytes()
}

// flowChannel opens a channel with a small window.
func flowChannel(t testing.TB, db *rdb.DB, window int64) *distribute.Channel {
	t.Helper()
	channel := open(t, db)
	if err := channel.SetWindow(t.Context(), window); err != nil {
		t.Fatal(err)
	}
	return channel
}

// flow ships files with as many shippers, and counts them for subscribers, with one worker
// for each that counts one file at a time.
func flow(t testing.TB, channel *distribute.Channel, subscribers []string, files ...string) {
	t.Helper()
	var shipping, counting sync.WaitGroup
	var workers []*distribute.Worker
	for _, subscriber := range subscribers {
		worker, err := distribute.NewWorker(t.Context(), channel, subscriber, countryDay(t), &distribute.WorkerConfig{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, worker)
		counting.Go(func() {
			if _, err := worker.Work(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for _, path := range files {
		shipping.Go(func() { ship(t, channel, path) })
	}
	shipping.Wait()
	for _, worker := range workers {
		worker.Stop()
	}
	counting.Wait()
	for _, subscriber := range subscribers {
		work(t, channel, subscriber)
	}
}

// shipWindow ships a file that is larger than the window, until the window is full. stop ends the
// shipping.
func shipWindow(t testing.TB, channel *distribute.Channel, path string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	full := make(chan struct{})
	var once sync.Once
	var shipping sync.WaitGroup
	shipping.Go(func() {
		shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: func(e distribute.Event) {
			if e.Kind == distribute.EventWindowFull {
				once.Do(func() { close(full) })
			}
		}})
		_, _ = shipper.Ship(ctx, []string{path}) // it is stopped in the middle
	})
	<-full
	stop = func() { cancel(); shipping.Wait() }
	t.Cleanup(stop)
	return stop
}

func TestFileOfManyWindowsFlows(t *testing.T) {
	t.Parallel()
	lines := noisyLines(1, 13_000)
	for _, name := range partNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backends := func(t *testing.T, do func(*testing.T, *rdb.DB)) { do(t, redistest.DB(t)) }
			if name == partNames[0] { // the scripts are the same
				backends = redistest.Backends
			}
			backends(t, func(t *testing.T, db *rdb.DB) {
				channel := flowChannel(t, db, flowWindow)
				most := func() int64 { return 0 }
				if !db.Embedded() {
					most = watch(t.Context(), segmentsOf(db))
				}
				flow(t, channel, []string{"s", "t"}, write(t, t.TempDir(), name, lines))
				if peak := most(); peak > flowWindow {
					t.Errorf("segments took up %d bytes, the window is %d", peak, flowWindow)
				}
				for _, subscriber := range []string{"s", "t"} {
					same(t, counted(t, channel, subscriber), reference(t, lines))
				}
				onlySmallRecordsAreLeft(t, db)
			})
		})
	}
}

func TestTwoFilesOfManyWindowsFlowThroughOneWorkerEach(t *testing.T) {
	t.Parallel()
	db, folder := redistest.DB(t), t.TempDir()
	channel := flowChannel(t, db, flowWindow)
	contents := [][]byte{noisyLines(2, 13_000), noisyLines(3, 13_000)}
	most := watch(t.Context(), segmentsOf(db))
	flow(t, channel, []string{"s", "t"}, write(t, folder, "a.log", contents[0]), write(t, folder, "b.log.gz", contents[1]))
	if peak := most(); peak > flowWindow {
		t.Errorf("segments took up %d bytes", peak)
	}
	for _, subscriber := range []string{"s", "t"} {
		same(t, counted(t, channel, subscriber), reference(t, contents...))
	}
	onlySmallRecordsAreLeft(t, db)
}

// Neither a hole of NULs, nor a line without end, nor lines as long as may be hold up a
// file: none of them is kept in Redis.
func TestContentWithoutLineEndsFlows(t *testing.T) {
	t.Parallel()
	for name, start := range map[string][]byte{
		"hole":          make([]byte, 6*mib),
		"endless line":  append(bytes.Clone(content(1, 3)), bytes.Repeat([]byte("x"), 6*mib)...),
		"hole in lines": append(bytes.Clone(content(1, 3)), make([]byte, 6*mib)...),
		"longest lines": []byte(strings.Repeat("8.8.8.8 2026-11-01 "+strings.Repeat("x", stream.MaxLine-100)+"\n", 4)),
	} {
		for _, file := range []string{"a.log", "b.log.gz"} {
			t.Run(name+" "+file, func(t *testing.T) {
				t.Parallel()
				db := redistest.DB(t)
				channel := flowChannel(t, db, flowWindow)
				lines := append(bytes.Clone(start), noisyLines(4, 3_000)...)
				flow(t, channel, []string{"s"}, write(t, t.TempDir(), file, lines))
				same(t, counted(t, channel, "s"), reference(t, bytes.ReplaceAll(lines, []byte{0}, nil)))
				onlySmallRecordsAreLeft(t, db)
			})
		}
	}
}

// A record whose end was never written, as when a container is killed, does not hold up a file.
func TestRecordWithoutEndDoesNotHoldUpAFile(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	channel := flowChannel(t, db, flowWindow)
	wrapped := []byte("2026-11-01T00:00:00Z stderr P 8.8.8.8 2026-11-01 cut\n")
	for line := range bytes.Lines(noisyLines(5, 7_500)) {
		wrapped = append(append(wrapped, "2026-11-01T00:00:00Z stdout F "...), line...)
	}
	flow(t, channel, []string{"s"}, write(t, t.TempDir(), "a.log", wrapped))
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if tally := report.Subscriber.Tally; tally.Lines != 7_501 {
		t.Errorf("%+v, want 7,501 lines", tally)
	}
	onlySmallRecordsAreLeft(t, db)
}

func TestSubscriberThatComesLateIsToldToShipAgain(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), redistest.DB(t)
	channel, lines := flowChannel(t, db, flowWindow), noisyLines(5, 10_000)
	path := write(t, t.TempDir(), "a.log", lines)
	if err := channel.Subscribe(ctx, "s", countryDay(t).Settings()); err != nil {
		t.Fatal(err)
	}
	var shipping sync.WaitGroup
	shipping.Go(func() { ship(t, channel, path) })
	working, stop := context.WithCancel(ctx)
	watched := &watchedCount{Counting: countryDay(t), stopAt: 7_500, stop: stop}
	worker, err := distribute.NewWorker(ctx, channel, "s", watched, &distribute.WorkerConfig{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(working); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// The first segments are free now.
	late, err := distribute.NewWorker(ctx, channel, "late", countryDay(t), &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	var counting sync.WaitGroup
	counting.Go(func() { work(t, channel, "s") })
	result, err := late.Work(ctx)
	if err != nil || len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Error(), "only a later part of it is in Redis: ship it again") {
		t.Errorf("problems %v, %v", result.Problems, err)
	}
	shipping.Wait()
	counting.Wait()
	same(t, counted(t, channel, "s"), reference(t, lines))
	flow(t, channel, []string{"s", "late"}, path)
	for _, subscriber := range []string{"s", "late"} {
		same(t, counted(t, channel, subscriber), reference(t, lines))
	}
	onlySmallRecordsAreLeft(t, db)
}

// A file that no worker can count does not hold up the window, either.
func TestRefusedFileOfManyWindowsFlows(t *testing.T) {
	t.Parallel()
	db, folder := redistest.DB(t), t.TempDir()
	channel := flowChannel(t, db, flowWindow)
	binary := bytes.Repeat([]byte{0x7f, 'E', 'L', 'F', 1, 2, 3, '\n'}, mib)
	lines := content(6, 1000)
	bad, good := write(t, folder, "a.log", binary), write(t, folder, "b.log", lines)
	events := listen()
	worker, err := distribute.NewWorker(t.Context(), channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true, Workers: 1, Notify: events.notify})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() { ship(t, channel, bad, good) })
	wait.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if e := events.await(t, distribute.EventFailed); e.File != bad {
		t.Errorf("%+v", e)
	}
	wait.Wait()
	work(t, channel, "s")
	report, err := channel.Report(t.Context(), "s", nil)
	if tally := report.Subscriber.Tally; err != nil || tally.Failed != 1 || tally.Files != 1 || tally.Lines != 1000 {
		t.Errorf("%+v, %v", tally, err)
	}
	onlySmallRecordsAreLeft(t, db)
}

// A file of six windows, whose shippers and workers are killed, in all states of the
// window.
func TestShippersAndWorkersKilledWhileAFileFlows(t *testing.T) {
	t.Parallel()
	names := []string{"a.log", "b.log.gz"}
	random, lines := redistest.Random(t), noisyLines(7, 15_000)
	first := random.IntN(len(names))
	subscribers := []string{"s", "t"}
	for i := range redistest.Rounds(t, 1) {
		name := names[(first+i)%len(names)]
		t.Run(fmt.Sprint("run ", i, " ", name), func(t *testing.T) {
			url := redistest.URL(t)
			channel, path := flowChannel(t, redistest.Open(t, url), mib), write(t, t.TempDir(), name, lines)
			for _, subscriber := range subscribers {
				if err := channel.Subscribe(t.Context(), subscriber, ""); err != nil {
					t.Fatal(err)
				}
			}
			for _, kill := range []int{1, 0} {
				signal := func() processtest.CommandSignal {
					return killAt(kill*(20+random.IntN(200)), random)
				}
				var workers []*processtest.Process
				for _, subscriber := range subscribers {
					workers = append(workers, start(t, processPlan{"work on", url, []string{subscriber}, signal()}))
				}
				start(t, processPlan{"ship", url, []string{path}, signal()}).Check()
				for _, worker := range workers {
					worker.Kill()
				}
			}
			for _, subscriber := range subscribers {
				run(t, url, "work", subscriber)
			}
			for _, subscriber := range subscribers {
				exact(t, url, subscriber, lines)
			}
		})
	}
}

// Beside the segments are the checkpoints, the records, and what Redis sends and receives.
func TestRedisUsesLittleMoreThanTheWindow(t *testing.T) {
	t.Parallel()
	const window = 4 * mib
	db := redistest.Open(t, redistest.Start(t).URL(0))
	channel, path := flowChannel(t, db, window), write(t, t.TempDir(), "a.log.gz", noisyLines(11, 25_000))
	used := func() int64 {
		servers, err := db.Servers(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
			return 0
		}
		return servers[0].UsedMemory
	}
	before := used()
	kept := watch(t.Context(), func(ctx context.Context) int64 {
		return memory(ctx, db, "segment") + memory(ctx, db, "checkpoint")
	})
	all := watch(t.Context(), func(context.Context) int64 { return used() - before })
	flow(t, channel, []string{"s", "t"}, path)
	if peak := kept(); peak > window+2*mib || peak < window/8 { // few samples are taken on a busy machine
		t.Errorf("segments and checkpoints took up %d bytes, the window is %d", peak, window)
	}
	if peak := all(); peak > window+4*mib {
		t.Errorf("Redis used %d bytes more than before, the window is %d", peak, window)
	}
}

// setBack is what a clock of Redis that is set back by an hour means for leases: they end an
// hour later.
const setBack = `
for _, key in ipairs(KEYS) do
	local rows = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
	for i = 1, #rows, 2 do redis.call('ZINCRBY', key, 3600000, rows[i]) end
end`

// Only what dead processes hold is held for longer.
func TestClockThatIsSetBackHoldsUpNoLivingProcess(t *testing.T) {
	t.Parallel()
	db, folder := redistest.DB(t), t.TempDir()
	channel := flowChannel(t, db, mib)
	contents := [][]byte{noisyLines(12, 8000), noisyLines(13, 8000)}
	most := watch(t.Context(), func(ctx context.Context) int64 {
		var leases []string
		for _, kind := range []string{"leases", "uploads", "claims"} {
			leases = append(leases, db.Keys(ctx, "*:"+kind).Val()...)
		}
		if err := db.Eval(ctx, setBack, leases).Err(); err != nil && !errors.Is(err, redis.Nil) {
			t.Error(err)
		}
		return int64(len(leases))
	})
	flow(t, channel, []string{"s"}, write(t, folder, "a.log", contents[0]), write(t, folder, "b.log.gz", contents[1]))
	if most() < 3 {
		t.Error("no lease was set back")
	}
	same(t, counted(t, channel, "s"), reference(t, contents...))
	onlySmallRecordsAreLeft(t, db)
}
