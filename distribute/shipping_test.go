package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestCountsAreThoseOfAStraightforwardCount(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		channel, folder := open(t, db), t.TempDir()
		contents := [][]byte{
			content(1, 20000), content(2, 3), content(3, 5000),
			bytes.TrimSuffix(content(4, 100), []byte("\n")),
			[]byte("8.8.8.8 2026-11-01 a single line"),
			[]byte("8.8.8.8 2026-11-01 x\n\n\n"),
		}
		names := []string{"a.log", "b.log.gz", "c.log.zst", "d.log", "e.gz", "f.zst"}
		var paths []string
		for i, c := range contents {
			paths = append(paths, write(t, folder, names[i], c))
		}
		ship(t, channel, paths...)
		result := work(t, channel, "s")
		same(t, counted(t, channel, "s"), reference(t, contents...))
		if result.Tally.Files != int64(len(paths)) {
			t.Errorf("%d files counted, want %d", result.Tally.Files, len(paths))
		}
	})
}

func TestBatchCountsAndLeavesNothingBehind(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		folder := t.TempDir()
		contents := [][]byte{content(1, 3000), content(2, 3000)}
		paths := []string{write(t, folder, "a.log.gz", contents[0]), write(t, folder, "b.log", contents[1])}
		result, err := distribute.NewBatch(handle.New(db), countryDay(t), nil).Run(context.Background(), paths)
		if err != nil {
			t.Fatal(err)
		}
		same(t, countsOf(result.Report), reference(t, contents...))
		keys, err := db.Keys(context.Background(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
	})
}

func TestWhatIsShippedAgainIsCountedOnce(t *testing.T) {
	t.Parallel()
	long, short := content(1, 5000), content(2, 10)
	var minimal []byte
	for i := range 2500 {
		minimal = fmt.Appendf(minimal, "8.8.8.8 2026-11-01 %d\n", i)
	}
	embedded := map[string]bool{"compressed": true, "grown": true, "shorter, cut in a line": true} // the scripts are the same
	for name, again := range map[string]struct {
		first, second string
		before, after []byte
	}{
		"the same":                   {"a.log", "a.log", long, long},
		"renamed":                    {"a.log", "a.log.1", long, long},
		"compressed":                 {"a.log", "a.log.1.gz", long, long},
		"compressed otherwise":       {"a.log.gz", "a.log.zst", long, long},
		"decompressed":               {"a.log.zst", "a.log", long, long},
		"grown":                      {"a.log", "a.log", long, append(bytes.Clone(long), short...)},
		"grown and compressed":       {"a.log", "a.log.gz", long, append(bytes.Clone(long), short...)},
		"grown within compression":   {"a.log.gz", "a.log.gz", long, append(bytes.Clone(long), short...)},
		"grown from a few lines":     {"a.log", "b.log", short, append(bytes.Clone(short), long...)},
		"grown from half a line":     {"a.log", "b.log", []byte("8.8.8.8 2026-11-01 GE"), []byte("8.8.8.8 2026-11-01 GET\n8.8.4.4 2026-11-02 GET\n")},
		"grown in its last line":     {"a.log", "b.log", long[:len(long)-9], append(bytes.Clone(long), short...)},
		"grown by a newline":         {"a.log", "b.log.gz", long[:len(long)-1], long},
		"shorter, cut at a line":     {"a.log", "b.log", long, long[:bytes.LastIndexByte(long[:len(long)/2], '\n')+1]},
		"shorter, cut in a line":     {"a.log", "b.log", long, long[:len(long)/9]},
		"cut in a line, compressed":  {"a.log", "b.log.gz", long, long[:len(long)/9]},
		"short lines, cut":           {"a.log", "b.log", minimal, minimal[:len(minimal)/2]},
		"short lines, cut at a line": {"a.log", "b.log", minimal, minimal[:bytes.LastIndexByte(minimal[:len(minimal)/2], '\n')+1]},
		"shorter than 64 KiB by far": {"a.log", "b.log.gz", short, short[:bytes.IndexByte(short, '\n')+1]},
	} {
		t.Run(name, func(t *testing.T) {
			count := func(t *testing.T, db *rdb.DB) {
				channel, folder := open(t, db), t.TempDir()
				ship(t, channel, write(t, folder, again.first, again.before))
				work(t, channel, "s")
				same(t, counted(t, channel, "s"), reference(t, again.before))

				if err := os.Remove(folder + "/" + again.first); err != nil {
					t.Fatal(err)
				}
				second := ship(t, channel, write(t, folder, again.second, again.after))[0]
				work(t, channel, "s")
				want := reference(t, again.after)
				if len(again.after) <= len(again.before) {
					want = reference(t, again.before)
					if second.Outcome != distribute.AlreadyCounted {
						t.Errorf("outcome %v, want already counted", second.Outcome)
					}
					if short := len(again.after) < len(again.before); short != (second.Length < second.Counted) ||
						short && (second.Length != int64(len(again.after)) || second.Counted != int64(len(again.before))) {
						t.Errorf("this copy has %d of %d bytes, want %d of %d", second.Length, second.Counted, len(again.after), len(again.before))
					}
				}
				same(t, counted(t, channel, "s"), want)
			}
			if embedded[name] {
				redistest.Backends(t, count)
			} else {
				t.Parallel()
				count(t, redistest.DB(t))
			}
		})
	}
}

