package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestConversationWaitReturnsAtOnceWhenSomethingIsUnread(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "x")
		chattest.WantErr(t, k.Wait(t.Context(), "bob"), nil)
		chattest.WantErr(t, k.WaitFrom(t.Context(), "bob", "ann", 0), nil)
	})
}

func TestConversationWaitIsWokenBySend(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, k talk) {
		// The second time the conversation is there, and its newest message is bob's.
		for range 2 {
			err := chattest.Woken(t, k.db, func() error { return k.Wait(t.Context(), "bob") }, func() { k.send("ann", "x") })
			chattest.WantErr(t, err, nil)
			k.read("bob", 0)
			k.send("bob", "y")
		}
	})
}

func TestConversationWaitFromIsWokenByItsPeerAlone(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, k talk) {
		if _, err := k.Send(t.Context(), "cem", "bob", chat.Text("not this")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := chattest.Woken(t, k.db, func() error { return k.WaitFrom(t.Context(), "bob", "ann", 0) }, func() { k.send("ann", "x") })
			chattest.WantErr(t, err, nil)
			k.read("bob", 0)
			k.send("bob", "y")
		}
	})
}

func TestConversationWaitFromPassesOverWhatWasPeekedAt(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, k talk) {
		k.send("ann", "one", "two")
		chattest.WantErr(t, k.WaitFrom(t.Context(), "bob", "ann", 1), nil)
		err := chattest.Woken(t, k.db, func() error { return k.WaitFrom(t.Context(), "bob", "ann", 2) }, func() { k.send("ann", "three") })
		chattest.WantErr(t, err, nil)
	})
}

func TestConversationWaitEndsWithItsContext(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, k talk) {
		ctx, cancel := context.WithCancel(t.Context())
		chattest.WantErr(t, chattest.Woken(t, k.db, func() error { return k.Wait(ctx, "bob") }, cancel), context.Canceled)
	})
}

