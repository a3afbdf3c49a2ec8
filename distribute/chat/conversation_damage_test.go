package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// spoil adds an entry by hand.
func (k talk) spoil(id string, fields ...string) {
	k.t.Helper()
	entry := redis.XAddArgs{Stream: k.db.Prefix() + ":dm:{ann/bob}:log", ID: id, Values: fields}
	if err := k.db.XAdd(k.t.Context(), &entry).Err(); err != nil {
		k.t.Fatal(err)
	}
}

func TestDamagedEntriesOfAConversationAreReportedAndNeverMiscount(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one")
		k.spoil("2-7", "sender", "ann", "body", "x", "time", "1")
		k.spoil("3-0", "foreign", "field")
		k.spoil("4-0", "sender", "eve", "body", "x", "time", "1", "sent1", "7", "sent2", "7")
		k.spoil("5-0", "sender", "ann", "body", "x", "time", "soon", "sent1", "-1", "sent2", "nan")
		if sent := k.send("ann", "after"); sent.ID != 6 {
			t.Errorf("got %+v", sent)
		}
		for _, page := range []chat.ConversationPage{k.peek("bob", 0), k.read("bob", 0)} {
			if page.Unread != 2 || page.Total != 2 || len(page.Messages) != 6 {
				t.Fatalf("got %+v", page)
			}
			for i, m := range page.Messages {
				var corrupt *chat.CorruptError
				if damaged := m.ID > 1 && m.ID < 6; m.ID != uint64(i+1) || errors.As(m.Err, &corrupt) != damaged {
					t.Errorf("message %d: %+v", i, m)
				}
			}
		}
		wantPage(t, k.read("bob", 0), 0, 2)
	})
}

func TestAcknowledgingADamagedEntryCountsWhatIsBeforeIt(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one", "two")
		k.spoil("3-0", "foreign", "field")
		k.spoil("4-0", "foreign", "field")
		k.send("ann", "five")
		k.ack("bob", 4)
		wantPage(t, k.read("bob", 0), 1, 3, "five")
	})
}

func TestEntryBeyondTheLastMessageIsReportedOnceAndDoesNotWakeForEver(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one")
		k.read("bob", 0)
		k.spoil("1763700000000-3", "a", "b")
		wantErr(t, wakes(t, db, func() error { return k.WaitFrom(t.Context(), "bob", "ann", 0) }, func() {
			if sent := k.send("ann", "after"); sent.ID != 1763700000001 {
				t.Errorf("got %+v", sent)
			}
		}), nil)
		page := k.read("bob", 0)
		if page.Unread != 1 || len(page.Messages) != 2 || page.Messages[0].Err == nil || string(page.Messages[1].Body) != "after" {
			t.Errorf("got %+v", page)
		}
		k.spoil("9007199254740991-1", "a", "b")
		if page := k.read("bob", 0); page.Unread != 0 || len(page.Messages) != 1 || page.Messages[0].Err == nil {
			t.Errorf("got %+v", page)
		}
		wantPage(t, k.read("bob", 0), 0, 2)
		var corrupt *chat.CorruptError
		if _, err := k.Send(t.Context(), "ann", "bob", chat.Text("beyond")); !errors.As(err, &corrupt) {
			t.Errorf("sent beyond 2^53: %v", err)
		}
	})
}

func TestDamagedFieldsOfAConversationAreRefusedByName(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k, ctx := talking(t, db, chat.ConversationConfig{}), t.Context()
		k.send("ann", "one")
		hash := db.Prefix() + ":dm:{ann/bob}"
		for field, value := range map[string]string{"last": "many", "sent1": "-1", "cursor2": "1.5", "read1": "nan", "here2": "inf", "v": "x"} {
			before, err := db.HGet(ctx, hash, field).Result()
			wantErr(t, db.HSet(ctx, hash, field, value).Err(), nil)
			var corrupt *chat.CorruptError
			for _, got := range []error{
				one(k.Send(ctx, "ann", "bob", chat.Text("x"))), one(k.Read(ctx, "bob", "ann", 0)), one(k.Ack(ctx, "bob", "ann", 1)),
				one(k.History(ctx, "bob", "ann", chat.HistoryPage{})), k.WaitFrom(ctx, "bob", "ann", 0), k.Present(ctx, "ann", "bob", 1),
			} {
				if !errors.As(got, &corrupt) || corrupt.Where != field {
					t.Errorf("with %s=%s: %v", field, value, got)
				}
			}
			if err == nil {
				wantErr(t, db.HSet(ctx, hash, field, before).Err(), nil)
			} else {
				wantErr(t, db.HDel(ctx, hash, field).Err(), nil)
			}
		}
		wantErr(t, db.HSet(ctx, hash, "reads2", strings.Repeat("no; 1 2 3 4 5;;x 9e999 - ", 9)).Err(), nil)
		wantPage(t, k.read("bob", 0), 1, 1, "one")
		wantErr(t, k.Delete(ctx, "ann", "bob"), nil)
	})
}

