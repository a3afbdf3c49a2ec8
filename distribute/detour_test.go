package distribute

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skidway/distribute/stream"
	"skidway/internal/redistest"
)

// A lineWatch calls reached at a line.
type lineWatch struct {
	Aggregation
	lines   atomic.Int64
	at      int64
	reached func()
}

func (w *lineWatch) Begin(sample []byte, state string) (Counter, error) {
	counter, err := w.Aggregation.Begin(sample, state)
	return lineWatchCounter{counter, w}, err
}

type lineWatchCounter struct {
	Counter
	watch *lineWatch
}

func (c lineWatchCounter) Line(line []byte) Verdict {
	if c.watch.lines.Add(1) == c.watch.at {
		c.watch.reached()
	}
	return c.Counter.Line(line)
}

// eagerWorker returns a worker with one slot that looks for small files at every block.
func eagerWorker(t *testing.T, channel *Channel, aggregation Aggregation, notify Notify) *Worker {
	t.Helper()
	worker, err := NewWorker(t.Context(), channel, "s", aggregation, &WorkerConfig{UntilDone: true, Workers: 1, Notify: notify})
	if err != nil {
		t.Fatal(err)
	}
	worker.lookInterval = time.Millisecond
	return worker
}

// A second file is shipped while the worker counts a large one.
func TestSmallFileIsCountedInBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kib   int // of the second file
		first string
	}{{1, "second"}, {1000, "large"}} {
		t.Run(c.first, func(t *testing.T) {
			t.Parallel()
			channel := openWeb(t, redistest.URL(t))
			second := logFile(t, "second", c.kib)
			shipped(t, channel, nil, logFile(t, "large", 3000))
			var worker *Worker
			watch := &lineWatch{Aggregation: newCounting(t, nil), at: 1500, reached: func() {
				shipped(t, channel, nil, second)
				worker.detourTook.Store(0) // however long the last look took
			}}
			var files []string
			worker = eagerWorker(t, channel, watch, func(e Event) {
				report, err := channel.Report(t.Context(), "s", nil)
				if lines := report.Subscriber.Tally.Lines; err != nil || lines < 1500 {
					t.Errorf("%d lines are in the report when %s is counted, %v", lines, e.File, err)
				}
				files = append(files, string(e.Kind)+" "+filepath.Base(e.File))
			})
			if _, err := worker.Work(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(files) != 2 || files[0] != "counted "+c.first {
				t.Errorf("%v: want %s to be counted first", files, c.first)
			}
			report, err := channel.Report(t.Context(), "s", nil)
			if tally := report.Subscriber.Tally; err != nil || tally.Lines != int64(3000+c.kib+2) || tally.Files != 2 {
				t.Errorf("%+v, %v", tally, err)
			}
		})
	}
}

// The worker waits for an upload that does not go on.
func TestSmallFileIsCountedWhileAnUploadStandsStill(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel := openWeb(t, url)
	shipping, appended := openHeld(t, url)
	large, small := logFile(t, "large", 3000), logFile(t, "small", 1)
	var running sync.WaitGroup
	running.Go(func() { shipped(t, shipping, nil, large) })
	<-appended.Held()
	shipped(t, channel, nil, small)
	events := make(chan Event, 10)
	worker := eagerWorker(t, channel, newCounting(t, nil), func(e Event) { events <- e })
	running.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if e := <-events; e.Kind != EventCounted || e.File != small {
		t.Errorf("%+v, want the small file to be counted", e)
	}
	appended.Release()
	running.Wait()
	if e := <-events; e.Kind != EventCounted || e.File != large || e.Lines != 3001 {
		t.Errorf("%+v, want the large file to be counted", e)
	}
}

// Small files that are complete are claimed for all subscribers that can have them.
func TestOnlyCompleteSmallFilesAreClaimedInBetween(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	channel := openWeb(t, url)
	for _, subscriber := range []string{"s", "t"} {
		if err := channel.Subscribe(t.Context(), subscriber, ""); err != nil {
			t.Fatal(err)
		}
	}
	shipping, appended := openHeld(t, url)
	uploading := logFile(t, "uploading", 3000)
	var running sync.WaitGroup
	running.Go(func() { shipped(t, shipping, nil, uploading) })
	<-appended.Held()
	shipped(t, channel, nil, logFile(t, "large", 100))
	shipped(t, channel, nil, logFile(t, "small", 1))
	var queues claimQueues
	for _, subscriber := range []string{"s", "t"} {
		queues.add(&claimQueue{channel: channel, subscriber: subscriber, lease: time.Minute})
	}
	claims, err := queues.nextSmall(t.Context(), 10<<10)
	if err != nil || len(claims) != 2 || claims[0].id != claims[1].id {
		t.Fatalf("%v, %v: want a file for both subscribers", claims, err)
	}
	r, err := channel.files.record(t.Context(), claims[0].id)
	if err != nil || filepath.Base(r.name) != "small" || !slices.Equal([]string{claims[0].subscriber, claims[1].subscriber}, []string{"s", "t"}) {
		t.Errorf("%s for %s and %s, %v", r.name, claims[0].subscriber, claims[1].subscriber, err)
	}
	if claims, err = queues.nextSmall(t.Context(), 10<<10); err != nil || len(claims) > 0 {
		t.Errorf("%v, %v: want no other file", claims, err)
	}
	appended.Release()
	running.Wait()
}

