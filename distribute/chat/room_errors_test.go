package chat_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestRefusalsOfARoomAreTyped(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		r, people := room(t, db, chat.RoomOptions{Owner: "ann", Max: 2}, "ann", "bob")
		bob, eve := people[1], chat.Pass{Room: "r", ID: "eve"}
		say(t, r, people[0], "x", 1)
		set := func(pass chat.Pass) error { return one(r.Set(ctx, pass, chat.RoomChange{})) }
		for _, c := range []struct {
			name string
			got  error
			want error
		}{
			{"create a taken name", r.Create(ctx, "r", chat.RoomOptions{}), chat.ErrExists},
			{"enter nothing", one(r.Enter(ctx, "nothing", chat.EnterOptions{})), chat.ErrNoRoom},
			{"enter with a taken id", one(r.Enter(ctx, "r", chat.EnterOptions{ID: "bob"})), chat.ErrTaken},
			{"enter a full room", one(r.Enter(ctx, "r", chat.EnterOptions{})), chat.ErrFull},
			{"send from outside", one(r.Send(ctx, eve, chat.Text("x"))), chat.ErrNotInRoom},
			{"send as an operator", one(r.Send(ctx, operator, chat.Text("x"))), chat.ErrNotInRoom},
			{"read from outside", one(r.Read(ctx, eve, 0, 0)), chat.ErrNotInRoom},
			{"read as an operator", one(r.Read(ctx, operator, 0, 0)), chat.ErrNotInRoom},
			{"history from outside", one(r.History(ctx, eve, chat.RoomPage{})), chat.ErrNotInRoom},
			{"resource from outside", one(r.Resource(ctx, eve, 1)), chat.ErrNotInRoom},
			{"wait outside", r.Wait(ctx, eve, 0), chat.ErrNotInRoom},
			{"info from outside", one(r.Info(ctx, eve)), chat.ErrNotInRoom},
			{"people from outside", one(r.People(ctx, eve)), chat.ErrNotInRoom},
			{"set from outside", set(eve), chat.ErrNotInRoom},
			{"set by a guest", set(bob), chat.ErrNotAllowed},
			{"set by the owner", set(people[0]), nil},
			{"set by an operator", set(operator), nil},
			{"mute from outside", r.Mute(ctx, eve, "bob", 0), chat.ErrNotInRoom},
			{"unmute by a guest", r.Unmute(ctx, bob, "bob"), chat.ErrNotAllowed},
			{"retract from outside", r.Retract(ctx, eve, 1), chat.ErrNotInRoom},
			{"delete from outside", r.Delete(ctx, eve), chat.ErrNotInRoom},
			{"delete by a guest", r.Delete(ctx, bob), chat.ErrNotAllowed},
		} {
			if !errors.Is(c.got, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
			}
		}
	})
}

func TestWithoutAnOwnerEverybodyInsideMayDoAsOne(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		r, people := room(t, db, chat.RoomOptions{}, "ann", "bob")
		say(t, r, people[0], "x", 1)
		for _, err := range []error{
			one(r.Set(ctx, people[1], chat.RoomChange{Max: ptr(9)})),
			r.Mute(ctx, people[1], "ann", 0),
			r.Unmute(ctx, people[1], "ann"),
			r.Retract(ctx, people[1], 1),
			r.Delete(ctx, people[1]),
		} {
			wantErr(t, err, nil)
		}
	})
}

