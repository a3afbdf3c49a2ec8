package room_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/room"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// newClient returns the rooms of db with a hash that is not slow.
func newClient(db *rdb.DB) *room.Client {
	return room.NewStretching(db, func(password string, salt []byte, _ int) ([]byte, error) {
		key := sha256.Sum256(append([]byte(password), salt...))
		return key[:], nil
	})
}

// openRoom makes a room called "r" and lets people in.
func openRoom(t testing.TB, db *rdb.DB, options room.CreateOptions, ids ...string) (*room.Client, []room.Credential) {
	t.Helper()
	r := newClient(db)
	if err := r.Create(t.Context(), "r", &options); err != nil {
		t.Fatal(err)
	}
	var passes []room.Credential
	for _, id := range ids {
		passes = append(passes, enter(t, r, room.EnterOptions{ID: id, Password: options.Password}))
	}
	return r, passes
}

func enter(t testing.TB, r *room.Client, options room.EnterOptions) room.Credential {
	t.Helper()
	pass, err := r.Enter(t.Context(), "r", &options)
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

// say sends a text that must get the id want.
func say(t testing.TB, r *room.Client, pass room.Credential, text string, want uint64) {
	t.Helper()
	id, err := r.Send(t.Context(), pass, chat.Text(text))
	if err != nil || id != want {
		t.Fatalf("message %q got id %d, %v, want %d", text, id, err, want)
	}
}

func news(t testing.TB, r *room.Client, pass room.Credential, since uint64) room.Page {
	t.Helper()
	got, err := r.Read(t.Context(), pass, since, 0)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func texts(n room.Page) []string {
	list := []string{}
	for _, m := range n.Messages {
		list = append(list, string(m.Body))
	}
	return list
}

// operator is the credential of an operator for a room without password.
var operator = room.Credential{Room: "r"}

func TestPeopleInsideReadTheMessages(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{Max: 7, Owner: "ann"}, "ann")
		ann, bob := people[0], enter(t, r, room.EnterOptions{ID: "bob", Nick: "Bobby"})
		say(t, r, ann, "hello", 1)
		say(t, r, bob, "hi", 2)
		got := news(t, r, bob, 0)
		chattest.WantStrings(t, texts(got), "hello", "hi")
		if m := got.Messages[1]; m.ID != 2 || m.Sender != "bob" || m.Nick != "Bobby" || m.Time.IsZero() || got.Messages[0].Nick != "" {
			t.Errorf("got %+v", got.Messages)
		}
		if got.First != 1 || got.Position != 2 || got.More || got.Last != 2 || got.Oldest != 1 || got.Kept != 2 || got.Online != 2 {
			t.Errorf("got %+v", got)
		}
		if s := got.Settings; s.TTL != room.DefaultTTL || s.Presence != room.DefaultPresence || s.Keep != room.DefaultKeep ||
			s.Max != 7 || s.Owner != "ann" || s.Password || len(s.Mutes) != 0 {
			t.Errorf("got %+v", s)
		}
		if got.TTL > room.DefaultTTL || got.TTL < room.DefaultTTL-time.Minute || time.Since(got.Created) > time.Hour {
			t.Errorf("lives for %v, created %v", got.TTL, got.Created)
		}
		if again := news(t, r, bob, got.Position); len(again.Messages) != 0 || again.Position != 2 || again.First != 0 {
			t.Errorf("got %+v", again)
		}
	})
}

func TestPagesEndAtTheirLimitAndSayWhereToGoOn(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		ann := people[0]
		for i := range 10 {
			say(t, r, ann, fmt.Sprint(i+1), uint64(i+1))
		}
		for _, c := range []struct {
			name        string
			page        room.HistoryOptions
			first, last uint64
			more        bool
		}{
			{"newest", room.HistoryOptions{Limit: 3}, 8, 10, true},
			{"before", room.HistoryOptions{From: 8, Limit: 3}, 5, 7, true},
			{"up to the oldest", room.HistoryOptions{From: 4, Limit: 3}, 1, 3, false},
			{"before the oldest", room.HistoryOptions{From: 1, Limit: 3}, 0, 1, false},
			{"oldest", room.HistoryOptions{Forward: true, Limit: 4}, 1, 4, true},
			{"after", room.HistoryOptions{Forward: true, From: 4, Limit: 6}, 5, 10, false},
			{"after the newest", room.HistoryOptions{Forward: true, From: 10, Limit: 6}, 0, 10, false},
			{"all", room.HistoryOptions{}, 1, 10, false},
		} {
			got, err := r.History(t.Context(), ann, &c.page)
			if err != nil || got.First != c.first || got.Position != c.last || got.More != c.more {
				t.Errorf("%s: got %+v, %v", c.name, got, err)
			}
			if c.first > 0 {
				for i, m := range got.Messages {
					if m.ID != c.first+uint64(i) {
						t.Errorf("%s: message %d has id %d", c.name, i, m.ID)
					}
				}
			}
		}
	})
}

