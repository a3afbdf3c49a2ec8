package distribute_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// fill makes Redis refuse every command that may need memory.
func fill(t *testing.T, db *rdb.DB) {
	t.Helper()
	if err := db.ConfigSet(context.Background(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := db.Set(context.Background(), "more", "x", 0).Err(); err == nil {
		t.Fatal("Redis is not full")
	}
}

func TestWorkersCountAndFreeEverythingWhileRedisIsFull(t *testing.T) {
	t.Parallel()
	ctx, server := context.Background(), redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	channel, folder := open(t, db), t.TempDir()
	for _, subscriber := range []string{"s", "gone"} {
		if err := channel.Subscribe(ctx, subscriber, countryDay(t).Settings()); err != nil {
			t.Fatal(err)
		}
	}
	contents := [][]byte{content(1, 3000), append(content(2, 100), filler(3000)...)}
	ship(t, channel, write(t, folder, "a", contents[0]), write(t, folder, "b.gz", contents[1]))
	fill(t, db)
	channel = open(t, db)
	if err := channel.Unsubscribe(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	if worked := work(t, channel, "s"); worked.Tally.Files != 2 {
		t.Errorf("a worker counted %d files", worked.Tally.Files)
	}
	same(t, counted(t, channel, "s"), reference(t, contents...))
	status, err := channel.Status(ctx)
	if err != nil || status.Used != 0 || len(status.Open) != 0 || memory(ctx, db, "segment") != 0 {
		t.Errorf("%d bytes are used, %d files are in Redis: %v", status.Used, len(status.Open), err)
	}
	onlySmallRecordsAreLeft(t, db)
}

func TestShipperThatFillsRedisFreesItsFileAndCanShipItLater(t *testing.T) {
	t.Parallel()
	ctx, server := context.Background(), redistest.Start(t, "--maxmemory", "20mb")
	db := redistest.Open(t, server.URL(0))
	channel, folder := open(t, db), t.TempDir()
	if err := channel.Subscribe(ctx, "s", ""); err != nil {
		t.Fatal(err)
	}
	var contents [][]byte
	var paths []string
	for i, name := range []string{"a", "b", "c"} {
		lines := append(content(uint64(i), 100), filler(8000)...)
		contents, paths = append(contents, lines), append(paths, write(t, folder, name, lines))
	}
	_, err := distribute.NewShipper(channel, nil).Ship(ctx, paths)
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Fatalf("shipping 24 MB to a Redis of 20 MB: %v", err)
	}
	status, err := channel.Status(ctx)
	if err != nil || len(status.Open) == 0 || len(status.Open) == len(paths) || len(status.Abandoned) != 1 || len(status.Shippers) != 0 {
		t.Fatalf("status %+v, %v", status, err)
	}
	for range paths {
		worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true, Lease: testLease})
		if err != nil {
			t.Fatal(err)
		}
		var abandoned *distribute.AbandonedError
		if _, err := worker.Work(ctx); err != nil && !errors.As(err, &abandoned) {
			t.Fatal(err)
		}
		_, err = distribute.NewShipper(channel, nil).Ship(ctx, paths)
		if err != nil && !strings.Contains(err.Error(), "OOM") {
			t.Fatal(err)
		}
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, contents...))
}

func TestWindowsThatCanFillRedisAreReported(t *testing.T) {
	t.Parallel()
	ctx, server := context.Background(), redistest.Start(t, "--maxmemory", "100mb")
	db := redistest.Open(t, server.URL(0))
	channel := open(t, db)
	var tight *distribute.MemoryError
	if err := distribute.CheckMemory(ctx, handle.New(db)); !errors.As(err, &tight) || tight.Channels != 1 || tight.MaxMemory != 100*mib || tight.Left != distribute.DefaultWindow {
		t.Errorf("a window of 1 GiB in 100 MB: %v", err)
	}
	if err := channel.SetWindow(ctx, 60*mib); err != nil {
		t.Fatal(err)
	}
	if err := distribute.CheckMemory(ctx, handle.New(db)); err != nil {
		t.Errorf("a window of 60 MiB: %v", err)
	}
	other, err := distribute.Open(ctx, handle.New(db), "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.SetWindow(ctx, 60*mib); err != nil {
		t.Fatal(err)
	}
	if err := distribute.CheckMemory(ctx, handle.New(db)); !errors.As(err, &tight) || tight.Channels != 2 {
		t.Errorf("two windows of 60 MiB: %v", err)
	}
	if err := db.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := distribute.CheckMemory(ctx, handle.New(db)); err != nil {
		t.Errorf("without maxmemory: %v", err)
	}
}

func TestDifferentLinesAreCommittedInBoundedCalls(t *testing.T) {
	t.Parallel()
	const lines, days, maxCells = 8000, 4, 500
	db := redistest.DB(t)
	calls, largest := 0, 0
	var mu sync.Mutex // guards both
	db.AddHook(&commandHook{func(command redis.Cmder, _ error) {
		if command.Name() != "evalsha" {
			return
		}
		size := 0
		for _, arg := range command.Args() {
			switch arg := arg.(type) {
			case string:
				size += len(arg)
			case []byte:
				size += len(arg)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		calls, largest = calls+1, max(largest, size)
		if size > 256<<10 || len(command.Args()) > 3500 {
			t.Errorf("a call has %d arguments of %d bytes", len(command.Args()), size)
		}
	}})
	channel := open(t, db)
	var content strings.Builder
	for i := range lines {
		content.WriteString(distribute.DifferentLine(i, days) + "\n")
	}
	ship(t, channel, write(t, t.TempDir(), "a.log", []byte(content.String())))
	aggregation, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day", "path", "browser"}, {"day"}}, Measures: []string{"bytes"}, Visitors: []string{"day"}, MaxCells: maxCells})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := distribute.NewWorker(t.Context(), channel, "s", aggregation, &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	table, people := report.Tables[0], report.Tables[1].Total.Visitors
	if len(table.Rows) > days*maxCells || table.Total.Requests != lines || table.Total.Bytes != lines || people < lines*9/10 || people > lines*11/10 {
		t.Errorf("%d rows of %+v, %d visitors", len(table.Rows), table.Total, people)
	}
	if calls < 2*lines/500 || largest < 100<<10 {
		t.Errorf("%d calls, the largest of %d bytes: nothing was tried", calls, largest)
	}
}
