package chat_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func annsList(db *rdb.DB) string { return db.Prefix() + ":member:{ann}:chats" }

// enlist writes an entry into ann's list as if it had been done some time ago,
// by the clock of Redis.
func enlist(t *testing.T, db *rdb.DB, id string, ago time.Duration) {
	t.Helper()
	now, err := db.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	entry := redis.Z{Score: float64(now.Add(-ago).UnixMilli()), Member: id}
	if err := db.ZAdd(t.Context(), annsList(db), entry).Err(); err != nil {
		t.Fatal(err)
	}
}

func listed(t *testing.T, db *rdb.DB) []string {
	t.Helper()
	return db.ZRange(t.Context(), annsList(db), 0, -1).Val()
}

func TestListForgetsOnlyOldEntriesThatTheChatDenies(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "mine", chat.People, "ann")
		create(t, g, "theirs", chat.People, "bob")
		enlist(t, db, "mine", time.Hour)
		enlist(t, db, "theirs", 61*time.Second)
		enlist(t, db, "gone", 61*time.Second)
		enlist(t, db, "being joined", 58*time.Second)
		if _, err := g.PendingAll(t.Context(), "ann", 0); err != nil {
			t.Fatal(err)
		}
		got := listed(t, db)
		slices.Sort(got)
		wantStrings(t, got, "being joined", "mine")
	})
}

func TestJoinBringsBackAForgottenEntry(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "c", chat.People, "ann")
		if err := db.Del(t.Context(), annsList(db)).Err(); err != nil {
			t.Fatal(err)
		}
		if err := g.Join(t.Context(), "c", "ann", chat.FromNow); err != nil {
			t.Fatal(err)
		}
		wantStrings(t, listed(t, db), "c")
	})
}

func TestLeaveForgetsAnOldEntry(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		g := chat.NewGroup(db)
		create(t, g, "new", chat.People, "ann")
		create(t, g, "old", chat.People, "ann")
		enlist(t, db, "old", 2*time.Minute)
		for _, id := range []string{"new", "old"} {
			if err := g.Leave(t.Context(), id, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		// "new" stays for a minute: somebody may be about to join it again.
		wantStrings(t, listed(t, db), "new")
	})
}

func TestLongListIsReadWhole(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	g := chat.NewGroup(db)
	const chats = 1100 // more than two pages
	for i := range chats {
		create(t, g, strconv.Itoa(i), chat.Channel, "ann")
		send(t, g, strconv.Itoa(i), "bob", "x", 1)
	}
	batches, err := g.PendingAll(t.Context(), "ann", 0)
	if err != nil || len(batches) != chats {
		t.Fatalf("got %d chats, %v", len(batches), err)
	}
}
