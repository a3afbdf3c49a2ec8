package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestUnreadCountsAllConversationsOfAPerson(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := chat.NewConversation(db, chat.ConversationConfig{}), t.Context()
		for i := range 120 { // more than one round trip
			for range i % 3 {
				if _, err := c.Send(ctx, fmt.Sprintf("peer%03d", i), "ann", chat.Text("x")); err != nil {
					t.Fatal(err)
				}
			}
		}
		wantErr(t, c.Delete(ctx, "ann", "peer001"), nil)
		all, err := c.Unread(ctx, "ann")
		if err != nil || len(all) != 79 || !slices.IsSortedFunc(all, func(a, b chat.PeerUnread) int { return strings.Compare(a.Peer, b.Peer) }) {
			t.Fatalf("got %d: %+v, %v", len(all), all, err)
		}
		var sum uint64
		for _, one := range all {
			if sum += one.Unread; one.Total != one.Unread || one.Err != nil || one.Newest.Year() < 2020 {
				t.Errorf("got %+v", one)
			}
		}
		if sum != 119 {
			t.Errorf("%d unread", sum)
		}
	})
}

func TestListForgetsADeletedConversation(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k, ctx := talking(t, db, chat.ConversationConfig{}), t.Context()
		k.send("ann", "x")
		wantErr(t, k.Delete(ctx, "ann", "bob"), nil)
		list := db.Prefix() + ":person:{ann}:peers"
		if n := db.ZCard(ctx, list).Val(); n != 1 {
			t.Fatalf("%d listed", n)
		}
		now := db.Time(ctx).Val().Add(-61 * time.Second).UnixMilli()
		wantErr(t, db.Do(ctx, "ZADD", list, now, "bob").Err(), nil)
		if all, err := k.Unread(ctx, "ann"); err != nil || len(all) != 0 {
			t.Errorf("got %+v, %v", all, err)
		}
		if n := db.ZCard(ctx, list).Val(); n != 0 {
			t.Errorf("%d listed", n)
		}
		k.send("bob", "y") // lists it again
		if all, err := k.Unread(ctx, "ann"); err != nil || len(all) != 1 || all[0].Unread != 1 {
			t.Errorf("got %+v, %v", all, err)
		}
	})
}
