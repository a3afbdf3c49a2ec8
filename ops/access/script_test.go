package access

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// TestScriptsReplyAsTheirHeadersState has a case for each reply.
func TestScriptsReplyAsTheirHeadersState(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		for _, c := range []struct {
			claim  string
			script *rdb.Script
			args   []any
			want   string
		}{
			{"add a token", tokenAddScript, []any{"a", "x", 1}, "ok"},
			{"the same again", tokenAddScript, []any{"a", "x", 1}, "ok"},
			{"too many tokens", tokenAddScript, []any{"b", "x", 1}, "full"},
			{"use a token", tokenUsedScript, []any{"a"}, "ok"},
			{"use no token", tokenUsedScript, []any{"b"}, "none"},
			{"begin a session", sessionAddScript, []any{"a", "x y", 1000, 100000, 2}, "ok"},
			{"begin it again", sessionAddScript, []any{"a", "x y", 1000, 100000, 2}, "ok"},
			{"use a session", sessionUseScript, []any{"a", 1000}, "ok x y"},
			{"use it again", sessionUseScript, []any{"a", 1000}, "ok x y"},
			{"look at it", sessionUseScript, []any{"a", 0}, "ok x y"},
			{"use no session", sessionUseScript, []any{"b", 1000}, "none"},
			{"begin one that has ended", sessionAddScript, []any{"old", "x", -1, 100000, 3}, "ok"},
			{"use one that was idle", sessionUseScript, []any{"old", 1000}, "none"},
			{"first login", loginBeginScript, []any{100000, 10, "n", 2, 1000, "h", 9, 0}, "ok"},
			{"second login", loginBeginScript, []any{100000, 10, "n", 2, 1000, "h", 9, 0}, "ok"},
			{"third login", loginBeginScript, []any{100000, 10, "n", 2, 1000, "h", 9, 0}, "wait"},
			{"within the pause", loginBeginScript, []any{100000, 10, "n", 9, 1000, "h", 9, 0}, "wait"},
			{"a right login", loginEndScript, []any{"n", "h"}, "ok"},
			{"after it", loginBeginScript, []any{100000, 10, "n", 2, 1000, "h", 9, 0}, "ok"},
			{"a right login of nothing", loginEndScript, []any{"x", "y"}, "ok"},
			{"an address of which one is forgotten", loginBeginScript, []any{100000, 10, "h", 3, 0}, "ok"},
			{"another row than fit", loginBeginScript, []any{100000, 2, "m", 2, 1000}, "ok"},
		} {
			reply, err := c.script.Run(f.ctx, db, keysOf(db), c.args...)
			f.must(err)
			got := strings.TrimSpace(reply.Word + " " + strings.Join(reply.Texts(), " "))
			if left := reply.Int(1); c.script == sessionUseScript && left > 90_000 && left <= 100_000 {
				got = strings.TrimSuffix(got, fmt.Sprint(" ", left))
			}
			if got != c.want && (c.want != "wait" || reply.Word != "wait" || reply.Int(0) <= 0) {
				t.Errorf("%s: %q, want %q", c.claim, got, c.want)
			}
		}
		if n := db.HLen(f.ctx, keysOf(db)[keyLogins]).Val(); n != 2 {
			t.Errorf("there are %d rows of logins", n)
		}
	})
}

func TestScriptsInAFullRedis(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)))
	run := func(script *rdb.Script, args ...any) (rdb.Reply, error) {
		return script.Run(f.ctx, f.conn, keysOf(f.conn), args...)
	}
	_, err := run(sessionAddScript, "a", "x", 1000, 100000, 2)
	f.must(err)
	f.must(f.conn.HSet(f.ctx, keysOf(f.conn)[keyTokens], "there", "x").Err())
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "1").Err())
	for name, c := range map[string]struct {
		script *rdb.Script
		args   []any
	}{
		"token_add":  {tokenAddScript, []any{"a", "x", 9}},
		"token_used": {tokenUsedScript, []any{"there"}},
	} {
		if _, err := run(c.script, c.args...); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		script *rdb.Script
		args   []any
	}{
		"session_use": {sessionUseScript, []any{"a", 1000}},
		"session_add": {sessionAddScript, []any{"b", "x", 1000, 100000, 2}},
		"login_begin": {loginBeginScript, []any{100000, 10, "n", 2, 1000, "h", 9, 0}},
		"login_end":   {loginEndScript, []any{"n", "h"}},
	} {
		if reply, err := run(c.script, c.args...); err != nil || reply.Word != "ok" {
			t.Errorf("%s: %v, %v", name, reply, err)
		}
	}
	f.must(f.conn.ConfigSet(f.ctx, "maxmemory", "0").Err())
	if n := f.conn.HExists(f.ctx, keysOf(f.conn)[keyTokens], "a").Val(); n {
		t.Error("a refused script has written")
	}
}

func TestNewerFormatsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	s := f.newSessions(nil)
	_, err := sessionAddScript.Run(f.ctx, f.conn, s.keys, hashOf("a"), `{"format":2}`, 1000, 1000, 1)
	f.must(err)
	if _, err := s.Principal(f.ctx, "a"); err == nil || errors.Is(err, ErrNoSession) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a session: %v", err)
	}
	tokens := f.newTokens()
	f.must(f.conn.HSet(f.ctx, tokens.keys[keyTokens], "a", `{"format":2,"hash":"`+hashOf("skd_a_x")+`","expires":99999999999999}`).Err())
	if _, err := tokens.Authenticate(f.ctx, "skd_a_x"); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a token: %v", err)
	}
	a := NewAudit(f.db, silent())
	args := xAddArgs(a.key)
	args.Values = []any{"entry", `{"format":2,"action":"x"}`}
	f.must(f.conn.XAdd(f.ctx, args).Err())
	if entries, _, err := a.List(f.ctx, "", 1); err != nil || !strings.Contains(entries[0].Outcome, "format 2") || entries[0].Action != "" {
		t.Errorf("an entry: %+v, %v", entries, err)
	}
}
