package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// cut shortens a file by some bytes.
func cut(t testing.TB, path string, bytes int64) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-bytes); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDamagedFileIsCountedUpToTheDamage(t *testing.T) {
	lines := content(1, 20000)
	for _, name := range []string{"a.gz", "a.zst"} {
		t.Run(name, func(t *testing.T) {
			redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
				channel, folder := open(t, db), t.TempDir()
				good := content(2, 100)
				ship(t, channel, cut(t, write(t, folder, name, lines), 1000), write(t, folder, "good.log", good))
				result := work(t, channel, "s")
				if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Error(), "counted up to line") {
					t.Fatalf("problems: %v", result.Problems)
				}
				var damage *stream.CorruptError
				if !errors.As(result.Problems[0], &damage) {
					t.Errorf("got %v, want a CorruptError", result.Problems[0])
				}
				whole := int(counted(t, channel, "s").lines) - 100
				if whole < 1000 {
					t.Errorf("only %d lines were counted before the damage", whole)
				}
				upTo := bytes.Join(bytes.SplitAfter(lines, []byte("\n"))[:whole], nil)
				same(t, counted(t, channel, "s"), reference(t, good, upTo))
				report, err := channel.Report(context.Background(), "s", nil)
				if err != nil || len(report.Problems) != 1 || report.Subscriber.Tally.Partial != 1 {
					t.Errorf("report: %v, %+v", err, report)
				}

				// The whole file comes: only the rest is counted.
				ship(t, channel, write(t, folder, name, lines))
				work(t, channel, "s")
				same(t, counted(t, channel, "s"), reference(t, good, lines))
			})
		})
	}
}

func TestFileThatIsNoLogIsRefusedAndTheOthersAreCounted(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		channel, folder := open(t, db), t.TempDir()
		good := content(1, 100)
		binary := bytes.Repeat([]byte("\x00\x01\x02\n\xff\xfe"), 1<<18)
		ship(t, channel, write(t, folder, "a.bin", binary), write(t, folder, "b.log", good))
		result := work(t, channel, "s")
		if len(result.Problems) != 1 || !errors.Is(result.Problems[0], accesslog.ErrNoFormat) {
			t.Errorf("problems: %v", result.Problems)
		}
		if result.Tally.Failed != 1 || result.Tally.Files != 1 {
			t.Errorf("tally: %+v", result.Tally)
		}
		same(t, counted(t, channel, "s"), reference(t, good))
	})
}

func TestLineLongerThanAllowedIsUnparsableAndTheOthersAreCounted(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		channel, folder := open(t, db), t.TempDir()
		long := []byte("8.8.8.8 2026-11-01 " + strings.Repeat("x", stream.MaxLine) + "\n")
		good := content(1, 100)
		events := listen()
		ship(t, channel, write(t, folder, "a.log.gz", append(append(bytes.Clone(good), long...), good...)))
		worker, err := distribute.NewWorker(context.Background(), channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true, Notify: events.notify})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := worker.Work(context.Background()); err != nil {
			t.Fatal(err)
		}
		problem := events.await(t, distribute.EventCounted).Problem
		if problem == nil || problem.Kind != distribute.LinesTooLong || problem.Missing() ||
			problem.Detail != "line 101 is longer than 1 MiB: counted as unparsable" {
			t.Errorf("problem %+v", problem)
		}
		want := reference(t, good, good)
		want.lines++
		want.bad++
		same(t, counted(t, channel, "s"), want)
	})
}

func TestUnreadableFilesAreReportedAndTheOthersAreShipped(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	stub := write(t, folder, "stub.gz", content(1, 10))
	if err := os.Truncate(stub, 12); err != nil {
		t.Fatal(err)
	}
	files := []string{
		folder + "/missing",
		folder,
		write(t, folder, "empty", nil),
		write(t, folder, "empty.gz", nil),
		write(t, folder, "archive", []byte("PK\x03\x04 and so on")),
		stub,
		write(t, folder, "good", content(1, 10)),
	}
	results, err := distribute.NewShipper(channel, nil).Ship(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	want := []distribute.Outcome{distribute.Failed, distribute.Failed, distribute.Empty, distribute.Empty, distribute.Failed, distribute.Failed, distribute.Shipped}
	for i, result := range results {
		if result.Outcome != want[i] {
			t.Errorf("%s: %v (%v), want %v", result.Path, result.Outcome, result.Err, want[i])
		}
		if result.Err != nil && !strings.HasPrefix(result.Err.Error(), result.Path+": ") {
			t.Errorf("the error does not name the file: %v", result.Err)
		}
	}
}

func TestMalformedAnnouncementIsReportedAndSkipped(t *testing.T) {
	t.Parallel()
	ctx, db := context.Background(), redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	lines := content(1, 100)
	ship(t, channel, write(t, folder, "a", lines))
	if _, err := group.NewClient(handle.New(db)).Send(ctx, "logs:web", "somebody", chat.Text("hello?")); err != nil {
		t.Fatal(err)
	}
	more := content(2, 50)
	ship(t, channel, write(t, folder, "b", more))
	events := listen()
	worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true, Notify: events.notify})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(ctx); err != nil {
		t.Fatal(err)
	}
	if e := events.await(t, distribute.EventSkipped); e.Message != 2 || e.Err == nil {
		t.Errorf("skipped message %d: %v", e.Message, e.Err)
	}
	same(t, counted(t, channel, "s"), reference(t, lines, more))
}
