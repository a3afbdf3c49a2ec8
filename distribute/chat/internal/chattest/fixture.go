package chattest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// An ender ends a test or a check of a model.
type ender interface {
	Helper()
	Fatalf(format string, args ...any)
}

// WantErr ends the test if err does not match want; nil is no error.
func WantErr(t ender, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// WantStrings ends the test if the texts are not those wanted.
func WantStrings(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// Bodies returns the bodies of messages.
func Bodies(messages []chat.Message) []string {
	texts := []string{}
	for _, m := range messages {
		texts = append(texts, string(m.Body))
	}
	return texts
}

// ErrorOf leaves the error of a call that returns something else, too.
func ErrorOf(_ any, err error) error { return err }

// Ptr returns a pointer to a value.
func Ptr[T any](value T) *T { return &value }

// Noon is when tests with a clock begin.
var Noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// SetTime stops the clock of an embedded database.
func SetTime(t testing.TB, db *rdb.DB, at time.Time) {
	t.Helper()
	if err := db.SetEmbeddedTime(at); err != nil {
		t.Fatal(err)
	}
}

// OpenLossy opens an empty database through a proxy, which can lose replies.
func OpenLossy(t testing.TB) (*redistest.Proxy, *rdb.DB) {
	t.Helper()
	p := redistest.StartProxy(t, redistest.URL(t))
	return p, redistest.Open(t, p.URL)
}

// On makes the fixture of a test, and runs tests with it on several servers.
type On[F any] func(t *testing.T, db *rdb.DB) F

// Backends runs a test as [redistest.Backends] does.
func (on On[F]) Backends(t *testing.T, test func(t *testing.T, fixture F)) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) { test(t, on(t, db)) })
}

// AllBackends runs a test as [redistest.AllBackends] does.
func (on On[F]) AllBackends(t *testing.T, test func(t *testing.T, fixture F)) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) { test(t, on(t, db)) })
}

// OwnServer runs a test as [OwnServer] does.
func (on On[F]) OwnServer(t *testing.T, test func(t *testing.T, fixture F)) {
	OwnServer(t, func(t *testing.T, db *rdb.DB) { test(t, on(t, db)) })
}

// OwnServer runs a test on a server of its own, where blocked clients can be
// counted, on the embedded one and on the cluster.
func OwnServer(t *testing.T, test func(t *testing.T, db *rdb.DB)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Open(t, redistest.Start(t).URL(0)))
	})
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, redistest.Open(t, "embedded:")) })
	t.Run("cluster", func(t *testing.T) { t.Parallel(); test(t, redistest.ClusterDB(t)) })
}

// Blocked waits until n clients are blocked in Redis. The embedded server does
// not report them, and that of the cluster is shared; there the wait may start
// after what should wake it, which must work as well.
func Blocked(t *testing.T, db *rdb.DB, n int) {
	t.Helper()
	_, cluster := db.UniversalClient.(*redis.ClusterClient)
	if db.Embedded() || cluster {
		return
	}
	want := fmt.Sprintf("blocked_clients:%d\r\n", n)
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		text, err := db.Info(t.Context(), "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, want) {
			return
		}
	}
	t.Fatal("no client is blocked")
}

// Woken runs wait, lets wake do what must end it, and returns its error. It fails
// when the wait was not woken, but ended by its timeout.
func Woken(t *testing.T, db *rdb.DB, wait func() error, wake func()) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- wait() }()
	Blocked(t, db, 1)
	start := time.Now()
	wake()
	err := <-done
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("woken after %v", took)
	}
	return err
}

// Memory returns how many bytes of Redis keys take.
func Memory(b *testing.B, db *rdb.DB, keys ...string) (bytes float64) {
	b.Helper()
	for _, key := range keys {
		n, err := db.MemoryUsage(context.Background(), key, 0).Result()
		if err != nil {
			b.Fatal(err)
		}
		bytes += float64(n)
	}
	return bytes
}
