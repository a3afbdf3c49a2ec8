package chat_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// crowd makes a channel with n members, put there directly: joining is not
// what is measured.
func crowd(b *testing.B, n int) (*rdb.DB, *chat.Group) {
	db := redistest.DB(b)
	g := chat.NewGroup(db)
	create(b, g, "c", chat.Channel)
	cursors := make([]redis.Z, n)
	for i := range cursors {
		cursors[i] = redis.Z{Member: fmt.Sprint("member", i)}
	}
	if err := db.ZAdd(context.Background(), "skidway:chat:{c}:cursors", cursors...).Err(); err != nil {
		b.Fatal(err)
	}
	return db, g
}

func crowds(b *testing.B, bench func(b *testing.B, n int)) {
	for _, n := range []int{2, 100, 10_000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) { bench(b, n) })
	}
}

var body = make([]byte, 100)

// BenchmarkSend counts messages of 100 bytes, sent one after the other.
func BenchmarkSend(b *testing.B) {
	crowds(b, func(b *testing.B, n int) {
		db, g := crowd(b, n)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.Send(b.Context(), "c", "member0", chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		members := db.MemoryUsage(context.Background(), "skidway:chat:{c}:cursors", 0).Val()
		b.ReportMetric(float64(members)/float64(n), "redis-B/member")
		bytes := db.MemoryUsage(context.Background(), "skidway:chat:{c}:log", 0).Val()
		b.ReportMetric(float64(bytes)/float64(info(b, g, "c").Kept), "redis-B/msg")
	})
}

// BenchmarkPendingAck counts pages of 100 messages of 100 bytes, read and
// acknowledged by one member while another holds all of them back.
func BenchmarkPendingAck(b *testing.B) {
	crowds(b, func(b *testing.B, n int) {
		db, g := crowd(b, n)
		for range 100 {
			if _, err := g.Send(b.Context(), "c", "uploader", chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			messages, err := g.Fetch(b.Context(), "c", "member1", 100)
			if err != nil || len(messages) != 100 {
				b.Fatal(len(messages), err)
			}
			if err := db.ZAdd(b.Context(), "skidway:chat:{c}:cursors", redis.Z{Member: "member1"}).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkClean counts steps of cleaning 500 messages of 100 bytes.
func BenchmarkClean(b *testing.B) {
	db, g := crowd(b, 1)
	log := "skidway:chat:{c}:log"
	last := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		pipe := db.Pipeline()
		for range 500 {
			last++
			pipe.XAdd(b.Context(), &redis.XAddArgs{Stream: log, ID: fmt.Sprint(last, "-0"), Values: []any{"sender", "x", "body", body, "time", "1"}})
		}
		pipe.HSet(b.Context(), "skidway:chat:{c}", "last", last)
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := g.Ack(b.Context(), "c", "member0", last); err != nil {
			b.Fatal(err)
		}
	}
}
