package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/room"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestCtrlCEndsFollowingAfterTheCurrentPage(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	db, err := rdb.Open(t.Context(), s.url, rdb.Options{})
	put(t, err)
	t.Cleanup(func() { _ = db.Close() })
	g, d, r := group.NewClient(handle.New(db)), conversation.NewClient(handle.New(db), nil), room.NewClient(handle.New(db))
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

func TestDamagedChatCanBeDropped(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "lunch", "--as", "ann")
	db := redistest.Open(t, s.url)
	if err := db.HSet(t.Context(), db.Prefix()+":chat:{lunch}", "last", "x").Err(); err != nil {
		t.Fatal(err)
	}
	if o := s.run("chat", "drop", "lunch"); o.code != cli.ExitDone {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

func TestDamagedEntryIsReportedInCSV(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("mail", "send", "bob", "--as", "ann", "hello")
	db := redistest.Open(t, s.url)
	add := &redis.XAddArgs{Stream: db.Prefix() + ":mail:{bob}:log", ID: "2-0", Values: []string{"a", "b"}}
	if err := db.XAdd(t.Context(), add).Err(); err != nil {
		t.Fatal(err)
	}
	o := s.run("mail", "read", "bob")
	if !strings.Contains(o.stdout+o.stderr, "not written by this program") {
		t.Errorf("a damaged entry was read and gone without a word: %q %q", o.stdout, o.stderr)
	}
}

func TestDamagedMessageIsReportedInCSV(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--member", "bob", "one")
	db, err := rdb.Open(t.Context(), s.url, rdb.Options{})
	put(t, err)
	t.Cleanup(func() { _ = db.Close() })
	put(t, db.Do(t.Context(), "XADD", "skidway:chat:{c}:log", "2-0", "a", "b").Err())
	hasLine(t, s.must("chat", "read", "c", "--as", "bob", "-o", "csv"), "c,2,", "was not written by this program")
	put(t, db.Do(t.Context(), "SET", "skidway:chat:{c}", "x").Err())
	if o := s.run("chat", "list", "--as", "bob"); o.code != cli.ExitFailed {
		t.Errorf("chat list with a chat that can't be read: exit code %d", o.code)
	}
}
