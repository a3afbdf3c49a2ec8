package conversation_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A talk is the conversation of ann and bob, whose calls must succeed.
type talk struct {
	*conversation.Client
	t  testing.TB
	db *rdb.DB
}

func talking(t testing.TB, db *rdb.DB, config conversation.Config) talk {
	return talk{conversation.NewClient(handle.New(db), &config), t, db}
}

// on runs tests with a talk on several servers.
var on = chattest.On[talk](func(t *testing.T, db *rdb.DB) talk { return talking(t, db, conversation.Config{}) })

// peer is the other of the two.
func peer(name string) string {
	if name == "ann" {
		return "bob"
	}
	return "ann"
}

func (k talk) send(from string, texts ...string) (last conversation.Sent) {
	k.t.Helper()
	for _, text := range texts {
		sent, err := k.Send(k.t.Context(), from, peer(from), chat.Text(text))
		if err != nil {
			k.t.Fatal(err)
		}
		last = sent
	}
	return last
}

func (k talk) read(me string, limit int) conversation.Page {
	k.t.Helper()
	page, err := k.Read(k.t.Context(), me, peer(me), limit)
	if err != nil {
		k.t.Fatal(err)
	}
	return page
}

func (k talk) peek(me string, after uint64) conversation.Page {
	k.t.Helper()
	page, err := k.Peek(k.t.Context(), me, peer(me), after, 0)
	if err != nil {
		k.t.Fatal(err)
	}
	return page
}

func (k talk) ack(me string, upTo uint64) {
	k.t.Helper()
	if cursor, err := k.Ack(k.t.Context(), me, peer(me), upTo); err != nil || cursor < upTo {
		k.t.Fatalf("the cursor is %d, %v", cursor, err)
	}
}

func (k talk) history(which conversation.HistoryOptions) []string {
	k.t.Helper()
	page, err := k.History(k.t.Context(), "ann", "bob", &which)
	if err != nil {
		k.t.Fatal(err)
	}
	return chattest.Bodies(page.Messages)
}

// unread returns the number of a person's unread messages.
func (k talk) unread(me string) uint64 {
	k.t.Helper()
	return k.peek(me, 0).Unread
}

func wantPage(t testing.TB, page conversation.Page, unread, total uint64, texts ...string) {
	t.Helper()
	if page.Unread != unread || page.Total != total || !slices.Equal(chattest.Bodies(page.Messages), append([]string{}, texts...)) {
		t.Fatalf("got %d unread of %d, %q; want %d of %d, %q", page.Unread, page.Total, chattest.Bodies(page.Messages), unread, total, texts)
	}
}

func TestReadReturnsUnreadMessagesOnceWithTheirNumberAndTheTotal(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one")
		k.send("bob", "two")
		if sent := k.send("ann", "three"); sent.ID != 3 || !sent.Notify {
			t.Errorf("got %+v", sent)
		}
		page := k.read("bob", 1)
		wantPage(t, page, 2, 3, "one")
		if m := page.Messages[0]; m.ID != 1 || m.Sender != "ann" || m.Err != nil || m.Time.Year() < 2020 {
			t.Errorf("got %+v", m)
		}
		wantPage(t, k.read("bob", 0), 1, 3, "three")
		wantPage(t, k.read("bob", 0), 0, 3)
		wantPage(t, k.read("ann", 0), 1, 3, "two")
		wantPage(t, k.read("ann", 0), 0, 3)
	})
}

func TestBothOrdersOfAPairAreOneConversation(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		c, ctx := conversation.NewClient(handle.New(db), nil), t.Context()
		for i, from := range []string{"zoë/%", "a b", "zoë/%"} {
			to := []string{"a b", "zoë/%"}[i%2]
			if sent, err := c.Send(ctx, from, to, chat.Text("x")); err != nil || sent.ID != uint64(i+1) {
				t.Fatalf("got %+v, %v", sent, err)
			}
		}
		for me, them := range map[string]string{"zoë/%": "a b", "a b": "zoë/%"} {
			if page, err := c.History(ctx, me, them, nil); err != nil || len(page.Messages) != 3 {
				t.Errorf("%s has %+v, %v", me, page, err)
			}
		}
	})
}

func TestPeopleWhoNeverWroteHaveAnEmptyConversation(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		wantPage(t, k.read("ann", 0), 0, 0)
		wantPage(t, k.peek("bob", 0), 0, 0)
		chattest.WantStrings(t, k.history(conversation.HistoryOptions{}))
		k.ack("ann", 0)
		if err := k.Delete(t.Context(), "ann", "bob"); err != nil {
			t.Error(err)
		}
		if all, err := k.Unread(t.Context(), "ann"); err != nil || len(all) != 0 {
			t.Errorf("got %+v, %v", all, err)
		}
	})
}

func TestReaderThatCrashesBeforeItsAcknowledgementLosesNothing(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one", "two", "three")
		wantPage(t, k.peek("bob", 0), 3, 3, "one", "two", "three")
		wantPage(t, k.peek("bob", 2), 3, 3, "three")
		k.ack("bob", 2)
		wantPage(t, k.peek("bob", 0), 1, 3, "three")
	})
}

