package mailbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/mailbox"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestFullMailboxRefusesWithAReason(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
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
	on.Backends(t, func(t *testing.T, m fixture) {
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
	on.AllBackends(t, func(t *testing.T, m fixture) {
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
	on.Backends(t, func(t *testing.T, m fixture) {
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
	on.Backends(t, func(t *testing.T, m fixture) {
		ctx := t.Context()
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
	on.Backends(t, func(t *testing.T, m fixture) {
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
	m, now := newFixture(db), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
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
		t.Fatalf("it expired while a receiver read: %+v", got)
	}
	pass(10 * time.Minute)
	chattest.WantStrings(t, db.Keys(t.Context(), "*").Val())
	mail(t, m, "bob", "new", 1)
}

func TestMailboxWithoutIdleTimeStays(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		limit(t, m, "bob", mailbox.Limits{Idle: time.Hour})
		mail(t, m, "bob", "x", 1)
		log := m.db.Prefix() + ":mail:{bob}:log"
		if ttl := m.db.PTTL(t.Context(), log).Val(); ttl <= 0 || ttl > time.Hour {
			t.Fatalf("it lives for %v", ttl)
		}
		limit(t, m, "bob", mailbox.Limits{})
		if ttl := m.db.PTTL(t.Context(), log).Val(); ttl > 0 {
			t.Fatalf("it lives for %v", ttl)
		}
	})
}

func TestMailboxWhoseLogWasTrimmedByHandWaitsAndTakesAgain(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		if err := m.SetLimits(t.Context(), "b", mailbox.Limits{Bytes: chat.MaxBody}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Send(t.Context(), "b", "ann", chat.Text(strings.Repeat("x", chat.MaxBody))); err != nil {
			t.Fatal(err)
		}
		if err := m.db.XTrimMaxLen(t.Context(), m.db.Prefix()+":mail:{b}:log", 0).Err(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := m.Wait(ctx, "b", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait found what is not there: %v", err)
		}
		messages, err := m.Read(t.Context(), "b", 0, 0)
		if err != nil || len(messages) != 0 {
			t.Errorf("got %v, %v", messages, err)
		}
		if _, err := m.Send(t.Context(), "b", "ann", chat.Text("x")); err != nil {
			t.Errorf("the empty box is full: %v", err)
		}
	})
}

func TestMailboxWaitBlocksWhereABigMessageWasDeletedByHand(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		for _, body := range []string{"small", strings.Repeat("x", 20_000)} {
			if _, err := m.Send(t.Context(), "b", "ann", chat.Text(body)); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.db.XDel(t.Context(), m.db.Prefix()+":mail:{b}:log", "2-0").Err(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := m.Wait(ctx, "b", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait found what is not there: %v", err)
		}
	})
}

func TestLostReplyOfAMailIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	p, db := chattest.OpenLossy(t)
	m := newFixture(db)
	mail(t, m, "bob", "1", 1)
	p.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := m.Send(t.Context(), "bob", "ann", chat.Text("2")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	chattest.WantStrings(t, unread(t, m, "bob"), "1", "2")
}

func TestTakeWithALostReplyReturnsWhatMayBeRemoved(t *testing.T) {
	t.Parallel()
	p, db := chattest.OpenLossy(t)
	m := newFixture(db)
	mails(t, m, "bob", 3)
	if _, err := m.Take(t.Context(), "bob", 1); err != nil { // the scripts are known from now on
		t.Fatal(err)
	}
	p.DropReply(3) // visit, read, take
	messages, err := m.Take(t.Context(), "bob", 0)
	var unknown *rdb.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	chattest.WantStrings(t, chattest.Bodies(messages), "2", "3")
	chattest.WantStrings(t, unread(t, m, "bob"))
}

func TestLostAnswersOfOtherMailboxCallsDoNotShow(t *testing.T) {
	t.Parallel()
	p, db := chattest.OpenLossy(t)
	m := newFixture(db)
	ctx := t.Context()
	for nth := range 4 { // 0 loses none, and makes the scripts known
		mails(t, m, "bob", 5)
		for _, step := range []struct {
			name string
			call func() error
			want string
		}{
			{"limit", func() error { return m.SetLimits(ctx, "bob", mailbox.Limits{Messages: 4, Full: mailbox.DropOldest}) }, "2 3 4 5"},
			{"read", func() error { return chattest.ErrorOf(m.Read(ctx, "bob", 0, 0)) }, "2 3 4 5"},
			{"newest", func() error { return chattest.ErrorOf(m.Newest(ctx, "bob", 2)) }, "2 3 4 5"},
			{"ack", func() error { return chattest.ErrorOf(m.Ack(ctx, "bob", 3)) }, "2 4 5"},
			{"keep", func() error { return m.Keep(ctx, "bob", 1) }, "5"},
			{"wait", func() error { return m.Wait(ctx, "bob", 0) }, "5"},
			{"status", func() error { return chattest.ErrorOf(m.Status(ctx, "bob", 3)) }, "5"},
			{"info", func() error { return chattest.ErrorOf(m.Info(ctx, "bob")) }, "5"},
			{"delete", func() error { return m.Delete(ctx, "bob") }, ""},
		} {
			p.DropReply(nth)
			if err := step.call(); err != nil {
				t.Errorf("%s without answer %d: %v", step.name, nth, err)
			}
			p.DropReply(0)
			if got := strings.Join(unread(t, m, "bob"), " "); got != step.want {
				t.Errorf("after %s without answer %d: unread %q, want %q", step.name, nth, got, step.want)
			}
		}
	}
}

func TestDamagedMailIsReportedAndCanBeAcknowledged(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		mail(t, m, "bob", "1", 1)
		for _, entry := range []redis.XAddArgs{
			{ID: "2-7", Values: []string{"sender", "ann", "body", "x", "time", "1"}},
			{ID: "3-0", Values: []string{"foreign", "field"}},
			{ID: "4-0", Values: []string{"sender", "a\nb", "body", "x", "time", "1"}},
			{ID: "1763700000000-3", Values: []string{"a", "b"}},
		} {
			entry.Stream = m.db.Prefix() + ":mail:{bob}:log"
			if err := m.db.XAdd(t.Context(), &entry).Err(); err != nil {
				t.Fatal(err)
			}
		}
		mail(t, m, "bob", "after", 1763700000001)
		messages, err := m.Read(t.Context(), "bob", 0, 0)
		if err != nil || len(messages) != 6 {
			t.Fatalf("got %+v, %v", messages, err)
		}
		ids := []uint64{}
		for i, message := range messages {
			ids = append(ids, message.ID)
			var corrupt *chat.CorruptError
			if damaged := i > 0 && i < 5; errors.As(message.Err, &corrupt) != damaged {
				t.Errorf("message %d: %+v", i, message)
			}
		}
		acked(t, m, "bob", 5, ids[:5]...)
		chattest.WantStrings(t, unread(t, m, "bob"), "after")
	})
}

func TestDamagedMailIsDroppedLikeAnyOther(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		mail(t, m, "bob", strings.Repeat("x", 5000), 1)
		log := m.db.Prefix() + ":mail:{bob}:log"
		for _, err := range []error{
			m.db.XDel(t.Context(), log, "1-0").Err(), // behind the back of the list of big ones
			m.db.XAdd(t.Context(), &redis.XAddArgs{Stream: log, ID: "2-7", Values: []string{"a", "b"}}).Err(),
			m.db.XAdd(t.Context(), &redis.XAddArgs{Stream: log, ID: "18446744073709551615-3", Values: []string{"a", "b"}}).Err(),
			m.db.ZAdd(t.Context(), m.db.Prefix()+":mail:{bob}:big", redis.Z{Score: -5, Member: "x"}, redis.Z{Score: 0, Member: "7-100"}).Err(),
			m.Keep(t.Context(), "bob", 0),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := boxInfo(t, m, "bob"); got.Unread != 0 || got.Bytes != 0 {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestMailboxOfAnotherFormatIsRefused(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		ctx, key := t.Context(), m.db.Prefix()+":mail:{bob}"
		set := func(field, value string) {
			if err := m.db.HSet(ctx, key, field, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		mail(t, m, "bob", "1", 1)
		set("messages", "many") // not worth a refusal: the default holds
		set("held", "-1")
		if got := boxInfo(t, m, "bob"); got.Limits.Messages != mailbox.DefaultMessages || got.Bytes != 1024 {
			t.Errorf("got %+v", got)
		}
		set("last", "many")
		var corrupt *chat.CorruptError
		if _, err := m.Send(ctx, "bob", "ann", chat.Text("x")); !errors.As(err, &corrupt) {
			t.Errorf("got %v", err)
		}
		set("v", "2")
		var format *chat.FormatError
		for name, err := range map[string]error{"read": chattest.ErrorOf(m.Read(ctx, "bob", 0, 0)), "delete": m.Delete(ctx, "bob")} {
			if !errors.As(err, &format) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestFullRedisCanBeReadEmpty(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	m, ctx := newFixture(db), t.Context()
	for id := range uint64(3) {
		mail(t, m, "bob", strings.Repeat("x", 100_000), id+1)
	}
	if err := db.ConfigSet(ctx, "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	if messages, err := m.Read(ctx, "bob", 0, 0); err != nil || len(messages) != 3 {
		t.Errorf("read %d messages, %v", len(messages), err)
	}
	acked(t, m, "bob", 3, 1, 2, 3)
}

func TestTwoChangesOfTheLimitsAtOnceAreBothMade(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		calls := 0
		err := m.ChangeLimits(t.Context(), "bob", func(l *mailbox.Limits) {
			l.Messages = 7
			if calls++; calls > 1 {
				return
			}
			if err := m.ChangeLimits(t.Context(), "bob", func(l *mailbox.Limits) { l.Idle = time.Hour }); err != nil {
				t.Error(err)
			}
		})
		if got := boxInfo(t, m, "bob").Limits; err != nil || calls != 2 || got.Messages != 7 || got.Idle != time.Hour {
			t.Errorf("after %d calls the limits are %+v, %v", calls, got, err)
		}
	})
}
