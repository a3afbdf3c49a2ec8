package group_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is a client with its database.
type fixture struct {
	*group.Client
	db *rdb.DB
}

func newFixture(db *rdb.DB) fixture { return fixture{group.NewClient(handle.New(db)), db} }

// on runs tests with a fixture on several servers.
var on = chattest.On[fixture](func(_ *testing.T, db *rdb.DB) fixture { return newFixture(db) })

// create makes a chat, or ends the test.
func create(t testing.TB, g fixture, id string, kind group.Kind, members ...string) {
	t.Helper()
	if _, err := g.Create(t.Context(), id, &group.CreateOptions{Kind: kind, Members: members}); err != nil {
		t.Fatal(err)
	}
}

// send sends a message that must get the id want.
func send(t testing.TB, g fixture, id, sender, body string, want uint64) {
	t.Helper()
	got, err := g.Send(t.Context(), id, sender, chat.Text(body))
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("message %q got id %d, want %d", body, got, want)
	}
}

func TestNamesOfLogChannelsAreReserved(t *testing.T) {
	on.Backends(t, func(t *testing.T, g fixture) {
		ctx, owner := t.Context(), g.Reserved()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := owner.Create(ctx, "logs:web", &group.CreateOptions{Kind: group.Channel, Members: []string{"logs:ann"}}); err != nil {
			t.Fatal(err)
		}
		create(t, g, "lunch", group.People, "ann")
		for name, err := range map[string]error{
			"create":             chattest.ErrorOf(g.Create(ctx, "logs:api", nil)),
			"create with member": chattest.ErrorOf(g.Create(ctx, "", &group.CreateOptions{Members: []string{"logs:ann"}})),
			"join as":            g.Join(ctx, "lunch", "logs:ann", group.FromNow),
			"join":               g.Join(ctx, "logs:web", "ann", group.FromNow),
			"send":               chattest.ErrorOf(g.Send(ctx, "logs:web", "ann", chat.Text("x"))),
			"send as":            chattest.ErrorOf(g.Send(ctx, "lunch", "logs:ann", chat.Text("x"))),
			"read":               chattest.ErrorOf(g.Pending(ctx, "logs:web", "ann", 0, 0)),
			"read all as":        chattest.ErrorOf(g.PendingAll(ctx, "logs:ann", 0)),
			"ack as":             chattest.ErrorOf(g.Ack(ctx, "lunch", "logs:ann", 1)),
			"wait as":            g.Wait(ended, "logs:ann"), // it would wait with another context if it did not refuse
			"leave":              g.Leave(ctx, "logs:web", "logs:ann"),
			"limit":              g.SetLimits(ctx, "logs:web", group.Limits{}),
			"delete":             g.Delete(ctx, "logs:web"),
		} {
			var invalid *chat.InvalidError
			if !errors.As(err, &invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := owner.Send(ctx, "logs:web", "shipper", chat.Text("file")); err != nil {
			t.Fatal(err)
		}
		if messages, err := owner.Fetch(ctx, "logs:web", "logs:ann", 0); err != nil || len(messages) != 1 {
			t.Errorf("its owner reads %v, %v", messages, err)
		}
		if err := owner.Leave(ctx, "logs:web", "logs:ann"); err != nil {
			t.Fatal(err)
		}
		if keys := g.db.Keys(ctx, "*logs:ann*").Val(); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
	})
}

// pending returns the bodies of what is pending for a member.
func pending(t testing.TB, g fixture, id, member string) []string {
	t.Helper()
	messages, err := g.Pending(t.Context(), id, member, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return chattest.Bodies(messages)
}

func ack(t testing.TB, g fixture, id, member string, upTo, want uint64) {
	t.Helper()
	cursor, err := g.Ack(t.Context(), id, member, upTo)
	if err != nil {
		t.Fatal(err)
	}
	if cursor != want {
		t.Fatalf("%s's cursor is %d, want %d", member, cursor, want)
	}
}

func info(t testing.TB, g fixture, id string) group.Info {
	t.Helper()
	got, err := g.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantNothingLeft fails the test if there is any key of this chat.
func wantNothingLeft(t testing.TB, g fixture, id string) {
	t.Helper()
	tag := g.db.Prefix() + ":chat:{" + id + "}"
	if n := g.db.Exists(t.Context(), tag, tag+":log", tag+":cursors", tag+":seen").Val(); n > 0 {
		t.Fatalf("%d keys of chat %s are left", n, id)
	}
}

func TestMessageStaysPendingUntilAcknowledged(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "one", 1)
		send(t, g, "c", "ann", "two", 2)
		chattest.WantStrings(t, pending(t, g, "c", "bob"), "one", "two")
		// The reader crashes here: another Group stands for its next start.
		g = newFixture(g.db)
		chattest.WantStrings(t, pending(t, g, "c", "bob"), "one", "two")
		ack(t, g, "c", "bob", 1, 1)
		chattest.WantStrings(t, pending(t, g, "c", "bob"), "two")
	})
}

func TestSenderHasReadItsOwnMessageOnlyIfNothingIsUnread(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "hello", 1)
		chattest.WantStrings(t, pending(t, g, "c", "ann"))
		send(t, g, "c", "bob", "too", 2)
		chattest.WantStrings(t, pending(t, g, "c", "bob"), "hello", "too")
	})
}