func TestAcknowledgingAnywhereCountsOnlyMessagesOfThePeer(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "1")
		k.send("bob", "2", "3") // bob has not read 1: his cursor stays
		k.send("ann", "4")
		k.send("bob", "5")
		for _, step := range []struct{ upTo, unread uint64 }{{0, 2}, {1, 1}, {2, 1}, {3, 1}, {4, 0}, {5, 0}, {2, 0}} {
			if step.upTo < 5 || step.unread > 0 {
				_, err := k.Ack(t.Context(), "bob", "ann", step.upTo)
				chattest.WantErr(t, err, nil)
			}
			if got := k.unread("bob"); got != step.unread {
				t.Errorf("after acknowledging %d: %d unread, want %d", step.upTo, got, step.unread)
			}
		}
		for _, upTo := range []uint64{6, 1 << 53, 1<<64 - 1} {
			var invalid *chat.InvalidError
			if _, err := k.Ack(t.Context(), "bob", "ann", upTo); !errors.As(err, &invalid) || invalid.Field != "upTo" {
				t.Errorf("ack %d: got error %v", upTo, err)
			}
		}
	})
}

func TestManyOwnMessagesDoNotHideAnUnreadOne(t *testing.T) {
	on.Backends(t, func(t *testing.T, k talk) {
		k.send("bob", "first")
		for range 1100 { // more than two steps
			k.send("ann", "x")
		}
		k.send("bob", "last")
		wantPage(t, k.read("ann", 1), 2, 1102, "first")
		wantPage(t, k.peek("ann", 0), 1, 1102, "last")
		wantPage(t, k.read("ann", 0), 1, 1102, "last")
		wantPage(t, k.read("ann", 0), 0, 1102)
	})
}

func TestPagesOfBigMessagesAreShorterAndMissNothing(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		big := strings.Repeat("x", chat.MaxText)
		for range 9 {
			k.send("ann", big, "small")
		}
		var got []string
		for page := k.read("bob", 0); len(page.Messages) > 0; page = k.read("bob", 0) {
			if len(page.Messages) > 3 {
				t.Errorf("a page has %d messages", len(page.Messages))
			}
			got = append(got, chattest.Bodies(page.Messages)...)
		}
		if len(got) != 18 {
			t.Errorf("got %d messages", len(got))
		}
	})
}

func TestHistoryIsReadFromEitherEndAndChangesNothing(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		for i := range 4 {
			k.send([]string{"ann", "bob"}[i%2], fmt.Sprint(2*i+1), fmt.Sprint(2*i+2))
		}
		for name, c := range map[string]struct {
			page conversation.HistoryOptions
			want string
		}{
			"newest":                   {conversation.HistoryOptions{Limit: 3}, "6 7 8"},
			"before":                   {conversation.HistoryOptions{Before: 6, Limit: 3}, "3 4 5"},
			"before the first":         {conversation.HistoryOptions{Before: 1, Limit: 3}, ""},
			"oldest":                   {conversation.HistoryOptions{Oldest: true, Limit: 3}, "1 2 3"},
			"after":                    {conversation.HistoryOptions{After: 3, Limit: 3}, "4 5 6"},
			"after the last":           {conversation.HistoryOptions{After: 8, Limit: 3}, ""},
			"between":                  {conversation.HistoryOptions{After: 3, Before: 5}, "4"},
			"before what never was":    {conversation.HistoryOptions{Before: 1<<64 - 1, Limit: 1}, "8"},
			"after what never was":     {conversation.HistoryOptions{After: 1<<64 - 1, Limit: 1}, ""},
			"all, without saying more": {conversation.HistoryOptions{}, "1 2 3 4 5 6 7 8"},
		} {
			if got := strings.Join(k.history(c.page), " "); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
		page, err := k.History(t.Context(), "bob", "ann", &conversation.HistoryOptions{Limit: 1})
		if err != nil || page.Unread != 4 || page.Total != 8 {
			t.Errorf("got %+v, %v", page, err)
		}
	})
}

func TestDeletedConversationBeginsAnewAndItsIdsGoOn(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "old")
		chattest.WantErr(t, k.Delete(t.Context(), "bob", "ann"), nil)
		wantPage(t, k.read("bob", 0), 0, 0)
		if sent := k.send("bob", "new"); sent.ID != 2 {
			t.Errorf("got %+v", sent)
		}
		k.ack("ann", 1) // with the id of a deleted message
		wantPage(t, k.read("ann", 0), 1, 1, "new")
	})
}

func TestPresenceDoesNotShortenTheMemoryOfADeletedConversation(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one", "two", "three")
		chattest.WantErr(t, k.Delete(t.Context(), "ann", "bob"), nil)
		chattest.WantErr(t, k.Present(t.Context(), "bob", "ann", 50*time.Millisecond), nil)
		if left := k.db.PTTL(t.Context(), k.db.Prefix()+":dm:{ann/bob}").Val(); left < time.Hour {
			t.Errorf("the last id is forgotten in %v", left)
		}
		chattest.WantErr(t, k.Present(t.Context(), "bob", "ann", 48*time.Hour), nil)
		if left := k.db.PTTL(t.Context(), k.db.Prefix()+":dm:{ann/bob}").Val(); left < 47*time.Hour {
			t.Errorf("the presence ends in %v", left)
		}
	})
}

