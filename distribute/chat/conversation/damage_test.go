package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/handle"
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
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one")
		k.spoil("2-7", "sender", "ann", "body", "x", "time", "1")
		k.spoil("3-0", "foreign", "field")
		k.spoil("4-0", "sender", "eve", "body", "x", "time", "1", "sent1", "7", "sent2", "7")
		k.spoil("5-0", "sender", "ann", "body", "x", "time", "soon", "sent1", "-1", "sent2", "nan")
		if sent := k.send("ann", "after"); sent.ID != 6 {
			t.Errorf("got %+v", sent)
		}
		for _, page := range []conversation.Page{k.peek("bob", 0), k.read("bob", 0)} {
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
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one", "two")
		k.spoil("3-0", "foreign", "field")
		k.spoil("4-0", "foreign", "field")
		k.send("ann", "five")
		k.ack("bob", 4)
		wantPage(t, k.read("bob", 0), 1, 3, "five")
	})
}

func TestEntryBeyondTheLastMessageIsReportedOnceAndDoesNotWakeForEver(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, k talk) {
		k.send("ann", "one")
		k.read("bob", 0)
		k.spoil("1763700000000-3", "a", "b")
		chattest.WantErr(t, chattest.Woken(t, k.db, func() error { return k.WaitFrom(t.Context(), "bob", "ann", 0) }, func() {
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
	on.AllBackends(t, func(t *testing.T, k talk) {
		ctx := t.Context()
		k.send("ann", "one")
		hash := k.db.Prefix() + ":dm:{ann/bob}"
		for field, value := range map[string]string{"last": "many", "sent1": "-1", "cursor2": "1.5", "read1": "nan", "here2": "inf", "v": "x"} {
			before, err := k.db.HGet(ctx, hash, field).Result()
			chattest.WantErr(t, k.db.HSet(ctx, hash, field, value).Err(), nil)
			var corrupt *chat.CorruptError
			for _, got := range []error{
				chattest.ErrorOf(k.Send(ctx, "ann", "bob", chat.Text("x"))), chattest.ErrorOf(k.Read(ctx, "bob", "ann", 0)), chattest.ErrorOf(k.Ack(ctx, "bob", "ann", 1)),
				chattest.ErrorOf(k.History(ctx, "bob", "ann", nil)), k.WaitFrom(ctx, "bob", "ann", 0), k.Present(ctx, "ann", "bob", 1),
			} {
				if !errors.As(got, &corrupt) || corrupt.Where != field {
					t.Errorf("with %s=%s: %v", field, value, got)
				}
			}
			if err == nil {
				chattest.WantErr(t, k.db.HSet(ctx, hash, field, before).Err(), nil)
			} else {
				chattest.WantErr(t, k.db.HDel(ctx, hash, field).Err(), nil)
			}
		}
		chattest.WantErr(t, k.db.HSet(ctx, hash, "reads2", strings.Repeat("no; 1 2 3 4 5;;x 9e999 - ", 9)).Err(), nil)
		wantPage(t, k.read("bob", 0), 1, 1, "one")
		chattest.WantErr(t, k.Delete(ctx, "ann", "bob"), nil)
	})
}

func TestOneUnreadableConversationDoesNotHideTheOthers(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := conversation.NewClient(handle.New(db), nil), t.Context()
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
			chattest.WantErr(t, err, nil)
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
		chattest.WantErr(t, err, nil)
		chattest.WantErr(t, chattest.Woken(t, db, func() error { return c.Wait(ctx, "zed") }, func() {
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
	k := talking(t, redistest.Open(t, p.URL), conversation.Config{})
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

// The pages before the unread message have only messages of the reader.
func TestPeekEndsAlthoughItsIdIsOfAnEarlierConversation(t *testing.T) {
	on.Backends(t, func(t *testing.T, k talk) {
		k.send("ann", "one")
		for range 3 {
			k.send("bob", strings.Repeat("x", 65_000))
		}
		k.send("ann", "five")
		k.ack("bob", 1)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		page, err := k.Peek(ctx, "bob", "ann", 50, 0)
		chattest.WantErr(t, err, nil)
		wantPage(t, page, 1, 5, "five")
	})
}

func TestConversationNeverExpiresOnceSomethingWasSent(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		chattest.WantErr(t, k.Present(t.Context(), "bob", "ann", time.Minute), nil)
		k.spoil("5-0", "foreign", "field")
		k.ack("bob", 5)
		k.send("ann", "important")
		if ttl := k.db.PTTL(t.Context(), k.db.Prefix()+":dm:{ann/bob}").Val(); ttl != -1 {
			t.Errorf("the conversation ends in %v", ttl)
		}
	})
}

// lossyTalk returns a conversation that is reached through a proxy, and the
// same one that is not. The scripts are known to the server.
func lossyTalk(t *testing.T, config conversation.Config) (*redistest.Proxy, talk, talk) {
	t.Helper()
	url := redistest.URL(t)
	p := redistest.StartProxy(t, url)
	lossy, sure := talking(t, redistest.Open(t, p.URL), config), talking(t, redistest.Open(t, url), config)
	lossy.send("ann", "warm")
	lossy.read("bob", 0)
	lossy.ack("bob", 1)
	lossy.peek("bob", 0)
	lossy.history(conversation.HistoryOptions{})
	chattest.WantErr(t, lossy.Present(t.Context(), "bob", "ann", time.Hour), nil)
	return p, lossy, sure
}

func TestLostReplyOfASendInAConversationIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, conversation.Config{})
	p.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := lossy.Send(t.Context(), "ann", "bob", chat.Text("two")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	wantPage(t, sure.read("bob", 0), 1, 2, "two")
}

func TestReadWhoseReplyWasLostReturnsTheSameMessages(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, conversation.Config{})
	sure.send("ann", "one", "two", "three")
	lost := p.DropReply(1)
	wantPage(t, lossy.read("bob", 2), 3, 4, "one", "two")
	<-lost
	wantPage(t, lossy.read("bob", 2), 1, 4, "three")
	wantPage(t, lossy.read("bob", 2), 0, 4)
}

// repeatedRead reads two messages of ann's for bob. It returns when the first reply is lost.
func repeatedRead(t *testing.T, p *redistest.Proxy, lossy talk) (pages <-chan conversation.Page) {
	lost, read := p.DropReply(1), make(chan conversation.Page)
	go func() {
		page, err := lossy.Read(t.Context(), "bob", "ann", 2)
		if err != nil {
			t.Error(err)
		}
		read <- page
	}()
	<-lost
	return read
}

// While the repeated read is on its way another reader of the same person reads
// on, and what was read is old enough to be dropped.
func TestReadIsRepeatedWhateverHappensMeanwhile(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, conversation.Config{Keep: 1})
	sure.send("ann", "one", "two", "three", "four")
	pages := repeatedRead(t, p, lossy)
	p.Hold() // most often before the repetition; the result must be the same
	for i := range 7 {
		wantPage(t, sure.read("bob", 1), uint64(max(2-i, 1)), uint64(5+max(i-1, 0)), []string{"three", "four", "more2", "more3", "more4", "more5", "more6"}[i])
		if i > 0 {
			sure.send("ann", fmt.Sprint("more", i+1))
		}
	}
	p.Release()
	chattest.WantStrings(t, chattest.Bodies((<-pages).Messages), "one", "two")
}

func TestLostAnswersOfOtherCallsInAConversationDoNotShow(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, conversation.Config{})
	sure.send("ann", "one", "two")
	ctx := t.Context()
	for _, step := range []struct {
		name string
		call func() error
	}{
		{"peek", func() error { return chattest.ErrorOf(lossy.Peek(ctx, "bob", "ann", 0, 0)) }},
		{"ack", func() error { return chattest.ErrorOf(lossy.Ack(ctx, "bob", "ann", 2)) }},
		{"history", func() error { return chattest.ErrorOf(lossy.History(ctx, "bob", "ann", nil)) }},
		{"unread", func() error { return chattest.ErrorOf(lossy.Unread(ctx, "bob")) }},
		{"wait", func() error { return lossy.WaitFrom(ctx, "bob", "ann", 0) }},
		{"present", func() error { return lossy.Present(ctx, "bob", "ann", 0) }},
		{"delete", func() error { return lossy.Delete(ctx, "bob", "ann") }},
	} {
		lost := p.DropReply(1)
		if err := step.call(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		<-lost
	}
	wantPage(t, sure.read("bob", 0), 0, 0)
}

func TestReadIsRepeatedAfterManyOtherReads(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, conversation.Config{})
	sure.send("ann", "one", "two")
	pages := repeatedRead(t, p, lossy)
	p.Hold()
	for i := range 9 {
		sure.send("ann", fmt.Sprint("more", i))
		sure.read("bob", 1)
	}
	p.Release()
	chattest.WantStrings(t, chattest.Bodies((<-pages).Messages), "one", "two")
}