func TestWhatAllHaveDealtWithIsDeleted(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann", "bob")
		for i := range uint64(1203) { // more than two steps of cleaning
			send(t, g, "c", "uploader", "x", i+1)
		}
		ack(t, g, "c", "ann", 1203, 1203)
		if got := info(t, g, "c"); got.Kept != 1203 || got.Oldest != 1 {
			t.Fatalf("cleaned before bob was there: %+v", got)
		}
		ack(t, g, "c", "bob", 1202, 1202)
		if got := info(t, g, "c"); got.Kept != 1 || got.Oldest != 1203 || got.Last != 1203 {
			t.Fatalf("not cleaned: %+v", got)
		}
		ack(t, g, "c", "bob", 1203, 1203)
		if got := info(t, g, "c"); got.Kept != 0 || got.Oldest != 0 || got.Last != 1203 {
			t.Fatalf("not cleaned: %+v", got)
		}
		send(t, g, "c", "uploader", "next", 1204)
	})
}

func TestLeavingOfTheSlowestCleans(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "fast", "slow")
		for i := range uint64(777) {
			send(t, g, "c", "uploader", "x", i+1)
		}
		ack(t, g, "c", "fast", 777, 777)
		if err := g.Leave(t.Context(), "c", "slow"); err != nil {
			t.Fatal(err)
		}
		if got := info(t, g, "c"); got.Kept != 0 || got.Members != 1 {
			t.Fatalf("not cleaned: %+v", got)
		}
	})
}

func TestPeopleChatEndsWithItsLastMember(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", "", "ann", "bob")
		send(t, g, "c", "ann", "x", 1)
		for _, member := range []string{"ann", "bob", "bob"} { // leaving twice is no error
			if err := g.Leave(t.Context(), "c", member); err != nil {
				t.Fatal(err)
			}
		}
		wantNothingLeft(t, g, "c")
		_, err := g.Pending(t.Context(), "c", "ann", 0, 0)
		chattest.WantErr(t, err, chat.ErrNoChat)
		create(t, g, "c", group.People, "ann")
		send(t, g, "c", "ann", "x", 1)
	})
}

func TestChannelOutlivesItsMembersAndKeepsAll(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel)
		send(t, g, "c", "uploader", "one", 1)
		if err := g.Join(t.Context(), "c", "ann", group.FromOldest); err != nil {
			t.Fatal(err)
		}
		if err := g.Leave(t.Context(), "c", "ann"); err != nil {
			t.Fatal(err)
		}
		send(t, g, "c", "uploader", "two", 2)
		if err := g.Join(t.Context(), "c", "bob", group.FromOldest); err != nil {
			t.Fatal(err)
		}
		chattest.WantStrings(t, pending(t, g, "c", "bob"), "one", "two")
	})
}

