package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestAuditHasAnEntryBeforeAndAfterAChange(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		var log bytes.Buffer
		a := NewAudit(f.db, slog.New(slog.NewTextHandler(&log, nil)))
		hostile := "x\r\n\x1b[2Jtime=now \xff"
		ctx, cancel := context.WithCancel(f.ctx)
		end, err := a.Begin(ctx, Entry{Who: "ada", Proven: true, From: "192.0.2.1", Action: "retry", Queue: hostile, Filter: strings.Repeat("é", 1000), Count: 3, Outcome: "done"})
		f.must(err)
		cancel() // the caller is gone
		f.must(end(errors.New("no"), 2))
		entries, next, err := a.List(f.ctx, "", 10)
		f.must(err)
		if len(entries) != 2 || next != "" {
			t.Fatalf("the entries are %+v, next %q", entries, next)
		}
		after, before := entries[0], entries[1]
		if before.Outcome != "" || before.Count != 3 || after.Outcome != "no" || after.Count != 2 || before.Change != after.Change || before.Change == "" || before.ID == after.ID {
			t.Errorf("the entries are %+v and %+v", before, after)
		}
		if before.Who != "ada" || !before.Proven || before.From != "192.0.2.1" || before.Action != "retry" || before.Time.IsZero() {
			t.Errorf("the entry is %+v", before)
		}
		if before.Queue != strings.ToValidUTF8(hostile, "�") || len(before.Filter) > maxEntryText+3 {
			t.Errorf("the texts are %q and %q", before.Queue, before.Filter)
		}
		if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 || strings.ContainsAny(log.String(), "\x1b\r") || !strings.Contains(lines[0], `\r\n`) {
			t.Errorf("the log is %q", log.String())
		}
	})
}

func TestChangeIsRefusedIfItsEntryCantBeWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)))
	a := NewAudit(f.db, silent())
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "1").Err())
	for _, action := range []string{"retry", "cancel", "pause", "purge", "delete", "stop", "queues purge", "delete queue"} {
		end, err := a.Begin(f.ctx, Entry{Who: "ada", Action: action})
		if goesOn := err == nil; goesOn != (action == "purge" || action == "delete" || action == "stop" || action == "queues purge") {
			t.Errorf("%s while Redis is full: %v", action, err)
		}
		if err == nil {
			f.must(end(nil, 0))
		}
	}
	// Sessions need no memory to go on.
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "0").Err())
	s := f.newSessions(nil)
	id, err := s.Begin(f.ctx, nil)
	f.must(err)
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "1").Err())
	_, err = s.Principal(f.ctx, id)
	f.must(err)
}

func TestAuditIsReadInPagesAndFollowed(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		a := NewAudit(f.db, silent())
		for i := range 5 {
			f.must(a.Record(f.ctx, Entry{Who: "ada", Action: fmt.Sprint("login", i)}))
		}
		var got []string
		for cursor := ""; ; {
			entries, next, err := a.List(f.ctx, cursor, 2)
			f.must(err)
			for _, e := range entries {
				got = append(got, e.Action)
			}
			if cursor = next; next == "" {
				break
			}
		}
		if want := "login4 login3 login2 login1 login0"; strings.Join(got, " ") != want {
			t.Errorf("pages have %v", got)
		}
		for _, cursor := range []string{"x", "1", "-", "+", "1-", "1-1x", "(1-1", "1-1 2"} {
			if _, _, err := a.List(f.ctx, cursor, 2); !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("cursor %q: %v", cursor, err)
			}
		}

		ready, done := errors.New("ready"), make(chan error, 1)
		entries, _, err := a.List(f.ctx, "", 5)
		f.must(err)
		got = nil
		go func() {
			done <- a.Follow(f.ctx, entries[1].ID, func(e Entry) error {
				if got = append(got, e.Action); e.Action == "last" {
					return ready
				}
				return a.Record(f.ctx, Entry{Who: "ada", Action: "last"})
			})
		}()
		if err := <-done; !errors.Is(err, ready) || strings.Join(got, " ") != "login4 last" {
			t.Errorf("followed %v: %v", got, err)
		}
	})
}

func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	a := NewAudit(f.db, silent())
	pipe := f.conn.Pipeline()
	for range maxEntries + 500 {
		pipe.XAdd(f.ctx, xAddArgs(a.key))
	}
	_, err := pipe.Exec(f.ctx)
	f.must(err)
	f.must(a.Record(f.ctx, Entry{Who: "ada", Action: "login"}))
	if n := f.conn.XLen(f.ctx, a.key).Val(); n > maxEntries+200 {
		t.Errorf("the audit has %d entries", n)
	}
	entries, _, err := a.List(f.ctx, "", 2)
	f.must(err)
	if entries[0].Action != "login" || !strings.HasPrefix(entries[1].Outcome, "malformed") {
		t.Errorf("the entries are %+v", entries)
	}
}
