package group_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestDamagedEntriesAreReportedAndCanBeAcknowledged(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		send(t, g, "c", "bob", "one", 1)
		// All of these have ids higher than any of the chat.
		for _, entry := range []redis.XAddArgs{
			{ID: "2-7", Values: []string{"sender", "bob", "body", "x", "time", "1"}},
			{ID: "3-0", Values: []string{"foreign", "field"}},
			{ID: "4-0", Values: []string{"sender", "b\nb", "body", "x", "time", "1"}},
			{ID: "5-0", Values: []string{"sender", "bob", "body", "x", "time", "soon"}},
		} {
			entry.Stream = g.db.Prefix() + ":chat:{c}:log"
			if err := g.db.XAdd(t.Context(), &entry).Err(); err != nil {
				t.Fatal(err)
			}
		}
		send(t, g, "c", "bob", "after", 6)
		messages, err := g.Pending(t.Context(), "c", "ann", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range messages {
			var corrupt *chat.CorruptError
			damaged := m.ID > 1 && m.ID < 6
			if m.ID != uint64(i+1) || errors.As(m.Err, &corrupt) != damaged {
				t.Errorf("message %d: %+v", i, m)
			}
		}
		ack(t, g, "c", "ann", 5, 5)
		chattest.WantStrings(t, pending(t, g, "c", "ann"), "after")
	})
}

func TestDamagedEntryBeyondTheLastCanBeAcknowledged(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		entry := redis.XAddArgs{Stream: g.db.Prefix() + ":chat:{c}:log", ID: "1763700000000-3", Values: []string{"a", "b"}}
		if err := g.db.XAdd(t.Context(), &entry).Err(); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		messages, err := g.Fetch(t.Context(), "c", "ann", 0)
		if err != nil || len(messages) != 1 || messages[0].Err == nil {
			t.Fatalf("got %+v, %v", messages, err)
		}
		send(t, g, "c", "bob", "after", 1763700000001)
		chattest.WantStrings(t, pending(t, g, "c", "ann"), "after")
		ack(t, g, "c", "ann", 1763700000001, 1763700000001)
		if got := info(t, g, "c"); got.Kept != 0 {
			t.Fatalf("not cleaned: %+v", got)
		}
	})
}

func TestSendGoesOnAfterAForeignEntryWasDeletedByHand(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		log := g.db.Prefix() + ":chat:{c}:log"
		id, err := g.db.XAdd(t.Context(), &redis.XAddArgs{Stream: log, Values: []string{"a", "b"}}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.db.XDel(t.Context(), log, id).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Send(t.Context(), "c", "bob", chat.Text("after")); err != nil {
			t.Fatal(err)
		}
		chattest.WantStrings(t, pending(t, g, "c", "ann"), "after")
	})
}

func TestIdsStayExactUpTo53Bits(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		const last = 1<<53 - 3
		if err := g.db.HSet(t.Context(), g.db.Prefix()+":chat:{c}", "last", strconv.Itoa(last)).Err(); err != nil {
			t.Fatal(err)
		}
		send(t, g, "c", "bob", "one", last+1)
		send(t, g, "c", "bob", "two", last+2)
		ack(t, g, "c", "ann", last+1, last+1)
		members, err := g.Members(t.Context(), "c")
		if err != nil || len(members) != 1 || members[0].Cursor != last+1 || members[0].Unread != 1 {
			t.Fatalf("got %+v, %v", members, err)
		}
		chattest.WantStrings(t, pending(t, g, "c", "ann"), "two")
		var corrupt *chat.CorruptError
		if _, err := g.Send(t.Context(), "c", "bob", chat.Text("x")); !errors.As(err, &corrupt) {
			t.Fatalf("sent beyond 2^53: %v", err)
		}
	})
}

