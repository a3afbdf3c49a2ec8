package chat_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A talk is the conversation of ann and bob, whose calls must succeed.
type talk struct {
	*chat.Conversation
	t  testing.TB
	db *rdb.DB
}

func talking(t testing.TB, db *rdb.DB, config chat.ConversationConfig) talk {
	return talk{chat.NewConversation(db, config), t, db}
}

// peer is the other of the two.
func peer(name string) string {
	if name == "ann" {
		return "bob"
	}
	return "ann"
}

func (k talk) send(from string, texts ...string) (last chat.Sent) {
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

func (k talk) read(me string, limit int) chat.ConversationPage {
	k.t.Helper()
	page, err := k.Read(k.t.Context(), me, peer(me), limit)
	if err != nil {
		k.t.Fatal(err)
	}
	return page
}

func (k talk) peek(me string, after uint64) chat.ConversationPage {
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

func (k talk) history(which chat.HistoryPage) []string {
	k.t.Helper()
	page, err := k.History(k.t.Context(), "ann", "bob", which)
	if err != nil {
		k.t.Fatal(err)
	}
	return bodies(page.Messages)
}

// unread is how much waits for somebody.
func (k talk) unread(me string) uint64 {
	k.t.Helper()
	return k.peek(me, 0).Unread
}

func wantPage(t testing.TB, page chat.ConversationPage, unread, total uint64, texts ...string) {
	t.Helper()
	if page.Unread != unread || page.Total != total || !slices.Equal(bodies(page.Messages), append([]string{}, texts...)) {
		t.Fatalf("got %d unread of %d, %q; want %d of %d, %q", page.Unread, page.Total, bodies(page.Messages), unread, total, texts)
	}
}

func TestReadGivesWhatIsUnreadOnceWithItsNumberAndTheTotal(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
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
		c, ctx := chat.NewConversation(db, chat.ConversationConfig{}), t.Context()
		for i, from := range []string{"zoë/%", "a b", "zoë/%"} {
			to := []string{"a b", "zoë/%"}[i%2]
			if sent, err := c.Send(ctx, from, to, chat.Text("x")); err != nil || sent.ID != uint64(i+1) {
				t.Fatalf("got %+v, %v", sent, err)
			}
		}
		for me, them := range map[string]string{"zoë/%": "a b", "a b": "zoë/%"} {
			if page, err := c.History(ctx, me, them, chat.HistoryPage{}); err != nil || len(page.Messages) != 3 {
				t.Errorf("%s has %+v, %v", me, page, err)
			}
		}
	})
}

func TestPeopleWhoNeverWroteHaveAnEmptyConversation(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		wantPage(t, k.read("ann", 0), 0, 0)
		wantPage(t, k.peek("bob", 0), 0, 0)
		wantStrings(t, k.history(chat.HistoryPage{}))
		k.ack("ann", 0)
		if err := k.Delete(t.Context(), "ann", "bob"); err != nil {
			t.Error(err)
		}
		if until, err := k.PresentUntil(t.Context(), "ann", "bob"); err != nil || !until.IsZero() {
			t.Errorf("present until %v, %v", until, err)
		}
		if all, err := k.Unread(t.Context(), "ann"); err != nil || len(all) != 0 {
			t.Errorf("got %+v, %v", all, err)
		}
	})
}

func TestReaderThatCrashesBeforeItsAcknowledgementLosesNothing(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one", "two", "three")
		wantPage(t, k.peek("bob", 0), 3, 3, "one", "two", "three")
		wantPage(t, k.peek("bob", 2), 3, 3, "three")
		k.ack("bob", 2)
		wantPage(t, k.peek("bob", 0), 1, 3, "three")
	})
}

func TestAcknowledgingAnywhereCountsOnlyMessagesOfThePeer(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "1")
		k.send("bob", "2", "3") // bob has not read 1: his cursor stays
		k.send("ann", "4")
		k.send("bob", "5")
		for _, step := range []struct{ upTo, unread uint64 }{{0, 2}, {1, 1}, {2, 1}, {3, 1}, {4, 0}, {5, 0}, {2, 0}} {
			if step.upTo < 5 || step.unread > 0 {
				_, err := k.Ack(t.Context(), "bob", "ann", step.upTo)
				wantErr(t, err, nil)
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
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		big := strings.Repeat("x", chat.MaxText)
		for range 9 {
			k.send("ann", big, "small")
		}
		var got []string
		for page := k.read("bob", 0); len(page.Messages) > 0; page = k.read("bob", 0) {
			if len(page.Messages) > 3 {
				t.Errorf("a page has %d messages", len(page.Messages))
			}
			got = append(got, bodies(page.Messages)...)
		}
		if len(got) != 18 {
			t.Errorf("got %d messages", len(got))
		}
	})
}

func TestHistoryIsReadFromEitherEndAndChangesNothing(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		for i := range 4 {
			k.send([]string{"ann", "bob"}[i%2], fmt.Sprint(2*i+1), fmt.Sprint(2*i+2))
		}
		for name, c := range map[string]struct {
			page chat.HistoryPage
			want string
		}{
			"newest":                   {chat.HistoryPage{Limit: 3}, "6 7 8"},
			"before":                   {chat.HistoryPage{Before: 6, Limit: 3}, "3 4 5"},
			"before the first":         {chat.HistoryPage{Before: 1, Limit: 3}, ""},
			"oldest":                   {chat.HistoryPage{Oldest: true, Limit: 3}, "1 2 3"},
			"after":                    {chat.HistoryPage{After: 3, Limit: 3}, "4 5 6"},
			"after the last":           {chat.HistoryPage{After: 8, Limit: 3}, ""},
			"between":                  {chat.HistoryPage{After: 3, Before: 5}, "4"},
			"before what never was":    {chat.HistoryPage{Before: 1<<64 - 1, Limit: 1}, "8"},
			"after what never was":     {chat.HistoryPage{After: 1<<64 - 1, Limit: 1}, ""},
			"all, without saying more": {chat.HistoryPage{}, "1 2 3 4 5 6 7 8"},
		} {
			if got := strings.Join(k.history(c.page), " "); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
		page, err := k.History(t.Context(), "bob", "ann", chat.HistoryPage{Limit: 1})
		if err != nil || page.Unread != 4 || page.Total != 8 {
			t.Errorf("got %+v, %v", page, err)
		}
	})
}

func TestDeletedConversationBeginsAnewAndItsIdsGoOn(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "old")
		wantErr(t, k.Delete(t.Context(), "bob", "ann"), nil)
		wantPage(t, k.read("bob", 0), 0, 0)
		if sent := k.send("bob", "new"); sent.ID != 2 {
			t.Errorf("got %+v", sent)
		}
		k.ack("ann", 1) // by somebody who still holds the old message
		wantPage(t, k.read("ann", 0), 1, 1, "new")
	})
}

func TestPeekGoesOnAfterTheConversationBeganAnew(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{})
		k.send("ann", "one", "two", "three")
		wantErr(t, k.Delete(t.Context(), "ann", "bob"), nil)
		k.send("ann", "new")
		wantPage(t, k.peek("bob", 3), 1, 1, "new")
	})
}
