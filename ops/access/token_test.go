package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// newTokens returns tokens with the clock of the fixture.
func (f *fixture) newTokens() *Tokens {
	tokens := NewTokens(f.db)
	tokens.now = f.now
	return tokens
}

func (f *fixture) create(tokens *Tokens, valid time.Duration, scopes ...string) (string, Token) {
	f.Helper()
	text, token, err := tokens.Create(f.ctx, Token{Name: "ci", Scopes: principal(f, scopes...).Scopes, By: "ada@host"}, valid)
	f.must(err)
	return text, token
}

func TestTokens(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		tokens := f.newTokens()
		text, token := f.create(tokens, time.Hour, "enqueue:mail:email.send")
		p, err := tokens.Authenticate(f.ctx, text)
		f.must(err)
		if !p.Token || p.Name != "ci" || p.ID != token.ID || !p.MayAdd("mail", "email.send") || p.May(View, "mail") {
			t.Errorf("the token is of %+v", p)
		}
		if stored := f.stored(); strings.Contains(stored, text) || strings.Contains(stored, text[17:]) {
			t.Errorf("Redis has the token: %s", stored)
		}
		last := text[len(text)-2:]
		for _, wrong := range []string{
			"", "skd", "skd_", "skd__", text[:len(text)-2] + strings.Map(func(r rune) rune { return r ^ 1 }, last), text + "x", "x" + text,
			"skd_000000000000_" + text[17:], strings.ToUpper(text), text + strings.Repeat("x", 1<<20), "skd_" + token.ID + "_",
		} {
			if _, err := tokens.Authenticate(f.ctx, wrong); !errors.Is(err, ErrToken) {
				t.Errorf("%.80s: %v", wrong, err)
			}
		}
		listed, err := tokens.List(f.ctx)
		f.must(err)
		if len(listed) != 1 || listed[0].ID != token.ID || listed[0].Used.IsZero() || listed[0].Scopes[0] != token.Scopes[0] || listed[0].By != "ada@host" {
			t.Errorf("listed are %+v", listed)
		}

		f.must(tokens.Revoke(f.ctx, token.ID))
		f.time = f.time.Add(tokensCached - 1)
		_, err = tokens.Authenticate(f.ctx, text)
		f.must(err) // from the cache
		f.time = f.time.Add(1)
		if _, err := tokens.Authenticate(f.ctx, text); !errors.Is(err, ErrToken) {
			t.Errorf("a revoked token: %v", err)
		}
		if err := tokens.Revoke(f.ctx, token.ID); !errors.Is(err, ErrNoToken) {
			t.Errorf("revoked again: %v", err)
		}
	})
}

func TestTokenIsGoodAsSoonAsItHasBeenCreated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	server, command := NewTokens(f.db), f.newTokens()
	accepted := func() {
		t.Helper()
		text, token := f.create(command, time.Hour, "view:*")
		if p, err := server.Authenticate(f.ctx, text); err != nil || p.ID != token.ID {
			t.Errorf("a new token: %v", err)
		}
	}
	accepted()
	accepted() // all tokens have just been read
	ctx, stop := context.WithCancel(f.ctx)
	var unknown sync.WaitGroup
	for i := range 20 {
		unknown.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := server.Authenticate(ctx, fmt.Sprintf("skd_%06d%06d_x", i, n)); !errors.Is(err, ErrToken) && ctx.Err() == nil {
					t.Errorf("an unknown token: %v", err)
				}
			}
		})
	}
	for range 5 {
		accepted()
	}
	stop()
	unknown.Wait()
}

func TestLookupsOfUnknownTokensAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	tokens := f.newTokens()
	f.create(tokens, time.Hour, "view:*")
	must := func(l *lookup, _ time.Duration, _ tokenRecord, _ time.Time, err error) *lookup {
		t.Helper()
		f.must(err)
		return l
	}
	first := must(tokens.cached(f.ctx, "0"))
	for i := range maxMissed {
		if l := must(tokens.cached(f.ctx, fmt.Sprint(i))); l != first {
			t.Fatalf("token %d has a lookup of its own", i)
		}
	}
	if _, err := tokens.Authenticate(f.ctx, "skd_other_x"); !errors.Is(err, ErrTokensBusy) {
		t.Errorf("one token too many: %v", err)
	}
	if _, err := tokens.Authenticate(f.ctx, "skd_0_x"); !errors.Is(err, ErrToken) || !first.done {
		t.Errorf("a token of the lookup: %v", err)
	}
	if _, wait, _, _, err := tokens.cached(f.ctx, "other"); err != nil || wait != tokenMissed {
		t.Errorf("the next lookup is after %s, %v", wait, err)
	}
	f.time = f.time.Add(tokenMissed / 2)
	if _, wait, _, _, err := tokens.cached(f.ctx, "other"); err != nil || wait != tokenMissed/2 {
		t.Errorf("the next lookup is after %s, %v", wait, err)
	}
}

