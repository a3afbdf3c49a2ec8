package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// newSessions returns sessions with the clock of the fixture.
func (f *fixture) newSessions(users *Users) *Sessions {
	sessions := NewSessions(f.db, users)
	sessions.now = f.now
	return sessions
}

func wantNoSession(t *testing.T, claim string, s *Sessions, id string) {
	t.Helper()
	if p, err := s.Principal(t.Context(), id); !errors.Is(err, ErrNoSession) {
		t.Errorf("%s: %+v, %v", claim, p, err)
	}
}

func TestSessions(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		ada := user(t, "ada", AdminRole)
		users, path := f.usersOf(ada, user(t, "bob", ViewRole))
		s := f.newSessions(users)
		begin := func(u User) string {
			t.Helper()
			id, err := s.Begin(f.ctx, &u)
			f.must(err)
			return id
		}
		first, second := begin(ada), begin(ada)
		if first == second {
			t.Error("two logins have one id")
		}
		p, err := s.Principal(f.ctx, first)
		f.must(err)
		if p.Name != "ada" || p.Token || !p.May(Admin, All) {
			t.Errorf("the session is of %+v", p)
		}
		if stored := f.stored(); strings.Contains(stored, first) || !strings.Contains(stored, hashOf(first)) {
			t.Errorf("Redis has the id: %s", stored)
		}
		wantNoSession(t, "an id of nothing", s, "")
		wantNoSession(t, "an id that the browser chose", s, "fixed")
		wantNoSession(t, "the hash of an id", s, hashOf(first))

		f.must(s.End(f.ctx, first))
		wantNoSession(t, "after the logout", s, first)
		wantNoSession(t, "another session of the user after the logout", s, second)

		changed, kept := begin(ada), begin(user(t, "bob", ViewRole))
		ada.Password = cheapHash(t, "another")
		f.edit(path, ada, user(t, "bob", ViewRole))
		wantNoSession(t, "after a change of the password", s, changed)
		wantNoSession(t, "a session of another entry of bob", s, kept) // its hash has another salt
		removed := begin(ada)
		f.edit(path)
		wantNoSession(t, "after the user was removed", s, removed)
	})
}

func TestLocalSessionsAreNoneOfUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", ViewRole))
	id, err := f.newSessions(nil).Begin(f.ctx, nil)
	f.must(err)
	wantNoSession(t, "a local session of another server", f.newSessions(nil), id)
	local := f.newSessions(nil)
	id, err = local.Begin(f.ctx, nil)
	f.must(err)
	p, err := local.Principal(f.ctx, id)
	f.must(err)
	if p.Name != LocalName || !p.May(Admin, All) || p.May(Reveal, "a") || p.MayAdd("a", "exec.run") {
		t.Errorf("the local principal is %+v", p)
	}
	wantNoSession(t, "a local session where there are users", f.newSessions(users), id)
	ada := user(t, "ada", ViewRole)
	id, err = f.newSessions(users).Begin(f.ctx, &ada)
	f.must(err)
	wantNoSession(t, "a session of a user where there are none", f.newSessions(nil), id)
}

