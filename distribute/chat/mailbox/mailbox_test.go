package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/mailbox"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is a client with its database.
type fixture struct {
	*mailbox.Client
	db *rdb.DB
}

func newFixture(db *rdb.DB) fixture { return fixture{mailbox.NewClient(handle.New(db)), db} }

// on runs tests with a fixture on several servers.
var on = chattest.On[fixture](func(_ *testing.T, db *rdb.DB) fixture { return newFixture(db) })

// mail sends a text of ann's that must get the id want.
func mail(t testing.TB, m fixture, box, body string, want uint64) {
	t.Helper()
	got, err := m.Send(t.Context(), box, "ann", chat.Text(body))
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("message %.20q got id %d, want %d", body, got, want)
	}
}

// mails sends n messages whose bodies are their ids.
func mails(t testing.TB, m fixture, box string, n uint64) {
	t.Helper()
	for id := range n {
		mail(t, m, box, fmt.Sprint(id+1), id+1)
	}
}

// unread returns the bodies of what is unread.
func unread(t testing.TB, m fixture, box string) []string {
	t.Helper()
	messages, err := m.Read(t.Context(), box, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return chattest.Bodies(messages)
}

func acked(t testing.TB, m fixture, box string, want int, ids ...uint64) {
	t.Helper()
	if n, err := m.Ack(t.Context(), box, ids...); n != want || err != nil {
		t.Fatalf("acknowledged %d (%v) of %d, want %d", n, err, ids, want)
	}
}

func boxInfo(t testing.TB, m fixture, box string) mailbox.Info {
	t.Helper()
	info, err := m.Info(t.Context(), box)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func limit(t testing.TB, m fixture, box string, limits mailbox.Limits) {
	t.Helper()
	if err := m.SetLimits(t.Context(), box, limits); err != nil {
		t.Fatal(err)
	}
}

// states returns the states of the messages 1, 2, 3….
func states(t testing.TB, m fixture, box string, n uint64) (list []mailbox.State) {
	t.Helper()
	for id := range n {
		state, err := m.Status(t.Context(), box, id+1)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, state)
	}
	return list
}

func wantStates(t testing.TB, got []mailbox.State, want ...mailbox.State) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestMailWaitsUntilItIsAcknowledged(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		chattest.WantStrings(t, unread(t, m, "bob"))
		mails(t, m, "bob", 3)
		// The reader crashes here: another Mailbox stands for its next start.
		m = newFixture(m.db)
		chattest.WantStrings(t, unread(t, m, "bob"), "1", "2", "3")
		acked(t, m, "bob", 1, 2)
		acked(t, m, "bob", 0, 2, 99) // read already, never sent
		chattest.WantStrings(t, unread(t, m, "bob"), "1", "3")
		acked(t, m, "bob", 2, 3, 1, 3)
		chattest.WantStrings(t, unread(t, m, "bob"))
		mail(t, m, "bob", "4", 4)
		chattest.WantStrings(t, unread(t, m, "bob"), "4")
	})
}

func TestMailCarriesTypeAndURL(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		want := chat.Content{Body: []byte("\x00\xff"), Type: chat.TypeImage, URL: "https://example.com/a.png"}
		id, err := m.Send(t.Context(), "bob", "ann", want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Read(t.Context(), "bob", id-1, 0)
		if err != nil || len(got) != 1 || got[0].Sender != "ann" || string(got[0].Body) != "\x00\xff" || got[0].Type != want.Type || got[0].URL != want.URL || got[0].Err != nil {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

func TestMailIsReadByPagesOfSmallAndBig(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		size := func(id uint64) int { return map[bool]int{true: 300 << 10, false: int(id)}[id%40 == 7] }
		for id := range uint64(100) {
			mail(t, m, "bob", strings.Repeat("x", size(id+1)), id+1)
		}
		next := uint64(1)
		for page := []chat.Message{{}}; len(page) > 0; {
			var err error
			if page, err = m.Read(t.Context(), "bob", next-1, 23); err != nil {
				t.Fatal(err)
			}
			for _, message := range page {
				if message.ID != next || len(message.Body) != size(next) || message.Err != nil {
					t.Fatalf("got %d bytes as message %d, want message %d", len(message.Body), message.ID, next)
				}
				next++
			}
		}
		if next != 101 {
			t.Fatalf("the pages end before %d", next)
		}
	})
}

func TestNewestComeInOrderHoweverBig(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		for id := range uint64(9) {
			mail(t, m, "bob", fmt.Sprint(id+1)+strings.Repeat("x", 400<<10), id+1)
		}
		acked(t, m, "bob", 1, 7)
		messages, err := m.Newest(t.Context(), "bob", 6)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, message := range messages {
			got = append(got, string(message.Body[:1]))
		}
		chattest.WantStrings(t, got, "3", "4", "5", "6", "8", "9")
	})
}

