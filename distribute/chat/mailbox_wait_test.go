package chat_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// awaiting runs Wait for a box, lets wake do what must end it, and gives its
// error.
func awaiting(t *testing.T, db *rdb.DB, ctx context.Context, after uint64, wake func()) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- chat.NewMailbox(db).Wait(ctx, "bob", after) }()
	blocked(t, db, 1)
	wake()
	return <-done
}

func TestWaitForMailIsWokenBySend(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		m := chat.NewMailbox(db)
		for id := range uint64(2) { // the first makes the box
			if err := awaiting(t, db, t.Context(), 0, func() { mail(t, m, "bob", "x", id+1) }); err != nil {
				t.Fatal(err)
			}
			acked(t, m, "bob", 1, id+1)
		}
		if got := boxInfo(t, m, "bob"); got.Seen.IsZero() {
			t.Fatal("who waits is not here")
		}
	})
}

func TestWaitForMailPassesOverWhatLiesBeforeItsMark(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		m := chat.NewMailbox(db)
		mails(t, m, "bob", 3)
		if err := m.Wait(t.Context(), "bob", 2); err != nil {
			t.Fatal(err)
		}
		if err := awaiting(t, db, t.Context(), 3, func() { mail(t, m, "bob", "4", 4) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitForMailEndsWithItsContext(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		if err := awaiting(t, db, ctx, 0, cancel); !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v", err)
		}
	})
}

// sendMany sends at the same time, each sender its messages one after the other.
func sendMany(t *testing.T, m *chat.Mailbox, senders, each int) {
	var group sync.WaitGroup
	for i := range senders {
		group.Go(func() {
			for n := range each {
				if _, err := m.Send(t.Context(), "bob", fmt.Sprint("sender", i), chat.Text(fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestReaderOfManySendersSeesEachMessageOnceInOrder(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		const senders, each = 5, 100
		m := chat.NewMailbox(db)
		var group sync.WaitGroup
		group.Go(func() { sendMany(t, m, senders, each) })
		sent := map[string]int{}
		for next := uint64(1); next <= senders*each; {
			if err := m.Wait(t.Context(), "bob", 0); err != nil {
				t.Fatal(err)
			}
			messages, err := m.Read(t.Context(), "bob", 0, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range messages {
				if want := fmt.Sprint(sent[message.Sender]); message.ID != next || string(message.Body) != want {
					t.Fatalf("got %d %q of %s, want %d %q", message.ID, message.Body, message.Sender, next, want)
				}
				sent[message.Sender]++
				acked(t, m, "bob", 1, next)
				next++
			}
		}
		group.Wait()
		if got := boxInfo(t, m, "bob"); got.Unread != 0 || got.Last != senders*each {
			t.Errorf("at the end: %+v", got)
		}
	})
}
