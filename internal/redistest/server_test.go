package redistest_test

import (
	"context"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestEachTestGetsAnEmptyDatabaseOfItsOwn(t *testing.T) {
	ctx := context.Background()
	one, other := redistest.DB(t), redistest.DB(t)
	if err := one.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := other.DBSize(ctx).Val(); n != 0 {
		t.Fatalf("a new database holds %d keys", n)
	}
}

func TestServerComesBackAfterKill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := redistest.Start(t)
	db, err := rdb.Open(ctx, server.URL(0), rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := db.Retry(ctx, func() error { return db.Ping(ctx).Err() }); err != nil {
		t.Fatal(err)
	}
}
