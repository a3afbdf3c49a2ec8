package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// fifo makes a FIFO.
func fifo(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// feed writes content to a FIFO, unless its reader ends before, and blocks until it is
// read. It returns the FIFO, still open.
func feed(t testing.TB, path string, content []byte) *os.File {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
	return w
}

// fed makes a FIFO with content for each of so many readers, one after the other. The content
// is compressed by the extension of the name.
func fed(t testing.TB, name string, content []byte, readers int) string {
	t.Helper()
	path := fifo(t, name)
	packed, err := os.ReadFile(write(t, t.TempDir(), name, content))
	if err != nil {
		t.Fatal(err)
	}
	var feeding sync.WaitGroup
	feeding.Go(func() {
		for range readers {
			_ = feed(t, path, packed).Close()
		}
	})
	t.Cleanup(feeding.Wait)
	return path
}

func TestStreamOfManyWindowsFlows(t *testing.T) {
	t.Parallel()
	lines := noisyLines(1, 15_000) // 6 windows
	for _, name := range []string{"a.log", "b.log.gz", "c.log.zst"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			channel := flowChannel(t, db, mib)
			most := watch(t.Context(), segmentsOf(db))
			flow(t, channel, []string{"s", "t"}, fed(t, name, lines, 1))
			if peak := most(); peak > mib {
				t.Errorf("segments took up %d bytes, the window is %d", peak, mib)
			}
			for _, subscriber := range []string{"s", "t"} {
				same(t, counted(t, channel, subscriber), reference(t, lines))
			}
			onlySmallRecordsAreLeft(t, db)
		})
	}
}

// The same content sent again continues what was counted.
func TestShipperKilledInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	names := []string{"a.log", "b.log.gz"}
	random, lines := redistest.Random(t), noisyLines(8, 12_000)
	first := random.IntN(len(names))
	for i := range redistest.Rounds(t, 1) {
		name := names[(first+i)%len(names)]
		t.Run(fmt.Sprint("run ", i, " ", name), func(t *testing.T) {
			url := redistest.URL(t)
			channel := flowChannel(t, redistest.Open(t, url), mib)
			if err := channel.Subscribe(t.Context(), "s", countryDay(t).Settings()); err != nil {
				t.Fatal(err)
			}
			path := fed(t, name, lines, 2)
			work := processPlan{Role: "work on", URL: url, Args: []string{"s"}}
			worker := start(t, work)
			if !start(t, processPlan{"ship", url, []string{path}, killAt(20+random.IntN(40), random)}).Check() {
				t.Error("the shipper was not killed")
			}
			worker.Kill()
			run(t, url, "work", "s")
			report, err := channel.Report(t.Context(), "s", nil)
			if err != nil {
				t.Fatal(err)
			}
			n := report.Subscriber.Tally.Lines
			if len(report.Problems) > 0 { // it was killed when nothing was announced
				isCutOff(t, report, "its shipper stopped or died before its end")
			} else if n > 0 {
				t.Errorf("%d lines are counted, and no problem is reported", n)
			}
			same(t, countsOf(report), reference(t, firstLines(lines, n)))
			worker = start(t, work)
			ship(t, channel, path) // with a long lease: what was read of a pipe can't be read again
			worker.Kill()
			run(t, url, "work", "s")
			exact(t, url, "s", lines)
			if report, err := channel.Report(t.Context(), "s", nil); err != nil || len(report.Problems) > 0 {
				t.Errorf("problems %v, %v", report.Problems, err)
			}
		})
	}
}

// firstLines returns the first n lines.
func firstLines(lines []byte, n int64) []byte {
	return bytes.Join(bytes.SplitAfterN(lines, []byte("\n"), int(n)+1)[:n], nil)
}

// isCutOff fails the test unless one file is reported as cut off for a reason.
func isCutOff(t testing.TB, report distribute.Report, reason string) {
	t.Helper()
	tally := report.Subscriber.Tally
	if len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Detail, "cut off: "+reason) || tally.Partial+tally.Failed != 1 {
		t.Errorf("problems %+v, %+v", report.Problems, tally)
	}
}

