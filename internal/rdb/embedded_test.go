package rdb_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestEmbeddedServerIsClosedToOthers(t *testing.T) {
	t.Parallel()
	db := open(t, "embedded:", rdb.Options{})
	if !db.Embedded() || db.String() != "embedded:" || db.Prefix() != rdb.DefaultPrefix {
		t.Errorf("embedded %v, name %s, prefix %s", db.Embedded(), db, db.Prefix())
	}
	addr := db.UniversalClient.(*redis.Client).Options().Addr
	stranger := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer func() { _ = stranger.Close() }()
	if err := stranger.Get(t.Context(), "k").Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("a stranger's command ends with %v, want NOAUTH", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Ping(t.Context()).Err(); err == nil || redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("the server still answers after Close: %v", err)
	}
}

func TestKeysOfEmbeddedServerExpireByThemselves(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	db := open(t, "embedded:", rdb.Options{})
	if err := db.Set(ctx, "k", "v", 30*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := db.Exists(ctx, "k").Result()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func TestTwoEmbeddedServersShareNothing(t *testing.T) {
	t.Parallel()
	one, other := open(t, "embedded:", rdb.Options{}), open(t, "embedded:", rdb.Options{})
	if err := one.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := other.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the other one holds %d keys", n)
	}
}

func TestTimeOfEmbeddedServerCanBeSet(t *testing.T) {
	t.Parallel()
	db := open(t, "embedded:", rdb.Options{})
	if err := db.Set(t.Context(), "k", "v", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * time.Hour).Truncate(time.Microsecond)
	if err := db.SetEmbeddedTime(later); err != nil {
		t.Fatal(err)
	}
	if now, err := db.Time(t.Context()).Result(); !now.Equal(later) || err != nil {
		t.Errorf("the server's time is %s (%v), want %s", now, err, later)
	}
	if n, err := db.Exists(t.Context(), "k").Result(); n != 0 || err != nil {
		t.Errorf("a key that had an hour is still there after two (%v)", err)
	}
	const script = `return redis.call('TIME')[1]`
	if seconds, err := db.Eval(t.Context(), script, nil).Int64(); seconds != later.Unix() || err != nil {
		t.Errorf("a script reads %d (%v), want %d", seconds, err, later.Unix())
	}
}

func TestTimeOfOtherServersCanNotBeSet(t *testing.T) {
	t.Parallel()
	db := open(t, redistest.URL(t), rdb.Options{})
	if err := db.SetEmbeddedTime(time.Now()); err == nil {
		t.Error("no error")
	}
}
