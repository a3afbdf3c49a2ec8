package redistest

import (
	"context"
	"testing"

	"skidway/internal/rdb"
)

// DB opens an empty database of the shared server for one test and closes it
// with the test. It checks every script call for the rule that all keys of a
// script lie on one slot.
func DB(t testing.TB) *rdb.DB {
	t.Helper()
	return Open(t, URL(t))
}

// Open opens a URL for one test and closes it with the test, with the same
// checks as [DB].
func Open(t testing.TB, url string) *rdb.DB {
	t.Helper()
	db, err := rdb.Open(context.Background(), url, rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.AddHook(slotCheck{t})
	return db
}

// Backends runs a test on a real server and on the embedded one.
func Backends(t *testing.T, test func(t *testing.T, db *rdb.DB)) {
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, DB(t)) })
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, Open(t, "embedded:")) })
}