func TestStreamsAndFilesWithOneContentAreOneFile(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		contents := [][]byte{content(1, 3000), content(2, 2000)}
		grown := append(bytes.Clone(contents[1]), content(3, 1000)...)
		folder := t.TempDir()
		paths := []string{
			fed(t, "a", contents[0], 1), fed(t, "b", contents[1], 1), fed(t, "a.zst", contents[0], 1), write(t, folder, "a.gz", contents[0]),
			fed(t, "b.gz", grown, 1), write(t, folder, "b", grown), fed(t, "b", grown[:len(grown)/2], 1), fed(t, "empty", nil, 1),
		}
		result, err := distribute.NewBatch(handle.New(db), countryDay(t), nil).Run(t.Context(), paths)
		if err != nil {
			t.Fatal(err)
		}
		same(t, countsOf(result.Report), reference(t, contents[0], grown))
		want := []distribute.Outcome{
			distribute.Shipped, distribute.Shipped, distribute.AlreadyCounted, distribute.AlreadyCounted,
			distribute.Shipped, distribute.AlreadyCounted, distribute.AlreadyCounted, distribute.Empty,
		}
		for i, f := range result.Files {
			if f.Outcome != want[i] {
				t.Errorf("%s: %s, want %s; %v", f.Path, f.Outcome, want[i], f.Err)
			}
		}
		if f := result.Files[4]; f.Base == 0 || f.Base >= int64(len(contents[1])) {
			t.Errorf("the grown stream was uploaded from byte %d on", f.Base)
		}
		if f := result.Files[6]; f.Length >= f.Counted {
			t.Errorf("the shorter stream has %d bytes of %d", f.Length, f.Counted)
		}
	})
}

// Its writer keeps the FIFO open, and writes no more.
func TestStoppedShipperEndsTheStreamThatItReads(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*distribute.Shipper, context.CancelFunc){
		"stopped":   func(s *distribute.Shipper, _ context.CancelFunc) { s.Stop() },
		"cancelled": func(_ *distribute.Shipper, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel, path, lines := open(t, redistest.DB(t)), fifo(t, "a.log"), noisyLines(9, 8000)
			if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			shipper := distribute.NewShipper(channel, nil)
			var results []distribute.ShippedFile
			var err error
			var shipping sync.WaitGroup
			shipping.Go(func() { results, err = shipper.Ship(ctx, []string{path}) })
			writer := feed(t, path, lines)
			stop(shipper, cancel)
			shipping.Wait()
			_ = writer.Close()
			reason := "stopped before its end"
			if name == "cancelled" {
				reason = "its shipper stopped or died before its end"
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			} else if err != nil || len(results) != 1 || results[0].Err == nil || !strings.Contains(results[0].Err.Error(), reason) {
				t.Errorf("%+v, %v", results, err)
			}
			work(t, channel, "s")
			report, err := channel.Report(t.Context(), "s", nil)
			if err != nil {
				t.Fatal(err)
			}
			isCutOff(t, report, reason)
			n := report.Subscriber.Tally.Lines
			if n < 1000 {
				t.Errorf("%d lines are counted", n)
			}
			same(t, countsOf(report), reference(t, firstLines(lines, n)))

			// A file ends where the stream was cut off: nothing is missing then.
			whole := firstLines(lines, n)
			if again := ship(t, channel, write(t, t.TempDir(), "whole.log", whole))[0]; again.Outcome != distribute.Shipped {
				t.Errorf("outcome %v, want shipped", again.Outcome)
			}
			work(t, channel, "s")
			isWhole(t, channel, "s", whole)

			// Nor is it for this subscriber, when the stream is cut off before another has it.
			if err := channel.Subscribe(t.Context(), "t", ""); err != nil {
				t.Fatal(err)
			}
			path = fifo(t, "b.log")
			shipper = distribute.NewShipper(channel, nil)
			shipping.Go(func() { _, _ = shipper.Ship(t.Context(), []string{path}) })
			writer = feed(t, path, whole[:len(whole)*3/4])
			shipper.Stop()
			shipping.Wait()
			_ = writer.Close()
			work(t, channel, "t")
			work(t, channel, "s")
			isWhole(t, channel, "s", whole)
		})
	}
}

// Its writer keeps the FIFO open, and writes no more.
func TestLinesOfAnIdleStreamAreCommitted(t *testing.T) {
	lines := noisyLines(12, 4000)
	long := bytes.ReplaceAll(noisyLines(13, 500), []byte("\n"), append(bytes.Repeat([]byte("x"), 1000), '\n'))
	for name, lines := range map[string][]byte{"short lines": lines, "long lines, fewer than a sample": long} {
		t.Run(name, func(t *testing.T) { testIdleStream(t, lines) })
	}
}

func testIdleStream(t *testing.T, lines []byte) {
	t.Parallel()
	db := redistest.DB(t)
	channel, path := open(t, db), fifo(t, "a.log")
	worker, err := distribute.NewWorker(t.Context(), channel, "s", countryDay(t), &distribute.WorkerConfig{CommitInterval: testLease})
	if err != nil {
		t.Fatal(err)
	}
	shipper := distribute.NewShipper(channel, nil)
	var running sync.WaitGroup
	running.Go(func() { _, _ = shipper.Ship(t.Context(), []string{path}) })
	running.Go(func() { _, _ = worker.Work(t.Context()) })
	writer := feed(t, path, lines)
	const block = 512 << 10 // as a stream is uploaded in its first segment
	uploaded := lines[:len(lines)/block*block]
	want := int64(bytes.Count(uploaded, []byte("\n")))
	var n int64
	for limit := time.Now().Add(20 * time.Second); n != want; {
		report, err := channel.Report(t.Context(), "s", nil)
		if err != nil || time.Now().After(limit) {
			t.Errorf("%d lines are committed of %d, %v", n, want, err)
			break
		}
		n = report.Subscriber.Tally.Lines
	}
	shipper.Stop()
	worker.Stop()
	running.Wait()
	_ = writer.Close()
}

