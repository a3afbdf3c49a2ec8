package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
		if before.Queue != strings.ToValidUTF8(hostile, "�") || len(before.Filter) > maxEntryText || !strings.HasSuffix(before.Filter, "é... (2000 bytes)") {
			t.Errorf("the texts are %q and %q", before.Queue, before.Filter)
		}
		if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 || strings.ContainsAny(log.String(), "\x1b\r") || !strings.Contains(lines[0], `\r\n`) {
			t.Errorf("the log is %q", log.String())
		}
	})
}

func TestAuditListsOnlyNewerEntries(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		a := NewAudit(f.db, silent())
		for _, stream := range []string{a.key, a.refused} {
			f.must(f.conn.XAdd(f.ctx, &redis.XAddArgs{Stream: stream, ID: "1000-1", Values: []any{"entry", "{}"}}).Err())
		}
		f.must(a.Record(f.ctx, Entry{Action: "login"}))
		f.must(a.Refuse(f.ctx, Entry{Action: "login"}))
		for maxAge, want := range map[time.Duration]int{0: 4, time.Hour: 2, 100 * 365 * 24 * time.Hour: 4} {
			first, next, err := a.ListNewer(f.ctx, maxAge, "", 1)
			f.must(err)
			rest, end, err := a.ListNewer(f.ctx, maxAge, next, 10)
			if f.must(err); len(first)+len(rest) != want || end != "" {
				t.Errorf("newer than %s are %d and %d entries, next %q", maxAge, len(first), len(rest), end)
			}
		}
	})
}

func TestChangeIsRefusedIfItsEntryCantBeWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)))
	a := NewAudit(f.db, silent())
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "1").Err())
	for _, action := range []string{"retry", "cancel", "pause", "resume", "purge", "delete", "stop", "continue", "delete queue", "quiet worker", "stop worker", "remove schedule", "put schedule", "token create", "user add", "token revoke", "user remove", "user password"} {
		end, err := a.Begin(f.ctx, Entry{Who: "ada", Action: action})
		if goesOn := err == nil; goesOn != !slices.Contains([]string{"retry", "put schedule", "token create", "user add"}, action) {
			t.Errorf("%s while Redis is full: %v", action, err)
		}
		if err == nil {
			f.must(end(nil, 0))
		}
	}
}

func TestWhoMakesRoomCanLogIntoAFullRedis(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)))
	users, _ := f.usersOf(user(t, "ada", AdminRole))
	withUsers, local := &site{fixture: f}, &site{fixture: f}
	withUsers.start(GateConfig{Users: users})
	local.start(GateConfig{})
	tokens := f.newTokens()
	_, token := f.create(tokens, time.Hour, "view:*")
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "1").Err())
	withUsers.want("wrong password", withUsers.send("POST", "/login", "name=ada&password=x"), 401, "wrong")
	cookie := withUsers.session("ada")
	withUsers.want("the session", withUsers.send("GET", "/", "", "Cookie", cookie), 200, "ada")
	withUsers.want("logout", withUsers.send("POST", "/logout", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"), 303, "")
	withUsers.want("after it", withUsers.send("GET", "/", "", "Cookie", cookie), 401, "")
	f.must(tokens.Revoke(f.ctx, token.ID))

	// A code is good once it has begun a session, not before.
	key := keysOf(f.conn)[keySessions]
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "0").Err())
	f.must(f.conn.Set(f.ctx, key, "no hash", 0).Err())
	code := local.gate.NewCode()
	local.want("a session that can't begin", local.send("GET", code, ""), 503, "")
	f.must(f.conn.Del(f.ctx, key).Err())
	local.want("the code again", local.send("GET", code, ""), 303, "")
	local.want("and again", local.send("GET", code, ""), 403, "")
}

func TestLoginWithoutAnEntryBeginsNoSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	keys := keysOf(s.conn)
	s.must(s.conn.Set(s.ctx, keys[keyAudit], "no stream", 0).Err())
	a := s.send("GET", s.gate.NewCode(), "")
	if s.want("login", a, 503, ""); len(a.Cookies()) > 0 || s.conn.HLen(s.ctx, keys[keySessions]).Val() != 0 {
		t.Error("there is a session")
	}
}

func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	a := NewAudit(f.db, silent())
	for _, part := range []string{"\x01", "<", "é", "\xff\x01", "x", "\u2028"} {
		long := strings.Repeat(part, 5000)
		f.must(a.Record(f.ctx, Entry{Who: long, From: long, Action: long, Queue: long, Filter: long, Outcome: long}))
		text := f.conn.XRevRangeN(f.ctx, a.key, "+", "-", 1).Val()[0].Values["entry"].(string)
		if len(text) > 1500 {
			t.Errorf("an entry of %q has %d bytes", part, len(text))
		}
		entries, _, err := a.List(f.ctx, "", 1)
		if f.must(err); !strings.HasSuffix(entries[0].Filter, fmt.Sprintf("... (%d bytes)", len(long))) {
			t.Errorf("the filter is %q", entries[0].Filter)
		}
	}
	for _, text := range []string{"", "short", strings.Repeat("x", maxEntryText)} {
		if got := shorten(text, maxEntryText); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// recorded reads the actions of all entries in pages of a size.
func (f *fixture) recorded(a *Audit, page int) (actions []string) {
	f.Helper()
	for cursor := ""; ; {
		entries, next, err := a.List(f.ctx, cursor, page)
		f.must(err)
		for _, e := range entries {
			actions = append(actions, e.Action)
		}
		if cursor = next; next == "" {
			return actions
		}
	}
}

func TestAuditIsReadInPagesAndFollowed(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		a := NewAudit(f.db, silent())
		for i := range 5 {
			f.must(a.Record(f.ctx, Entry{Who: "ada", Action: fmt.Sprint("login", i)}))
		}
		got := f.recorded(a, 2)
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

func TestRefusedLoginsPushNoEntryOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	a := NewAudit(f.db, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	followed := make(chan string, 10)
	go func() { _ = a.Follow(ctx, "0-0", func(e Entry) error { followed <- e.Action; return nil }) }()
	f.must(a.Record(f.ctx, Entry{Action: "first"}))
	f.must(a.Refuse(f.ctx, Entry{Action: "refused"}))
	f.must(a.Record(f.ctx, Entry{Action: "last"}))
	pages := f.recorded(a, 1)
	seen := map[string]bool{<-followed: true, <-followed: true, <-followed: true}
	if got := strings.Join(pages, " "); len(pages) != 3 || !seen["first"] || !seen["refused"] || !seen["last"] || strings.Index(got, "last") > strings.Index(got, "first") {
		t.Errorf("the pages have %s, followed were %v", got, seen)
	}
	pipe := f.conn.Pipeline()
	for range maxRefused + 500 {
		pipe.XAdd(f.ctx, xAddArgs(a.refused))
	}
	_, err := pipe.Exec(f.ctx)
	f.must(err)
	f.must(a.Refuse(f.ctx, Entry{Action: "refused"}))
	if n := f.conn.XLen(f.ctx, a.refused).Val(); n > maxRefused+200 {
		t.Errorf("%d entries of refused logins are kept", n)
	}
	for _, cursor := range []string{"1-0", "+", "(1-0", "(x(1-0", "(1-0(", "(1-0(1-0(1-0"} {
		if _, _, err := a.List(f.ctx, cursor, 1); err == nil {
			t.Errorf("cursor %q is accepted", cursor)
		}
	}
}
