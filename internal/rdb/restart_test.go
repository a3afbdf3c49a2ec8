package rdb_test

import (
	"errors"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestRestartIsNoticedAndRefusesCallsThatDoNotExpectIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	before := db.Restarts()
	ping := func(restarts int64) error {
		ctx := rdb.ExpectServer(t.Context(), restarts)
		return db.Retry(ctx, func() error { return db.Ping(ctx).Err() })
	}
	if err := ping(before); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := ping(before); !errors.Is(err, rdb.ErrServerChanged) { // refused when its connection is made
		t.Errorf("after the restart: %v", err)
	}
	if n := db.Restarts(); n != before+1 {
		t.Errorf("%d restarts, %d before", n, before)
	}
	if err := ping(before); !errors.Is(err, rdb.ErrServerChanged) { // refused before it is sent
		t.Errorf("later: %v", err)
	}
	if err := ping(before + 1); err != nil {
		t.Errorf("a call that expects the restart: %v", err)
	}
}

// The replica never was in the URL's first place, and its process is as old as the master's: only
// the id of its replication shows that it took over.
func TestFailoverOfAClusterIsNoticed(t *testing.T) {
	t.Parallel()
	url, _, failover := redistest.ReplicatedCluster(t)
	db := redistest.Open(t, url)
	before := db.Restarts()
	read := func(restarts int64) error {
		ctx := rdb.ExpectServer(t.Context(), restarts)
		return db.Retry(ctx, func() error { return db.Exists(ctx, "key").Err() })
	}
	if err := read(before); err != nil {
		t.Fatal(err)
	}
	failover()
	if err := read(before); !errors.Is(err, rdb.ErrServerChanged) {
		t.Errorf("after the failover: %v", err)
	}
	if n := db.Restarts(); n != before+1 {
		t.Errorf("%d restarts, %d before", n, before)
	}
	if err := read(before + 1); err != nil {
		t.Errorf("a call that expects the failover: %v", err)
	}
}

// The pool of connections notices the restart, while the watch has no stream and no connection
// that breaks.
func TestWatchDoesNotTrustMarksFromBeforeARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	f := newWatchFixture(t, db, db)
	read := time.Now()
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := db.Retry(t.Context(), func() error { return db.Ping(t.Context()).Err() }); err != nil {
		t.Fatal(err)
	}
	ahead := []rdb.Mark{{Key: f.key("a"), ID: "99999999999999-0"}}
	f.watch.Set("a", read, ahead, func() { f.notified <- "before" })
	if got := f.next(); got != "before" {
		t.Errorf("notified: %s", got)
	}
	f.watch.Set("a", time.Now(), ahead, func() { t.Error("marks that were read after the restart are not trusted") })
}
