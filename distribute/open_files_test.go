package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/distribute/chat/group"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestFileWhoseAnnouncementWasReadByAnotherIsCounted(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx := context.Background()
		channel, folder, lines := open(t, db), t.TempDir(), content(1, 100)
		if err := channel.Subscribe(ctx, "bob", ""); err != nil {
			t.Fatal(err)
		}
		ship(t, channel, write(t, folder, "a.log", lines))
		if _, err := group.NewClient(handle.New(db)).Reserved().Ack(ctx, "logs:web", "logs:bob", 1); err != nil {
			t.Fatal(err)
		}
		work(t, channel, "bob")
		same(t, counted(t, channel, "bob"), reference(t, lines))
	})
}

func TestFilesWithOneFirstLineAreLookedUpTogether(t *testing.T) {
	t.Parallel()
	db, files := redistest.DB(t), 250
	channel, folder := open(t, db), t.TempDir()
	var paths []string
	for i := range files {
		paths = append(paths, write(t, folder, fmt.Sprintf("%03d.log", i), fmt.Appendf(nil, "8.8.8.8 2026-11-01 banner\n8.8.8.8 2026-11-01 %d\n", i)))
	}
	ship(t, channel, paths...)
	var commands atomic.Int64
	db.AddHook(&commandHook{func(redis.Cmder, error) { commands.Add(1) }})
	ship(t, channel, paths[0])
	if commands.Load() > 30 {
		t.Errorf("%d commands to find one of %d files with the same first line", commands.Load(), files)
	}
}

// A pipelineHook counts the commands of a name in pipelines.
type pipelineHook struct {
	name  string
	count atomic.Int64
}

func (h *pipelineHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *pipelineHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *pipelineHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			if command.Name() == h.name {
				h.count.Add(1)
			}
		}
		return next(ctx, commands)
	}
}

func TestHeadsOfManyFilesWithOneFirstLineAreReadOnce(t *testing.T) {
	t.Parallel()
	db, files := redistest.DB(t), 120
	channel, folder := open(t, db), t.TempDir()
	if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	var paths []string
	var contents [][]byte
	for i := range files {
		contents = append(contents, fmt.Appendf(nil, "8.8.8.8 2026-11-01 banner\n8.8.8.8 2026-11-01 %d\n", i))
		paths = append(paths, write(t, folder, fmt.Sprintf("%03d.log", i), contents[i]))
	}
	hook := &pipelineHook{name: "hmget"}
	db.AddHook(hook)
	ship(t, channel, paths...)
	if n := hook.count.Load(); n > int64(3*files) {
		t.Errorf("%d heads were read to ship %d files", n, files)
	}
	grown := append(contents[7], "8.8.8.8 2026-11-01 more\n"...)
	work(t, channel, "s")
	ship(t, channel, append(paths, write(t, folder, "grown.log", grown))...)
	work(t, channel, "s")
	contents[7] = grown
	same(t, counted(t, channel, "s"), reference(t, contents...))
}

