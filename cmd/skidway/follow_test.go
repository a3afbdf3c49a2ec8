package main

import (
	"bufio"
	"strings"
	"testing"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/room"
	"skidway/internal/rdb"
)

func TestCtrlCEndsFollowingAfterThePageInHand(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	db, err := rdb.Open(t.Context(), s.url, rdb.Options{})
	put(t, err)
	t.Cleanup(func() { _ = db.Close() })
	g, d, r := group.NewClient(db), conversation.NewClient(db, nil), room.NewClient(db)
	_, err = g.Create(t.Context(), "c", &group.CreateOptions{Members: []string{"ann", "bob"}})
	put(t, err)
	put(t, r.Create(t.Context(), "r", &room.CreateOptions{Keep: 5000}))
	pass, err := r.Enter(t.Context(), "r", &room.EnterOptions{ID: "bob"})
	put(t, err)
	const sent = 3000
	body := chat.Text(strings.Repeat("x", 200)) // a page fills a pipe
	for range sent {
		_, err := g.Send(t.Context(), "c", "ann", body)
		put(t, err)
		_, err = d.Send(t.Context(), "ann", "bob", body)
		put(t, err)
		_, err = r.Send(t.Context(), pass, body)
		put(t, err)
	}
	for _, args := range []string{"chat read --as bob --peek", "chat read c --as bob", "dm read ann --as bob", "room read r --as bob"} {
		c := s.command(strings.Fields(args + " --follow -o json")...)
		out, err := c.StdoutPipe()
		put(t, err)
		output, err := c.StderrPipe()
		put(t, err)
		put(t, c.Start())
		lines, n := bufio.NewScanner(out), 0
		for ; n < 10 && lines.Scan(); n++ {
		}
		put(t, c.Process.Signal(interrupt))
		bufio.NewScanner(output).Scan() // it has the signal, and blocks on a full pipe
		for ; lines.Scan(); n++ {
		}
		put(t, c.Wait())
		if n > 1500 {
			t.Errorf("%s: printed %d of %d messages, though it was stopped after the first ten", args, n, sent)
		}
	}
}