func TestInvalidArgumentsOfARoomAreNamed(t *testing.T) {
	t.Parallel()
	db, ctx := redistest.DB(t), t.Context()
	r := newRoom(db)
	long := strings.Repeat("x", chat.MaxName+1)
	ann := chat.Pass{Room: "r", ID: "ann"}
	create := func(o chat.RoomOptions) error { return r.Create(ctx, "r", o) }
	enter := func(o chat.EnterOptions) error { return one(r.Enter(ctx, "r", o)) }
	send := func(c chat.Content) error { return one(r.Send(ctx, ann, c)) }
	set := func(c chat.RoomChange) error { return one(r.Set(ctx, ann, c)) }
	for _, c := range []struct {
		name  string
		got   error
		field string
	}{
		{"create without name", r.Create(ctx, "", chat.RoomOptions{}), "room"},
		{"create with a long name", r.Create(ctx, long, chat.RoomOptions{}), "room"},
		{"negative ttl", create(chat.RoomOptions{TTL: -1}), "ttl"},
		{"ttl of no millisecond", create(chat.RoomOptions{TTL: time.Microsecond}), "ttl"},
		{"negative presence", create(chat.RoomOptions{Presence: -time.Hour}), "presence"},
		{"negative max", create(chat.RoomOptions{Max: -1}), "max"},
		{"negative keep", create(chat.RoomOptions{Keep: -1}), "keep"},
		{"too much to keep", create(chat.RoomOptions{Keep: chat.MaxRoomKeep + 1}), "keep"},
		{"long password", create(chat.RoomOptions{Password: strings.Repeat("x", chat.MaxPassword+1)}), "password"},
		{"bad owner", create(chat.RoomOptions{Owner: "a\nb"}), "owner"},
		{"enter without name", one(r.Enter(ctx, "", chat.EnterOptions{})), "room"},
		{"long id", enter(chat.EnterOptions{ID: long}), "id"},
		{"long nick", enter(chat.EnterOptions{Nick: long}), "nick"},
		{"long password at the door", enter(chat.EnterOptions{Password: strings.Repeat("x", chat.MaxPassword+1)}), "password"},
		{"bad key", one(r.Read(ctx, chat.Pass{Room: "r", ID: "ann", Key: "x"}, 0, 0)), "key"},
		{"bad id", one(r.Read(ctx, chat.Pass{Room: "r", ID: "a{b"}, 0, 0)), "id"},
		{"bad room", r.Leave(ctx, chat.Pass{Room: "a{b"}), "room"},
		{"empty body", send(chat.Content{}), "body"},
		{"long body", send(chat.Content{Body: make([]byte, chat.MaxText+1)}), "body"},
		{"unknown type", send(chat.Content{Type: "smell", Body: []byte("x")}), "type"},
		{"image without URL", send(chat.Content{Type: chat.TypeImage, Body: []byte("x")}), "type"},
		{"data in the URL", send(chat.Content{Type: chat.TypeImage, URL: "data:image/png;base64,AAAA"}), "url"},
		{"data in a URL with a path", send(chat.Content{Type: chat.TypeImage, URL: "DATA:/image/png;base64,AAAA"}), "url"},
		{"position beyond 2^53", one(r.Read(ctx, ann, 1<<53, 0)), "position"},
		{"negative limit", one(r.Read(ctx, ann, 0, -1)), "limit"},
		{"mute nobody", r.Mute(ctx, ann, "", 0), "muted"},
		{"mute backwards", r.Mute(ctx, ann, "bob", -time.Hour), "for"},
		{"unmute nobody", r.Unmute(ctx, ann, ""), "muted"},
		{"set no ttl", set(chat.RoomChange{TTL: new(time.Duration)}), "ttl"},
		{"set no presence", set(chat.RoomChange{Presence: new(time.Duration)}), "presence"},
		{"set negative max", set(chat.RoomChange{Max: ptr(-1)}), "max"},
		{"set nothing to keep", set(chat.RoomChange{Keep: new(int)}), "keep"},
		{"set a long password", set(chat.RoomChange{Password: ptr(strings.Repeat("x", chat.MaxPassword+1))}), "password"},
		{"set a bad owner", set(chat.RoomChange{Owner: &long}), "owner"},
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

func TestPositionOfAnotherRoomOfThisNameIsRefused(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := room(t, db, chat.RoomOptions{}, "ann")
		say(t, r, people[0], "x", 1)
		_, err := r.Read(t.Context(), people[0], 2, 0)
		var invalid *chat.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "position" {
			t.Errorf("got %v", err)
		}
	})
}