func TestTakeRemovesWhatItReturns(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		mails(t, m, "bob", 5)
		acked(t, m, "bob", 1, 2)
		for _, want := range [][]string{{"1", "3", "4"}, {"5"}, {}} {
			messages, err := m.Take(t.Context(), "bob", 3)
			if err != nil {
				t.Fatal(err)
			}
			chattest.WantStrings(t, chattest.Bodies(messages), want...)
		}
		wantStates(t, states(t, m, "bob", 2), mailbox.StateRead, mailbox.StateRead)
	})
}

func TestInfoHasTheBacklogOfTheReceiver(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		if got := boxInfo(t, m, "bob"); got.Unread+got.Last+got.Oldest != 0 || !got.Seen.IsZero() {
			t.Fatalf("an empty box has %+v", got)
		}
		chattest.WantStrings(t, unread(t, m, "bob")) // leaves no trace
		mails(t, m, "bob", 3)
		if got := boxInfo(t, m, "bob"); !got.Seen.IsZero() || got.Unread != 3 || got.Last != 3 || got.Oldest != 1 || got.Since.Year() < 2020 {
			t.Fatalf("before the visit: %+v", got)
		}
		acked(t, m, "bob", 1, 1)
		got := boxInfo(t, m, "bob")
		if got.Unread != 2 || got.Oldest != 2 || got.Seen.Before(got.Since) {
			t.Fatalf("after the visit: %+v", got)
		}
	})
}

func TestDeletedMailboxBeginsAgain(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		mail(t, m, "bob", strings.Repeat("x", 2000), 1)
		for range 2 {
			if err := m.Delete(t.Context(), "bob"); err != nil {
				t.Fatal(err)
			}
		}
		if got := boxInfo(t, m, "bob"); got.Unread != 0 || got.Bytes != 0 || got.Last != 0 {
			t.Fatalf("left over: %+v", got)
		}
		mail(t, m, "bob", "new", 1)
	})
}

func TestAcknowledgementForADeletedMailboxSparesTheNextOne(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		mails(t, m, "bob", 3)
		old, err := m.Read(t.Context(), "bob", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Delete(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		mails(t, m, "bob", 3)
		if n, err := m.AckMessages(t.Context(), "bob", old); n != 0 || err != nil {
			t.Errorf("acknowledged %d of the new mailbox, %v", n, err)
		}
		newest, err := m.Newest(t.Context(), "bob", 2)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := m.AckMessages(t.Context(), "bob", append(old, newest...)); n != 2 || err != nil {
			t.Errorf("acknowledged %d, %v; want the 2 of this mailbox", n, err)
		}
		if got := unread(t, m, "bob"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("unread are %q", got)
		}
	})
}

