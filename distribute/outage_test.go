package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestLostReplyToAnyCommandChangesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	files := crashFiles(t, folder)
	strikeAt(t, manyCommands, func(n int, _ *rand.Rand) (lost bool) {
		t.Run(fmt.Sprintf("command %d", n), func(t *testing.T) {
			url := redistest.URL(t)
			proxy := redistest.StartProxy(t, url)
			proxy.DropReply(n)
			channel := open(t, redistest.Open(t, proxy.URL))
			ship(t, channel, files...)
			work(t, channel, "s")
			exact(t, url, "s", crashContents...)
			lost = proxy.Commands() >= n
		})
		return lost
	})
}

func TestLostReplyToAnyCommandOfUnsubscribeAndBatchChangesNothing(t *testing.T) {
	t.Parallel()
	ctx, folder := context.Background(), t.TempDir()
	lines := content(1, 200)
	path := write(t, folder, "a.log", lines)
	strikeAt(t, manyCommands, func(n int, _ *rand.Rand) (lost bool) {
		t.Run(fmt.Sprintf("command %d", n), func(t *testing.T) {
			url := redistest.URL(t)
			// A server that has seen the scripts: the answer that is lost is the
			// script's and not that it is unknown.
			if _, err := distribute.NewBatch(handle.New(redistest.Open(t, url)), countryDay(t), &distribute.BatchConfig{Workers: 1}).Run(ctx, []string{path}); err != nil {
				t.Fatal(err)
			}
			plain := open(t, redistest.Open(t, url))
			ship(t, plain, path)
			if err := plain.Subscribe(ctx, "slow", ""); err != nil {
				t.Fatal(err)
			}
			work(t, plain, "fast")

			proxy := redistest.StartProxy(t, url)
			proxy.DropReply(n)
			db := redistest.Open(t, proxy.URL)
			if err := open(t, db).Unsubscribe(ctx, "slow"); err != nil {
				t.Fatal(err)
			}
			result, err := distribute.NewBatch(handle.New(db), countryDay(t), &distribute.BatchConfig{Workers: 1}).Run(ctx, []string{path})
			if err != nil {
				t.Fatal(err)
			}
			same(t, countsOf(result.Report), reference(t, lines))
			exact(t, url, "fast", lines)
			lost = proxy.Commands() >= n
		})
		return lost
	})
}

// A deletionHook looks at the commands that begin to delete a channel, by closing its window.
type deletionHook struct {
	deletions int
	bounded   bool // they had a deadline
}

func (h *deletionHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *deletionHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if slices.Equal(command.Args()[min(2, len(command.Args())):], []any{"window", 0}) {
			_, bounded := ctx.Deadline()
			h.deletions, h.bounded = h.deletions+1, h.bounded || bounded
		}
		return next(ctx, command)
	}
}

func (h *deletionHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A Redis that takes long to delete what a batch has left in it fails no batch.
func TestBatchWaitsForASlowDeletion(t *testing.T) {
	t.Parallel()
	lines := content(1, 200)
	db := redistest.Open(t, redistest.URL(t))
	hook := &deletionHook{}
	db.AddHook(hook)
	result, err := distribute.NewBatch(handle.New(db), countryDay(t), nil).Run(t.Context(), []string{write(t, t.TempDir(), "a.log", lines)})
	if err != nil || hook.deletions != 1 || hook.bounded {
		t.Fatalf("%v, %+v", err, hook)
	}
	same(t, countsOf(result.Report), reference(t, lines))
}

func TestRedisThatGoesAwayAndComesBackCostsNothing(t *testing.T) {
	t.Parallel()
	ctx, folder := context.Background(), t.TempDir()
	server := redistest.Start(t, redistest.Survives...)
	var paths []string
	var contents [][]byte
	for i := range 20 {
		contents = append(contents, content(uint64(i), 5000))
		paths = append(paths, write(t, folder, fmt.Sprintf("%02d.gz", i), contents[i]))
	}
	channel := open(t, redistest.Open(t, server.URL(0)))
	events := listen()
	config := &distribute.WorkerConfig{Lease: testLease, UntilDone: true, Workers: 2, Notify: events.notify}
	worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), config)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 2)
	go func() {
		_, err := worker.Work(ctx)
		failed <- err
	}()
	go func() {
		// Its lease outlasts the outages: else the worker, which ends when all is counted, may take it for dead.
		_, err := distribute.NewShipper(channel, nil).Ship(ctx, paths)
		failed <- err
	}()
	for range 3 {
		events.await(t, distribute.EventCounted)
		server.Kill()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	work(t, channel, "s")
	exact(t, server.URL(0), "s", contents...)
}

func TestRedisThatStaysAwayEndsTheWork(t *testing.T) {
	t.Parallel()
	ctx, folder := context.Background(), t.TempDir()
	server := redistest.Start(t)
	db, err := rdb.Open(ctx, server.URL(0), rdb.Options{Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	channel := open(t, db)
	worker, err := distribute.NewWorker(ctx, channel, "s", countryDay(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	var unreachable *rdb.UnreachableError
	if _, err := worker.Work(ctx); !errors.As(err, &unreachable) {
		t.Errorf("work: got %v, want an UnreachableError", err)
	}
	_, err = distribute.NewShipper(channel, nil).Ship(ctx, []string{write(t, folder, "a", content(1, 10))})
	if !errors.As(err, &unreachable) {
		t.Errorf("ship: got %v, want an UnreachableError", err)
	}
}
