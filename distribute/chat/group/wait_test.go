package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/redistest"
)

// waiting runs Wait for member, see [chattest.Woken].
func waiting(t *testing.T, g fixture, ctx context.Context, member string, wake func()) error {
	t.Helper()
	return chattest.Woken(t, g.db, func() error { return g.Wait(ctx, member) }, wake)
}

func TestWaitReturnsAtOnceWhenSomethingIsPending(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "x", 1)
		if err := g.Wait(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitIsWokenBySend(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, g fixture) {
		create(t, g, "quiet", group.People, "ann", "bob")
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "old", 1)
		ack(t, g, "c", "bob", 1, 1)
		if err := waiting(t, g, t.Context(), "bob", func() { send(t, g, "c", "ann", "new", 2) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitNoticesAChatJoinedMeanwhile(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel)
		send(t, g, "c", "uploader", "x", 1)
		err := waiting(t, g, t.Context(), "bob", func() {
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
	on.OwnServer(t, func(t *testing.T, g fixture) {
		err := waiting(t, g, t.Context(), "bob", func() {
			create(t, g, "c", group.People, "ann", "bob")
			send(t, g, "c", "ann", "x", 1)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "bob")
		ctx, cancel := context.WithCancel(t.Context())
		if err := waiting(t, g, ctx, "bob", cancel); !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v", err)
		}
	})
}

func TestWaitInHeedsOnlyItsChatAndWhatWasNotSeen(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "bob")
		create(t, g, "other", group.People, "ann", "bob")
		send(t, g, "c", "ann", "seen", 1)
		err := chattest.Woken(t, g.db, func() error { return g.WaitIn(t.Context(), "c", "bob", 1) }, func() {
			send(t, g, "other", "ann", "x", 1)
			chattest.Blocked(t, g.db, 1)
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
	on.OwnServer(t, func(t *testing.T, g fixture) {
		create(t, g, "a", group.People, "ann", "bob")
		create(t, g, "b", group.People, "ann", "bob")
		send(t, g, "a", "ann", "seen", 1)
		send(t, g, "b", "ann", "seen", 1)
		seen := map[string]uint64{"a": 1, "b": 1}
		err := chattest.Woken(t, g.db, func() error { return g.WaitAfter(t.Context(), "bob", seen) }, func() {
			send(t, g, "b", "ann", "new", 2)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestManySendersAndReadersMissNothingAndRepeatNothing(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		const senders, readers, each = 5, 4, 100
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
func readInOrder(ctx context.Context, g fixture, member string, last uint64) error {
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

func annsList(g fixture) string { return g.db.Prefix() + ":member:{ann}:chats" }

// enlist writes an entry into ann's list as if it had been done some time ago,
// by the clock of Redis.
func enlist(t *testing.T, g fixture, id string, ago time.Duration) {
	t.Helper()
	now, err := g.db.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	entry := redis.Z{Score: float64(now.Add(-ago).UnixMilli()), Member: id}
	if err := g.db.ZAdd(t.Context(), annsList(g), entry).Err(); err != nil {
		t.Fatal(err)
	}
}

func listed(t *testing.T, g fixture) []string {
	t.Helper()
	return g.db.ZRange(t.Context(), annsList(g), 0, -1).Val()
}

func TestListForgetsOnlyOldEntriesThatTheChatDenies(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "mine", group.People, "ann")
		create(t, g, "theirs", group.People, "bob")
		enlist(t, g, "mine", time.Hour)
		enlist(t, g, "theirs", 61*time.Second)
		enlist(t, g, "gone", 61*time.Second)
		enlist(t, g, "being joined", 58*time.Second)
		if _, err := g.PendingAll(t.Context(), "ann", 0); err != nil {
			t.Fatal(err)
		}
		got := listed(t, g)
		slices.Sort(got)
		chattest.WantStrings(t, got, "being joined", "mine")
	})
}

func TestJoinBringsBackAForgottenEntry(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann")
		if err := g.db.Del(t.Context(), annsList(g)).Err(); err != nil {
			t.Fatal(err)
		}
		if err := g.Join(t.Context(), "c", "ann", group.FromNow); err != nil {
			t.Fatal(err)
		}
		chattest.WantStrings(t, listed(t, g), "c")
	})
}

func TestLeaveForgetsAnOldEntry(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "new", group.People, "ann")
		create(t, g, "old", group.People, "ann")
		enlist(t, g, "old", 2*time.Minute)
		for _, id := range []string{"new", "old"} {
			if err := g.Leave(t.Context(), id, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		// "new" stays for a minute: a member may join it again soon.
		chattest.WantStrings(t, listed(t, g), "new")
	})
}

func TestListOfAMemberThatLeavesSoonExpires(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		expires := func() bool { return g.db.PTTL(t.Context(), annsList(g)).Val() > 0 }
		for range 2 {
			create(t, g, "c", group.People, "ann")
			if expires() {
				t.Error("the list of a member expires")
			}
			if err := g.Leave(t.Context(), "c", "ann"); err != nil {
				t.Fatal(err)
			}
			if !expires() {
				t.Error("the list stays for ever")
			}
		}
		create(t, g, "a", group.People, "ann")
		create(t, g, "b", group.People, "ann")
		if err := g.Leave(t.Context(), "b", "ann"); err != nil {
			t.Fatal(err)
		}
		if expires() {
			t.Error("the list of a member of another chat expires")
		}
	})
}

func TestLongListIsReadWhole(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	g := newFixture(db)
	const chats = 1100 // more than two pages
	for i := range chats {
		create(t, g, strconv.Itoa(i), group.Channel, "ann")
		send(t, g, strconv.Itoa(i), "bob", "x", 1)
	}
	batches, err := g.PendingAll(t.Context(), "ann", 0)
	if err != nil || len(batches) != chats {
		t.Fatalf("got %d chats, %v", len(batches), err)
	}
}

func TestUnreadCountsInEveryChatOfAMember(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "a", group.People, "ann", "bob")
		create(t, g, "b", group.Channel, "ann")
		create(t, g, "bobs", group.People, "bob")
		create(t, g, "newer", group.Channel, "ann")
		setLimits(t, g, "b", group.Limits{Messages: 2})
		for i := range uint64(3) {
			send(t, g, "a", "bob", "x", i+1)
			send(t, g, "b", "bob", "x", i+1)
		}
		ack(t, g, "a", "ann", 1, 1)
		if err := g.db.HSet(t.Context(), g.db.Prefix()+":chat:{newer}", "v", "2").Err(); err != nil {
			t.Fatal(err)
		}
		got, err := g.Unread(t.Context(), "ann")
		if err != nil || len(got) != 3 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if want := (group.Membership{Chat: "a", Kind: group.People, Last: 3, Unread: 2}); got[0] != want {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
		if want := (group.Membership{Chat: "b", Kind: group.Channel, Last: 3, Unread: 2, Missed: 1}); got[1] != want {
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
	p, db := chattest.OpenLossy(t)
	g := newFixture(db)
	for i := range 150 {
		create(t, g, fmt.Sprint(i), group.People, "ann")
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
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "gone")
		send(t, g, "c", "ann", "x", 1)
		if err := g.Leave(t.Context(), "c", "gone"); err != nil {
			t.Fatal(err)
		}
		if got := info(t, g, "c"); got.Kept != 0 || got.Members != 1 {
			t.Errorf("got %+v", got)
		}
		if err := g.Leave(t.Context(), "c", "ann"); err != nil {
			t.Fatal(err)
		}
		wantNothingLeft(t, g, "c")
	})
}

func TestPositionOfADeletedChatHidesNoMessageOfTheNextOne(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "bob")
		for id := range uint64(3) {
			send(t, g, "c", "ann", "old", id+1)
		}
		if err := g.Delete(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		create(t, g, "c", group.Channel, "bob")
		woken := make(chan error, 2)
		go func() { woken <- g.WaitIn(t.Context(), "c", "bob", 3) }()
		go func() { woken <- g.WaitAfter(t.Context(), "bob", map[string]uint64{"c": 3}) }()
		send(t, g, "c", "ann", "new", 1)
		for range 2 {
			if err := <-woken; err != nil {
				t.Fatal(err)
			}
		}
		messages, err := g.Pending(t.Context(), "c", "bob", 3, 0)
		if got := chattest.Bodies(messages); err != nil || len(got) != 1 || got[0] != "new" {
			t.Errorf("pending are %q, %v", got, err)
		}
	})
}
