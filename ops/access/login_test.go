package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

var host = netip.MustParseAddr("192.0.2.1")

// login tries a login and returns its error.
func login(l *Logins, ctx context.Context, name, password string, from netip.Addr) error {
	_, err := l.Login(ctx, name, password, from)
	return err
}

// passTime moves the last wrong logins back, so that no pause is left.
func (f *fixture) passTime() {
	f.Helper()
	key := keysOf(f.conn)[keyLogins]
	for row, value := range f.conn.HGetAll(f.ctx, key).Val() {
		count, _, _ := strings.Cut(value, " ")
		f.must(f.conn.HSet(f.ctx, key, row, count+" 1").Err())
	}
}

func wantLimit(t *testing.T, claim string, err error, most time.Duration) {
	t.Helper()
	var limit *LoginLimitError
	if !errors.As(err, &limit) || limit.Wait <= 0 || limit.Wait > most {
		t.Errorf("%s: %v, want a wait of at most %s", claim, err, most)
	}
}

func TestWrongLoginsOfANameAreLimited(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db)
		users, _ := f.usersOf(user(t, "ada", ViewRole))
		l := NewLogins(f.db, users)
		if u, err := l.Login(f.ctx, "ada", "secret of ada", host); err != nil || u.Name != "ada" {
			t.Fatalf("login: %+v, %v", u, err)
		}
		for _, name := range []string{"ada", "unknown", "\x1b[2J\r\n"} {
			for i := range loginsOfName {
				if err := login(l, f.ctx, name, "wrong", host); !errors.Is(err, ErrLogin) {
					t.Fatalf("%q, wrong login %d: %v", name, i+1, err)
				}
				if i == 2 {
					wantLimit(t, "right after the third", login(l, f.ctx, name, "wrong", host), 2*loginPause)
				}
				f.passTime()
			}
			wantLimit(t, "the sixth", login(l, f.ctx, name, "secret of ada", host), loginWindow)
			wantLimit(t, "the sixth from elsewhere", login(l, f.ctx, name, "secret of ada", netip.MustParseAddr("192.0.2.2")), loginWindow)
		}
		if stored := f.stored(); strings.Contains(stored, "wrong") || strings.Contains(stored, "secret") {
			t.Errorf("Redis has a password: %s", stored)
		}
	})
}

func TestWrongLoginsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", ViewRole))
	l := NewLogins(f.db, users)
	for i := range loginsOfHost {
		from := netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i+1)) // one network of a host
		if err := login(l, f.ctx, fmt.Sprint("name", i), "wrong", from); !errors.Is(err, ErrLogin) {
			t.Fatalf("wrong login %d: %v", i+1, err)
		}
		if i%5 == 0 {
			f.must(login(l, f.ctx, "ada", "secret of ada", from)) // right ones don't count
		}
	}
	wantLimit(t, "one more", login(l, f.ctx, "ada", "secret of ada", netip.MustParseAddr("2001:db8::1%eth0")), loginWindow)
	f.must(login(l, f.ctx, "ada", "secret of ada", netip.MustParseAddr("2001:db8:0:1::1")))
}

func TestPasswordOf73BytesIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	u := user(t, "ada", ViewRole)
	long := strings.Repeat("x", maxPassword)
	u.Password = cheapHash(t, long)
	users, _ := f.usersOf(u)
	l := NewLogins(f.db, users)
	if err := login(l, f.ctx, "ada", long+"y", host); !errors.Is(err, ErrLogin) {
		t.Errorf("73 bytes, of which the first 72 are right: %v", err)
	}
	f.must(login(l, f.ctx, "ada", long, host))
}

func TestLoginsBeyondTheQueueAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", ViewRole))
	l := NewLogins(f.db, users)
	for range maxComparing {
		l.comparing <- struct{}{} // both are busy
	}
	ctx, cancel := context.WithCancel(f.ctx)
	results := make(chan error)
	const tries = 3 * maxLoginsQueue
	for i := range tries {
		go func() {
			results <- login(l, ctx, fmt.Sprint(i), "wrong", netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", i)))
		}()
	}
	for range tries - maxLoginsQueue - maxComparing {
		wantLimit(t, "beyond the queue", <-results, loginPause)
	}
	cancel()
	for range maxLoginsQueue + maxComparing {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("in the queue: %v", err)
		}
	}
}

func TestLoginsAtTheSameTimeDoNotPassTheLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", ViewRole))
	l := NewLogins(f.db, users)
	var group sync.WaitGroup
	var mu sync.Mutex
	compared := 0
	for range maxLoginsQueue {
		group.Go(func() {
			if err := login(l, f.ctx, "ada", "wrong", host); errors.Is(err, ErrLogin) {
				mu.Lock()
				compared++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if compared == 0 || compared > loginsOfName {
		t.Errorf("%d passwords were compared", compared)
	}
}

func TestWaitOfALimitIsNeverZero(t *testing.T) {
	for wait, want := range map[time.Duration]string{time.Millisecond: "in 1s", time.Second: "in 1s", 1001 * time.Millisecond: "in 2s"} {
		if text := (&LoginLimitError{wait}).Error(); !strings.HasSuffix(text, want) {
			t.Errorf("%s: %s", wait, text)
		}
	}
}
