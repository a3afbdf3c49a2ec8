package chat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// blocked waits until n clients are blocked in Redis. The embedded server does
// not tell, and that of the cluster is shared; there the wait may start after
// what should wake it, which must work as well.
func blocked(t *testing.T, db *rdb.DB, n int) {
	t.Helper()
	_, cluster := db.UniversalClient.(*redis.ClusterClient)
	if db.Embedded() || cluster {
		return
	}
	want := fmt.Sprintf("blocked_clients:%d\r\n", n)
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		text, err := db.Info(t.Context(), "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, want) {
			return
		}
	}
	t.Fatal("nobody is blocked")
}

// waiting runs Wait for member, see waitingFor.
func waiting(t *testing.T, db *rdb.DB, ctx context.Context, member string, wake func()) error {
	t.Helper()
	return waitingFor(t, db, func() error { return chat.NewGroup(db).Wait(ctx, member) }, wake)
}

// waitingFor runs wait, lets wake do what must end it, and gives its error. It
// fails when the wait was not woken, but ended by its timeout.
func waitingFor(t *testing.T, db *rdb.DB, wait func() error, wake func()) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- wait() }()
	blocked(t, db, 1)
	start := time.Now()
	wake()
	err := <-done
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("woken after %v", took)
	}
	return err
}

// own runs a test on a server of its own, where blocked clients can be
// counted, on the embedded one and on the cluster.
func own(t *testing.T, test func(t *testing.T, db *rdb.DB)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Open(t, redistest.Start(t).URL(0)))
	})
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, redistest.Open(t, "embedded:")) })
	t.Run("cluster", func(t *testing.T) { t.Parallel(); test(t, redistest.ClusterDB(t)) })
}

func TestWaitReturnsAtOnceWhenSomethingIsPending(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann", "bob")
		send(t, g, "c", "ann", "x", 1)
		if err := g.Wait(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitIsWokenBySend(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "quiet", chat.People, "ann", "bob")
		create(t, g, "c", chat.People, "ann", "bob")
		send(t, g, "c", "ann", "old", 1)
		ack(t, g, "c", "bob", 1, 1)
		if err := waiting(t, db, t.Context(), "bob", func() { send(t, g, "c", "ann", "new", 2) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitNoticesAChatJoinedMeanwhile(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel)
		send(t, g, "c", "uploader", "x", 1)
		err := waiting(t, db, t.Context(), "bob", func() {
			if err := g.Join(t.Context(), "c", "bob", chat.FromOldest); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitIsWokenByAMessageInAChatJoinedMeanwhile(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		err := waiting(t, db, t.Context(), "bob", func() {
			create(t, g, "c", chat.People, "ann", "bob")
			send(t, g, "c", "ann", "x", 1)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		create(t, chat.NewGroup(db), "c", chat.People, "bob")
		ctx, cancel := context.WithCancel(t.Context())
		if err := waiting(t, db, ctx, "bob", cancel); !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v", err)
		}
	})
}

func TestWaitInHeedsOnlyItsChatAndWhatWasNotSeen(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann", "bob")
		create(t, g, "other", chat.People, "ann", "bob")
		send(t, g, "c", "ann", "seen", 1)
		err := waitingFor(t, db, func() error { return g.WaitIn(t.Context(), "c", "bob", 1) }, func() {
			send(t, g, "other", "ann", "x", 1)
			blocked(t, db, 1)
			send(t, g, "c", "ann", "new", 2)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.WaitIn(t.Context(), "c", "bob", 0); err != nil {
			t.Fatal(err)
		}
		wantErr(t, g.WaitIn(t.Context(), "c", "eve", 0), chat.ErrNotMember)
		wantErr(t, g.WaitIn(t.Context(), "nothing", "bob", 0), chat.ErrNoChat)
	})
}

func TestWaitAfterGoesByWhatWasNotSeen(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "a", chat.People, "ann", "bob")
		create(t, g, "b", chat.People, "ann", "bob")
		send(t, g, "a", "ann", "seen", 1)
		send(t, g, "b", "ann", "seen", 1)
		seen := map[string]uint64{"a": 1, "b": 1}
		err := waitingFor(t, db, func() error { return g.WaitAfter(t.Context(), "bob", seen) }, func() {
			send(t, g, "b", "ann", "new", 2)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestManySendersAndReadersMissNothingAndRepeatNothing(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		const senders, readers, each = 5, 4, 100
		g := chat.NewGroup(db)
		var members []string
		for i := range readers {
			members = append(members, fmt.Sprint("reader", i))
		}
		create(t, g, "c", chat.Channel, members...)

		var group sync.WaitGroup
		for i := range senders {
			group.Go(func() {
				for n := range each {
					if _, err := g.Send(t.Context(), "c", fmt.Sprint("sender", i), chat.Text(fmt.Sprint(n))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for _, member := range members {
			group.Go(func() {
				if err := readInOrder(t.Context(), g, member, senders*each); err != nil {
					t.Errorf("%s: %v", member, err)
				}
			})
		}
		group.Wait()
		if got := info(t, g, "c"); got.Last != senders*each || got.Kept != 0 {
			t.Errorf("at the end: %+v", got)
		}
	})
}

// readInOrder reads until message last, and checks that each comes once, in
// order, and those of one sender in the order they were sent in.
func readInOrder(ctx context.Context, g *chat.Group, member string, last uint64) error {
	sent := map[string]int{}
	for next := uint64(1); next <= last; {
		if err := g.Wait(ctx, member); err != nil {
			return err
		}
		messages, err := g.Pending(ctx, "c", member, 0, 7)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if want := fmt.Sprint(sent[m.Sender]); m.ID != next || string(m.Body) != want || m.Err != nil {
				return fmt.Errorf("got %d %q of %s, want %d %q", m.ID, m.Body, m.Sender, next, want)
			}
			sent[m.Sender]++
			next++
		}
		if _, err := g.Ack(ctx, "c", member, next-1); err != nil {
			return err
		}
	}
	return nil
}
