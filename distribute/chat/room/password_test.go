package room_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/room"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// Time can't be compared on a busy machine, so the work is counted: of the slow
// hash, which takes 200 ms, and of commands.
func TestWrongPasswordAndWrongRoomAreTheSameAnswerAndTheSameWork(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	var runs []int // rounds of each
	r := room.NewStretching(redistest.Open(t, proxy.URL), func(password string, salt []byte, rounds int) ([]byte, error) {
		runs = append(runs, rounds)
		key := sha256.Sum256(append(salt, password...))
		return key[:], nil
	})
	ctx := t.Context()
	for name, options := range map[string]room.CreateOptions{"locked": {Password: "open sesame"}, "plain": {}} {
		if err := r.Create(ctx, name, &options); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = r.Enter(ctx, "none", nil) // from now on Redis knows the script
	for _, c := range []struct {
		name, room, password string
		err                  error
		rounds               []int
		commands             int
	}{
		{"right", "locked", "open sesame", nil, []int{600_000}, 2},
		{"wrong password", "locked", "open", room.ErrNoRoom, []int{600_000}, 2},
		{"wrong room", "none", "open sesame", room.ErrNoRoom, []int{600_000}, 2},
		{"room without password", "plain", "open sesame", nil, []int{600_000}, 2},
		{"no password given", "locked", "", room.ErrNoRoom, nil, 1},
		{"wrong room, no password given", "none", "", room.ErrNoRoom, nil, 1},
	} {
		runs = nil
		before := proxy.Commands()
		_, err := r.Enter(ctx, c.room, &room.EnterOptions{Password: c.password})
		if !errors.Is(err, c.err) || !slices.Equal(runs, c.rounds) || proxy.Commands()-before != c.commands {
			t.Errorf("%s: %v, hashed %v, %d commands", c.name, err, runs, proxy.Commands()-before)
		}
		if want := fmt.Sprintf("room %q: enter: %v", c.room, room.ErrNoRoom); c.err != nil && err.Error() != want {
			t.Errorf("%s: %q, want %q", c.name, err, want)
		}
	}
}

func TestEveryOperationNeedsTheKeyOfThePassword(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{Password: "open sesame"}, "ann")
		say(t, r, people[0], "x", 1)
		for name, key := range map[string]string{"none": "", "wrong": strings.Repeat("0", 64)} {
			for call, err := range everything(t.Context(), r, room.Credential{Room: "r", ID: "ann", Key: key}) {
				if !errors.Is(err, room.ErrNoRoom) {
					t.Errorf("key %s: %s: got %v", name, call, err)
				}
			}
		}
		key, err := r.Key(t.Context(), "r", "open sesame")
		if err != nil || key != people[0].Key {
			t.Errorf("got key %q, %v", key, err)
		}
	})
}

// everything tries all that takes a pass and returns the errors.
func everything(ctx context.Context, r *room.Client, pass room.Credential) map[string]error {
	errs := map[string]error{}
	_, errs["send"] = r.Send(ctx, pass, chat.Text("x"))
	_, errs["read"] = r.Read(ctx, pass, 0, 0)
	_, errs["history"] = r.History(ctx, pass, nil)
	_, errs["info"] = r.Info(ctx, pass)
	_, errs["people"] = r.People(ctx, pass)
	_, errs["set"] = r.Set(ctx, pass, room.Change{})
	errs["wait"] = r.Wait(ctx, pass, 0)
	errs["mute"] = r.Mute(ctx, pass, "bob", 0)
	errs["unmute"] = r.Unmute(ctx, pass, "bob")
	errs["retract"] = r.Retract(ctx, pass, 1)
	errs["leave"] = r.Leave(ctx, pass)
	errs["delete"] = r.Delete(ctx, pass)
	return errs
}

func TestNewPasswordRemovesAllPeopleButTheCaller(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, people := openRoom(t, db, room.CreateOptions{}, "ann", "bob")
		ann, err := r.Set(t.Context(), people[0], room.Change{Password: chattest.Ptr("new")})
		chattest.WantErr(t, err, nil)
		say(t, r, ann, "only for us", 1)
		_, err = r.Read(t.Context(), people[1], 0, 0)
		chattest.WantErr(t, err, room.ErrNoRoom)
		_, err = r.Enter(t.Context(), "r", &room.EnterOptions{ID: "bob"})
		chattest.WantErr(t, err, room.ErrNoRoom)
		bob := enter(t, r, room.EnterOptions{ID: "bob", Password: "new"})
		if got := news(t, r, bob, 0); len(got.Messages) != 1 || !got.Settings.Password || got.Online != 2 {
			t.Errorf("got %+v", got)
		}
		_, err = r.Set(t.Context(), ann, room.Change{Password: chattest.Ptr("")})
		chattest.WantErr(t, err, nil)
		if got := news(t, r, room.Credential{Room: "r", ID: "bob"}, 0); got.Settings.Password {
			t.Error("it still has a password")
		}
	})
}

func TestRedisHoldsNeitherPasswordNorKey(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	_, people := openRoom(t, db, room.CreateOptions{Password: "open sesame"}, "ann")
	for _, key := range db.Keys(t.Context(), "*").Val() {
		dump := db.Dump(t.Context(), key).Val()
		for _, secret := range []string{"sesame", people[0].Key} {
			if strings.Contains(dump, secret) {
				t.Errorf("%s holds %q", key, secret)
			}
		}
	}
	if text := fmt.Sprintf("%v %+v", people[0], people[0]); strings.Contains(text, people[0].Key) {
		t.Errorf("a printed credential shows its key: %s", text)
	}
}

func TestDamagedRoundsAreNotRun(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		r, _ := openRoom(t, db, room.CreateOptions{Password: "x"})
		for _, c := range []struct{ field, value string }{
			{"rounds", "99999999999"}, {"rounds", "-5"}, {"rounds", "many"}, {"rounds", "0"}, {"salt", "zz"},
		} {
			key := db.Prefix() + ":room:{r}"
			was := db.HGet(t.Context(), key, c.field).Val()
			if err := db.HSet(t.Context(), key, c.field, c.value).Err(); err != nil {
				t.Fatal(err)
			}
			_, err := r.Enter(t.Context(), "r", &room.EnterOptions{Password: "x"})
			var corrupt *chat.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Where != c.field {
				t.Errorf("%s %q: got %v", c.field, c.value, err)
			}
			_ = db.HSet(t.Context(), key, c.field, was)
		}
	})
}

// One with the real hash, whose answer is that of another implementation:
// python3 -c "import hashlib; print(hashlib.pbkdf2_hmac('sha256', b'open sesame', bytes(16), 600000).hex())"
func TestKeyIsThatOfPBKDF2(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	r := room.NewClient(handle.New(db))
	if err := r.Create(t.Context(), "r", &room.CreateOptions{Password: "open sesame"}); err != nil {
		t.Fatal(err)
	}
	if err := db.HSet(t.Context(), db.Prefix()+":room:{r}", "salt", strings.Repeat("00", 16)).Err(); err != nil {
		t.Fatal(err)
	}
	const want = "8b6b7e56971bdf0e78b34190a54f3237c55307e372eaa56ff2bb3faa16940711"
	if key, err := r.Key(t.Context(), "r", "open sesame"); err != nil || key != want {
		t.Errorf("got %q, %v", key, err)
	}
}
