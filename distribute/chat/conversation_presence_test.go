package chat_test

import (
	"math"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestPresenceSilencesOnlyNotices(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k, ctx := talking(t, db, chat.ConversationConfig{}), t.Context()
		present := func(d time.Duration) {
			t.Helper()
			wantErr(t, k.Present(ctx, "bob", "ann", d), nil)
		}
		present(time.Hour) // before there was any message
		if sent := k.send("ann", "one"); sent.Notify {
			t.Error("somebody who is present would be told")
		}
		if sent := k.send("bob", "two"); !sent.Notify {
			t.Error("one is present, and the other would not be told")
		}
		until, err := k.PresentUntil(ctx, "ann", "bob")
		if left := time.Until(until); err != nil || left < 59*time.Minute || left > 61*time.Minute {
			t.Errorf("present for %v, %v", left, err)
		}
		wantPage(t, k.peek("bob", 0), 1, 2, "one")
		present(0)
		if until, err := k.PresentUntil(ctx, "ann", "bob"); err != nil || !until.IsZero() {
			t.Errorf("present until %v, %v", until, err)
		}
		if sent := k.send("ann", "three"); !sent.Notify {
			t.Error("somebody who left would not be told")
		}
		if ttl, err := db.PTTL(ctx, db.Prefix()+":dm:{ann/bob}").Result(); err != nil || ttl > 0 {
			t.Errorf("the conversation ends in %v, %v", ttl, err)
		}
	})
}

func TestPresenceExpiresByItself(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	k, now := talking(t, db, chat.ConversationConfig{}), time.Now()
	wantErr(t, db.SetEmbeddedTime(now), nil)
	k.send("bob", "hello")
	wantErr(t, k.Present(t.Context(), "bob", "ann", time.Minute), nil)
	wantErr(t, db.SetEmbeddedTime(now.Add(59*time.Second)), nil)
	if k.send("ann", "x").Notify {
		t.Error("it ended early")
	}
	wantErr(t, db.SetEmbeddedTime(now.Add(61*time.Second)), nil)
	if !k.send("ann", "x").Notify {
		t.Error("it did not end")
	}
}

func TestPresenceAloneLeavesNothingBehind(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := chat.NewConversation(db, chat.ConversationConfig{}), t.Context()
		wantErr(t, c.Present(ctx, "ann", "bob", time.Hour), nil)
		wantErr(t, c.Present(ctx, "bob", "ann", time.Minute), nil)
		ttl, err := db.PTTL(ctx, db.Prefix()+":dm:{ann/bob}").Result()
		if err != nil || ttl < 59*time.Minute || ttl > time.Hour {
			t.Errorf("it ends in %v, %v", ttl, err)
		}
	})
}

func TestPresenceForEverDoesNotDamageTheConversation(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one")
		wantErr(t, k.Present(t.Context(), "bob", "ann", math.MaxInt64), nil)
		if sent := k.send("ann", "two"); sent.Notify {
			t.Error("bob is present for ever, and is to be told")
		}
		wantPage(t, k.read("bob", 0), 2, 2, "one", "two")
	})
}