// A reader of nothing closes begun when it is read, and blocks until it is closed.
type idleReader struct{ begun, closed chan struct{} }

func (r idleReader) Read([]byte) (int, error) {
	close(r.begun)
	<-r.closed
	return 0, io.EOF
}

func (r idleReader) Close() error { return nil }

// What identifies a stream is read before it is shipped.
func TestShipperThatIsStoppedInTheFirstBytesOfAStreamShipsThem(t *testing.T) {
	t.Parallel()
	lines := content(1, 300)
	for name, n := range map[string]int{"a.log": len(lines), "b.log": 4100, "c.log.gz": len(lines)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel := open(t, redistest.DB(t))
			packed, err := os.ReadFile(write(t, t.TempDir(), name, lines[:n]))
			if err != nil {
				t.Fatal(err)
			}
			idle := idleReader{make(chan struct{}), make(chan struct{})}
			defer close(idle.closed)
			shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Open: func(context.Context, string) (stream.Object, error) {
				return stream.NewPipe(func() (io.ReadCloser, error) {
					return struct {
						io.Reader
						io.Closer
					}{io.MultiReader(bytes.NewReader(packed), idle), idle}, nil
				}), nil
			}})
			go func() {
				<-idle.begun
				shipper.Stop()
			}()
			results, err := shipper.Ship(t.Context(), []string{name})
			if err != nil || len(results) != 1 || results[0].Err == nil || !strings.Contains(results[0].Err.Error(), "stopped before its end") {
				t.Fatalf("%+v, %v", results, err)
			}
			work(t, channel, "s")
			same(t, counted(t, channel, "s"), reference(t, firstLines(lines, int64(bytes.Count(lines[:n], []byte("\n"))))))
		})
	}
}

func TestShipperTellsWhetherItWaitsForAShipperOrForWorkers(t *testing.T) {
	t.Parallel()
	channel, path, lines := open(t, redistest.DB(t)), fifo(t, "a.log"), noisyLines(15, 3000)
	if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	var first, second sync.WaitGroup
	first.Go(func() { ship(t, channel, path) })
	pipe := feed(t, path, lines)
	for { // until its beginning is in Redis
		status, err := channel.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(status.Open) == 1 && status.Open[0].State == distribute.FileUploading {
			break
		}
	}
	grown := write(t, t.TempDir(), "a.log", append(lines, "10.0.0.1 2026-11-05 more\n"...))
	waits := make(chan distribute.EventKind, 10)
	second.Go(func() {
		config := &distribute.ShipperConfig{Notify: func(e distribute.Event) {
			if e.Kind == distribute.EventFileUploading || e.Kind == distribute.EventFileBusy {
				waits <- e.Kind
			}
		}}
		if results, err := distribute.NewShipper(channel, config).Ship(t.Context(), []string{grown}); err != nil || results[0].Outcome != distribute.Shipped {
			t.Errorf("%+v, %v", results, err)
		}
	})
	if kind := <-waits; kind != distribute.EventFileUploading {
		t.Errorf("while it is shipped: %s", kind)
	}
	_ = pipe.Close()
	first.Wait()
	for kind := range waits {
		if kind == distribute.EventFileBusy {
			break
		}
	}
	work(t, channel, "s")
	second.Wait()
}

// The file that it continues is in Redis when its shipper is stopped.
func TestWhatWasReadOfAKnownStreamIsShippedWhenItsShipperIsStopped(t *testing.T) {
	t.Parallel()
	channel, path, lines := open(t, redistest.DB(t)), fifo(t, "a.log"), noisyLines(14, 400)
	if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, write(t, t.TempDir(), "a.log", firstLines(lines, 50)))
	var shipper *distribute.Shipper
	busy := make(chan struct{})
	var once sync.Once
	shipper = distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: func(e distribute.Event) {
		if e.Kind == distribute.EventFileBusy {
			once.Do(func() { shipper.Stop(); close(busy) })
		}
	}})
	var results []distribute.ShippedFile
	var err error
	var running sync.WaitGroup
	running.Go(func() { results, err = shipper.Ship(t.Context(), []string{path}) })
	running.Go(func() { _ = feed(t, path, lines).Close() })
	<-busy
	work(t, channel, "s")
	running.Wait()
	if err != nil || len(results) != 1 || results[0].Err == nil || !strings.Contains(results[0].Err.Error(), "stopped before its end") {
		t.Errorf("%+v, %v", results, err)
	}
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	isCutOff(t, report, "stopped before its end")
	n := report.Subscriber.Tally.Lines
	if n <= 100 {
		t.Errorf("%d lines are counted, at least 64 KiB were read", n)
	}
	same(t, countsOf(report), reference(t, firstLines(lines, n)))
}

