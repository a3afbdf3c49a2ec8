package group_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// waiting runs Wait for member, see [chattest.Woken].
func waiting(t *testing.T, db *rdb.DB, ctx context.Context, member string, wake func()) error {
	t.Helper()
	return chattest.Woken(t, db, func() error { return group.NewClient(db).Wait(ctx, member) }, wake)
}

func TestWaitReturnsAtOnceWhenSomethingIsPending(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := group.NewClient(db)
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "x", 1)
		if err := g.Wait(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitIsWokenBySend(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		g := group.NewClient(db)
		create(t, g, "quiet", group.People, "ann", "bob")
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "old", 1)
		ack(t, g, "c", "bob", 1, 1)
		if err := waiting(t, db, t.Context(), "bob", func() { send(t, g, "c", "ann", "new", 2) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitNoticesAChatJoinedMeanwhile(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		g := group.NewClient(db)
		create(t, g, "c", group.Channel)
		send(t, g, "c", "uploader", "x", 1)
		err := waiting(t, db, t.Context(), "bob", func() {
			if err := g.Join(t.Context(), "c", "bob", group.FromOldest); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitIsWokenByAMessageInAChatJoinedMeanwhile(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		g := group.NewClient(db)
		err := waiting(t, db, t.Context(), "bob", func() {
			create(t, g, "c", group.People, "ann", "bob")
			send(t, g, "c", "ann", "x", 1)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		create(t, group.NewClient(db), "c", group.People, "bob")
		ctx, cancel := context.WithCancel(t.Context())
		if err := waiting(t, db, ctx, "bob", cancel); !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v", err)
		}
	})
}

func TestWaitInHeedsOnlyItsChatAndWhatWasNotSeen(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		g := group.NewClient(db)
		create(t, g, "c", group.People, "ann", "bob")
		create(t, g, "other", group.People, "ann", "bob")
		send(t, g, "c", "ann", "seen", 1)
		err := chattest.Woken(t, db, func() error { return g.WaitIn(t.Context(), "c", "bob", 1) }, func() {
			send(t, g, "other", "ann", "x", 1)
			chattest.Blocked(t, db, 1)
			send(t, g, "c", "ann", "new", 2)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.WaitIn(t.Context(), "c", "bob", 0); err != nil {
			t.Fatal(err)
		}
		chattest.WantErr(t, g.WaitIn(t.Context(), "c", "eve", 0), chat.ErrNotMember)
		chattest.WantErr(t, g.WaitIn(t.Context(), "nothing", "bob", 0), chat.ErrNoChat)
	})
}

func TestWaitAfterGoesByWhatWasNotSeen(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		g := group.NewClient(db)
		create(t, g, "a", group.People, "ann", "bob")
		create(t, g, "b", group.People, "ann", "bob")
		send(t, g, "a", "ann", "seen", 1)
		send(t, g, "b", "ann", "seen", 1)
		seen := map[string]uint64{"a": 1, "b": 1}
		err := chattest.Woken(t, db, func() error { return g.WaitAfter(t.Context(), "bob", seen) }, func() {
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
		g := group.NewClient(db)
		var members []string
		for i := range readers {
			members = append(members, fmt.Sprint("reader", i))
		}
		create(t, g, "c", group.Channel, members...)

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
func readInOrder(ctx context.Context, g *group.Client, member string, last uint64) error {
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