func TestOneUnreadableChatDoesNotHideTheOthers(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, g fixture) {
		ctx := t.Context()
		for _, id := range []string{"corrupt", "fine", "newer", "type"} {
			create(t, g, id, group.Channel, "ann")
			send(t, g, id, "bob", "x", 1)
		}
		enlist(t, g, "bra{ce", 0)
		for _, err := range []error{
			g.db.HSet(ctx, g.db.Prefix()+":chat:{newer}", "v", "2").Err(),
			g.db.HSet(ctx, g.db.Prefix()+":chat:{corrupt}", "last", "many").Err(),
			g.db.Set(ctx, g.db.Prefix()+":chat:{type}", "x", 0).Err(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		batches, err := g.PendingAll(ctx, "ann", 0)
		if err != nil || len(batches) != 5 {
			t.Fatalf("got %+v, %v", batches, err)
		}
		var invalid *chat.InvalidError
		var corrupt *chat.CorruptError
		var format *chat.FormatError
		if !errors.As(batches[0].Err, &invalid) || !errors.As(batches[1].Err, &corrupt) ||
			batches[2].Err != nil || !errors.As(batches[3].Err, &format) || batches[4].Err == nil {
			t.Errorf("got %+v", batches)
		}
		// Nothing is pending that could be read, so Wait does not return for it.
		ack(t, g, "fine", "ann", 1, 1)
		if err := waiting(t, g, ctx, "ann", func() { send(t, g, "fine", "bob", "y", 2) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitBlocksWhereABigMessageWasDeletedByHand(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		send(t, g, "c", "bob", strings.Repeat("x", 20_000), 1)
		if err := g.db.XDel(t.Context(), g.db.Prefix()+":chat:{c}:log", "1-0").Err(); err != nil {
			t.Fatal(err)
		}
		for name, wait := range map[string]func(context.Context) error{
			"all": func(ctx context.Context) error { return g.Wait(ctx, "ann") },
			"one": func(ctx context.Context) error { return g.WaitIn(ctx, "c", "ann", 0) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: found what is not there: %v", name, err)
			}
			cancel()
		}
	})
}

func TestChatOfTheWrongTypeCanBeDeleted(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		for _, key := range []string{"", ":seen", ":cursors", ":log"} {
			create(t, g, "c"+fmt.Sprint(len(key)), group.Channel, "ann")
			id := "c" + fmt.Sprint(len(key))
			setLimits(t, g, id, group.Limits{Away: time.Hour})
			full := g.db.Prefix() + ":chat:{" + id + "}" + key
			if err := g.db.Set(t.Context(), full, "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if err := g.Delete(t.Context(), id); err != nil {
				t.Errorf("%s: %v", full, err)
			}
		}
	})
}

func TestSendReportsForeignEntries(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		add := &redis.XAddArgs{Stream: g.db.Prefix() + ":chat:{c}:log", ID: "1-0", Values: []string{"a", "b"}}
		if err := g.db.XAdd(t.Context(), add).Err(); err != nil {
			t.Fatal(err)
		}
		send(t, g, "c", "ann", "own", 2)
		messages, err := g.Pending(t.Context(), "c", "ann", 0, 0)
		if err != nil || len(messages) == 0 {
			t.Errorf("a foreign entry was not reported: got %v, %v", messages, err)
		}
	})
}

func TestLostReplyOfSendIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	p, db := chattest.OpenLossy(t)
	g := newFixture(db)
	create(t, g, "c", group.Channel, "ann")
	send(t, g, "c", "bob", "one", 1)
	p.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := g.Send(t.Context(), "c", "bob", chat.Text("two")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	chattest.WantStrings(t, pending(t, g, "c", "ann"), "one", "two")
}

