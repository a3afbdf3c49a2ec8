package room_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/room"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestRefusalsOfARoomAreTyped(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		r, people := openRoom(t, db, room.CreateOptions{Owner: "ann", Max: 2}, "ann", "bob")
		bob, eve := people[1], room.Credential{Room: "r", ID: "eve"}
		say(t, r, people[0], "x", 1)
		set := func(pass room.Credential) error { return chattest.ErrorOf(r.Set(ctx, pass, room.Change{})) }
		for _, c := range []struct {
			name string
			got  error
			want error
		}{
			{"create a taken name", r.Create(ctx, "r", nil), chat.ErrExists},
			{"enter nothing", chattest.ErrorOf(r.Enter(ctx, "nothing", nil)), room.ErrNoRoom},
			{"enter with a taken id", chattest.ErrorOf(r.Enter(ctx, "r", &room.EnterOptions{ID: "bob"})), room.ErrTaken},
			{"enter a full room", chattest.ErrorOf(r.Enter(ctx, "r", nil)), chat.ErrFull},
			{"send from outside", chattest.ErrorOf(r.Send(ctx, eve, chat.Text("x"))), room.ErrNotInRoom},
			{"send as an operator", chattest.ErrorOf(r.Send(ctx, operator, chat.Text("x"))), room.ErrNotInRoom},
			{"read from outside", chattest.ErrorOf(r.Read(ctx, eve, 0, 0)), room.ErrNotInRoom},
			{"read as an operator", chattest.ErrorOf(r.Read(ctx, operator, 0, 0)), room.ErrNotInRoom},
			{"history from outside", chattest.ErrorOf(r.History(ctx, eve, nil)), room.ErrNotInRoom},
			{"wait outside", r.Wait(ctx, eve, 0), room.ErrNotInRoom},
			{"info from outside", chattest.ErrorOf(r.Info(ctx, eve)), room.ErrNotInRoom},
			{"people from outside", chattest.ErrorOf(r.People(ctx, eve)), room.ErrNotInRoom},
			{"set from outside", set(eve), room.ErrNotInRoom},
			{"set by a guest", set(bob), room.ErrNotAllowed},
			{"set by the owner", set(people[0]), nil},
			{"set by an operator", set(operator), nil},
			{"mute from outside", r.Mute(ctx, eve, "bob", 0), room.ErrNotInRoom},
			{"unmute by a guest", r.Unmute(ctx, bob, "bob"), room.ErrNotAllowed},
			{"retract from outside", r.Retract(ctx, eve, 1), room.ErrNotInRoom},
			{"delete from outside", r.Delete(ctx, eve), room.ErrNotInRoom},
			{"delete by a guest", r.Delete(ctx, bob), room.ErrNotAllowed},
		} {
			if !errors.Is(c.got, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
			}
		}
	})
}

func TestWithoutAnOwnerAllPeopleInsideMayActAsOne(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		r, people := openRoom(t, db, room.CreateOptions{}, "ann", "bob")
		say(t, r, people[0], "x", 1)
		for _, err := range []error{
			chattest.ErrorOf(r.Set(ctx, people[1], room.Change{Max: chattest.Ptr(9)})),
			r.Mute(ctx, people[1], "ann", 0),
			r.Unmute(ctx, people[1], "ann"),
			r.Retract(ctx, people[1], 1),
			r.Delete(ctx, people[1]),
		} {
			chattest.WantErr(t, err, nil)
		}
	})
}

