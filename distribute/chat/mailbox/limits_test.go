package mailbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/mailbox"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestFullMailboxRefusesAndTellsWhy(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		m := mailbox.NewClient(db)
		limit(t, m, "bob", mailbox.Limits{Messages: 2})
		mails(t, m, "bob", 2)
		_, err := m.Send(t.Context(), "bob", "ann", chat.Text("3"))
		chattest.WantErr(t, err, chat.ErrFull)
		var full *mailbox.FullError
		if !errors.As(err, &full) || full.Unread != 2 || full.Bytes != 2048 || !full.Seen.IsZero() {
			t.Fatalf("got %+v", full)
		}
		acked(t, m, "bob", 1, 1)
		mail(t, m, "bob", "3", 3) // the refused one took no id
		_, err = m.Send(t.Context(), "bob", "ann", chat.Text("4"))
		if !errors.As(err, &full) || full.Seen.IsZero() {
			t.Fatalf("got %v", err)
		}
	})
}

func TestUnsetLimitsAreTheDocumentedOnes(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m := mailbox.NewClient(db)
		want := mailbox.Limits{Messages: mailbox.DefaultMessages, Bytes: mailbox.DefaultBytes, Full: mailbox.Refuse}
		if got := boxInfo(t, m, "bob").Limits; got != want {
			t.Errorf("not set: %+v", got)
		}
		limit(t, m, "bob", mailbox.Limits{})
		if got := boxInfo(t, m, "bob").Limits; got != want {
			t.Errorf("set to zero: %+v", got)
		}
	})
}

func TestFullMailboxDropsTheOldest(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		m := mailbox.NewClient(db)
		limit(t, m, "bob", mailbox.Limits{Messages: 2, Full: mailbox.DropOldest})
		mails(t, m, "bob", 2)
		acked(t, m, "bob", 1, 2)
		mail(t, m, "bob", "3", 3)
		mail(t, m, "bob", "4", 4)
		chattest.WantStrings(t, unread(t, m, "bob"), "3", "4")
		wantStates(t, states(t, m, "bob", 5), mailbox.StateDropped, mailbox.StateRead, mailbox.StateUnread, mailbox.StateUnread, mailbox.StateNotSent)
	})
}

func TestRoomIsMadeForABigMessage(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m := mailbox.NewClient(db)
		limit(t, m, "bob", mailbox.Limits{Bytes: chat.MaxBody, Full: mailbox.DropOldest})
		mails(t, m, "bob", 600)
		mail(t, m, "bob", strings.Repeat("x", 500<<10), 601) // 1024 KiB hold 524 small ones beside
		if got := boxInfo(t, m, "bob"); got.Unread != 525 || got.Oldest != 77 || got.Bytes != chat.MaxBody {
			t.Fatalf("got %+v", got)
		}
		mail(t, m, "bob", strings.Repeat("x", chat.MaxBody), 602)
		if got := boxInfo(t, m, "bob"); got.Unread != 1 || got.Oldest != 602 || got.Bytes != chat.MaxBody {
			t.Fatalf("got %+v", got)
		}
		acked(t, m, "bob", 1, 602)
		if got := boxInfo(t, m, "bob"); got.Bytes != 0 {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestKeepDropsAllButTheNewestAndForgetsWhichSoonerOrLater(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m, ctx := mailbox.NewClient(db), t.Context()
		mails(t, m, "bob", 1300)
		acked(t, m, "bob", 2, 2, 250)
		if err := m.Keep(ctx, "bob", 3); err != nil {
			t.Fatal(err)
		}
		chattest.WantStrings(t, unread(t, m, "bob"), "1298", "1299", "1300")
		// 1,295 were dropped, the first 295 of these are forgotten: 1 to 297.
		for id, want := range map[uint64]mailbox.State{1: "gone", 2: "gone", 297: "gone", 298: "dropped", 1297: "dropped", 1298: "unread", 1301: "notsent", 0: "notsent"} {
			if state, err := m.Status(ctx, "bob", id); state != want || err != nil {
				t.Errorf("message %d: %q, %v", id, state, err)
			}
		}
		acked(t, m, "bob", 1, 1298)
		if state, err := m.Status(ctx, "bob", 1298); state != mailbox.StateRead || err != nil {
			t.Errorf("got %q, %v", state, err)
		}
	})
}

func TestLowerLimitDropsAtOnce(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m := mailbox.NewClient(db)
		mails(t, m, "bob", 333)
		limit(t, m, "bob", mailbox.Limits{Messages: 1})
		if n, err := m.Count(t.Context(), "bob"); n != 333 || err != nil {
			t.Fatalf("a box that refuses dropped: %d left, %v", n, err)
		}
		limit(t, m, "bob", mailbox.Limits{Messages: 1, Full: mailbox.DropOldest})
		chattest.WantStrings(t, unread(t, m, "bob"), "333")
	})
}

func TestIdleMailboxExpiresWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	m, now := mailbox.NewClient(db), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	pass := func(d time.Duration) {
		now = now.Add(d)
		if err := db.SetEmbeddedTime(now); err != nil {
			t.Fatal(err)
		}
	}
	pass(0)
	limit(t, m, "bob", mailbox.Limits{Messages: 2, Full: mailbox.DropOldest, Idle: time.Hour})
	pass(50 * time.Minute)
	mail(t, m, "bob", strings.Repeat("x", 5000), 1) // all four keys are there
	mail(t, m, "bob", strings.Repeat("y", 5000), 2)
	mail(t, m, "bob", strings.Repeat("z", 5000), 3)
	pass(50 * time.Minute)
	if _, err := m.Read(t.Context(), "bob", 0, 0); err != nil {
		t.Fatal(err)
	}
	pass(50 * time.Minute)
	if got := boxInfo(t, m, "bob"); got.Unread != 2 {
		t.Fatalf("it expired while somebody read: %+v", got)
	}
	pass(10 * time.Minute)
	chattest.WantStrings(t, db.Keys(t.Context(), "*").Val())
	mail(t, m, "bob", "new", 1)
}

func TestMailboxWithoutIdleTimeStays(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m := mailbox.NewClient(db)
		limit(t, m, "bob", mailbox.Limits{Idle: time.Hour})
		mail(t, m, "bob", "x", 1)
		log := db.Prefix() + ":mail:{bob}:log"
		if ttl := db.PTTL(t.Context(), log).Val(); ttl <= 0 || ttl > time.Hour {
			t.Fatalf("it lives for %v", ttl)
		}
		limit(t, m, "bob", mailbox.Limits{})
		if ttl := db.PTTL(t.Context(), log).Val(); ttl > 0 {
			t.Fatalf("it lives for %v", ttl)
		}
	})
}
