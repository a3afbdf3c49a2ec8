package chat_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// losing gives a database that is reached through a proxy, which can lose
// replies.
func losing(t *testing.T) (*redistest.Proxy, *rdb.DB) {
	t.Helper()
	p := redistest.StartProxy(t, redistest.URL(t))
	return p, redistest.Open(t, p.URL)
}

func TestLostAnswerOfSendIsTold(t *testing.T) {
	t.Parallel()
	p, db := losing(t)
	g := chat.NewGroup(db)
	create(t, g, "c", chat.Channel, "ann")
	send(t, g, "c", "bob", "one", 1)
	p.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := g.Send(t.Context(), "c", "bob", chat.Text("two")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	wantStrings(t, pending(t, g, "c", "ann"), "one", "two")
}

func TestLostAnswersOfOtherCallsDoNotShow(t *testing.T) {
	t.Parallel()
	p, db := losing(t)
	g, ctx := chat.NewGroup(db), t.Context()
	create(t, g, "warm", chat.Channel, "ann") // the scripts are known from now on
	for _, warm := range []func() error{
		func() error { return g.SetLimits(ctx, "warm", chat.Limits{Messages: 1}) },
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
			{"create", func() error { _, err := g.Create(ctx, id, chat.CreateOptions{Members: []string{"ann"}}); return err }},
			{"join", func() error { return g.Join(ctx, id, "bob", chat.FromOldest) }},
			{"limit", func() error { return g.SetLimits(ctx, id, chat.Limits{Messages: 1}) }},
			{"ack", func() error { _, err := g.Ack(ctx, id, "bob", 0); return err }},
			{"pending in all", func() error { _, err := g.PendingAll(ctx, "bob", 0); return err }},
			{"unread", func() error { _, err := g.Unread(ctx, "bob"); return err }},
			{"drop", func() error { return g.Drop(ctx, id, "bob") }},
			{"last one leaves", func() error { return g.Leave(ctx, id, "ann") }},
		} {
			p.DropReply(nth)
			if err := step.call(); err != nil {
				t.Errorf("%s without answer %d: %v", step.name, nth, err)
			}
		}
		_, err := g.Info(ctx, id)
		wantErr(t, err, chat.ErrNoChat)
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
	g := chat.NewGroup(db)
	create(t, g, "c", chat.Channel, "ann")
	send(t, g, "c", "bob", "one", 1)
	if _, err := g.Fetch(t.Context(), "c", "ann", 0); err != nil { // the scripts are known from now on
		t.Fatal(err)
	}
	send(t, g, "c", "bob", "two", 2)
	p.DropReply(3) // after those of the cursor and the messages: that of Ack
	messages, err := g.Fetch(t.Context(), "c", "ann", 0)
	if err == nil {
		t.Fatal("the lost answer was not told")
	}
	wantStrings(t, bodies(messages), "two")
	wantStrings(t, pending(t, g, "c", "ann")) // Redis had acknowledged it
}