func TestUnknownTokensDoNotMakeAllTokensBeRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	tokens := f.newTokens()
	f.create(tokens, time.Hour, "view:*")
	read := func() time.Time {
		t.Helper()
		if _, err := tokens.Authenticate(f.ctx, "skd_000000000000_x"); !errors.Is(err, ErrToken) {
			t.Errorf("an unknown token: %v", err)
		}
		return tokens.read
	}
	first := read()
	for f.time = f.time.Add(tokenMissed); f.time.Before(first.Add(tokensCached)); f.time = f.time.Add(tokenMissed) {
		if at := read(); at != first {
			t.Fatalf("an unknown token made all tokens be read again after %s", at.Sub(first))
		}
	}
	if at := read(); at == first {
		t.Error("the tokens are not read again")
	}
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	tokens := f.newTokens()
	text, _ := f.create(tokens, tokensCached-time.Second, "view:*")
	_, err := tokens.Authenticate(f.ctx, text)
	f.must(err)
	f.time = f.time.Add(tokensCached - 1) // Redis is not read again
	if _, err := tokens.Authenticate(f.ctx, text); !errors.Is(err, ErrTokenExpired) {
		t.Errorf("an expired token: %v", err)
	}
	if _, err := tokens.Authenticate(f.ctx, text[:len(text)-5]+"aaaaa"); !errors.Is(err, ErrToken) {
		t.Errorf("a wrong token with the id of an expired one: %v", err)
	}
}

func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	tokens := f.newTokens()
	fill := func(expires string) {
		var rows []any
		for i := range maxTokens {
			rows = append(rows, i, `{"format":1,"scopes":["view:*"],"expires":`+expires+`}`)
		}
		f.must(f.conn.HSet(f.ctx, tokens.keys[keyTokens], rows...).Err())
	}
	fill("99999999999999")
	if _, _, err := tokens.Create(f.ctx, Token{Scopes: principal(t, "view:*").Scopes}, time.Hour); err == nil || !strings.Contains(err.Error(), "revoke some") {
		t.Errorf("one token too many: %v", err)
	}
	fill("1")
	f.create(tokens, time.Hour, "view:*")
	if listed, err := tokens.List(f.ctx); err != nil || len(listed) != 1 {
		t.Errorf("expired tokens did not make room: %d left, %v", len(listed), err)
	}
	for name, token := range map[string]Token{"no scope": {}, "name that moves the cursor": {Name: "a\x1b[2J", Scopes: principal(t, "view:*").Scopes}, "long name": {Name: strings.Repeat("x", 81), Scopes: principal(t, "view:*").Scopes}} {
		if _, _, err := tokens.Create(f.ctx, token, time.Hour); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.must(f.conn.HSet(f.ctx, tokens.keys[keyTokens], "new", `{"format":2}`).Err())
	listed, err := tokens.List(f.ctx)
	f.must(err)
	if len(listed) != 2 || listed[1].ID != "new" || listed[1].Err == nil || !strings.Contains(listed[1].Err.Error(), "token new has format 2") {
		t.Errorf("with a newer format are listed %+v", listed)
	}
	fill("1")
	f.create(tokens, time.Hour, "view:*")
	if !f.conn.HExists(f.ctx, tokens.keys[keyTokens], "new").Val() {
		t.Error("a token of a newer format made room")
	}
}

func TestTokenIsAcceptedIfItsUseCantBeWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	var log bytes.Buffer
	tokens := f.newTokens()
	tokens.logger = slog.New(slog.NewTextHandler(&log, nil))
	text, _ := f.create(tokens, time.Hour, "view:*")
	_, err := tokens.Authenticate(f.ctx, text)
	f.must(err) // they are read now
	clear(tokens.noted)
	f.must(f.conn.Set(f.ctx, tokens.keys[keyTokensUsed], "no hash", 0).Err())
	_, err = tokens.Authenticate(f.ctx, text)
	f.must(err)
	if !strings.Contains(log.String(), "WRONGTYPE") || strings.Contains(log.String(), text) {
		t.Errorf("the log is %q", log.String())
	}
}
