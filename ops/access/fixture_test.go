package access

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/bcrypt"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is one Redis and a clock.
type fixture struct {
	testing.TB
	ctx  context.Context
	conn *rdb.DB
	db   *skidway.DB
	time time.Time
}

func newFixture(t testing.TB, conn *rdb.DB) *fixture {
	return &fixture{t, t.Context(), conn, handle.New(conn), time.Now()}
}

func (f *fixture) now() time.Time { return f.time }

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// silent is a logger that logs nothing.
func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// cheapHash returns a hash of a password that takes a millisecond.
func cheapHash(t testing.TB, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// user returns an entry with the password "secret of NAME".
func user(t testing.TB, name, role string) User {
	return User{Name: name, Role: role, Password: cheapHash(t, "secret of "+name)}
}

// usersOf returns the users of a new file, which looks for changes at each lookup, and its path.
func (f *fixture) usersOf(users ...User) (*Users, string) {
	f.Helper()
	path := filepath.Join(f.TempDir(), "users.yaml")
	f.edit(path, users...)
	opened, err := OpenUsers(path, silent())
	f.must(err)
	now := time.Now()
	opened.now = func() time.Time {
		now = now.Add(filesChecked)
		return now
	}
	return opened, path
}

func (f *fixture) edit(path string, users ...User) {
	f.Helper()
	f.must(EditUsers(path, func([]User) ([]User, error) { return users, nil }))
}

// stored returns all that is in Redis, as text.
func (f *fixture) stored() string {
	f.Helper()
	var all strings.Builder
	keys := keysOf(f.conn)
	for _, key := range keys[:keyAudit] {
		if kind := f.conn.Type(f.ctx, key).Val(); kind == "hash" {
			fmt.Fprintln(&all, f.conn.HGetAll(f.ctx, key).Val())
		} else if kind == "zset" {
			fmt.Fprintln(&all, f.conn.ZRange(f.ctx, key, 0, -1).Val())
		}
	}
	fmt.Fprintln(&all, f.conn.XRange(f.ctx, keys[keyAudit], "-", "+").Val())
	return all.String()
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func zArgs(member string, score int64) redis.ZAddArgs {
	return redis.ZAddArgs{Members: []redis.Z{{Member: member, Score: float64(score)}}}
}

func xAddArgs(key string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: key, Values: []any{"a", "b"}}
}

func withValue(r *http.Request, key, value any) context.Context {
	return context.WithValue(r.Context(), key, value)
}