// streamBlock is how many lines of streamLines are uploaded at once.
const streamBlock = 512

// streamLease is the lease of their shippers.
const streamLease = 700 * time.Millisecond

// streamLines are lines of 1 KiB of a stream.
func streamLines(name string, lines int) string {
	return strings.Repeat(fmt.Sprintf("8.8.8.8 2026-11-01 %-1004s\n", name), lines)
}

// shipStream ships what is written to the result, until it is closed.
func shipStream(t *testing.T, running *sync.WaitGroup, channel *Channel, name string) *io.PipeWriter {
	t.Helper()
	r, w := io.Pipe()
	running.Go(func() {
		shipped(t, channel, &ShipperConfig{Lease: streamLease, Open: func(context.Context, string) (stream.Object, error) {
			return stream.NewPipe(func() (io.ReadCloser, error) { return r, nil }), nil
		}}, name)
	})
	return w
}

// awaitLines waits until so many lines are in the report.
func awaitLines(t *testing.T, channel *Channel, want int64) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		report, err := channel.Report(t.Context(), "s", nil)
		n := report.Subscriber.Tally.Lines
		if err != nil || n > want || time.Now().After(limit) {
			t.Fatalf("%d lines are in the report, want %d, %v", n, want, err)
		}
		if n == want {
			return
		}
	}
}

// Neither of them ends.
func TestOneSlotCountsTwoStreamsThatRestInTurn(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	worker, err := NewWorker(t.Context(), channel, "s", newCounting(t, nil), &WorkerConfig{Workers: 1, CommitInterval: 40 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	worker.lookInterval = time.Millisecond
	var running, working sync.WaitGroup
	working.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	first, second := shipStream(t, &running, channel, "first"), shipStream(t, &running, channel, "second")
	defer func() {
		_, _ = first.Close(), second.Close()
		running.Wait()
		worker.Stop()
		working.Wait()
		awaitLines(t, channel, 6*streamBlock)
	}()
	for n := range 3 {
		_, _ = io.WriteString(first, streamLines("first", streamBlock))
		if n > 0 { // else the worker may not hold it yet
			awaitLines(t, channel, int64(2*n+1)*streamBlock)
		}
		_, _ = io.WriteString(second, streamLines("second", streamBlock))
		awaitLines(t, channel, int64(2*n+2)*streamBlock)
	}
}

// The stream has rested, and goes on while the worker counts a large file.
func TestNewsOfAStreamIsCountedInBetween(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	var running, working sync.WaitGroup
	resting := shipStream(t, &running, channel, "resting")
	var worker *Worker
	large, counted := logFile(t, "large", 3000), make(chan int64, 2)
	watch := &lineWatch{Aggregation: newCounting(t, nil), at: streamBlock + 1000, reached: func() {
		_, _ = io.WriteString(resting, streamLines("resting", streamBlock))
		for {
			page, err := channel.files.openShipments(t.Context(), "s", 0, 1)
			if err != nil || len(page.uncounted) != 1 {
				t.Errorf("%+v, %v", page, err)
				return
			}
			if page.uncounted[0].raw == 2*streamBlock<<10 {
				break
			}
		}
		for time.Since(time.UnixMilli(worker.detoured.Load())) <= time.Duration(worker.detourTook.Load()) { // it does not look yet
			runtime.Gosched()
		}
	}}
	config := &WorkerConfig{Workers: 1, CommitInterval: 40 * time.Millisecond, Notify: func(e Event) {
		report, err := channel.Report(t.Context(), "s", nil)
		if err != nil {
			t.Error(err)
		}
		counted <- report.Subscriber.Tally.Lines
	}}
	var err error
	worker, err = NewWorker(t.Context(), channel, "s", watch, config)
	if err != nil {
		t.Fatal(err)
	}
	worker.lookInterval = time.Millisecond
	working.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	_, _ = io.WriteString(resting, streamLines("resting", streamBlock))
	awaitLines(t, channel, streamBlock)
	shipped(t, channel, nil, large)
	select {
	case n := <-counted:
		if n != 2*streamBlock+3001 {
			t.Errorf("%d lines are in the report when the large file is counted", n)
		}
	case <-time.After(20 * time.Second):
		t.Error("the large file is not counted")
	}
	_ = resting.Close()
	running.Wait()
	worker.Stop()
	working.Wait()
}