func TestPageOfBigMessagesIsShort(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		big := string(make([]byte, chat.MaxText))
		for i := range 6 {
			say(t, r, people[0], big, uint64(i+1))
		}
		got := news(t, r, people[0], 0)
		if len(got.Messages) > 4 || !got.More || string(got.Messages[0].Body) != big {
			t.Errorf("%d messages, more: %v", len(got.Messages), got.More)
		}
		say(t, r, people[0], "small", 7)
		if got := news(t, r, people[0], 6); len(got.Messages) != 1 || got.More {
			t.Errorf("got %+v", got)
		}
	})
}

func TestRoomKeepsTheNewestOnly(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{Keep: 3}, "ann")
		for i := range 5 {
			say(t, r, people[0], fmt.Sprint(i+1), uint64(i+1))
		}
		got := news(t, r, people[0], 1)
		chattest.WantStrings(t, texts(got), "3", "4", "5")
		if got.Oldest != 3 || got.Kept != 3 {
			t.Errorf("oldest %d, kept %d", got.Oldest, got.Kept)
		}
	})
}

func TestRetractedMessageIsGoneAndItsReadersFindTheRetraction(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{Owner: "own"}, "ann", "bob")
		ann, bob := people[0], people[1]
		say(t, r, ann, "oops", 1)
		say(t, r, ann, "stays", 2)
		before := news(t, r, bob, 0)
		chattest.WantErr(t, r.Retract(t.Context(), bob, 1), room.ErrNotAllowed)
		for range 2 { // a message that is gone is no error
			chattest.WantErr(t, r.Retract(t.Context(), ann, 1), nil)
		}
		for name, since := range map[string]uint64{"read before": before.Position, "all": 0} {
			got := news(t, r, bob, since)
			if len(got.Changes) != 1 || got.Changes[0].Message != 1 || got.Changes[0].By != "ann" || got.Changes[0].Position != 3 ||
				got.Changes[0].Time.IsZero() || got.Position != 3 || slices.Contains(texts(got), "oops") {
				t.Errorf("%s: got %+v", name, got)
			}
		}
		chattest.WantErr(t, r.Retract(t.Context(), room.Credential{Room: "r", ID: "own"}, 2), nil)
		if got := news(t, r, bob, 3); len(got.Changes) != 1 || got.Changes[0].By != "own" {
			t.Errorf("got %+v", got)
		}
		chattest.WantErr(t, r.Retract(t.Context(), ann, 3), chat.ErrNoMessage) // a notice
		chattest.WantErr(t, r.Retract(t.Context(), ann, 5), chat.ErrNoMessage)
		chattest.WantErr(t, r.Retract(t.Context(), ann, 1<<60), chat.ErrNoMessage)
		chattest.WantErr(t, r.Retract(t.Context(), ann, 0), chat.ErrNoMessage)
	})
}

func TestMutedPersonCanReadButNotSend(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{Owner: "ann"}, "ann", "bob")
		ann, bob := people[0], people[1]
		say(t, r, ann, "quiet please", 1)
		chattest.WantErr(t, r.Mute(t.Context(), bob, "ann", 0), room.ErrNotAllowed)
		for name, length := range map[string]time.Duration{"for good": 0, "for a time": time.Hour} {
			chattest.WantErr(t, r.Mute(t.Context(), ann, "bob", length), nil)
			_, err := r.Send(t.Context(), bob, chat.Text("but"))
			var muted *room.MutedError
			if !errors.As(err, &muted) || muted.Until.IsZero() != (length == 0) {
				t.Errorf("%s: got %v", name, err)
			}
			got := news(t, r, bob, 0)
			until, listed := got.Settings.Mutes["bob"]
			if len(got.Messages) != 1 || !listed || !until.Equal(muted.Until) {
				t.Errorf("%s: got %+v", name, got)
			}
		}
		chattest.WantErr(t, r.Unmute(t.Context(), ann, "bob"), nil)
		say(t, r, bob, "thanks", 2)
	})
}

