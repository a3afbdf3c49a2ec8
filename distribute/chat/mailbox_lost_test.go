package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// unreliable gives mailboxes that are reached through a proxy.
func unreliable(t *testing.T) (*redistest.Proxy, *chat.Mailbox) {
	p := redistest.StartProxy(t, redistest.URL(t))
	return p, chat.NewMailbox(redistest.Open(t, p.URL))
}

func TestLostAnswerOfAMailIsTold(t *testing.T) {
	t.Parallel()
	p, m := unreliable(t)
	mail(t, m, "bob", "1", 1)
	p.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := m.Send(t.Context(), "bob", "ann", chat.Text("2")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	wantStrings(t, unread(t, m, "bob"), "1", "2")
}

func TestTakeWithALostAnswerGivesWhatMayBeGone(t *testing.T) {
	t.Parallel()
	p, m := unreliable(t)
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
	wantStrings(t, bodies(messages), "2", "3")
	wantStrings(t, unread(t, m, "bob"))
}

func TestLostAnswersOfOtherMailboxCallsDoNotShow(t *testing.T) {
	t.Parallel()
	p, m := unreliable(t)
	ctx := t.Context()
	for nth := range 4 { // 0 loses none, and makes the scripts known
		mails(t, m, "bob", 5)
		for _, step := range []struct {
			name string
			call func() error
			want string
		}{
			{"limit", func() error { return m.SetLimits(ctx, "bob", chat.MailboxLimits{Messages: 4, Full: chat.DropOldest}) }, "2 3 4 5"},
			{"read", func() error { return one(m.Read(ctx, "bob", 0, 0)) }, "2 3 4 5"},
			{"newest", func() error { return one(m.Newest(ctx, "bob", 2)) }, "2 3 4 5"},
			{"read one", func() error { return one(m.ReadOne(ctx, "bob", 3)) }, "2 3 4 5"},
			{"ack", func() error { return one(m.Ack(ctx, "bob", 3)) }, "2 4 5"},
			{"keep", func() error { return m.Keep(ctx, "bob", 1) }, "5"},
			{"wait", func() error { return m.Wait(ctx, "bob", 0) }, "5"},
			{"status", func() error { return one(m.Status(ctx, "bob", 3)) }, "5"},
			{"info", func() error { return one(m.Info(ctx, "bob")) }, "5"},
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		m := chat.NewMailbox(db)
		mail(t, m, "bob", "1", 1)
		for _, entry := range []redis.XAddArgs{
			{ID: "2-7", Values: []string{"sender", "ann", "body", "x", "time", "1"}},
			{ID: "3-0", Values: []string{"foreign", "field"}},
			{ID: "4-0", Values: []string{"sender", "a\nb", "body", "x", "time", "1"}},
			{ID: "1763700000000-3", Values: []string{"a", "b"}},
		} {
			entry.Stream = db.Prefix() + ":mail:{bob}:log"
			if err := db.XAdd(t.Context(), &entry).Err(); err != nil {
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
		wantStrings(t, unread(t, m, "bob"), "after")
	})
}

func TestDamagedMailIsDroppedLikeAnyOther(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m := chat.NewMailbox(db)
		mail(t, m, "bob", strings.Repeat("x", 5000), 1)
		log := db.Prefix() + ":mail:{bob}:log"
		for _, err := range []error{
			db.XDel(t.Context(), log, "1-0").Err(), // behind the back of the list of big ones
			db.XAdd(t.Context(), &redis.XAddArgs{Stream: log, ID: "2-7", Values: []string{"a", "b"}}).Err(),
			db.XAdd(t.Context(), &redis.XAddArgs{Stream: log, ID: "18446744073709551615-3", Values: []string{"a", "b"}}).Err(),
			db.ZAdd(t.Context(), db.Prefix()+":mail:{bob}:big", redis.Z{Score: -5, Member: "x"}, redis.Z{Score: 0, Member: "7-100"}).Err(),
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
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		m, ctx, key := chat.NewMailbox(db), t.Context(), db.Prefix()+":mail:{bob}"
		set := func(field, value string) {
			if err := db.HSet(ctx, key, field, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		mail(t, m, "bob", "1", 1)
		set("messages", "many") // not worth a refusal: the default holds
		set("held", "-1")
		if got := boxInfo(t, m, "bob"); got.Limits.Messages != chat.DefaultMailboxMessages || got.Bytes != 1024 {
			t.Errorf("got %+v", got)
		}
		set("last", "many")
		var corrupt *chat.CorruptError
		if _, err := m.Send(ctx, "bob", "ann", chat.Text("x")); !errors.As(err, &corrupt) {
			t.Errorf("got %v", err)
		}
		set("v", "2")
		var format *chat.FormatError
		for name, err := range map[string]error{"read": one(m.Read(ctx, "bob", 0, 0)), "delete": m.Delete(ctx, "bob")} {
			if !errors.As(err, &format) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}
