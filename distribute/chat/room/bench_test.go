package room_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/room"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

var body = make([]byte, 100)

// fullRoom makes a room with n people in it, put there directly: entering is not
// what is measured.
func fullRoom(b *testing.B, n int) (*rdb.DB, *room.Client, room.Credential) {
	db := redistest.DB(b)
	r, people := openRoom(b, db, room.CreateOptions{}, "ann")
	until := float64(time.Now().Add(time.Hour).UnixMilli())
	pipe := db.Pipeline()
	for i := range n - 1 {
		id := fmt.Sprint("person", i)
		pipe.ZAdd(b.Context(), db.Prefix()+":room:{r}:people", redis.Z{Score: until, Member: id})
		pipe.HSet(b.Context(), db.Prefix()+":room:{r}:nicks", id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	}
	if _, err := pipe.Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	return db, r, people[0]
}

func fullRooms(b *testing.B, bench func(b *testing.B, n int)) {
	for _, n := range []int{2, 100, 10_000} {
		b.Run(fmt.Sprintf("people=%d", n), func(b *testing.B) { bench(b, n) })
	}
}

// BenchmarkRoomSend counts messages of 100 bytes, sent one after the other.
func BenchmarkRoomSend(b *testing.B) {
	fullRooms(b, func(b *testing.B, n int) {
		db, r, ann := fullRoom(b, n)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Send(b.Context(), ann, chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		key := db.Prefix() + ":room:{r}"
		bytes := db.MemoryUsage(context.Background(), key+":log", 0).Val()
		b.ReportMetric(float64(bytes)/float64(db.XLen(context.Background(), key+":log").Val()), "redis-B/msg")
		bytes = db.MemoryUsage(context.Background(), key+":people", 0).Val() + db.MemoryUsage(context.Background(), key+":nicks", 0).Val()
		b.ReportMetric(float64(bytes)/float64(n), "redis-B/person")
	})
}

// BenchmarkRoomRead counts pages of 100 messages of 100 bytes.
func BenchmarkRoomRead(b *testing.B) {
	fullRooms(b, func(b *testing.B, n int) {
		_, r, ann := fullRoom(b, n)
		for range 100 {
			if _, err := r.Send(b.Context(), ann, chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			if news, err := r.Read(b.Context(), ann, 0, 100); err != nil || len(news.Messages) != 100 {
				b.Fatal(len(news.Messages), err)
			}
		}
	})
}
