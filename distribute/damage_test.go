package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// cut shortens a file by some bytes.
func cut(t testing.TB, path string, bytes int64) string {
	t.Helper()
	if err := os.Truncate(path, size(t, path)-bytes); err != nil {
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

func TestLinesThatVanishedFromRedisCanBeShippedAgain(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx, folder := context.Background(), t.TempDir()
		channel, lines := open(t, db), content(1, 60_000)
		path := write(t, folder, "a.log", lines)
		ship(t, channel, path)
		segments, err := db.Keys(ctx, "*:segment:*:0").Result()
		if err != nil || len(segments) != 1 {
			t.Fatalf("segments %v, %v", segments, err)
		}
		if err := db.Set(ctx, segments[0], lines[:db.StrLen(ctx, segments[0]).Val()/2], 0).Err(); err != nil {
			t.Fatal(err)
		}
		if result := work(t, channel, "s"); len(result.Problems) != 1 || !errors.Is(result.Problems[0], distribute.ErrVanished) {
			t.Fatalf("problems: %v", result.Problems)
		}
		ship(t, channel, path)
		if result := work(t, channel, "s"); len(result.Problems) != 0 {
			t.Errorf("problems: %v", result.Problems)
		}
		same(t, counted(t, channel, "s"), reference(t, lines))
	})
}

func TestDamagedFileIsShippedAgainWhenItHasChanged(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	lines, path := content(1, 20_000), ""
	var good, damaged []byte
	for _, member := range [][]byte{lines[:len(lines)/2], lines[len(lines)/2:]} {
		path = write(t, folder, "a.gz", member)
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		good, damaged = append(good, packed...), append(damaged, packed...)
	}
	damaged[len(damaged)-int(size(t, path))] = 0 // the second member begins with another byte
	for i, step := range []struct {
		content []byte
		want    distribute.Outcome
	}{{damaged, distribute.Shipped}, {nil, distribute.AlreadyCounted}, {good, distribute.Shipped}, {nil, distribute.AlreadyCounted}} {
		if step.content != nil {
			if err := errors.Join(os.WriteFile(path, step.content, 0o600), os.Chtimes(path, time.Time{}, time.Unix(int64(i), 0))); err != nil {
				t.Fatal(err)
			}
		}
		if got := ship(t, channel, path)[0].Outcome; got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
		work(t, channel, "s")
	}
	same(t, counted(t, channel, "s"), reference(t, lines))
}

func TestSubscriberWithoutTheBeginningOfAFileIsGivenAllOfIt(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	before, more := content(1, 100), content(2, 50)
	ship(t, channel, write(t, folder, "a.log", before))
	work(t, channel, "s")
	path := write(t, folder, "a.log", append(before, more...))
	ship(t, channel, path)
	if result := work(t, channel, "late"); len(result.Problems) != 1 {
		t.Errorf("problems: %v", result.Problems)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "late"), reference(t))
	ship(t, channel, path)
	for _, name := range []string{"s", "late"} {
		work(t, channel, name)
		same(t, counted(t, channel, name), reference(t, before, more))
	}
}

func TestFileOfAnUnknownFormatFailsAndTheOthersAreCounted(t *testing.T) {
	for name, c := range map[string]struct{ field, value string }{
		"newer codec": {"codec", "oodle"}, "no segment size": {"segment", ""},
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
				ctx := context.Background()
				channel, folder := open(t, db), t.TempDir()
				bad, good := content(1, 100), content(2, 100)
				path := write(t, folder, "a.log", bad)
				ship(t, channel, path)
				ids, err := db.ZRange(ctx, "skidway:logs:{web}:open", 0, -1).Result()
				if err != nil || len(ids) != 1 {
					t.Fatalf("%v, %v", ids, err)
				}
				if err := db.HSet(ctx, "skidway:logs:{web}:file:"+ids[0], c.field, c.value).Err(); err != nil {
					t.Fatal(err)
				}
				ship(t, channel, write(t, folder, "b.log", good))
				result := work(t, channel, "s")
				var unknown *stream.UnknownCodecError
				if len(result.Problems) != 1 || errors.As(result.Problems[0], &unknown) != (c.field == "codec") {
					t.Errorf("problems: %v", result.Problems)
				}
				same(t, counted(t, channel, "s"), reference(t, good))
				ship(t, channel, path)
				work(t, channel, "s")
				same(t, counted(t, channel, "s"), reference(t, good, bad))
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
	want := []distribute.Outcome{distribute.Vanished, distribute.Failed, distribute.Empty, distribute.Empty, distribute.Failed, distribute.Failed, distribute.Shipped}
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
	if _, err := group.NewClient(handle.New(db)).Reserved().Send(ctx, "logs:web", "member", chat.Text("hello?")); err != nil {
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