func TestLostAnswersOfOtherCallsDoNotShow(t *testing.T) {
	t.Parallel()
	p, db := chattest.OpenLossy(t)
	g, ctx := newFixture(db), t.Context()
	create(t, g, "warm", group.Channel, "ann") // the scripts are known from now on
	for _, warm := range []func() error{
		func() error { return g.SetLimits(ctx, "warm", group.Limits{Messages: 1}) },
		func() error { return g.Leave(ctx, "warm", "ann") },
	} {
		if err := warm(); err != nil {
			t.Fatal(err)
		}
	}
	for nth := range 4 {
		id := fmt.Sprint("chat", nth)
		for _, step := range []struct {
			name string
			call func() error
		}{
			{"create", func() error { _, err := g.Create(ctx, id, &group.CreateOptions{Members: []string{"ann"}}); return err }},
			{"join", func() error { return g.Join(ctx, id, "bob", group.FromOldest) }},
			{"limit", func() error { return g.SetLimits(ctx, id, group.Limits{Messages: 1}) }},
			{"ack", func() error { _, err := g.Ack(ctx, id, "bob", 0); return err }},
			{"pending in all", func() error { _, err := g.PendingAll(ctx, "bob", 0); return err }},
			{"unread", func() error { _, err := g.Unread(ctx, "bob"); return err }},
			{"leave", func() error { return g.Leave(ctx, id, "bob") }},
			{"last one leaves", func() error { return g.Leave(ctx, id, "ann") }},
		} {
			p.DropReply(nth)
			if err := step.call(); err != nil {
				t.Errorf("%s without answer %d: %v", step.name, nth, err)
			}
		}
		_, err := g.Info(ctx, id)
		chattest.WantErr(t, err, chat.ErrNoChat)
	}
}

func TestFetchWhoseAckWasLostLosesNothing(t *testing.T) {
	t.Parallel()
	p := redistest.StartProxy(t, redistest.URL(t))
	db, err := rdb.Open(t.Context(), p.URL, rdb.Options{Patience: time.Millisecond}) // nothing is tried again
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g := newFixture(db)
	create(t, g, "c", group.Channel, "ann")
	send(t, g, "c", "bob", "one", 1)
	if _, err := g.Fetch(t.Context(), "c", "ann", 0); err != nil { // the scripts are known from now on
		t.Fatal(err)
	}
	send(t, g, "c", "bob", "two", 2)
	p.DropReply(3) // after those of the cursor and the messages: that of Ack
	messages, err := g.Fetch(t.Context(), "c", "ann", 0)
	if err == nil {
		t.Fatal("the lost reply was not reported")
	}
	chattest.WantStrings(t, chattest.Bodies(messages), "two")
	chattest.WantStrings(t, pending(t, g, "c", "ann")) // Redis had acknowledged it
}

func TestFullRedisCanBeReadEmpty(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	g, ctx := newFixture(db), t.Context()
	chats := []string{"away", "unknown", "unlimited"}
	for _, id := range chats {
		create(t, g, id, group.Channel, "ann")
		if id != "unlimited" {
			setLimits(t, g, id, group.Limits{Bytes: 250_000, Away: time.Minute})
		}
		for i := range uint64(4) {
			send(t, g, id, "bob", strings.Repeat("x", 100_000), i+1)
		}
		away(t, g, id, "ann", time.Hour)
		if err := db.HDel(ctx, db.Prefix()+":chat:{"+id+"}", "first").Err(); err != nil { // as after an acknowledgement
			t.Fatal(err)
		}
	}
	// An earlier release did not record visits.
	if err := db.Del(ctx, db.Prefix()+":chat:{unknown}:seen").Err(); err != nil {
		t.Fatal(err)
	}
	if err := db.ConfigSet(ctx, "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	for _, id := range chats {
		for _, err := range []error{
			chattest.ErrorOf(g.Pending(ctx, id, "ann", 0, 0)),
			chattest.ErrorOf(g.PendingAll(ctx, "ann", 0)),
			chattest.ErrorOf(g.Ack(ctx, id, "ann", 4)),
		} {
			chattest.WantErr(t, err, nil)
		}
		if got := info(t, g, id); got.Kept != 0 || got.Members != 1 {
			t.Errorf("chat %s: got %+v", id, got)
		}
	}
}
