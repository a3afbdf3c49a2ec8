package chat_test

import (
	"errors"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestLostAnswerOfSendToARoomIsTold(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	r, people := room(t, redistest.Open(t, proxy.URL), chat.RoomOptions{}, "ann")
	say(t, r, people[0], "one", 1)
	<-lose(proxy, func() {
		_, err := r.Send(t.Context(), people[0], chat.Text("two"))
		var unknown *rdb.OutcomeUnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("got error %v", err)
		}
	})
	wantStrings(t, texts(news(t, r, people[0], 0)), "one", "two")
}

// lose loses the next reply, and tells when it has.
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
		r := newRoom(db)
		var ann, bob chat.Pass
		for _, step := range []struct {
			name string
			call func() error
		}{
			{"create", func() error { return r.Create(ctx, "r", chat.RoomOptions{}) }},
			{"enter", func() (err error) { ann, err = r.Enter(ctx, "r", chat.EnterOptions{ID: "ann"}); return err }},
			{"hand over", func() (err error) {
				ann, err = r.Set(ctx, ann, chat.RoomChange{Password: ptr("x"), Owner: ptr("eve")})
				return err
			}},
			{"take over", func() error {
				return one(r.Set(ctx, chat.Pass{Room: "r", Key: ann.Key}, chat.RoomChange{Owner: ptr("ann")}))
			}},
			{"send", func() error {
				if round == "answers get lost" {
					proxy.DropReply(0) // that is another test
				}
				return one(r.Send(ctx, ann, chat.Text("x")))
			}},
			{"read", func() error { return one(r.Read(ctx, ann, 0, 0)) }},
			{"mute", func() error { return r.Mute(ctx, ann, "bob", time.Hour) }},
			{"unmute", func() error { return r.Unmute(ctx, ann, "bob") }},
			{"retract", func() error { return r.Retract(ctx, ann, 1) }},
			{"info", func() error { return one(r.Info(ctx, ann)) }},
			{"people", func() error { return one(r.People(ctx, ann)) }},
			{"leave", func() error { return r.Leave(ctx, ann) }},
			{"enter by password", func() (err error) {
				bob, err = r.Enter(ctx, "r", chat.EnterOptions{ID: "bob", Password: "x"})
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
		wantErr(t, one(r.Read(ctx, bob, 0, 0)), chat.ErrNoRoom)
	}
}

func TestRepeatedDeleteSparesTheNextRoom(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	proxy := redistest.StartProxy(t, url)
	lossy := newRoom(redistest.Open(t, proxy.URL))
	sure, _ := room(t, redistest.Open(t, url), chat.RoomOptions{})
	wantErr(t, lossy.Delete(t.Context(), operator), nil)
	wantErr(t, sure.Create(t.Context(), "r", chat.RoomOptions{}), nil)
	lost := proxy.DropReply(1)
	done := make(chan error)
	go func() { done <- lossy.Delete(t.Context(), operator) }()
	<-lost
	proxy.Hold()
	wantErr(t, sure.Create(t.Context(), "r", chat.RoomOptions{}), nil)
	proxy.Release()
	wantErr(t, <-done, nil)
	enter(t, sure, chat.EnterOptions{ID: "ann"})
}
