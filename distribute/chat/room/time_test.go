package room_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/room"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestOnlySpeakingKeepsARoomAlive(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	chattest.SetTime(t, db, chattest.Noon)
	r, people := openRoom(t, db, room.CreateOptions{TTL: time.Hour, Presence: 2 * time.Hour}, "ann")
	ann := people[0]
	chattest.SetTime(t, db, chattest.Noon.Add(30*time.Minute))
	say(t, r, ann, "hello", 1)
	chattest.SetTime(t, db, chattest.Noon.Add(89*time.Minute))
	if got := news(t, r, ann, 0); got.TTL != time.Minute {
		t.Errorf("lives for %v", got.TTL)
	}
	chattest.WantErr(t, r.Mute(t.Context(), ann, "bob", 0), nil)
	enter(t, r, room.EnterOptions{ID: "bob"})
	chattest.SetTime(t, db, chattest.Noon.Add(90*time.Minute-time.Millisecond))
	news(t, r, ann, 0)
	chattest.SetTime(t, db, chattest.Noon.Add(90*time.Minute))
	_, err := r.Read(t.Context(), ann, 0, 0)
	chattest.WantErr(t, err, room.ErrNoRoom)
	openRoom(t, db, room.CreateOptions{}, "ann") // the name is free
}

// Redis may still hold the keys of a room whose time has come.
func TestRoomPastItsTimeIsNone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		if err := db.HSet(t.Context(), db.Prefix()+":room:{r}", "dies", time.Now().Add(-time.Hour).UnixMilli()).Err(); err != nil {
			t.Fatal(err)
		}
		for call, err := range everything(t.Context(), r, people[0]) {
			if !errors.Is(err, room.ErrNoRoom) {
				t.Errorf("%s: got %v", call, err)
			}
		}
		openRoom(t, db, room.CreateOptions{}, "ann") // the name is free
	})
}

func TestAllKeysOfARoomEndWithIt(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		steps := []func(){
			func() {},
			func() { say(t, r, people[0], "x", 1) },
			func() { chattest.WantErr(t, r.Mute(t.Context(), people[0], "bob", 0), nil) },
			func() { chattest.WantErr(t, r.Retract(t.Context(), people[0], 1), nil) },
			func() {
				_, err := r.Set(t.Context(), people[0], room.Change{TTL: chattest.Ptr(time.Hour), Password: chattest.Ptr("x")})
				chattest.WantErr(t, err, nil)
			},
		}
		for i, step := range steps {
			step()
			var first, last time.Duration
			for _, key := range []string{"", ":log", ":people", ":nicks", ":mutes"} {
				at, err := db.PExpireTime(t.Context(), db.Prefix()+":room:{r}"+key).Result()
				if err != nil || at == -1 {
					t.Errorf("after step %d %q never ends: %v, %v", i, key, at, err)
				}
				if at > 0 { // else it is not there
					first, last = min(cmp.Or(first, at), at), max(last, at)
				}
			}
			if last == 0 || last-first > 3*time.Second { // the embedded one computes each from the time of the question
				t.Errorf("after step %d the keys end at %v to %v", i, first, last)
			}
		}
	})
}

func TestPresenceEndsUnlessOneSendsOrReads(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	chattest.SetTime(t, db, chattest.Noon)
	r, people := openRoom(t, db, room.CreateOptions{}, "sends", "reads", "browses", "looks", "rests")
	say(t, r, people[0], "x", 1)
	_, err := r.Send(t.Context(), people[0], chat.Content{Type: chat.TypeImage, URL: "https://example.com/a.png"})
	chattest.WantErr(t, err, nil)
	chattest.SetTime(t, db, chattest.Noon.Add(4*time.Minute))
	say(t, r, people[0], "x", 3)
	news(t, r, people[1], 0)
	_, err = r.History(t.Context(), people[2], nil)
	chattest.WantErr(t, err, nil)
	_, err = r.History(t.Context(), people[3], nil)
	chattest.WantErr(t, err, nil)
	for range 3 { // operations that do not count as reading
		_, err = r.Info(t.Context(), people[4])
		chattest.WantErr(t, err, nil)
		_, err = r.People(t.Context(), people[4])
		chattest.WantErr(t, err, nil)
	}
	chattest.SetTime(t, db, chattest.Noon.Add(6*time.Minute))
	_, err = r.Read(t.Context(), people[4], 0, 0)
	chattest.WantErr(t, err, room.ErrNotInRoom)
	if got := news(t, r, people[3], 0); got.Online != 4 {
		t.Errorf("%d people are inside", got.Online)
	}
	enter(t, r, room.EnterOptions{ID: "rests", Nick: "fresh"})
}

func TestPlaceOfAPersonWhosePresenceEndedIsFree(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	chattest.SetTime(t, db, chattest.Noon)
	r, _ := openRoom(t, db, room.CreateOptions{Max: 2}, "ann", "bob")
	for _, id := range []string{"ann", "bob"} {
		_, err := r.Enter(t.Context(), "r", &room.EnterOptions{ID: id})
		chattest.WantErr(t, err, room.ErrTaken)
	}
	_, err := r.Enter(t.Context(), "r", &room.EnterOptions{ID: "cem"})
	chattest.WantErr(t, err, chat.ErrFull)
	chattest.SetTime(t, db, chattest.Noon.Add(room.DefaultPresence))
	enter(t, r, room.EnterOptions{ID: "cem"})
	keys := db.Prefix() + ":room:{r}"
	if people, nicks := db.ZCard(t.Context(), keys+":people").Val(), db.HLen(t.Context(), keys+":nicks").Val(); people != 1 || nicks != 1 {
		t.Errorf("%d people and %d nicks are left", people, nicks)
	}
}

