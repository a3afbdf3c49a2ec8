package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

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

func TestDamagedMessageIsToldInCSV(t *testing.T) {
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