func TestFirstStateOfAGrownFileIsRecognised(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	half, grown := []byte("8.8.8.8 2026-11-01 GE"), []byte("8.8.8.8 2026-11-01 GET\n8.8.4.4 2026-11-02 GET\n")
	for _, state := range [][]byte{half, grown, half} {
		ship(t, channel, write(t, folder, "a.log", state))
		work(t, channel, "s")
	}
	same(t, counted(t, channel, "s"), reference(t, grown))
}

func TestHoleOfNULsIsNoContent(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		channel, folder := open(t, db), t.TempDir()
		hole := make([]byte, 5<<20)
		one, other, more := content(1, 3000), content(2, 1000), content(3, 100)
		behind := func(n int, lines ...[]byte) []byte { return append(hole[:n:n], bytes.Join(lines, nil)...) }
		ship(t, channel,
			write(t, folder, "one.log", behind(len(hole), one)), write(t, folder, "other.log", behind(1<<17, other)), write(t, folder, "nothing.log", hole))
		work(t, channel, "s")
		if again := ship(t, channel, write(t, folder, "one.log.gz", behind(len(hole), one)))[0]; again.Outcome != distribute.AlreadyCounted {
			t.Errorf("outcome %v, want already counted", again.Outcome)
		}
		ship(t, channel, write(t, folder, "one.log", behind(len(hole), one, more)), write(t, folder, "early.log", behind(1<<17, one)))
		work(t, channel, "s")
		same(t, counted(t, channel, "s"), reference(t, one, other, more, one))
	})
}

func TestGrownPlainFileShipsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	before, more := content(1, 5000), content(2, 10)
	ship(t, channel, write(t, folder, "a.log", before))
	work(t, channel, "s")
	result := ship(t, channel, write(t, folder, "a.log", append(bytes.Clone(before), more...)))[0]
	if want := int64(len(before) - stream.EndingSize); result.Base != want {
		t.Errorf("uploaded from byte %d on, want %d", result.Base, want)
	}
	if want := int64(stream.EndingSize + len(more)); result.Bytes != want {
		t.Errorf("uploaded %d bytes, want %d: those that are new, and the ending before them", result.Bytes, want)
	}
}

func TestTallyOfAWorkerIsNeverNegative(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	first, second := "8.8.8.8 2026-11-01 x\n8.8.8.8 20", "26-11-01 y\n8.8.4.4 2026-11-01 z\n"
	ship(t, channel, write(t, folder, "a.log", []byte(first)))
	if got, want := work(t, channel, "s").Tally, (distribute.Tally{Lines: 2, Counted: 1, Unparsable: 1, Bytes: 31, Files: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	ship(t, channel, write(t, folder, "a.log", []byte(first+second)))
	if got, want := work(t, channel, "s").Tally, (distribute.Tally{Lines: 2, Counted: 2, Bytes: 42, Files: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	same(t, counted(t, channel, "s"), reference(t, []byte(first+second)))
}

func TestOtherFileWithTheSameFirstLinesIsCounted(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	start := content(1, 300)
	one := append(bytes.Clone(start), "8.8.8.8 2026-11-05 of the first host\n8.8.8.8 2026-11-05 x\n"...)
	other := append(bytes.Clone(start), "1.1.1.1 2026-11-05 of the second\n"...)
	ship(t, channel, write(t, folder, "one", one), write(t, folder, "other", other))
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, one, other))
}

func TestForceCountsAgain(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	lines := content(1, 100)
	path := write(t, folder, "a.log", lines)
	ship(t, channel, path)
	work(t, channel, "s")
	shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Force: true})
	if _, err := shipper.Ship(context.Background(), []string{path}); err != nil {
		t.Fatal(err)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, lines, lines))
}

func TestForcedBatchCountsEqualFilesEach(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		folder, line := t.TempDir(), []byte("8.8.8.8 2026-11-01 GET /health\n")
		contents := [][]byte{bytes.Repeat(line, 100), bytes.Repeat(line, 80), bytes.Repeat(line, 100), bytes.Repeat(line, 100)}
		var paths []string
		for i, c := range contents {
			paths = append(paths, write(t, folder, fmt.Sprintf("web%d.log", i), c))
		}
		for force, want := range map[bool]counts{true: reference(t, contents...), false: reference(t, contents[0])} {
			result, err := distribute.NewBatch(handle.New(db), countryDay(t), &distribute.BatchConfig{Force: force}).Run(context.Background(), paths)
			if err != nil {
				t.Fatal(err)
			}
			same(t, countsOf(result.Report), want)
		}
	})
}

