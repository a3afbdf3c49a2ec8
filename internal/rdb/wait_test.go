package rdb_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

type waited struct {
	news bool
	err  error
}

// blocked starts a Wait on stream s of a server of the test's own and returns
// when it blocks in Redis. other is a second connection.
func blocked(t *testing.T, ctx context.Context) (db, other *rdb.DB, result <-chan waited) {
	t.Helper()
	server := redistest.Start(t)
	db, other = open(t, server.URL(0), rdb.Options{}), open(t, server.URL(0), rdb.Options{})
	done := make(chan waited, 1)
	go func() {
		news, err := db.Wait(ctx, time.Hour, rdb.Mark{Key: "s", ID: "0"}, rdb.Mark{Key: "other", ID: "0"})
		done <- waited{news, err}
	}()
	awaitBlocked(t, other)
	return db, other, done
}

// awaitBlocked blocks until a client of the server is blocked.
func awaitBlocked(t *testing.T, db *rdb.DB) {
	t.Helper()
	for limit := soon(t); ; {
		info, err := db.Info(limit, "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(info, "blocked_clients:0") {
			return
		}
	}
}

func receive(t *testing.T, result <-chan waited) waited {
	t.Helper()
	select {
	case got := <-result:
		return got
	case <-time.After(patience):
		t.Fatal("Wait goes on")
		return waited{}
	}
}

func TestWaitWakesUpForANewEntry(t *testing.T) {
	t.Parallel()
	_, other, result := blocked(t, t.Context())
	if err := other.XAdd(t.Context(), &redis.XAddArgs{Stream: "other", Values: []string{"a", "b"}}).Err(); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, result); !got.news || got.err != nil {
		t.Errorf("Wait returned %v", got)
	}
}

func TestWaitSeesWhatIsThereAlreadyAndTimesOut(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx := soon(t)
		id, err := db.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []string{"a", "b"}}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if news, err := db.Wait(ctx, time.Hour, rdb.Mark{Key: "s", ID: "0"}); !news || err != nil {
			t.Errorf("behind the mark: Wait returned %v and %v", news, err)
		}
		for _, timeout := range []time.Duration{0, time.Nanosecond, 40 * time.Millisecond} {
			start := time.Now()
			if news, err := db.Wait(ctx, timeout, rdb.Mark{Key: "s", ID: id}); news || err != nil {
				t.Errorf("at the mark: Wait returned %v and %v", news, err)
			}
			if took := time.Since(start); took < timeout {
				t.Errorf("a timeout of %s came after %s", timeout, took)
			}
		}
	})
}

func TestWaitEndsAtOnceWithItsContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, _, result := blocked(t, ctx)
	cancel(reason)
	if got := receive(t, result); got.news || !errors.Is(got.err, reason) {
		t.Errorf("Wait returned %v, want the cause", got)
	}
}

func TestConnectionOfACancelledWaitIsFreeSoon(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db, other := open(t, server.URL(0), rdb.Options{PoolSize: 1}), open(t, server.URL(0), rdb.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan waited, 1)
	go func() {
		news, err := db.Wait(ctx, time.Hour, rdb.Mark{Key: "s", ID: "0"})
		result <- waited{news, err}
	}()
	awaitBlocked(t, other)
	cancel()
	receive(t, result)
	if err := db.Ping(soon(t)).Err(); err != nil { // it blocks until the connection is free, for up to 11 s
		t.Errorf("the only connection is not free: %v", err)
	}
}

// A wait is longer than one command of it blocks.
func TestWaitGoesOnAfterItsFirstRead(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	var reads []any // the ms for which each of them blocks
	db.AddHook(after(func(cmd redis.Cmder) {
		if args := cmd.Args(); len(args) > 4 && args[3] == "block" {
			reads = append(reads, args[4])
		}
	}))
	begin, timeout := time.Now(), rdb.MaxReadBlock+40*time.Millisecond
	if news, err := db.Wait(soon(t), timeout, rdb.Mark{Key: "s", ID: "0"}); news || err != nil {
		t.Errorf("Wait returned %v and %v", news, err)
	}
	if took := time.Since(begin); took < timeout || !slices.Equal(reads, []any{rdb.MaxReadBlock.Milliseconds(), int64(40)}) {
		t.Errorf("it took %s, and reads of %v ms", took, reads)
	}
}