func TestJoinStartsWhereAskedAndASecondOneChangesNothing(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "ann", "one", 1)
		send(t, g, "c", "ann", "two", 2)
		ack(t, g, "c", "bob", 1, 1) // now "two" is the oldest
		for _, join := range []struct {
			member string
			start  group.Start
		}{{"old", group.FromOldest}, {"new", group.FromNow}, {"old", group.FromNow}, {"new", group.FromOldest}} {
			if err := g.Join(t.Context(), "c", join.member, join.start); err != nil {
				t.Fatal(err)
			}
		}
		send(t, g, "c", "ann", "three", 3)
		chattest.WantStrings(t, pending(t, g, "c", "old"), "two", "three")
		chattest.WantStrings(t, pending(t, g, "c", "new"), "three")
		members, err := g.Members(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		want := []group.Member{
			{Name: "ann", Cursor: 3}, {Name: "bob", Cursor: 1, Unread: 2},
			{Name: "new", Cursor: 2, Unread: 1}, {Name: "old", Cursor: 1, Unread: 2},
		}
		for i := range members {
			members[i].Seen = time.Time{}
		}
		if !slices.Equal(members, want) {
			t.Fatalf("members %+v, want %+v", members, want)
		}
	})
}

func TestAckNeverMovesBackNorBeyondTheLast(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		send(t, g, "c", "uploader", "one", 1)
		send(t, g, "c", "uploader", "two", 2)
		ack(t, g, "c", "ann", 2, 2)
		ack(t, g, "c", "ann", 1, 2)
		for _, upTo := range []uint64{3, 1 << 53, 1<<64 - 1} {
			var invalid *chat.InvalidError
			if _, err := g.Ack(t.Context(), "c", "ann", upTo); !errors.As(err, &invalid) || invalid.Field != "upTo" {
				t.Fatalf("ack %d: got error %v", upTo, err)
			}
		}
		ack(t, g, "c", "ann", 0, 2)
	})
}

func TestPendingIsReadByPages(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		for i := range uint64(57) {
			send(t, g, "c", "uploader", strings.Repeat("x", int(i)+1), i+1)
		}
		ack(t, g, "c", "ann", 3, 3)
		after := uint64(0)
		for want := uint64(4); ; {
			page, err := g.Pending(t.Context(), "c", "ann", after, 23)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				if after != 57 {
					t.Fatalf("the pages end at %d, want 57", after)
				}
				return
			}
			for _, m := range page {
				if m.ID != want || len(m.Body) != int(want) || m.Sender != "uploader" || m.Err != nil || m.Time.Year() < 2020 {
					t.Fatalf("got %+v, want id %d", m, want)
				}
				want++
			}
			after = page[len(page)-1].ID
		}
	})
}

func TestBigMessagesMakeShortPages(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		big := strings.Repeat("x", chat.MaxBody)
		for i := range uint64(10) {
			send(t, g, "c", "uploader", big, i+1)
		}
		page, err := g.Pending(t.Context(), "c", "ann", 0, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 || len(page) > 4 || len(page[0].Body) != chat.MaxBody {
			t.Fatalf("got %d messages", len(page))
		}
	})
}

func TestFetchReadsAndAcknowledges(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		for i := range uint64(3) {
			send(t, g, "c", "uploader", string(rune('a'+i)), i+1)
		}
		for _, want := range [][]string{{"a", "b"}, {"c"}, {}} {
			messages, err := g.Fetch(t.Context(), "c", "ann", 2)
			if err != nil {
				t.Fatal(err)
			}
			chattest.WantStrings(t, chattest.Bodies(messages), want...)
		}
	})
}

func TestPendingAllReadsEveryChat(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "b", group.People, "ann", "bob")
		create(t, g, "a", group.People, "bob")
		create(t, g, "silent", group.People, "ann", "bob")
		create(t, g, "other", group.People, "bob")
		if err := g.Join(t.Context(), "a", "ann", group.FromNow); err != nil {
			t.Fatal(err)
		}
		send(t, g, "b", "bob", "one", 1)
		send(t, g, "a", "bob", "two", 1)
		send(t, g, "other", "bob", "three", 1)
		batches, err := g.PendingAll(t.Context(), "ann", 0)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, batch := range batches {
			got = append(got, batch.Chat+": "+strings.Join(chattest.Bodies(batch.Messages), ","))
		}
		chattest.WantStrings(t, got, "a: two", "b: one")
	})
}

