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

// lossyTalk gives a conversation that is reached through a proxy, and the
// same one that is not. The scripts are known to the server.
func lossyTalk(t *testing.T, config chat.ConversationConfig) (*redistest.Proxy, talk, talk) {
	t.Helper()
	url := redistest.URL(t)
	p := redistest.StartProxy(t, url)
	lossy, sure := talking(t, redistest.Open(t, p.URL), config), talking(t, redistest.Open(t, url), config)
	lossy.send("ann", "warm")
	lossy.read("bob", 0)
	lossy.ack("bob", 1)
	lossy.peek("bob", 0)
	lossy.history(chat.HistoryPage{})
	wantErr(t, lossy.Present(t.Context(), "bob", "ann", time.Hour), nil)
	return p, lossy, sure
}

func TestLostAnswerOfASendInAConversationIsTold(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, chat.ConversationConfig{})
	p.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := lossy.Send(t.Context(), "ann", "bob", chat.Text("two")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	wantPage(t, sure.read("bob", 0), 1, 2, "two")
}

func TestReadWhoseAnswerWasLostGivesTheSameMessages(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, chat.ConversationConfig{})
	sure.send("ann", "one", "two", "three")
	lost := p.DropReply(1)
	wantPage(t, lossy.read("bob", 2), 3, 4, "one", "two")
	<-lost
	wantPage(t, lossy.read("bob", 2), 1, 4, "three")
	wantPage(t, lossy.read("bob", 2), 0, 4)
}

// While the repeated read is on its way another reader of the same person reads
// on, and what was read is old enough to be dropped.
func TestReadIsRepeatedWhateverHappensMeanwhile(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, chat.ConversationConfig{Keep: 1})
	sure.send("ann", "one", "two", "three", "four")
	lost := p.DropReply(1)
	pages := make(chan chat.ConversationPage)
	go func() {
		page, err := lossy.Read(t.Context(), "bob", "ann", 2)
		if err != nil {
			t.Error(err)
		}
		pages <- page
	}()
	<-lost
	p.Hold() // most often before the repetition; the result must be the same
	for i := range 7 {
		wantPage(t, sure.read("bob", 1), uint64(max(2-i, 1)), uint64(5+max(i-1, 0)), []string{"three", "four", "more2", "more3", "more4", "more5", "more6"}[i])
		if i > 0 {
			sure.send("ann", fmt.Sprint("more", i+1))
		}
	}
	p.Release()
	wantStrings(t, bodies((<-pages).Messages), "one", "two")
}

func TestLostAnswersOfOtherCallsInAConversationDoNotShow(t *testing.T) {
	t.Parallel()
	p, lossy, sure := lossyTalk(t, chat.ConversationConfig{})
	sure.send("ann", "one", "two")
	ctx := t.Context()
	for _, step := range []struct {
		name string
		call func() error
	}{
		{"peek", func() error { return one(lossy.Peek(ctx, "bob", "ann", 0, 0)) }},
		{"ack", func() error { return one(lossy.Ack(ctx, "bob", "ann", 2)) }},
		{"history", func() error { return one(lossy.History(ctx, "bob", "ann", chat.HistoryPage{})) }},
		{"unread", func() error { return one(lossy.Unread(ctx, "bob")) }},
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
	p, lossy, sure := lossyTalk(t, chat.ConversationConfig{})
	sure.send("ann", "one", "two")
	lost := p.DropReply(1)
	pages := make(chan chat.ConversationPage)
	go func() {
		page, err := lossy.Read(t.Context(), "bob", "ann", 2)
		if err != nil {
			t.Error(err)
		}
		pages <- page
	}()
	<-lost
	p.Hold()
	for i := range 9 {
		sure.send("ann", fmt.Sprint("more", i))
		sure.read("bob", 1)
	}
	p.Release()
	wantStrings(t, bodies((<-pages).Messages), "one", "two")
}
