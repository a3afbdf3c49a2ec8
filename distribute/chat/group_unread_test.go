package chat_test

import (
	"errors"
	"fmt"
	"testing"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestUnreadCountsInEveryChatOfAMember(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "a", chat.People, "ann", "bob")
		create(t, g, "b", chat.Channel, "ann")
		create(t, g, "bobs", chat.People, "bob")
		create(t, g, "newer", chat.Channel, "ann")
		setLimits(t, g, "b", chat.Limits{Messages: 2})
		for i := range uint64(3) {
			send(t, g, "a", "bob", "x", i+1)
			send(t, g, "b", "bob", "x", i+1)
		}
		ack(t, g, "a", "ann", 1, 1)
		if err := db.HSet(t.Context(), db.Prefix()+":chat:{newer}", "v", "2").Err(); err != nil {
			t.Fatal(err)
		}
		got, err := g.Unread(t.Context(), "ann")
		if err != nil || len(got) != 3 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if want := (chat.Membership{Chat: "a", Kind: chat.People, Last: 3, Unread: 2}); got[0] != want {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
		if want := (chat.Membership{Chat: "b", Kind: chat.Channel, Last: 3, Unread: 2, Missed: 1}); got[1] != want {
			t.Errorf("got %+v, want %+v", got[1], want)
		}
		var format *chat.FormatError
		if !errors.As(got[2].Err, &format) || got[2].Chat != "newer" {
			t.Errorf("got %+v", got[2])
		}
	})
}

func TestUnreadTakesOneRoundTripForAHundredChats(t *testing.T) {
	t.Parallel()
	p, db := losing(t)
	g := chat.NewGroup(db)
	for i := range 150 {
		create(t, g, fmt.Sprint(i), chat.People, "ann")
	}
	before := p.Commands()
	got, err := g.Unread(t.Context(), "ann")
	if err != nil || len(got) != 150 {
		t.Fatalf("got %d chats, %v", len(got), err)
	}
	if sent := p.Commands() - before; sent > 152+2 { // the list, each chat, and what teaches the scripts
		t.Errorf("it took %d commands", sent)
	}
}

func TestDroppedMemberHoldsNothingBack(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann", "gone")
		send(t, g, "c", "ann", "x", 1)
		if err := g.Drop(t.Context(), "c", "gone"); err != nil {
			t.Fatal(err)
		}
		if got := info(t, g, "c"); got.Kept != 0 || got.Members != 1 {
			t.Errorf("got %+v", got)
		}
		if err := g.Drop(t.Context(), "c", "ann"); err != nil {
			t.Fatal(err)
		}
		wantNothingLeft(t, db, "c")
	})
}
