package distribute_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/redistest"
)

// A following is a channel with shippers that follow files and a worker, until the test
// ends. Its files are in folder.
type following struct {
	t       *testing.T
	channel *distribute.Channel
	folder  string
	counted chan struct{} // a file was counted
	events  listener      // of the shippers
	want    [][]byte
	marks   int
}

// follow starts shippers that follow paths, which are relative to the folder, and the folder
// "marks".
func follow(t *testing.T, shippers int, paths ...string) *following {
	t.Helper()
	f := &following{
		t: t, channel: open(t, redistest.DB(t)), folder: t.TempDir(),
		counted: make(chan struct{}, 1), events: listen(),
	}
	full := []string{f.path("marks")}
	for _, path := range paths {
		full = append(full, f.path(path))
	}
	f.mkdir("marks")
	worker, err := distribute.NewWorker(t.Context(), f.channel, "s", countryDay(t), &distribute.WorkerConfig{Lease: testLease, Notify: func(distribute.Event) {
		select {
		case f.counted <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := worker.Work(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(worker.Stop)
	for range shippers {
		shipper := distribute.NewShipper(f.channel, &distribute.ShipperConfig{Lease: testLease, Notify: f.events.notify})
		shipper.LookEvery(10 * time.Millisecond)
		running.Go(func() {
			if err := shipper.Follow(context.WithoutCancel(t.Context()), full); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(shipper.Stop)
	}
	return f
}

func (f *following) path(name string) string { return filepath.Join(f.folder, name) }

func (f *following) do(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *following) mkdir(name string) { f.t.Helper(); f.do(os.Mkdir(f.path(name), 0o700)) }

// add appends content to a file, of which the report shall have the lines once.
func (f *following) add(name string, content []byte) {
	f.t.Helper()
	f.want = append(f.want, content)
	f.append(name, content)
}

// append appends content to a file.
func (f *following) append(name string, content []byte) {
	f.t.Helper()
	file, err := os.OpenFile(f.path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	f.do(err)
	_, err = file.Write(content)
	f.do(err)
	f.do(file.Close())
}

func (f *following) rename(from, to string) { f.t.Helper(); f.do(os.Rename(f.path(from), f.path(to))) }

// await blocks until the report has all lines. That takes five seconds at most where nothing else runs, even
// if a file is tried again; a busy machine also lets leases expire.
func (f *following) await() {
	f.t.Helper()
	const patience = 20 * time.Second // a file that is given up, or tried after the longest pause, takes longer
	want, late := reference(f.t, f.want...), time.After(patience)
	for {
		got := counted(f.t, f.channel, "s")
		if got.lines == want.lines {
			same(f.t, got, want)
			return
		}
		select {
		case <-f.counted:
		case <-late:
			f.t.Fatalf("the report has %d lines after %s, want %d", got.lines, patience, want.lines)
		}
	}
}

// settle blocks until the shippers have looked at all files once more, and the report has
// all lines.
func (f *following) settle() {
	f.t.Helper()
	for range 2 { // the first may be shipped by a look that began earlier
		f.marks++
		f.add(fmt.Sprintf("marks/%d", f.marks), fmt.Appendf(nil, "8.8.8.8 2026-11-01 mark %d\n", f.marks))
		f.await()
	}
}

func TestFollowedLogIsRotatedByRename(t *testing.T) {
	for name, path := range map[string]string{"in its directory": "logs", "named itself": "logs/a.log", "named by a pattern": "logs/*.log"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, 1, path)
			f.mkdir("logs")
			f.add("logs/a.log", content(1, 100))
			f.await()
			f.add("logs/a.log", content(2, 20))
			f.rename("logs/a.log", "logs/a.log.1")
			f.add("logs/a.log.1", content(3, 10)) // the server has not opened the new file yet
			f.add("logs/a.log", content(4, 50))
			f.settle()
			f.add("logs/a.log.1", content(5, 10))
			f.add("logs/a.log", content(6, 10))
			f.settle()
		})
	}
}

func TestFollowedLogIsCopiedAndTruncated(t *testing.T) {
	for name, pieces := range map[string]int{"at once": 1, "slowly": 6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, 1, "logs")
			f.mkdir("logs")
			lines := content(1, 3000)
			f.add("logs/a.log", lines)
			f.await()
			for i := range pieces {
				f.append("logs/a.log.1", lines[i*len(lines)/pieces:(i+1)*len(lines)/pieces])
				f.settle()
			}
			f.do(os.Truncate(f.path("logs/a.log"), 0))
			f.add("logs/a.log", content(2, 100))
			f.settle()
		})
	}
}

// One subscriber does not read the format of the log. More lines change nothing about how it begins.
func TestLargeFollowedLogThatIsRefusedIsUploadedFromItsStartOnce(t *testing.T) {
	t.Parallel()
	f := follow(t, 1, "logs")
	refusing, err := distribute.NewCounting(&distribute.CountingConfig{Format: "combined"})
	f.do(err)
	f.do(f.channel.Subscribe(t.Context(), "refuses", refusing.Settings()))
	f.mkdir("logs")
	for i, lines := range []int{40_000, 10, 10} {
		more := longLines(uint64(i), lines)
		if i == 0 {
			f.add("a.log", more)
			f.rename("a.log", "logs/a.log") // all at once
		} else {
			f.add("logs/a.log", more)
		}
		shipped := f.events.await(t, distribute.EventShipped).Shipped
		if n := int64(len(more)); shipped.Bytes < n || shipped.Bytes > n+stream.EndingSize {
			t.Errorf("%d bytes are uploaded, %d are new", shipped.Bytes, n)
		}
		workFor(t, f.channel, "refuses", refusing)
		report, err := f.channel.Report(t.Context(), "refuses", nil)
		f.do(err)
		if p := report.Problems; len(p) != 1 || p[0].Kind != distribute.NotCounted || !strings.Contains(p[0].Detail, "combined") {
			t.Errorf("problems: %v", p)
		}
	}
	f.await()
}

func TestFollowedLogIsCompressed(t *testing.T) {
	for name, counted := range map[string]bool{"at once": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, 1, "logs")
			f.mkdir("logs")
			lines := content(1, 3000)
			f.add("logs/a.log", lines)
			if counted {
				f.await()
			}
			f.rename("logs/a.log", "logs/a.log.1")
			packed, err := os.ReadFile(write(t, t.TempDir(), "a.gz", lines))
			f.do(err)
			f.append("logs/a.log.1.gz", packed[:len(packed)/2])
			f.settle()
			f.append("logs/a.log.1.gz", packed[len(packed)/2:])
			f.do(os.Remove(f.path("logs/a.log.1")))
			f.add("logs/a.log", content(2, 100))
			f.settle()
		})
	}
}