func TestInvalidArgumentsOfARoomAreNamed(t *testing.T) {
	t.Parallel()
	db, ctx := redistest.DB(t), t.Context()
	r := newClient(db)
	long := strings.Repeat("x", chat.MaxName+1)
	ann := room.Credential{Room: "r", ID: "ann"}
	create := func(o room.CreateOptions) error { return r.Create(ctx, "r", &o) }
	enter := func(o room.EnterOptions) error { return chattest.ErrorOf(r.Enter(ctx, "r", &o)) }
	send := func(c chat.Content) error { return chattest.ErrorOf(r.Send(ctx, ann, c)) }
	set := func(c room.Change) error { return chattest.ErrorOf(r.Set(ctx, ann, c)) }
	for _, c := range []struct {
		name  string
		got   error
		field string
	}{
		{"create without name", r.Create(ctx, "", nil), "room"},
		{"create with a long name", r.Create(ctx, long, nil), "room"},
		{"negative ttl", create(room.CreateOptions{TTL: -1}), "ttl"},
		{"ttl of no millisecond", create(room.CreateOptions{TTL: time.Microsecond}), "ttl"},
		{"negative presence", create(room.CreateOptions{Presence: -time.Hour}), "presence"},
		{"negative max", create(room.CreateOptions{Max: -1}), "max"},
		{"negative keep", create(room.CreateOptions{Keep: -1}), "keep"},
		{"too much to keep", create(room.CreateOptions{Keep: room.MaxKeep + 1}), "keep"},
		{"long password", create(room.CreateOptions{Password: strings.Repeat("x", room.MaxPassword+1)}), "password"},
		{"bad owner", create(room.CreateOptions{Owner: "a\nb"}), "owner"},
		{"enter without name", chattest.ErrorOf(r.Enter(ctx, "", nil)), "room"},
		{"long id", enter(room.EnterOptions{ID: long}), "id"},
		{"long nick", enter(room.EnterOptions{Nick: long}), "nick"},
		{"long password at the door", enter(room.EnterOptions{Password: strings.Repeat("x", room.MaxPassword+1)}), "password"},
		{"bad key", chattest.ErrorOf(r.Read(ctx, room.Credential{Room: "r", ID: "ann", Key: "x"}, 0, 0)), "key"},
		{"bad id", chattest.ErrorOf(r.Read(ctx, room.Credential{Room: "r", ID: "a{b"}, 0, 0)), "id"},
		{"bad room", r.Leave(ctx, room.Credential{Room: "a{b"}), "room"},
		{"empty body", send(chat.Content{}), "body"},
		{"long body", send(chat.Content{Body: make([]byte, chat.MaxText+1)}), "body"},
		{"unknown type", send(chat.Content{Type: "smell", Body: []byte("x")}), "type"},
		{"image without URL", send(chat.Content{Type: chat.TypeImage, Body: []byte("x")}), "type"},
		{"data in the URL", send(chat.Content{Type: chat.TypeImage, URL: "data:image/png;base64,AAAA"}), "url"},
		{"data in a URL with a path", send(chat.Content{Type: chat.TypeImage, URL: "DATA:/image/png;base64,AAAA"}), "url"},
		{"position beyond 2^53", chattest.ErrorOf(r.Read(ctx, ann, 1<<53, 0)), "position"},
		{"negative limit", chattest.ErrorOf(r.Read(ctx, ann, 0, -1)), "limit"},
		{"mute without id", r.Mute(ctx, ann, "", 0), "muted"},
		{"mute backwards", r.Mute(ctx, ann, "bob", -time.Hour), "for"},
		{"unmute without id", r.Unmute(ctx, ann, ""), "muted"},
		{"set no ttl", set(room.Change{TTL: new(time.Duration)}), "ttl"},
		{"set no presence", set(room.Change{Presence: new(time.Duration)}), "presence"},
		{"set negative max", set(room.Change{Max: chattest.Ptr(-1)}), "max"},
		{"set nothing to keep", set(room.Change{Keep: new(int)}), "keep"},
		{"set a long password", set(room.Change{Password: chattest.Ptr(strings.Repeat("x", room.MaxPassword+1))}), "password"},
		{"set a bad owner", set(room.Change{Owner: &long}), "owner"},
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
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
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
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
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
		chattest.WantErr(t, r.Wait(t.Context(), people[0], 1), nil)
		got, err := r.Read(t.Context(), people[0], 0, 7)
		chattest.WantErr(t, err, nil)
		news(t, r, people[0], got.Position) // beyond the ids of the room
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
		chattest.WantErr(t, r.Retract(t.Context(), people[0], 4), nil) // to be rid of it
		if got := news(t, r, people[0], 0); len(got.Messages) != 7 || len(got.Changes) != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDamagedRoomIsReportedAndCanBeDeletedByAnOperator(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		for field, value := range map[string]string{"v": "x", "dies": "never", "ttl": "-1", "keep": "1e400", "last": "nan", "presence": ""} {
			r, people := openRoom(t, db, room.CreateOptions{}, "ann")
			if err := db.HSet(t.Context(), db.Prefix()+":room:{r}", field, value).Err(); err != nil {
				t.Fatal(err)
			}
			for call, err := range everything(t.Context(), r, people[0]) {
				var corrupt *chat.CorruptError
				if !errors.As(err, &corrupt) || corrupt.Where != field {
					t.Errorf("%s %q: %s: got %v", field, value, call, err)
				}
			}
			chattest.WantErr(t, r.Delete(t.Context(), operator), nil)
		}
	})
}

func TestRoomOfANewerReleaseIsLeftAlone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		if err := db.HSet(t.Context(), db.Prefix()+":room:{r}", "v", "2").Err(); err != nil {
			t.Fatal(err)
		}
		errs := everything(t.Context(), r, people[0])
		errs["delete as an operator"] = r.Delete(t.Context(), operator)
		for call, err := range errs {
			var format *chat.FormatError
			if !errors.As(err, &format) {
				t.Errorf("%s: got %v", call, err)
			}
		}
	})
}