func TestOneUnreadableConversationDoesNotHideTheOthers(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := chat.NewConversation(db, chat.ConversationConfig{}), t.Context()
		for _, name := range []string{"corrupt", "fine", "newer", "type"} {
			if _, err := c.Send(ctx, name, "zed", chat.Text("x")); err != nil {
				t.Fatal(err)
			}
		}
		prefix := db.Prefix()
		for _, err := range []error{
			db.ZAdd(ctx, prefix+":person:{zed}:peers", redis.Z{Member: "bra{ce"}).Err(),
			db.HSet(ctx, prefix+":dm:{newer/zed}", "v", "2").Err(),
			db.HSet(ctx, prefix+":dm:{corrupt/zed}", "last", "many").Err(),
			db.Set(ctx, prefix+":dm:{type/zed}", "x", 0).Err(),
		} {
			wantErr(t, err, nil)
		}
		all, err := c.Unread(ctx, "zed")
		if err != nil || len(all) != 5 {
			t.Fatalf("got %+v, %v", all, err)
		}
		var invalid *chat.InvalidError
		var corrupt *chat.CorruptError
		var format *chat.FormatError
		if !errors.As(all[0].Err, &invalid) || !errors.As(all[1].Err, &corrupt) || all[2].Err != nil ||
			all[2].Unread != 1 || !errors.As(all[3].Err, &format) || all[4].Err == nil {
			t.Errorf("got %+v", all)
		}
		if err := c.Delete(ctx, "zed", "newer"); !errors.As(err, &format) {
			t.Errorf("a newer one was deleted: %v", err)
		}
		_, err = c.Ack(ctx, "zed", "fine", 1)
		wantErr(t, err, nil)
		wantErr(t, wakes(t, db, func() error { return c.Wait(ctx, "zed") }, func() {
			if _, err := c.Send(ctx, "fine", "zed", chat.Text("y")); err != nil {
				t.Error(err)
			}
		}), nil)
	})
}

func spins(t *testing.T, spoil func(k talk), wait func(ctx context.Context, k talk) error) {
	t.Helper()
	url := redistest.URL(t)
	p := redistest.StartProxy(t, url)
	k := talking(t, redistest.Open(t, p.URL), chat.ConversationConfig{})
	k.send("ann", "one")
	spoil(k)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	before := p.Commands()
	for ctx.Err() == nil {
		_ = wait(ctx, k)
	}
	if n := p.Commands() - before; n > 10 {
		t.Errorf("%d commands while there is nothing to do", n)
	}
}

func TestFollowingDoesNotSpinWhenTheLogWasLost(t *testing.T) {
	t.Parallel()
	spins(t, func(k talk) { k.db.Del(t.Context(), k.db.Prefix()+":dm:{ann/bob}:log") },
		func(ctx context.Context, k talk) error {
			page, err := k.Peek(ctx, "bob", "ann", 0, 0)
			if err != nil || len(page.Messages) > 0 {
				return err
			}
			return k.WaitFrom(ctx, "bob", "ann", 0)
		})
}

func TestFollowingDoesNotSpinWhenTheHashWasLost(t *testing.T) {
	t.Parallel()
	spins(t, func(k talk) { k.db.Del(t.Context(), k.db.Prefix()+":dm:{ann/bob}") },
		func(ctx context.Context, k talk) error { return k.WaitFrom(ctx, "bob", "ann", 0) })
}

func TestConversationNeverExpiresOnceSomethingWasSent(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		wantErr(t, k.Present(t.Context(), "bob", "ann", time.Minute), nil)
		k.spoil("5-0", "foreign", "field")
		k.ack("bob", 5)
		k.send("ann", "important")
		if ttl := db.PTTL(t.Context(), db.Prefix()+":dm:{ann/bob}").Val(); ttl != -1 {
			t.Errorf("the conversation ends in %v", ttl)
		}
	})
}