func TestPositionOfADeletedMailboxHidesNoMessage(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		mails(t, m, "bob", 3)
		if err := m.Delete(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		woken := make(chan error, 1)
		go func() { woken <- m.Wait(t.Context(), "bob", 3) }()
		mail(t, m, "bob", "new", 1)
		if err := <-woken; err != nil {
			t.Fatal(err)
		}
		messages, err := m.Read(t.Context(), "bob", 3, 0)
		if got := chattest.Bodies(messages); err != nil || !slices.Equal(got, []string{"new"}) {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

func TestBadArgumentsForAMailboxAreNamed(t *testing.T) {
	t.Parallel()
	m, ctx := newFixture(redistest.DB(t)), t.Context()
	limits := func(l mailbox.Limits) error { return m.SetLimits(ctx, "bob", l) }
	for _, c := range []struct {
		name  string
		got   error
		field string
	}{
		{"empty box", chattest.ErrorOf(m.Send(ctx, "", "ann", chat.Text("x"))), "box"},
		{"braces", chattest.ErrorOf(m.Read(ctx, "a{b}", 0, 0)), "box"},
		{"long box", m.Delete(ctx, strings.Repeat("x", chat.MaxName+1)), "box"},
		{"control character", chattest.ErrorOf(m.Take(ctx, "a\nb", 0)), "box"},
		{"empty sender", chattest.ErrorOf(m.Send(ctx, "bob", "", chat.Text("x"))), "sender"},
		{"long body", chattest.ErrorOf(m.Send(ctx, "bob", "ann", chat.Content{Body: make([]byte, chat.MaxBody+1)})), "body"},
		{"image without a URL", chattest.ErrorOf(m.Send(ctx, "bob", "ann", chat.Content{Type: chat.TypeImage})), "type"},
		{"messages below zero", limits(mailbox.Limits{Messages: -1}), "messages"},
		{"less than a message", limits(mailbox.Limits{Bytes: 1000}), "bytes"},
		{"unknown policy", limits(mailbox.Limits{Full: "explode"}), "full"},
		{"idle for nothing", limits(mailbox.Limits{Idle: time.Microsecond}), "idle"},
		{"keep less than none", m.Keep(ctx, "bob", -1), "n"},
	} {
		var invalid *chat.InvalidError
		if !errors.As(c.got, &invalid) || invalid.Field != c.field {
			t.Errorf("%s: got %v, want an InvalidError for %s", c.name, c.got, c.field)
		}
	}
}

func TestWaitForMailIsWokenBySend(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, m fixture) {
		for id := range uint64(2) { // the first makes the box
			if err := chattest.Woken(t, m.db, func() error { return m.Wait(t.Context(), "bob", 0) }, func() { mail(t, m, "bob", "x", id+1) }); err != nil {
				t.Fatal(err)
			}
			acked(t, m, "bob", 1, id+1)
		}
		if got := boxInfo(t, m, "bob"); got.Seen.IsZero() {
			t.Fatal("waiting was not recorded as a visit")
		}
	})
}

func TestWaitForMailPassesOverWhatLiesBeforeItsMark(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, m fixture) {
		mails(t, m, "bob", 3)
		if err := m.Wait(t.Context(), "bob", 2); err != nil {
			t.Fatal(err)
		}
		if err := chattest.Woken(t, m.db, func() error { return m.Wait(t.Context(), "bob", 3) }, func() { mail(t, m, "bob", "4", 4) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitForMailEndsWithItsContext(t *testing.T) {
	on.OwnServer(t, func(t *testing.T, m fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		if err := chattest.Woken(t, m.db, func() error { return m.Wait(ctx, "bob", 0) }, cancel); !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v", err)
		}
	})
}

// sendMany sends at the same time, each sender its messages one after the other.
func sendMany(t *testing.T, m fixture, senders, each int) {
	var group sync.WaitGroup
	for i := range senders {
		group.Go(func() {
			for n := range each {
				if _, err := m.Send(t.Context(), "bob", fmt.Sprint("sender", i), chat.Text(fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestReaderOfManySendersSeesEachMessageOnceInOrder(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		const senders, each = 5, 100
		var group sync.WaitGroup
		group.Go(func() { sendMany(t, m, senders, each) })
		sent := map[string]int{}
		for next := uint64(1); next <= senders*each; {
			if err := m.Wait(t.Context(), "bob", 0); err != nil {
				t.Fatal(err)
			}
			messages, err := m.Read(t.Context(), "bob", 0, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range messages {
				if want := fmt.Sprint(sent[message.Sender]); message.ID != next || string(message.Body) != want {
					t.Fatalf("got %d %q of %s, want %d %q", message.ID, message.Body, message.Sender, next, want)
				}
				sent[message.Sender]++
				acked(t, m, "bob", 1, next)
				next++
			}
		}
		group.Wait()
		if got := boxInfo(t, m, "bob"); got.Unread != 0 || got.Last != senders*each {
			t.Errorf("at the end: %+v", got)
		}
	})
}