// startWorker starts a worker that goes on until the test ends.
func startWorker(t *testing.T, channel *distribute.Channel, events listener) {
	t.Helper()
	worker, err := distribute.NewWorker(t.Context(), channel, "s", countryDay(t),
		&distribute.WorkerConfig{Lease: testLease, Workers: 1, Notify: events.notify})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := worker.Work(context.Background()); done <- err }()
	t.Cleanup(func() {
		worker.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// snapshot returns a function that brings Redis back to the state of now.
func snapshot(t *testing.T, db *rdb.DB) (restore func()) {
	t.Helper()
	ctx := context.Background()
	// One step: the worker may write meanwhile.
	dumps, err := db.Eval(ctx, `
local dumps = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  dumps[#dumps + 1] = key
  dumps[#dumps + 1] = redis.call('DUMP', key)
end
return dumps`, nil).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		_, err := db.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.FlushDB(ctx)
			for pair := range slices.Chunk(dumps, 2) {
				pipe.Restore(ctx, pair[0], 0, pair[1])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLivingWorkerCountsWhatRedisForgotToHaveAnnounced(t *testing.T) {
	t.Parallel()
	ctx, db := context.Background(), redistest.DB(t)
	channel, folder, events := open(t, db), t.TempDir(), listen()
	contents := [][]byte{content(1, 100), content(2, 200), content(3, 300)}
	path := func(i int) string { return write(t, folder, string(rune('a'+i)), contents[i]) }
	shipAndWait := func(path string) {
		t.Helper()
		shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Lease: testLease, Wait: true})
		if results, err := shipper.Ship(ctx, []string{path}); err != nil || results[0].Outcome != distribute.Shipped {
			t.Fatalf("%+v, %v", results, err)
		}
	}
	startWorker(t, channel, events)
	shipAndWait(path(0))
	restore := snapshot(t, db)
	shipAndWait(path(1))
	restore() // message 2 of the chat is given again
	shipAndWait(path(1))
	shipAndWait(path(2))
	same(t, counted(t, channel, "s"), reference(t, contents...))
	onlySmallRecordsAreLeft(t, db)
}

func TestFileThatIsStillThereIsNotForgotten(t *testing.T) {
	t.Parallel()
	ctx, db := context.Background(), redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	lines := content(1, 100)
	path := write(t, folder, "a.log", lines)
	ship(t, channel, path)
	work(t, channel, "s")
	age := func() {
		ids, err := db.ZRange(ctx, "skidway:logs:{web}:files", 0, -1).Result()
		if err != nil || len(ids) != 1 {
			t.Fatalf("%v, %v", ids, err)
		}
		old := time.Now().Add(-distribute.RememberFor - time.Hour).UnixMilli()
		if err := db.ZAdd(ctx, "skidway:logs:{web}:files", redis.Z{Score: float64(old), Member: ids[0]}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	age()
	for range 2 {
		if again := ship(t, channel, path)[0]; again.Outcome != distribute.AlreadyCounted {
			t.Errorf("outcome %v, want already counted", again.Outcome)
		}
	}
	age()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, write(t, folder, "b.log", content(2, 1)))
	if known := db.ZCard(ctx, "skidway:logs:{web}:files").Val(); known != 1 {
		t.Errorf("%d files are remembered, want the one that is still there", known)
	}
}

func TestInterruptedRemovalOfASubscriberIsCompleted(t *testing.T) {
	t.Parallel()
	for name, complete := range map[string]func(*testing.T, *distribute.Channel){
		"by a worker": func(t *testing.T, c *distribute.Channel) { work(t, c, "here") },
		"by repetition": func(t *testing.T, c *distribute.Channel) {
			if err := c.Unsubscribe(context.Background(), "gone"); err != nil {
				t.Error(err)
			}
			if err := c.Unsubscribe(context.Background(), "gone"); !errors.Is(err, distribute.ErrNoSubscriber) {
				t.Errorf("got %v, want ErrNoSubscriber", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, db := context.Background(), redistest.DB(t)
			channel := open(t, db)
			for _, name := range []string{"gone", "here"} {
				if err := channel.Subscribe(ctx, name, ""); err != nil {
					t.Fatal(err)
				}
			}
			ship(t, channel, write(t, t.TempDir(), "a", content(1, 500)))
			work(t, channel, "here")
			cancelled, cancel := context.WithCancel(ctx)
			db.AddHook(afterScript(cancel))
			if err := channel.Unsubscribe(cancelled, "gone"); err == nil {
				t.Fatal("the removal was not interrupted")
			}
			complete(t, channel)
			status, err := channel.Status(ctx)
			if err != nil || status.Used != 0 || len(status.Open) != 0 {
				t.Errorf("still in Redis: %+v, %v", status, err)
			}
		})
	}
}

// A name can be used again although the removal of its first subscriber was interrupted.
func TestSubscriberThatIsMadeAgainHasNoOldCounts(t *testing.T) {
	t.Parallel()
	ctx, url, lines := t.Context(), redistest.URL(t), content(1, 500)
	db := redistest.Open(t, url)
	channel, path := open(t, db), write(t, t.TempDir(), "a", lines)
	ship(t, channel, path)
	work(t, channel, "s")
	interrupted := redistest.Open(t, url)
	cancelled, cancel := context.WithCancel(ctx)
	again := open(t, interrupted)
	interrupted.AddHook(afterScript(cancel))
	if err := again.Unsubscribe(cancelled, "s"); err == nil {
		t.Fatal("the removal was not interrupted")
	}
	if err := channel.Subscribe(ctx, "s", ""); err != nil {
		t.Fatal(err)
	}
	same(t, counted(t, channel, "s"), counts{})
	if again := ship(t, channel, path)[0]; again.Outcome != distribute.Shipped {
		t.Errorf("outcome %v, want shipped", again.Outcome)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, lines))
	onlySmallRecordsAreLeft(t, db)
}

func TestInterruptedRemovalLeavesNoMemberOfTheChat(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), redistest.URL(t)
	db := redistest.Open(t, url)
	channel := open(t, db)
	if err := channel.Subscribe(ctx, "gone", ""); err != nil {
		t.Fatal(err)
	}
	interrupted := redistest.Open(t, url)
	cancelled, cancel := context.WithCancel(ctx)
	again := open(t, interrupted)
	interrupted.AddHook(afterScript(cancel))
	if err := again.Unsubscribe(cancelled, "gone"); err == nil {
		t.Fatal("the removal was not interrupted")
	}
	ship(t, channel, write(t, t.TempDir(), "a", content(1, 10)))
	work(t, channel, "here")
	members, err := group.NewClient(handle.New(db)).Reserved().Members(ctx, "logs:web")
	if err != nil || len(members) != 1 || members[0].Name != "logs:here" {
		t.Errorf("the members are %+v, %v", members, err)
	}
	if left, err := db.Keys(ctx, "*gone*").Result(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// afterScript returns a hook that calls f when a script has run.
func afterScript(f func()) redis.Hook {
	return &commandHook{func(cmd redis.Cmder, err error) {
		if err == nil && strings.HasPrefix(cmd.Name(), "eval") {
			f()
		}
	}}
}

// A commandHook calls a function after each command outside pipelines.
type commandHook struct{ after func(redis.Cmder, error) }

func (h *commandHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *commandHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.after(cmd, err)
		return err
	}
}

func (h *commandHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
