package chat_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// create makes a chat, or ends the test.
func create(t testing.TB, g *chat.Group, id string, kind chat.Kind, members ...string) {
	t.Helper()
	if _, err := g.Create(t.Context(), id, chat.CreateOptions{Kind: kind, Members: members}); err != nil {
		t.Fatal(err)
	}
}

// send sends a message that must get the id want.
func send(t testing.TB, g *chat.Group, id, sender, body string, want uint64) {
	t.Helper()
	got, err := g.Send(t.Context(), id, sender, chat.Text(body))
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("message %q got id %d, want %d", body, got, want)
	}
}

// pending gives the bodies of what is pending for a member.
func pending(t testing.TB, g *chat.Group, id, member string) []string {
	t.Helper()
	messages, err := g.Pending(t.Context(), id, member, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return bodies(messages)
}

func bodies(messages []chat.Message) []string {
	texts := []string{}
	for _, m := range messages {
		texts = append(texts, string(m.Body))
	}
	return texts
}

func ack(t testing.TB, g *chat.Group, id, member string, upTo, want uint64) {
	t.Helper()
	cursor, err := g.Ack(t.Context(), id, member, upTo)
	if err != nil {
		t.Fatal(err)
	}
	if cursor != want {
		t.Fatalf("%s's cursor is %d, want %d", member, cursor, want)
	}
}

func info(t testing.TB, g *chat.Group, id string) chat.Info {
	t.Helper()
	got, err := g.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantStrings(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// wantNothingLeft fails the test if there is any key of this chat.
func wantNothingLeft(t testing.TB, db *rdb.DB, id string) {
	t.Helper()
	tag := db.Prefix() + ":chat:{" + id + "}"
	if n := db.Exists(t.Context(), tag, tag+":log", tag+":cursors", tag+":seen").Val(); n > 0 {
		t.Fatalf("%d keys of chat %s are left", n, id)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func TestMessageStaysPendingUntilAcknowledged(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann", "bob")
		send(t, g, "c", "ann", "one", 1)
		send(t, g, "c", "ann", "two", 2)
		wantStrings(t, pending(t, g, "c", "bob"), "one", "two")
		// The reader crashes here: another Group stands for its next start.
		g = chat.NewGroup(db)
		wantStrings(t, pending(t, g, "c", "bob"), "one", "two")
		ack(t, g, "c", "bob", 1, 1)
		wantStrings(t, pending(t, g, "c", "bob"), "two")
	})
}

func TestSenderHasReadItsOwnMessageOnlyIfNothingIsUnread(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann", "bob")
		send(t, g, "c", "ann", "hello", 1)
		wantStrings(t, pending(t, g, "c", "ann"))
		send(t, g, "c", "bob", "too", 2)
		wantStrings(t, pending(t, g, "c", "bob"), "hello", "too")
	})
}

func TestWhatAllHaveDealtWithIsDeleted(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "ann", "bob")
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "fast", "slow")
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", "", "ann", "bob")
		send(t, g, "c", "ann", "x", 1)
		for _, member := range []string{"ann", "bob", "bob"} { // leaving twice is no error
			if err := g.Leave(t.Context(), "c", member); err != nil {
				t.Fatal(err)
			}
		}
		wantNothingLeft(t, db, "c")
		_, err := g.Pending(t.Context(), "c", "ann", 0, 0)
		wantErr(t, err, chat.ErrNoChat)
		create(t, g, "c", chat.People, "ann")
		send(t, g, "c", "ann", "x", 1)
	})
}

func TestChannelOutlivesItsMembersAndKeepsAll(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel)
		send(t, g, "c", "uploader", "one", 1)
		if err := g.Join(t.Context(), "c", "ann", chat.FromOldest); err != nil {
			t.Fatal(err)
		}
		if err := g.Leave(t.Context(), "c", "ann"); err != nil {
			t.Fatal(err)
		}
		send(t, g, "c", "uploader", "two", 2)
		if err := g.Join(t.Context(), "c", "bob", chat.FromOldest); err != nil {
			t.Fatal(err)
		}
		wantStrings(t, pending(t, g, "c", "bob"), "one", "two")
	})
}

func TestJoinStartsWhereAskedAndASecondOneChangesNothing(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann", "bob")
		send(t, g, "c", "ann", "one", 1)
		send(t, g, "c", "ann", "two", 2)
		ack(t, g, "c", "bob", 1, 1) // now "two" is the oldest
		for _, join := range []struct {
			member string
			start  chat.Start
		}{{"old", chat.FromOldest}, {"new", chat.FromNow}, {"old", chat.FromNow}, {"new", chat.FromOldest}} {
			if err := g.Join(t.Context(), "c", join.member, join.start); err != nil {
				t.Fatal(err)
			}
		}
		send(t, g, "c", "ann", "three", 3)
		wantStrings(t, pending(t, g, "c", "old"), "two", "three")
		wantStrings(t, pending(t, g, "c", "new"), "three")
		members, err := g.Members(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		want := []chat.Member{
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "ann")
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "ann")
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "ann")
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
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "ann")
		for i := range uint64(3) {
			send(t, g, "c", "uploader", string(rune('a'+i)), i+1)
		}
		for _, want := range [][]string{{"a", "b"}, {"c"}, {}} {
			messages, err := g.Fetch(t.Context(), "c", "ann", 2)
			if err != nil {
				t.Fatal(err)
			}
			wantStrings(t, bodies(messages), want...)
		}
	})
}

func TestPendingAllReadsEveryChat(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "b", chat.People, "ann", "bob")
		create(t, g, "a", chat.People, "bob")
		create(t, g, "silent", chat.People, "ann", "bob")
		create(t, g, "other", chat.People, "bob")
		if err := g.Join(t.Context(), "a", "ann", chat.FromNow); err != nil {
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
			got = append(got, batch.Chat+": "+strings.Join(bodies(batch.Messages), ","))
		}
		wantStrings(t, got, "a: two", "b: one")
	})
}

func TestDeleteEndsAnyChat(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.Channel, "ann")
		send(t, g, "c", "ann", "x", 1)
		for range 2 {
			if err := g.Delete(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
		}
		wantNothingLeft(t, db, "c")
		batches, err := g.PendingAll(t.Context(), "ann", 0)
		if err != nil || len(batches) > 0 {
			t.Fatalf("got %v, %v", batches, err)
		}
	})
}