func TestPeopleAreListedWithNicksAndMutes(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "bob")
		enter(t, r, room.EnterOptions{ID: "ann", Nick: "Annie Ann"})
		chattest.WantErr(t, r.Mute(t.Context(), people[0], "eve", 0), nil)
		chattest.WantErr(t, r.Mute(t.Context(), people[0], "ann", time.Hour), nil)
		for _, pass := range []room.Credential{people[0], operator} {
			got, err := r.People(t.Context(), pass)
			if err != nil || len(got) != 3 {
				t.Fatalf("got %+v, %v", got, err)
			}
			ann, bob, eve := got[0], got[1], got[2]
			if ann.ID != "ann" || ann.Nick != "Annie Ann" || !ann.Inside || !ann.Muted || time.Until(ann.MutedUntil) > time.Hour || ann.Until.Before(ann.MutedUntil.Add(-time.Hour)) ||
				bob != (room.Person{ID: "bob", Inside: true, Until: bob.Until}) || bob.Until.IsZero() ||
				eve != (room.Person{ID: "eve", Muted: true}) {
				t.Errorf("got %+v", got)
			}
		}
	})
}

func TestPersonWithoutIDGetsOne(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, _ := openRoom(t, db, room.CreateOptions{})
		a, b := enter(t, r, room.EnterOptions{}), enter(t, r, room.EnterOptions{})
		if len(a.ID) != 8 || a.ID == b.ID {
			t.Errorf("got ids %q, %q", a.ID, b.ID)
		}
		say(t, r, a, "hello", 1)
	})
}

func TestEmptyRoomStays(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		say(t, r, people[0], "back soon", 1)
		for range 2 {
			chattest.WantErr(t, r.Leave(t.Context(), people[0]), nil)
		}
		_, err := r.Read(t.Context(), people[0], 0, 0)
		chattest.WantErr(t, err, room.ErrNotInRoom)
		chattest.WantStrings(t, texts(news(t, r, enter(t, r, room.EnterOptions{ID: "ann"}), 0)), "back soon")
	})
}

func TestDeletedRoomIsGoneAndItsNameFree(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		say(t, r, people[0], "old", 1)
		chattest.WantErr(t, r.Delete(t.Context(), people[0]), nil)
		_, err := r.Read(t.Context(), people[0], 0, 0)
		chattest.WantErr(t, err, room.ErrNoRoom)
		chattest.WantErr(t, r.Delete(t.Context(), operator), room.ErrNoRoom)
		r, people = openRoom(t, db, room.CreateOptions{}, "ann")
		if got := news(t, r, people[0], 0); len(got.Messages) != 0 || got.Last != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestSettingsCanBeChangedLater(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{Owner: "ann"}, "ann", "bob")
		change := room.Change{TTL: chattest.Ptr(time.Hour), Presence: chattest.Ptr(time.Minute), Max: chattest.Ptr(2), Keep: chattest.Ptr(5), Owner: chattest.Ptr("bob")}
		_, err := r.Set(t.Context(), people[1], change)
		chattest.WantErr(t, err, room.ErrNotAllowed)
		_, err = r.Set(t.Context(), people[0], change)
		chattest.WantErr(t, err, nil)
		got, err := r.Info(t.Context(), operator)
		want := room.Settings{TTL: time.Hour, Presence: time.Minute, Max: 2, Keep: 5, Owner: "bob"}
		if s := got.Settings; err != nil || s.TTL != want.TTL || s.Presence != want.Presence || s.Max != want.Max || s.Keep != want.Keep || s.Owner != want.Owner {
			t.Errorf("got %+v, %v", got, err)
		}
		if got.TTL > time.Hour || got.TTL < 59*time.Minute {
			t.Errorf("lives for %v", got.TTL)
		}
		_, err = r.Set(t.Context(), people[0], room.Change{Owner: chattest.Ptr("ann")})
		chattest.WantErr(t, err, room.ErrNotAllowed)
		_, err = r.Enter(t.Context(), "r", &room.EnterOptions{ID: "cem"})
		chattest.WantErr(t, err, chat.ErrFull)
	})
}
