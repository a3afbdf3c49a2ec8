package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestRefusalsAreTyped(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g, ctx := chat.NewGroup(db), t.Context()
		create(t, g, "people", chat.People, "ann")
		create(t, g, "channel", chat.Channel)
		one := func(_ any, err error) error { return err }
		for _, c := range []struct {
			name string
			got  error
			want error
		}{
			{"create a taken id", one(g.Create(ctx, "channel", chat.CreateOptions{Kind: chat.Channel})), chat.ErrExists},
			{"join nothing", g.Join(ctx, "nothing", "ann", chat.FromNow), chat.ErrNoChat},
			{"send to nothing", one(g.Send(ctx, "nothing", "ann", chat.Text("x"))), chat.ErrNoChat},
			{"send by a stranger", one(g.Send(ctx, "people", "eve", chat.Text("x"))), chat.ErrNotMember},
			{"read as a stranger", one(g.Pending(ctx, "people", "eve", 0, 0)), chat.ErrNotMember},
			{"read nothing", one(g.Pending(ctx, "nothing", "ann", 0, 0)), chat.ErrNoChat},
			{"fetch as a stranger", one(g.Fetch(ctx, "channel", "eve", 0)), chat.ErrNotMember},
			{"acknowledge as a stranger", one(g.Ack(ctx, "channel", "eve", 0)), chat.ErrNotMember},
			{"acknowledge in nothing", one(g.Ack(ctx, "nothing", "ann", 0)), chat.ErrNoChat},
			{"members of nothing", one(g.Members(ctx, "nothing")), chat.ErrNoChat},
			{"info of nothing", one(g.Info(ctx, "nothing")), chat.ErrNoChat},
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
	g := chat.NewGroup(db)
	long := strings.Repeat("x", chat.MaxName+1)
	options := func(kind chat.Kind, members ...string) error {
		_, err := g.Create(ctx, "c", chat.CreateOptions{Kind: kind, Members: members})
		return err
	}
	one := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name  string
		got   error
		field string
	}{
		{"empty chat", g.Join(ctx, "", "ann", chat.FromNow), "chat"},
		{"long chat", g.Delete(ctx, long), "chat"},
		{"control character", one(g.Info(ctx, "a\nb")), "chat"},
		{"opening brace", one(g.Info(ctx, "a{b")), "chat"},
		{"closing brace", g.Leave(ctx, "a}b", "ann"), "chat"},
		{"broken UTF-8", one(g.Ack(ctx, "c", "a\xffb", 0)), "member"},
		{"empty member", g.Wait(ctx, ""), "member"},
		{"long member", one(g.PendingAll(ctx, long, 0)), "member"},
		{"empty sender", one(g.Send(ctx, "c", "", chat.Text("x"))), "sender"},
		{"long body", one(g.Send(ctx, "c", "ann", chat.Content{Body: make([]byte, chat.MaxBody+1)})), "body"},
		{"unknown kind", options("party", "ann"), "kind"},
		{"people without a member", options(chat.People), "members"},
		{"too many first members", options(chat.Channel, make([]string, chat.MaxFirstMembers+1)...), "members"},
		{"bad first member", options(chat.Channel, "ann", ""), "member"},
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