func TestFileThatWaitsInRedisIsNotShippedTwice(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	path := write(t, folder, "a.log", content(1, 100))
	ship(t, channel, path)
	if again := ship(t, channel, path)[0]; again.Outcome != distribute.AlreadyShipped {
		t.Errorf("outcome %v, want already shipped", again.Outcome)
	}
}

func TestEverySubscriberGetsEveryFileOnce(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	contents := [][]byte{content(1, 500), content(2, 500), content(3, 500)}
	ship(t, channel, write(t, folder, "a", contents[0]), write(t, folder, "b.gz", contents[1]))
	for _, name := range []string{"one", "two"} {
		if err := channel.Subscribe(context.Background(), name, ""); err != nil {
			t.Fatal(err)
		}
	}
	work(t, channel, "one")
	ship(t, channel, write(t, folder, "c.zst", contents[2]))
	work(t, channel, "two")
	work(t, channel, "one")
	for _, name := range []string{"one", "two"} {
		same(t, counted(t, channel, name), reference(t, contents...))
	}
	onlySmallRecordsAreLeft(t, db)
}

func TestSubscriberThatComesLaterCanBeGivenTheHistory(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	lines := content(1, 500)
	path := write(t, folder, "a.log", lines)
	ship(t, channel, path)
	work(t, channel, "early")
	if err := channel.Subscribe(context.Background(), "late", ""); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, path)
	work(t, channel, "late")
	work(t, channel, "early")
	same(t, counted(t, channel, "late"), reference(t, lines))
	same(t, counted(t, channel, "early"), reference(t, lines))
}

func TestWorkerWithOtherSettingsIsRefused(t *testing.T) {
	t.Parallel()
	channel := open(t, redistest.DB(t))
	work := func(by string) error {
		aggregation, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{by}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = distribute.NewWorker(context.Background(), channel, "s", aggregation, nil)
		return err
	}
	if err := channel.Subscribe(context.Background(), "s", ""); err != nil {
		t.Fatal(err)
	}
	if err := work("day"); err != nil {
		t.Fatalf("the first worker fixes the settings: %v", err)
	}
	var settings *distribute.SettingsError
	if err := work("country"); !errors.As(err, &settings) {
		t.Fatalf("got %v, want a SettingsError", err)
	}
}

func TestUnsubscribeFreesWhatOnlyItWaitedFor(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	ctx := context.Background()
	for _, name := range []string{"gone", "here"} {
		if err := channel.Subscribe(ctx, name, ""); err != nil {
			t.Fatal(err)
		}
	}
	ship(t, channel, write(t, folder, "a", content(1, 500)))
	work(t, channel, "here")
	if err := channel.Unsubscribe(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	status, err := channel.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if status.Used != 0 || len(status.Open) != 0 {
		t.Errorf("still in Redis: %+v", status)
	}
	onlySmallRecordsAreLeft(t, db)
}

// onlySmallRecordsAreLeft checks that all files are out of Redis.
func onlySmallRecordsAreLeft(t testing.TB, db *rdb.DB) {
	t.Helper()
	ctx := context.Background()
	keys, err := db.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if db.PTTL(ctx, key).Val() != -1 {
			continue // a wake-up that goes by itself in a second, or has gone since
		}
		for _, kind := range []string{":segment:", ":wake:", ":staged:", ":checkpoint:", ":sealed", ":claims", ":owners", ":open", ":uploads", ":spent", ":line", ":shippers", ":leases"} {
			if strings.Contains(key, kind) {
				t.Errorf("left behind: %s", key)
			}
		}
		if size := db.MemoryUsage(ctx, key).Val(); size > 64<<10 && !strings.HasSuffix(key, ":visitors") { // whose names have a bound of their own
			t.Errorf("%s takes up %d bytes", key, size)
		}
	}
	if used := db.HGet(ctx, "skidway:logs:{web}", "used").Val(); used != "0" {
		t.Errorf("%s bytes of the window are still taken", used)
	}
	if n := db.XLen(ctx, "skidway:chat:{logs:web}:log").Val(); n != 0 {
		t.Errorf("%d announcements are left", n)
	}
}

func TestFollowTriesAFileAgainThatFailed(t *testing.T) {
	t.Parallel()
	ctx, db := context.Background(), redistest.DB(t)
	channel, folder, events := open(t, db), t.TempDir(), listen()
	if err := db.HSet(ctx, "skidway:logs:{web}", "window", 0).Err(); err != nil {
		t.Fatal(err)
	}
	lines := content(1, 60_000)
	write(t, folder, "a.log", lines)
	shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Lease: testLease, Notify: events.notify})
	done := make(chan error, 1)
	go func() { done <- shipper.Follow(ctx, []string{folder}) }()
	events.await(t, distribute.EventFailed)
	if err := channel.SetWindow(ctx, 64<<20); err != nil {
		t.Fatal(err)
	}
	events.await(t, distribute.EventShipped)
	shipper.Stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, lines))
}
