package rdb_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A watchFixture is a running watch, and a connection that adds entries.
type watchFixture struct {
	*testing.T
	db       *rdb.DB
	watch    *rdb.Watch
	notified chan string // IDs whose function was called

	limit  context.Context // of commands
	listed string          // the clients of the server, for messages
}

// newWatchFixture runs a watch of a connection until the test ends.
func newWatchFixture(t *testing.T, db, watched *rdb.DB) *watchFixture {
	f := &watchFixture{t, db, watched.NewWatch(slog.New(slog.DiscardHandler)), make(chan string, 10000), soon(t), ""}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.watch.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	return f
}

// key returns the key of a stream with a hash tag of its own.
func (f *watchFixture) key(name string) string { return f.db.Prefix() + ":{" + name + "}:stream" }

func (f *watchFixture) set(name, id string) {
	f.watch.Set(name, time.Now(), []rdb.Mark{{Key: f.key(name), ID: id}}, func() { f.notified <- name })
}

func (f *watchFixture) add(name string) (id string) {
	f.Helper()
	id, err := f.db.XAdd(f.Context(), &redis.XAddArgs{Stream: f.key(name), Values: []string{"a", "b"}}).Result()
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// next receives one notification.
func (f *watchFixture) next() string {
	f.Helper()
	select {
	case got := <-f.notified:
		return got
	case <-time.After(patience):
		f.Fatal("no notification")
		return ""
	}
}

func (f *watchFixture) await(want string) {
	f.Helper()
	if got := f.next(); got != want {
		f.Fatalf("notified of %s, want %s", got, want)
	}
}

func onWatchBackends(t *testing.T, test func(f *watchFixture)) {
	t.Parallel()
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) { test(newWatchFixture(t, db, db)) })
}

func TestWatchNotifiesOnceOfEntriesThatWereThereAndOfLaterOnes(t *testing.T) {
	onWatchBackends(t, func(f *watchFixture) {
		first := f.add("a")
		f.set("a", "0")
		f.await("a")
		f.set("b", "0")
		f.set("a", first)
		f.add("b")
		f.await("b")
		f.add("b")
		last := f.add("a")
		f.await("a") // and not b again
		f.set("a", last)
		f.add("a")
		f.await("a")
	})
}

func TestWatchReplacesAndRemovesMarks(t *testing.T) {
	onWatchBackends(t, func(f *watchFixture) {
		f.set("a", "0")
		f.set("b", "0")
		f.watch.Remove("a")
		f.watch.Remove("unknown")
		f.add("a")
		f.watch.Set("b", time.Now(), []rdb.Mark{{Key: f.key("c"), ID: "0"}}, func() { f.notified <- "c" })
		f.add("b")
		f.set("d", "0")
		f.add("d")
		f.await("d")
		f.add("c")
		f.await("c")
	})
}

func TestWatchForgetsTheTagsOfRemovedGroups(t *testing.T) {
	onWatchBackends(t, func(f *watchFixture) {
		for _, name := range []string{"a", "b"} { // notified: their nodes are known
			first := f.add(name)
			f.set(name, "0")
			f.await(name)
			f.set(name, first)
		}
		f.watch.Remove("a")
		if tags := f.watch.ForgetTags(); tags != 1 {
			f.Errorf("the node of %d tags is known, want that of b", tags)
		}
		f.set("a", "0")
		f.await("a")
	})
}

func TestWatchNotifiesAllWhoWatchAStream(t *testing.T) {
	onWatchBackends(t, func(f *watchFixture) {
		f.set("a", "0")
		f.watch.Set("other", time.Now(), []rdb.Mark{{Key: f.key("a"), ID: "0"}}, func() { f.notified <- "a" })
		f.add("a")
		f.await("a")
		f.await("a")
	})
}

func TestWatchNotifiesOfAllStreamsAfterItsConnectionBroke(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.URL(0))
	f := newWatchFixture(t, redistest.Open(t, server.URL(0)), open(t, proxy.URL, rdb.Options{}))
	// An older state of Redis has not these entries.
	f.set("a", "99999999999999-0")
	f.set("b", "99999999999999-0")
	awaitBlocked(t, f.db)
	proxy.Cut()
	if got := []string{f.next(), f.next()}; got[0] == got[1] {
		t.Errorf("notified of %q", got)
	}
	f.set("a", "0")
	f.add("a")
	f.await("a")
}

func TestWatchDoesNotTrustMarksFromBeforeABreak(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.URL(0))
	f := newWatchFixture(t, redistest.Open(t, server.URL(0)), open(t, proxy.URL, rdb.Options{}))
	read := time.Now()
	f.set("a", "0")
	awaitBlocked(t, f.db)
	proxy.Cut()
	f.await("a")
	// The answer with these marks came before the break.
	f.watch.Set("b", read, []rdb.Mark{{Key: f.key("b"), ID: "99999999999999-0"}}, func() { f.notified <- "b" })
	f.await("b")
	f.set("b", "0")
	f.add("b")
	f.await("b")
}

// A pool sets the marks of a queue again when it has found the queue empty, which takes some
// milliseconds while jobs come one after the other.
func TestWatchOfAStreamIsNotDelayedByLateSets(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	f := newWatchFixture(t, db, db)
	f.set("quiet", "0")
	const cycles, later, most = 100, 3 * time.Millisecond, 13 * time.Millisecond
	last := f.add("busy")
	half := most + 1
	for tries := 0; half > most && tries < 5; tries++ { // the machine may be busy with other things
		var times []time.Duration
		for range cycles {
			began := time.Now()
			<-time.After(later)
			f.set("busy", last)
			<-time.After(later)
			last = f.add("busy")
			f.await("busy")
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		half = times[cycles/2]
	}
	if half > most {
		t.Errorf("half of the cycles took %s and more, five times, want at most %s", half, most)
	}
}
