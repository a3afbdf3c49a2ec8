package chat_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// wakes lets wake end a wait that is blocked, and gives the error of the wait.
func wakes(t *testing.T, db *rdb.DB, wait func() error, wake func()) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- wait() }()
	blocked(t, db, 1)
	start := time.Now()
	wake()
	err := <-done
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("woken after %v", took)
	}
	return err
}

func TestConversationWaitReturnsAtOnceWhenSomethingIsUnread(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "x")
		wantErr(t, k.Wait(t.Context(), "bob"), nil)
		wantErr(t, k.WaitFrom(t.Context(), "bob", "ann", 0), nil)
	})
}

func TestConversationWaitIsWokenBySend(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		// The second time the conversation is there, and its newest message is bob's.
		for range 2 {
			err := wakes(t, db, func() error { return k.Wait(t.Context(), "bob") }, func() { k.send("ann", "x") })
			wantErr(t, err, nil)
			k.read("bob", 0)
			k.send("bob", "y")
		}
	})
}

func TestConversationWaitFromIsWokenByItsPeerAlone(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		if _, err := k.Send(t.Context(), "cem", "bob", chat.Text("not this")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := wakes(t, db, func() error { return k.WaitFrom(t.Context(), "bob", "ann", 0) }, func() { k.send("ann", "x") })
			wantErr(t, err, nil)
			k.read("bob", 0)
			k.send("bob", "y")
		}
	})
}

func TestConversationWaitFromPassesOverWhatWasPeekedAt(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one", "two")
		wantErr(t, k.WaitFrom(t.Context(), "bob", "ann", 1), nil)
		err := wakes(t, db, func() error { return k.WaitFrom(t.Context(), "bob", "ann", 2) }, func() { k.send("ann", "three") })
		wantErr(t, err, nil)
	})
}

func TestConversationWaitEndsWithItsContext(t *testing.T) {
	own(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		wantErr(t, wakes(t, db, func() error { return k.Wait(ctx, "bob") }, cancel), context.Canceled)
	})
}

// Both write at the same time, and each reads in two places.
func TestConcurrentSendsAndReadsNeverMiscount(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		const senders, each, readers = 3, 60, 2
		k := talking(t, db, chat.ConversationConfig{Keep: 20})
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
					if err := heard[me].listen(ctx, k.Conversation, me); err != nil && !errors.Is(err, context.Canceled) {
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

// A hearing is what all readers of one person have read.
type hearing struct {
	mu    sync.Mutex
	times map[uint64]int
	limit int
	done  chan struct{} // closed when it has all
}

func (h *hearing) listen(ctx context.Context, c *chat.Conversation, me string) error {
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