func TestSessionsEndWhenIdleAndAfterTheirLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	s := f.newSessions(nil)
	idle, err := s.Begin(f.ctx, nil)
	f.must(err)
	old, err := s.Begin(f.ctx, nil)
	f.must(err)
	now := f.conn.Time(f.ctx).Val()
	if left := f.conn.ZScore(f.ctx, s.keys[keySessionsEnd], hashOf(idle)).Val() - float64(now.UnixMilli()); left > 30*60_000 || left < 29*60_000 {
		t.Errorf("it ends in %v ms", left)
	}
	f.must(f.conn.ZAddArgs(f.ctx, s.keys[keySessionsEnd], zArgs(hashOf(idle), now.UnixMilli()-1)).Err())
	row := f.conn.HGet(f.ctx, s.keys[keySessions], hashOf(old)).Val()
	ends, record, _ := strings.Cut(row, " ")
	if want := fmt.Sprint(now.Add(sessionLife).UnixMilli())[:8]; ends[:8] != want {
		t.Errorf("it ends for good at %s, want about %s", ends, want)
	}
	f.must(f.conn.HSet(f.ctx, s.keys[keySessions], hashOf(old), "1 "+record).Err())
	wantNoSession(t, "idle", s, idle)
	wantNoSession(t, "after its life", s, old)
	if n := f.conn.HLen(f.ctx, s.keys[keySessions]).Val(); n != 0 {
		t.Errorf("%d ended sessions are left", n)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	s := f.newSessions(nil)
	first, err := s.Begin(f.ctx, nil)
	f.must(err)
	later := f.conn.Time(f.ctx).Val().Add(sessionIdle).UnixMilli() + 1
	for i := range maxSessions - 1 {
		f.must(f.conn.ZAddArgs(f.ctx, s.keys[keySessionsEnd], zArgs(fmt.Sprint(i), later)).Err())
	}
	_, err = s.Begin(f.ctx, nil)
	f.must(err)
	if n := f.conn.ZCard(f.ctx, s.keys[keySessionsEnd]).Val(); n != maxSessions {
		t.Errorf("there are %d sessions", n)
	}
	wantNoSession(t, "the one that would end first", s, first)
}

func TestSessionIsReadAtMostEvery5Seconds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	s := f.newSessions(nil)
	id, err := s.Begin(f.ctx, nil)
	f.must(err)
	_, err = s.Principal(f.ctx, id)
	f.must(err)
	f.must(f.newSessions(nil).End(f.ctx, id)) // another process
	f.time = f.time.Add(sessionsCached - 1)
	_, err = s.Principal(f.ctx, id)
	f.must(err)
	f.time = f.time.Add(1)
	wantNoSession(t, "after 5 s", s, id)
}

func TestUserEndsOnlyOwnSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	ada, bob := user(t, "ada", ViewRole), user(t, "bob", AdminRole)
	users, _ := f.usersOf(ada, bob)
	s := f.newSessions(users)
	kept, err := s.Begin(f.ctx, &bob)
	f.must(err)
	var ids []string
	for range sessionsOfUser + 1 {
		id, err := s.Begin(f.ctx, &ada)
		f.must(err)
		ids = append(ids, id)
		row := f.conn.HGet(f.ctx, s.keys[keySessions], hashOf(id)).Val() // as if a second passed
		_, record, _ := strings.Cut(row, " ")
		f.must(f.conn.HSet(f.ctx, s.keys[keySessions], hashOf(id), fmt.Sprintf("%d %s", 9999999990000+len(ids), record)).Err())
	}
	if n := f.conn.HLen(f.ctx, s.keys[keySessions]).Val(); n != 1+sessionsOfUser {
		t.Errorf("there are %d sessions", n)
	}
	wantNoSession(t, "the first one of ada", s, ids[0])
	for _, id := range []string{kept, ids[1], ids[sessionsOfUser]} {
		_, err := s.Principal(f.ctx, id)
		f.must(err)
	}
}

func TestSessionThatEndsIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	s := f.newSessions(nil)
	id, err := s.Begin(f.ctx, nil)
	f.must(err)
	f.conn.AddHook(beforeHDel{func() { // a request reads it again meanwhile
		_, err := s.Principal(f.ctx, id)
		f.must(err)
	}})
	f.must(s.End(f.ctx, id))
	wantNoSession(t, "after the logout", s, id)
}

// beforeHDel is a hook that calls a function before the first HDEL.
type beforeHDel struct{ f func() }

func (beforeHDel) DialHook(next redis.DialHook) redis.DialHook { return next }

func (beforeHDel) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b beforeHDel) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if c.Name() == "hdel" {
			b.f()
		}
		return next(ctx, c)
	}
}