// isWhole fails the test unless one file is counted, to its end.
func isWhole(t testing.TB, channel *distribute.Channel, subscriber string, lines []byte) {
	t.Helper()
	report, err := channel.Report(t.Context(), subscriber, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tally := report.Subscriber.Tally; len(report.Problems) > 0 || tally.Files != 1 || tally.Partial+tally.Failed > 0 {
		t.Errorf("problems %+v, %+v", report.Problems, tally)
	}
	same(t, countsOf(report), reference(t, lines))
}

// What follows the end of the stream was in the first shipment, and is not counted.
func TestStreamThatIsShorterThanWhatWasCountedOfAFileIsReported(t *testing.T) {
	t.Parallel()
	channel, lines := flowChannel(t, redistest.DB(t), 16*mib), noisyLines(1, 60_000)
	stop := shipWindow(t, channel, write(t, t.TempDir(), "a.log", lines))
	workAhead(t, channel, "s", 25_000)
	stop()
	ship(t, channel, fed(t, "a.log", firstLines(lines, 10_000), 1))
	work(t, channel, "s")
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Detail, "shorter") || report.Subscriber.Tally.Partial != 1 {
		t.Errorf("problems %+v, %+v", report.Problems, report.Subscriber.Tally)
	}
}

// A stream can't be read again as a file can.
func TestStreamWhoseShipperWasTakenForDeadIsCutOff(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	channel, path, lines := open(t, db), fifo(t, "a.log"), noisyLines(10, 16_000)
	if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	var results []distribute.ShippedFile
	var err error
	var shipping sync.WaitGroup
	shipping.Go(func() { results, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{path}) })
	writer := feed(t, path, lines[:len(lines)/2])
	uploads := db.Keys(t.Context(), "*:uploads").Val()
	if len(uploads) != 1 {
		t.Fatalf("%v", uploads)
	}
	db.ZRemRangeByRank(t.Context(), uploads[0], 0, -1)
	events := listen()
	worker, workErr := distribute.NewWorker(t.Context(), channel, "s", countryDay(t), &distribute.WorkerConfig{Lease: testLease, Notify: events.notify})
	if workErr != nil {
		t.Fatal(workErr)
	}
	var working sync.WaitGroup
	working.Go(func() {
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	})
	events.await(t, distribute.EventFailed)
	if _, err := writer.Write(lines[len(lines)/2:]); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
	_ = writer.Close()
	shipping.Wait()
	worker.Stop()
	working.Wait()
	if err != nil || len(results) != 1 || results[0].Err == nil || !strings.Contains(results[0].Err.Error(), "ship the same content again") {
		t.Fatalf("%+v, %v", results, err)
	}
	work(t, channel, "s")
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	isCutOff(t, report, "its shipper stopped or died before its end")
	ship(t, channel, write(t, t.TempDir(), "a.log.gz", lines))
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, lines))
	onlySmallRecordsAreLeft(t, db)
}

func TestPipeIsNotFollowed(t *testing.T) {
	t.Parallel()
	channel, path, events := open(t, redistest.DB(t)), fifo(t, "a.log"), listen()
	shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: events.notify})
	var following sync.WaitGroup
	following.Go(func() {
		if err := shipper.Follow(t.Context(), []string{path}); err != nil {
			t.Error(err)
		}
	})
	if e := events.await(t, distribute.EventFailed); e.File != path || !strings.Contains(e.Err.Error(), "a pipe can't be followed") {
		t.Errorf("%+v", e)
	}
	shipper.Stop()
	following.Wait()
}

func TestErrorOfAPipeIsThatOfItsFile(t *testing.T) {
	t.Parallel()
	channel, broken := open(t, redistest.DB(t)), errors.New("broken")
	lines := content(1, 100)
	config := &distribute.ShipperConfig{Open: func(context.Context, string) (stream.Object, error) {
		return stream.NewPipe(func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(lines), iotest.ErrReader(broken))), nil
		}), nil
	}}
	results, err := distribute.NewShipper(channel, config).Ship(t.Context(), []string{"a"})
	if err != nil || len(results) != 1 || !errors.Is(results[0].Err, broken) {
		t.Errorf("%+v, %v", results, err)
	}
}
