package rdb_test

import (
	"context"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience bounds what should take no time at all.
const patience = 20 * time.Second

func open(t *testing.T, url string, options rdb.Options) *rdb.DB {
	t.Helper()
	db, err := rdb.Open(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// soon returns the test a context that ends when something hangs.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