func TestPeekGoesOnAfterTheConversationBeganAnew(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, k talk) {
		k.send("ann", "one", "two", "three")
		chattest.WantErr(t, k.Delete(t.Context(), "ann", "bob"), nil)
		k.send("ann", "new")
		wantPage(t, k.peek("bob", 3), 1, 1, "new")
	})
}

func TestOldMessagesAreDroppedOnlyWhenBothHaveReadThem(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, conversation.Config{Keep: 3})
		k.send("ann", "1", "2", "3", "4", "5")
		chattest.WantStrings(t, k.history(conversation.HistoryOptions{}), "1", "2", "3", "4", "5")
		k.ack("bob", 4)
		k.send("bob", "6") // 5 is unread, and 4 beyond the three is not
		chattest.WantStrings(t, k.history(conversation.HistoryOptions{}), "4", "5", "6")
		k.ack("bob", 5)
		k.send("bob", "7")
		chattest.WantStrings(t, k.history(conversation.HistoryOptions{}), "5", "6", "7")
		wantPage(t, k.read("ann", 0), 2, 7, "6", "7")
	})
}

func TestErrorOfAFullConversationNamesThePersonThatHasToRead(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k, ctx := talking(t, db, conversation.Config{Keep: 2, MaxUnread: 3}), t.Context()
		refused := func(waiting string) {
			t.Helper()
			_, err := k.Send(ctx, "ann", "bob", chat.Text("too much"))
			if chattest.WantErr(t, err, chat.ErrFull); !strings.Contains(err.Error(), waiting) {
				t.Errorf("got %v, want one with %q", err, waiting)
			}
		}
		k.send("bob", "thanks")
		k.send("ann", "1", "2", "3")
		refused(`wait for "bob"`)
		k.read("bob", 0)
		k.send("ann", "4")
		k.read("bob", 0)
		refused(`"ann" has not read`) // nothing can be dropped behind what she did not read
		k.read("ann", 0)
		k.send("ann", "5")
	})
}

func TestConversationArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	c, ctx := conversation.NewClient(handle.New(db), nil), t.Context()
	long := strings.Repeat("x", chat.MaxName+1)
	for name, call := range map[string]struct {
		got   error
		field string
	}{
		"with oneself":   {chattest.ErrorOf(c.Send(ctx, "ann", "ann", chat.Text("x"))), "to"},
		"empty sender":   {chattest.ErrorOf(c.Send(ctx, "", "bob", chat.Text("x"))), "from"},
		"long receiver":  {chattest.ErrorOf(c.Send(ctx, "ann", long, chat.Text("x"))), "to"},
		"long body":      {chattest.ErrorOf(c.Send(ctx, "ann", "bob", chat.Content{Body: make([]byte, chat.MaxText+1)})), "body"},
		"image, no URL":  {chattest.ErrorOf(c.Send(ctx, "ann", "bob", chat.Content{Type: chat.TypeImage})), "type"},
		"read oneself":   {chattest.ErrorOf(c.Read(ctx, "ann", "ann", 0)), "peer"},
		"peek, brace":    {chattest.ErrorOf(c.Peek(ctx, "a{b", "bob", 0, 0)), "person"},
		"ack, newline":   {chattest.ErrorOf(c.Ack(ctx, "ann", "b\nb", 0)), "peer"},
		"history, UTF-8": {chattest.ErrorOf(c.History(ctx, "ann", "b\xff", nil)), "peer"},
		"unread, empty":  {chattest.ErrorOf(c.Unread(ctx, "")), "person"},
		"wait, empty":    {c.Wait(ctx, ""), "person"},
		"wait oneself":   {c.WaitFrom(ctx, "ann", "ann", 0), "peer"},
		"present, empty": {c.Present(ctx, "ann", "", time.Second), "peer"},
		"delete, empty":  {c.Delete(ctx, "ann", ""), "peer"},
	} {
		var invalid *chat.InvalidError
		if !errors.As(call.got, &invalid) || invalid.Field != call.field {
			t.Errorf("%s: got %v, want an InvalidError for %s", name, call.got, call.field)
		}
	}
	if keys := db.Keys(ctx, "*").Val(); len(keys) > 0 {
		t.Errorf("something was written: %q", keys)
	}
}

func TestEmptyMessageIsRefusedByAConversation(t *testing.T) {
	t.Parallel()
	k := talking(t, redistest.DB(t), conversation.Config{})
	var invalid *chat.InvalidError
	if _, err := k.Send(t.Context(), "ann", "bob", chat.Content{}); !errors.As(err, &invalid) || invalid.Field != "body" {
		t.Errorf("got error %v", err)
	}
}