// Both write at the same time, and each reads in two places.
func TestConcurrentSendsAndReadsNeverMiscount(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		const senders, each, readers = 3, 60, 2
		k := talking(t, db, conversation.Config{Keep: 20})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var sending, reading sync.WaitGroup
		hears := func() *hearing {
			return &hearing{times: map[uint64]int{}, limit: senders * each, done: make(chan struct{})}
		}
		heard := map[string]*hearing{"ann": hears(), "bob": hears()}
		for _, me := range []string{"ann", "bob"} {
			for i := range senders {
				sending.Go(func() {
					for n := range each {
						if _, err := k.Send(ctx, me, peer(me), chat.Text(fmt.Sprint(i, " ", n))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range readers {
				reading.Go(func() {
					if err := heard[me].listen(ctx, k.Client, me); err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("%s: %v", me, err)
					}
				})
			}
			reading.Go(func() {
				for range each {
					countAll(ctx, t, k, me, senders*each)
				}
			})
		}
		sending.Wait()
		for _, me := range []string{"ann", "bob"} {
			select {
			case <-heard[me].done:
			case <-time.After(30 * time.Second):
				t.Errorf("%s read %d of %d", me, len(heard[me].times), senders*each)
			}
		}
		stop()
		reading.Wait()
		total := 2 * senders * each
		for _, me := range []string{"ann", "bob"} {
			wantPage(t, k.read(me, 0), 0, uint64(total))
			for id, times := range heard[me].times {
				if times != 1 || id == 0 || id > uint64(total) || heard[peer(me)].times[id] != 0 {
					t.Errorf("%s read message %d %d times", me, id, times)
				}
			}
		}
	})
}

// A hearing has the messages that all readers of one person have read.
type hearing struct {
	mu    sync.Mutex
	times map[uint64]int
	limit int
	done  chan struct{} // closed when it has all
}

func (h *hearing) listen(ctx context.Context, c *conversation.Client, me string) error {
	next, last := map[string]uint64{}, uint64(0)
	for {
		if err := c.WaitFrom(ctx, me, peer(me), 0); err != nil {
			return err
		}
		page, err := c.Read(ctx, me, peer(me), 7)
		if err != nil {
			return err
		}
		if page.Unread < uint64(len(page.Messages)) || page.Unread > uint64(h.limit) {
			return fmt.Errorf("%d unread, of which %d were read", page.Unread, len(page.Messages))
		}
		h.mu.Lock()
		for _, m := range page.Messages {
			var sender, n uint64
			_, err := fmt.Sscan(string(m.Body), &sender, &n)
			key := fmt.Sprint(sender)
			if err != nil || m.Err != nil || m.Sender != peer(me) || m.ID <= last || n < next[key] {
				err = fmt.Errorf("message %d (%q of %s) after %d, %v, %v", m.ID, m.Body, m.Sender, last, m.Err, err)
				h.mu.Unlock()
				return err
			}
			last, next[key] = m.ID, n+1
			h.times[m.ID]++
			if len(h.times) == h.limit {
				close(h.done)
			}
		}
		h.mu.Unlock()
	}
}

// countAll looks at the counts while others change them.
func countAll(ctx context.Context, t *testing.T, k talk, me string, sent uint64) {
	all, err := k.Unread(ctx, me)
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	for _, one := range all {
		if one.Unread > sent || one.Total > 2*sent || one.Unread > one.Total || one.Err != nil {
			t.Errorf("got %+v", one)
		}
	}
}

func TestUnreadCountsAllConversationsOfAPerson(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := conversation.NewClient(handle.New(db), nil), t.Context()
		for i := range 120 { // more than one round trip
			for range i % 3 {
				if _, err := c.Send(ctx, fmt.Sprintf("peer%03d", i), "ann", chat.Text("x")); err != nil {
					t.Fatal(err)
				}
			}
		}
		chattest.WantErr(t, c.Delete(ctx, "ann", "peer001"), nil)
		all, err := c.Unread(ctx, "ann")
		if err != nil || len(all) != 79 || !slices.IsSortedFunc(all, func(a, b conversation.PeerUnread) int { return strings.Compare(a.Peer, b.Peer) }) {
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
	on.AllBackends(t, func(t *testing.T, k talk) {
		ctx := t.Context()
		k.send("ann", "x")
		chattest.WantErr(t, k.Delete(ctx, "ann", "bob"), nil)
		list := k.db.Prefix() + ":person:{ann}:peers"
		if n := k.db.ZCard(ctx, list).Val(); n != 1 {
			t.Fatalf("%d listed", n)
		}
		now := k.db.Time(ctx).Val().Add(-61 * time.Second).UnixMilli()
		chattest.WantErr(t, k.db.Do(ctx, "ZADD", list, now, "bob").Err(), nil)
		if all, err := k.Unread(ctx, "ann"); err != nil || len(all) != 0 {
			t.Errorf("got %+v, %v", all, err)
		}
		if n := k.db.ZCard(ctx, list).Val(); n != 0 {
			t.Errorf("%d listed", n)
		}
		k.send("bob", "y") // lists it again
		if all, err := k.Unread(ctx, "ann"); err != nil || len(all) != 1 || all[0].Unread != 1 {
			t.Errorf("got %+v, %v", all, err)
		}
	})
}

func TestPresenceSilencesOnlyNotices(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		ctx := t.Context()
		present := func(d time.Duration) {
			t.Helper()
			chattest.WantErr(t, k.Present(ctx, "bob", "ann", d), nil)
		}
		present(time.Hour) // before there was any message
		if sent := k.send("ann", "one"); sent.Notify {
			t.Error("a present receiver would be notified")
		}
		if sent := k.send("bob", "two"); !sent.Notify {
			t.Error("an absent receiver would not be notified")
		}
		wantPage(t, k.peek("bob", 0), 1, 2, "one")
		present(0)
		if sent := k.send("ann", "three"); !sent.Notify {
			t.Error("a receiver that left would not be notified")
		}
		if ttl, err := k.db.PTTL(ctx, k.db.Prefix()+":dm:{ann/bob}").Result(); err != nil || ttl > 0 {
			t.Errorf("the conversation ends in %v, %v", ttl, err)
		}
	})
}

func TestPresenceExpiresByItself(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	k, now := talking(t, db, conversation.Config{}), time.Now()
	chattest.WantErr(t, db.SetEmbeddedTime(now), nil)
	k.send("bob", "hello")
	chattest.WantErr(t, k.Present(t.Context(), "bob", "ann", time.Minute), nil)
	chattest.WantErr(t, db.SetEmbeddedTime(now.Add(59*time.Second)), nil)
	if k.send("ann", "x").Notify {
		t.Error("it ended early")
	}
	chattest.WantErr(t, db.SetEmbeddedTime(now.Add(61*time.Second)), nil)
	if !k.send("ann", "x").Notify {
		t.Error("it did not end")
	}
}

func TestPresenceAloneLeavesNothingBehind(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := conversation.NewClient(handle.New(db), nil), t.Context()
		chattest.WantErr(t, c.Present(ctx, "ann", "bob", time.Hour), nil)
		chattest.WantErr(t, c.Present(ctx, "bob", "ann", time.Minute), nil)
		ttl, err := db.PTTL(ctx, db.Prefix()+":dm:{ann/bob}").Result()
		if err != nil || ttl < 59*time.Minute || ttl > time.Hour {
			t.Errorf("it ends in %v, %v", ttl, err)
		}
	})
}

func TestPresenceForEverDoesNotDamageTheConversation(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one")
		chattest.WantErr(t, k.Present(t.Context(), "bob", "ann", math.MaxInt64), nil)
		if sent := k.send("ann", "two"); sent.Notify {
			t.Error("bob is always present, and would be notified")
		}
		wantPage(t, k.read("bob", 0), 2, 2, "one", "two")
	})
}