func TestDamagedEntriesOfARoomAreReportedAndSkipped(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := room(t, db, chat.RoomOptions{}, "ann")
		say(t, r, people[0], "one", 1)
		for _, entry := range []redis.XAddArgs{
			{ID: "2-7", Values: []string{"sender", "bob", "body", "x", "time", "1"}},
			{ID: "3-0", Values: []string{"foreign", "field"}},
			{ID: "4-0", Values: []string{"sender", "b\nb", "body", "x", "time", "1"}},
			{ID: "5-0", Values: []string{"retracts", "many", "by", "bob", "time", "1"}},
			{ID: "6-0", Values: []string{"retracts", "1", "by", "b\nb", "time", "1"}},
			{ID: "7-0", Values: []string{"retracts", "1", "by", "bob"}},
		} {
			entry.Stream = db.Prefix() + ":room:{r}:log"
			if err := db.XAdd(t.Context(), &entry).Err(); err != nil {
				t.Fatal(err)
			}
		}
		wantErr(t, r.Wait(t.Context(), people[0], 1), nil)
		got, err := r.Read(t.Context(), people[0], 0, 7)
		wantErr(t, err, nil)
		news(t, r, people[0], got.Position) // beyond what the room gave
		say(t, r, people[0], "after", 8)
		got = news(t, r, people[0], 0)
		if len(got.Messages) != 8 || len(got.Changes) != 0 {
			t.Fatalf("got %+v", got)
		}
		for i, m := range got.Messages {
			var corrupt *chat.CorruptError
			damaged := m.ID > 1 && m.ID < 8
			if m.ID != uint64(i+1) || errors.As(m.Err, &corrupt) != damaged {
				t.Errorf("message %d: %+v", i, m)
			}
		}
		wantErr(t, r.Retract(t.Context(), people[0], 4), nil) // to be rid of it
		if got := news(t, r, people[0], 0); len(got.Messages) != 7 || len(got.Changes) != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDamagedRoomIsReportedAndCanBeDeletedByAnOperator(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		for field, value := range map[string]string{"v": "x", "dies": "never", "ttl": "-1", "keep": "1e400", "last": "nan", "presence": ""} {
			r, people := room(t, db, chat.RoomOptions{}, "ann")
			if err := db.HSet(t.Context(), db.Prefix()+":room:{r}", field, value).Err(); err != nil {
				t.Fatal(err)
			}
			for what, err := range everything(t.Context(), r, people[0]) {
				var corrupt *chat.CorruptError
				if !errors.As(err, &corrupt) || corrupt.Where != field {
					t.Errorf("%s %q: %s: got %v", field, value, what, err)
				}
			}
			wantErr(t, r.Delete(t.Context(), operator), nil)
		}
	})
}

func TestRoomOfANewerReleaseIsLeftAlone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := room(t, db, chat.RoomOptions{}, "ann")
		if err := db.HSet(t.Context(), db.Prefix()+":room:{r}", "v", "2").Err(); err != nil {
			t.Fatal(err)
		}
		errs := everything(t.Context(), r, people[0])
		errs["delete as an operator"] = r.Delete(t.Context(), operator)
		for what, err := range errs {
			var format *chat.FormatError
			if !errors.As(err, &format) {
				t.Errorf("%s: got %v", what, err)
			}
		}
	})
}

func TestRoomForAnyNumberOfPeopleCanBeEntered(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, _ := room(t, db, chat.RoomOptions{}, "ann")
		err := r.Create(t.Context(), "big", chat.RoomOptions{Max: math.MaxInt})
		var invalid *chat.InvalidError
		if errors.As(err, &invalid) {
			return // refused by name is fine
		}
		wantErr(t, err, nil)
		_, err = r.Enter(t.Context(), "big", chat.EnterOptions{ID: "ann"})
		wantErr(t, err, nil)
	})
}