func TestRoomForAnyNumberOfPeopleCanBeEntered(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, _ := openRoom(t, db, room.CreateOptions{}, "ann")
		err := r.Create(t.Context(), "big", &room.CreateOptions{Max: math.MaxInt})
		var invalid *chat.InvalidError
		if errors.As(err, &invalid) {
			return // refused by name is fine
		}
		chattest.WantErr(t, err, nil)
		_, err = r.Enter(t.Context(), "big", &room.EnterOptions{ID: "ann"})
		chattest.WantErr(t, err, nil)
	})
}

func TestLostReplyOfSendToARoomIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	r, people := openRoom(t, redistest.Open(t, proxy.URL), room.CreateOptions{}, "ann")
	say(t, r, people[0], "one", 1)
	<-lose(proxy, func() {
		_, err := r.Send(t.Context(), people[0], chat.Text("two"))
		var unknown *rdb.OutcomeUnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("got error %v", err)
		}
	})
	chattest.WantStrings(t, texts(news(t, r, people[0], 0)), "one", "two")
}

// lose drops the next reply, and reports when it has.
func lose(proxy *redistest.Proxy, call func()) <-chan string {
	lost := proxy.DropReply(1)
	call()
	return lost
}

func TestLostAnswersOfOtherCallsToARoomDoNotShow(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db := redistest.Open(t, proxy.URL)
	ctx := t.Context()
	for _, round := range []string{"scripts get known", "answers get lost"} {
		r := newClient(db)
		var ann, bob room.Credential
		for _, step := range []struct {
			name string
			call func() error
		}{
			{"create", func() error { return r.Create(ctx, "r", nil) }},
			{"enter", func() (err error) { ann, err = r.Enter(ctx, "r", &room.EnterOptions{ID: "ann"}); return err }},
			{"hand over", func() (err error) {
				ann, err = r.Set(ctx, ann, room.Change{Password: chattest.Ptr("x"), Owner: chattest.Ptr("eve")})
				return err
			}},
			{"take over", func() error {
				return chattest.ErrorOf(r.Set(ctx, room.Credential{Room: "r", Key: ann.Key}, room.Change{Owner: chattest.Ptr("ann")}))
			}},
			{"send", func() error {
				if round == "answers get lost" {
					proxy.DropReply(0) // that is another test
				}
				return chattest.ErrorOf(r.Send(ctx, ann, chat.Text("x")))
			}},
			{"read", func() error { return chattest.ErrorOf(r.Read(ctx, ann, 0, 0)) }},
			{"mute", func() error { return r.Mute(ctx, ann, "bob", time.Hour) }},
			{"unmute", func() error { return r.Unmute(ctx, ann, "bob") }},
			{"retract", func() error { return r.Retract(ctx, ann, 1) }},
			{"info", func() error { return chattest.ErrorOf(r.Info(ctx, ann)) }},
			{"people", func() error { return chattest.ErrorOf(r.People(ctx, ann)) }},
			{"leave", func() error { return r.Leave(ctx, ann) }},
			{"enter by password", func() (err error) {
				bob, err = r.Enter(ctx, "r", &room.EnterOptions{ID: "bob", Password: "x"})
				return err
			}},
			{"delete", func() error { return r.Delete(ctx, ann) }},
		} {
			if round == "answers get lost" {
				proxy.DropReply(1)
			}
			if err := step.call(); err != nil {
				t.Errorf("%s: %s: %v", round, step.name, err)
			}
		}
		chattest.WantErr(t, chattest.ErrorOf(r.Read(ctx, bob, 0, 0)), room.ErrNoRoom)
	}
}

func TestRepeatedDeleteSparesTheNextRoom(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	proxy := redistest.StartProxy(t, url)
	lossy := newClient(redistest.Open(t, proxy.URL))
	sure, _ := openRoom(t, redistest.Open(t, url), room.CreateOptions{})
	chattest.WantErr(t, lossy.Delete(t.Context(), operator), nil)
	chattest.WantErr(t, sure.Create(t.Context(), "r", nil), nil)
	lost := proxy.DropReply(1)
	done := make(chan error)
	go func() { done <- lossy.Delete(t.Context(), operator) }()
	<-lost
	proxy.Hold()
	chattest.WantErr(t, sure.Create(t.Context(), "r", nil), nil)
	proxy.Release()
	chattest.WantErr(t, <-done, nil)
	enter(t, sure, room.EnterOptions{ID: "ann"})
}