func TestFollowedLogHasADatedName(t *testing.T) {
	t.Parallel()
	f := follow(t, 1, "logs")
	f.mkdir("logs")
	f.add("logs/access-2026-11-01.log", content(1, 100))
	f.await()
	f.add("logs/access-2026-11-02.log", content(2, 100))
	f.add("logs/access-2026-11-01.log", content(3, 10))
	f.settle()
	f.add("logs/access-2026-11-02.log", content(4, 10))
	f.settle()
}

func TestFollowedLinkIsMoved(t *testing.T) {
	t.Parallel()
	f := follow(t, 1, "current")
	f.mkdir("logs")
	f.add("logs/1.log", content(1, 100))
	f.do(os.Symlink("logs/1.log", f.path("current")))
	f.await()
	f.add("logs/1.log", content(2, 10))
	f.add("logs/2.log", content(3, 100))
	f.do(os.Symlink("logs/2.log", f.path("next")))
	f.rename("next", "current")
	f.settle()
	f.add("logs/1.log", content(4, 10))
	f.add("logs/2.log", content(5, 10))
	f.settle()
}

func TestFollowedDirectoryAppearsLate(t *testing.T) {
	t.Parallel()
	f := follow(t, 1, "logs")
	f.events.await(t, distribute.EventFailed)
	f.settle()
	f.mkdir("logs")
	f.add("logs/a.log", content(1, 100))
	f.settle()
	f.events.await(t, distribute.EventRecovered)
}

func TestSeveralShippersFollowOneDirectory(t *testing.T) {
	t.Parallel()
	f := follow(t, 3, "logs")
	f.mkdir("logs")
	for i := range uint64(5) {
		f.add("logs/a.log", content(2*i, 100))
		f.add("logs/b.log", content(2*i+1, 100))
		f.await()
	}
	f.rename("logs/a.log", "logs/a.log.1")
	f.add("logs/a.log.1", content(20, 10))
	f.add("logs/a.log", content(21, 100))
	f.settle()
	f.append("logs/b.log.1", bytes.Join(f.want[1:2], nil)) // a copy of its beginning
	f.settle()
}

func TestFollowedFileThatFailedIsReportedAsRecovered(t *testing.T) {
	t.Parallel()
	f := follow(t, 1, "logs")
	f.mkdir("logs")
	f.append("logs/a.log", []byte("7z\xbc\xaf\x27\x1c, which is not read\n"))
	f.events.await(t, distribute.EventFailed)
	f.do(os.Truncate(f.path("logs/a.log"), 0))
	f.add("logs/a.log", content(1, 10))
	f.events.await(t, distribute.EventRecovered)
	f.settle()
}