func TestWaitEndsEarlyWithoutErrorWhenItIsCut(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string][]any{
		"connection": {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"},
		"unblocked":  {"CLIENT", "UNBLOCK", "", "ERROR"}, // as when a master becomes a replica
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, other, result := blocked(t, t.Context())
			if name == "unblocked" {
				cut[2] = blockedClient(t, other)
			}
			if err := other.Do(t.Context(), cut...).Err(); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, result); got.news || got.err != nil {
				t.Errorf("Wait returned %v, want false and no error", got)
			}
		})
	}
}

// blockedClient is the id of the one client that blocks in XREAD.
func blockedClient(t *testing.T, db *rdb.DB) string {
	t.Helper()
	list, err := db.ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, "cmd=xread") {
			return strings.TrimPrefix(strings.Fields(line)[0], "id=")
		}
	}
	t.Fatalf("no client blocks: %s", list)
	return ""
}

func TestWaitsPauseLongerAndLongerWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{})
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	waits := 0
	for ; ctx.Err() == nil; waits++ {
		if news, err := db.Wait(ctx, time.Hour, rdb.Mark{Key: "s", ID: "0"}); news || err != nil && ctx.Err() == nil {
			t.Fatalf("Wait returned %v and %v", news, err)
		}
	}
	if waits > 12 {
		t.Errorf("%d waits in 2 s, want at most 12", waits)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	limit := soon(t)
	if err := db.XAdd(limit, &redis.XAddArgs{Stream: "s", Values: []string{"a", "b"}}).Err(); err != nil {
		t.Fatal(err)
	}
	for news := false; !news; {
		var err error
		if news, err = db.Wait(limit, time.Hour, rdb.Mark{Key: "s", ID: "0"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCloseEndsAWait(t *testing.T) {
	t.Parallel()
	db, _, result := blocked(t, t.Context())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, result); got.news {
		t.Errorf("Wait returned %v", got)
	}
}

// The race detector fails this when Close waits while a read begins.
func TestWaitsMayBeginWhileTheDatabaseCloses(t *testing.T) {
	t.Parallel()
	for range 20 {
		db := redistest.DB(t)
		var waits sync.WaitGroup
		for range 8 {
			waits.Go(func() {
				for {
					if _, err := db.Wait(soon(t), time.Millisecond, rdb.Mark{Key: "s", ID: "0"}); err != nil {
						if !errors.Is(err, redis.ErrClosed) {
							t.Errorf("Wait on a closed database: %v", err)
						}
						return
					}
				}
			})
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		waits.Wait()
	}
}

func TestWaitOnWhatIsNoStreamIsAnError(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t) // the embedded server would take it for an empty stream
	if err := db.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if news, err := db.Wait(soon(t), time.Hour, rdb.Mark{Key: "k", ID: "0"}); news || !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Errorf("Wait returned %v and %v", news, err)
	}
}

func TestTimeoutOfAWaitIsRoundedUpToAMillisecond(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	var sent int64
	db.AddHook(after(func(cmd redis.Cmder) {
		if args := cmd.Args(); len(args) > 4 && args[3] == "block" { // xread count 1 block N
			sent = args[4].(int64)
		}
	}))
	for timeout, want := range map[time.Duration]int64{-1: 1, 0: 1, 1: 1, time.Millisecond: 1, 1_100_000: 2, 1_900_000: 2} {
		if _, err := db.Wait(soon(t), timeout, rdb.Mark{Key: "s", ID: "0"}); err != nil || sent != want {
			t.Errorf("%s: Redis was asked to block for %d ms (%v), want %d", timeout, sent, err, want)
		}
	}
}