func TestMuteEndsAtItsTime(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	chattest.SetTime(t, db, chattest.Noon)
	r, people := openRoom(t, db, room.CreateOptions{}, "ann")
	chattest.WantErr(t, r.Mute(t.Context(), operator, "ann", time.Minute), nil)
	_, err := r.Send(t.Context(), people[0], chat.Text("x"))
	if want := "muted in this room until " + chattest.Noon.Add(time.Minute).Local().Format(time.RFC3339); err == nil || err.Error() != `room "r": send a message: `+want {
		t.Errorf("got %v", err)
	}
	chattest.SetTime(t, db, chattest.Noon.Add(time.Minute))
	say(t, r, people[0], "x", 1)
	if got := news(t, r, people[0], 0); len(got.Settings.Mutes) != 0 {
		t.Errorf("got %+v", got.Settings)
	}
	chattest.WantErr(t, r.Mute(t.Context(), operator, "bob", time.Minute), nil)
	if n := db.ZCard(t.Context(), db.Prefix()+":room:{r}:mutes").Val(); n != 1 {
		t.Errorf("%d mutes are kept", n)
	}
}

func TestWaitInARoomIsWoken(t *testing.T) {
	chattest.OwnServer(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann")
		say(t, r, people[0], "old", 1)
		chattest.WantErr(t, r.Wait(t.Context(), people[0], 0), nil)
		for name, wake := range map[string]func() error{
			"by a message":     func() error { _, err := r.Send(t.Context(), people[0], chat.Text("new")); return err },
			"by a taking back": func() error { return r.Retract(t.Context(), people[0], 1) },
		} {
			last := news(t, r, people[0], 0).Position
			if err := chattest.Woken(t, db, func() error { return newClient(db).Wait(t.Context(), people[0], last) }, func() { chattest.WantErr(t, wake(), nil) }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		last := news(t, r, people[0], 0).Position
		chattest.WantErr(t, chattest.Woken(t, db, func() error { return newClient(db).Wait(ctx, people[0], last) }, cancel), context.Canceled)
	})
}

func TestWaitingPersonStaysInTheRoomButDoesNotExtendItsLife(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	chattest.SetTime(t, db, chattest.Noon)
	r, people := openRoom(t, db, room.CreateOptions{Presence: 300 * time.Millisecond, TTL: time.Second}, "ann")
	done := make(chan error, 1)
	go func() { done <- r.Wait(t.Context(), people[0], 0) }()
	for now := chattest.Noon; now.Before(chattest.Noon.Add(800 * time.Millisecond)); {
		now = now.Add(200 * time.Millisecond)
		chattest.SetTime(t, db, now)
		insideUntil(t, r, now.Add(300*time.Millisecond))
	}
	chattest.SetTime(t, db, chattest.Noon.Add(time.Second))
	chattest.WantErr(t, <-done, room.ErrNoRoom)
}

// insideUntil waits until the one person in the room stays until then.
func insideUntil(t *testing.T, r *room.Client, until time.Time) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); {
		people, err := r.People(t.Context(), operator)
		if err != nil {
			t.Fatal(err)
		}
		if len(people) == 1 && people[0].Until.Equal(until) {
			return
		}
	}
	t.Fatalf("no person is present until %v", until)
}

func TestManyInARoomMissNothingAndRepeatNothing(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		const senders, readers, each = 4, 4, 50
		var ids []string
		for i := range senders + readers {
			ids = append(ids, fmt.Sprint("id", i))
		}
		r, people := openRoom(t, db, room.CreateOptions{}, ids...)
		done := make(chan error, senders+readers)
		for i, pass := range people {
			go func() {
				if i < senders {
					done <- sendAll(t.Context(), r, pass, each)
				} else {
					done <- readAll(t.Context(), r, pass, senders*each)
				}
			}()
		}
		for range people {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := news(t, r, people[0], 0); got.Last != senders*each || got.Kept != senders*each || got.Online != len(people) {
			t.Errorf("at the end: %+v", got.Info)
		}
	})
}

func sendAll(ctx context.Context, r *room.Client, pass room.Credential, n int) error {
	for i := range n {
		if _, err := r.Send(ctx, pass, chat.Text(fmt.Sprint(i))); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads until position last, and checks that each message comes once, in
// order, and those of one sender in the order they were sent in.
func readAll(ctx context.Context, r *room.Client, pass room.Credential, last uint64) error {
	sent := map[string]int{}
	for position := uint64(0); position < last; {
		if err := r.Wait(ctx, pass, position); err != nil {
			return err
		}
		got, err := r.Read(ctx, pass, position, 7)
		if err != nil {
			return err
		}
		for _, m := range got.Messages {
			if want := fmt.Sprint(sent[m.Sender]); m.ID != position+1 || string(m.Body) != want {
				return fmt.Errorf("got %d %q of %s, want %d %q", m.ID, m.Body, m.Sender, position+1, want)
			}
			sent[m.Sender]++
			position++
		}
		if got.Position != position {
			return fmt.Errorf("the position is %d, want %d", got.Position, position)
		}
	}
	return nil
}
