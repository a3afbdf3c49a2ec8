package chat_test

import (
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/redistest"
)

func TestFullRedisCanBeReadEmpty(t *testing.T) {
	s := redistest.Start(t)
	db := redistest.Open(t, s.URL(0))
	ctx := t.Context()
	g, m := chat.NewGroup(db), chat.NewMailbox(db)
	create(t, g, "c", chat.Channel, "ann")
	for i := range uint64(3) {
		send(t, g, "c", "bob", strings.Repeat("x", 100_000), i+1)
		if _, err := m.Send(ctx, "b", "bob", chat.Text(strings.Repeat("x", 100_000))); err != nil {
			t.Fatal(err)
		}
	}
	// scripts known
	_, _ = g.Pending(ctx, "c", "ann", 0, 1)
	_, _ = g.Ack(ctx, "c", "ann", 0)
	_, _ = m.Read(ctx, "b", 0, 1)
	_, _ = m.Ack(ctx, "b", 99)
	away(t, db, "c", "ann", time.Hour) // it was not here for a while
	if err := db.ConfigSet(ctx, "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(ctx, "b", 0, 0); err != nil {
		t.Errorf("mail read: %v", err)
	}
	if _, err := m.Ack(ctx, "b", 1, 2, 3); err != nil {
		t.Errorf("mail ack: %v", err)
	}
	if _, err := g.Pending(ctx, "c", "ann", 0, 0); err != nil {
		t.Errorf("chat read: %v", err)
	}
	if _, err := g.PendingAll(ctx, "ann", 0); err != nil {
		t.Errorf("chat read all: %v", err)
	}
	if _, err := g.Ack(ctx, "c", "ann", 3); err != nil {
		t.Errorf("chat ack: %v", err)
	}
}
