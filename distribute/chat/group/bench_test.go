package group_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// keyOf names one key of the benchmarks' chat.
func keyOf(g fixture, end string) string { return g.db.Prefix() + ":chat:{c}" + end }

// crowd makes a channel with n members, put there directly: joining is not
// what is measured.
func crowd(b *testing.B, n int) fixture {
	g := newFixture(redistest.DB(b))
	create(b, g, "c", group.Channel)
	cursors, seen := make([]redis.Z, n), make([]redis.Z, n)
	for i := range n {
		name := fmt.Sprint("member", i)
		cursors[i] = redis.Z{Member: name}
		seen[i] = redis.Z{Score: float64(time.Now().UnixMilli()), Member: name}
	}
	for end, members := range map[string][]redis.Z{":cursors": cursors, ":seen": seen} {
		if err := g.db.ZAdd(context.Background(), keyOf(g, end), members...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	return g
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
		g := crowd(b, n)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.Send(b.Context(), "c", "member0", chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(chattest.Memory(b, g.db, keyOf(g, ":cursors"), keyOf(g, ":seen"))/float64(n), "redis-B/member")
		b.ReportMetric(chattest.Memory(b, g.db, keyOf(g, ":log"))/float64(info(b, g, "c").Kept), "redis-B/msg")
	})
}

// BenchmarkSendWithLimits counts messages of 100 bytes, each of which drops one.
func BenchmarkSendWithLimits(b *testing.B) {
	for name, limits := range map[string]group.Limits{
		"messages": {Messages: 1000},
		"bytes":    {Bytes: 100_000},
		"all":      {Messages: 1000, Bytes: 100_000, Age: time.Hour, Away: time.Hour},
	} {
		b.Run(name, func(b *testing.B) {
			g := crowd(b, 2)
			setLimits(b, g, "c", limits)
			for b.Loop() {
				if _, err := g.Send(b.Context(), "c", "member0", chat.Content{Body: body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPendingAck counts pages of 100 messages of 100 bytes, read and
// acknowledged by one member while another holds all of them back.
func BenchmarkPendingAck(b *testing.B) {
	crowds(b, func(b *testing.B, n int) {
		g := crowd(b, n)
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
			if err := g.db.ZAdd(b.Context(), keyOf(g, ":cursors"), redis.Z{Member: "member1"}).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStreamSend and BenchmarkStreamReadAck do the same with a Redis Stream
// per chat and a consumer group per member, to compare: that checks no sender,
// deletes nothing, and keeps what each member has read but not acknowledged.
func BenchmarkStreamSend(b *testing.B) {
	crowds(b, func(b *testing.B, n int) {
		db := redistest.DB(b)
		empty := streamCrowd(b, db, n)
		sent := 0
		b.ReportAllocs()
		for b.Loop() {
			streamSend(b, db)
			sent++
		}
		b.ReportMetric(empty/float64(n), "redis-B/member")
		b.ReportMetric((chattest.Memory(b, db, "stream")-empty)/float64(sent), "redis-B/msg")
	})
}

func BenchmarkStreamReadAck(b *testing.B) {
	crowds(b, func(b *testing.B, n int) {
		db := redistest.DB(b)
		streamCrowd(b, db, n)
		for range 100 {
			streamSend(b, db)
		}
		before, pending := chattest.Memory(b, db, "stream"), 0.0
		b.ReportAllocs()
		for b.Loop() {
			streams, err := db.XReadGroup(b.Context(), &redis.XReadGroupArgs{
				Group: "member1", Consumer: "member1", Streams: []string{"stream", ">"}, Count: 100, Block: -1,
			}).Result()
			if err != nil || len(streams[0].Messages) != 100 {
				b.Fatal(err)
			}
			if pending == 0 { // once: this takes time
				pending = (chattest.Memory(b, db, "stream") - before) / 100
			}
			ids := make([]string, 100)
			for i, message := range streams[0].Messages {
				ids[i] = message.ID
			}
			if err := db.XAck(b.Context(), "stream", "member1", ids...).Err(); err != nil {
				b.Fatal(err)
			}
			if err := db.XGroupSetID(b.Context(), "stream", "member1", "0").Err(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(pending, "redis-B/pending")
	})
}

// streamCrowd makes a stream with n consumer groups of one consumer, and returns
// the bytes that it takes.
func streamCrowd(b *testing.B, db *rdb.DB, n int) float64 {
	pipe := db.Pipeline()
	for i := range n {
		name := fmt.Sprint("member", i)
		pipe.XGroupCreateMkStream(b.Context(), "stream", name, "0")
		pipe.XGroupCreateConsumer(b.Context(), "stream", name, name)
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		b.Fatal(err)
	}
	return chattest.Memory(b, db, "stream")
}

func streamSend(b *testing.B, db *rdb.DB) {
	entry := redis.XAddArgs{Stream: "stream", Values: []any{"sender", "member0", "body", body}}
	if err := db.XAdd(b.Context(), &entry).Err(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkClean counts steps of cleaning 500 messages of 100 bytes.
func BenchmarkClean(b *testing.B) {
	g := crowd(b, 1)
	last := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		pipe := g.db.Pipeline()
		for range 500 {
			last++
			pipe.XAdd(b.Context(), &redis.XAddArgs{Stream: keyOf(g, ":log"), ID: fmt.Sprint(last, "-0"), Values: []any{"sender", "x", "body", body, "time", "1"}})
		}
		pipe.HSet(b.Context(), keyOf(g, ""), "last", last)
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := g.Ack(b.Context(), "c", "member0", last); err != nil {
			b.Fatal(err)
		}
	}
}