func TestDeleteEndsAnyChat(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		send(t, g, "c", "ann", "x", 1)
		for range 2 {
			if err := g.Delete(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
		}
		wantNothingLeft(t, g, "c")
		batches, err := g.PendingAll(t.Context(), "ann", 0)
		if err != nil || len(batches) > 0 {
			t.Fatalf("got %v, %v", batches, err)
		}
	})
}

func TestRefusalsAreTyped(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		ctx := t.Context()
		create(t, g, "people", group.People, "ann")
		create(t, g, "channel", group.Channel)
		for _, c := range []struct {
			name string
			got  error
			want error
		}{
			{"create a taken id", chattest.ErrorOf(g.Create(ctx, "channel", &group.CreateOptions{Kind: group.Channel})), chat.ErrExists},
			{"join nothing", g.Join(ctx, "nothing", "ann", group.FromNow), chat.ErrNoChat},
			{"send to nothing", chattest.ErrorOf(g.Send(ctx, "nothing", "ann", chat.Text("x"))), chat.ErrNoChat},
			{"send by a stranger", chattest.ErrorOf(g.Send(ctx, "people", "eve", chat.Text("x"))), chat.ErrNotMember},
			{"read as a stranger", chattest.ErrorOf(g.Pending(ctx, "people", "eve", 0, 0)), chat.ErrNotMember},
			{"read nothing", chattest.ErrorOf(g.Pending(ctx, "nothing", "ann", 0, 0)), chat.ErrNoChat},
			{"fetch as a stranger", chattest.ErrorOf(g.Fetch(ctx, "channel", "eve", 0)), chat.ErrNotMember},
			{"acknowledge as a stranger", chattest.ErrorOf(g.Ack(ctx, "channel", "eve", 0)), chat.ErrNotMember},
			{"acknowledge in nothing", chattest.ErrorOf(g.Ack(ctx, "nothing", "ann", 0)), chat.ErrNoChat},
			{"members of nothing", chattest.ErrorOf(g.Members(ctx, "nothing")), chat.ErrNoChat},
			{"info of nothing", chattest.ErrorOf(g.Info(ctx, "nothing")), chat.ErrNoChat},
		} {
			if !errors.Is(c.got, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
			}
		}
	})
}

func TestInvalidArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	db, ctx := redistest.DB(t), context.Background()
	g := newFixture(db)
	long := strings.Repeat("x", chat.MaxName+1)
	options := func(kind group.Kind, members ...string) error {
		_, err := g.Create(ctx, "c", &group.CreateOptions{Kind: kind, Members: members})
		return err
	}
	for _, c := range []struct {
		name  string
		got   error
		field string
	}{
		{"empty chat", g.Join(ctx, "", "ann", group.FromNow), "chat"},
		{"long chat", g.Delete(ctx, long), "chat"},
		{"control character", chattest.ErrorOf(g.Info(ctx, "a\nb")), "chat"},
		{"opening brace", chattest.ErrorOf(g.Info(ctx, "a{b")), "chat"},
		{"closing brace", g.Leave(ctx, "a}b", "ann"), "chat"},
		{"broken UTF-8", chattest.ErrorOf(g.Ack(ctx, "c", "a\xffb", 0)), "member"},
		{"empty member", g.Wait(ctx, ""), "member"},
		{"long member", chattest.ErrorOf(g.PendingAll(ctx, long, 0)), "member"},
		{"empty sender", chattest.ErrorOf(g.Send(ctx, "c", "", chat.Text("x"))), "sender"},
		{"long body", chattest.ErrorOf(g.Send(ctx, "c", "ann", chat.Content{Body: make([]byte, chat.MaxBody+1)})), "body"},
		{"unknown kind", options("party", "ann"), "kind"},
		{"people without a member", options(group.People), "members"},
		{"too many first members", options(group.Channel, make([]string, group.MaxFirstMembers+1)...), "members"},
		{"bad first member", options(group.Channel, "ann", ""), "member"},
	} {
		var invalid *chat.InvalidError
		if !errors.As(c.got, &invalid) || invalid.Field != c.field {
			t.Errorf("%s: got %v, want an InvalidError for %s", c.name, c.got, c.field)
		}
	}
	if keys := db.Keys(ctx, "*").Val(); len(keys) > 0 {
		t.Errorf("something was written: %q", keys)
	}
}
