package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
)

func TestDamagedChatCanBeDropped(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("chat", "create", "--id", "lunch", "--as", "ann")
	db := redistest.Open(t, s.url)
	if err := db.HSet(t.Context(), db.Prefix()+":chat:{lunch}", "last", "x").Err(); err != nil {
		t.Fatal(err)
	}
	if o := s.run("chat", "drop", "lunch"); o.code != exitDone {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

func TestDamagedEntryIsReportedInCSV(t *testing.T) {
	t.Parallel()
	s := newShell(t)
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
