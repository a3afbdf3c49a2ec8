package mailbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/mailbox"
	"skidway/internal/redistest"
)

var body = make([]byte, 100)

// BenchmarkMailboxSend counts messages of 100 bytes, sent one after the other:
// to a box with room, and to a full one, where each drops the oldest.
func BenchmarkMailboxSend(b *testing.B) {
	for _, bench := range []struct {
		name string
		max  int
	}{{"room", 10_000_000}, {"full", 100}} {
		b.Run(bench.name, func(b *testing.B) {
			db := redistest.DB(b)
			m := newFixture(db)
			limit(b, m, "bob", mailbox.Limits{Messages: bench.max, Full: mailbox.DropOldest})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Send(b.Context(), "bob", "ann", chat.Content{Body: body}); err != nil {
					b.Fatal(err)
				}
			}
			bytes := db.MemoryUsage(context.Background(), "skidway:mail:{bob}:log", 0).Val()
			b.ReportMetric(float64(bytes)/float64(boxInfo(b, m, "bob").Unread), "redis-B/msg")
		})
	}
}

// BenchmarkMailboxReadAck counts messages of 100 bytes, sent before, and read
// and acknowledged in pages of 100.
func BenchmarkMailboxReadAck(b *testing.B) {
	m := newFixture(redistest.DB(b))
	ids := make([]uint64, 0, 100)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%100 > 0 {
			continue
		}
		b.StopTimer()
		for range 100 {
			if _, err := m.Send(b.Context(), "bob", "ann", chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		messages, err := m.Read(b.Context(), "bob", 0, 100)
		if err != nil || len(messages) != 100 {
			b.Fatal(len(messages), err)
		}
		ids = ids[:0]
		for _, message := range messages {
			ids = append(ids, message.ID)
		}
		if _, err := m.Ack(b.Context(), "bob", ids...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMailboxStep counts runs of the scripts that hold Redis longest, on
// messages of 1 KiB, which are small, and of 10 KiB.
func BenchmarkMailboxStep(b *testing.B) {
	ctx, log := context.Background(), "skidway:mail:{bob}:log"
	for _, size := range []int{1 << 10, 10 << 10} {
		text := strings.Repeat("x", size)
		run := func(name string, n int, step func(m fixture, ids []uint64) error) {
			b.Run(fmt.Sprintf("%s=%d,bytes=%d", name, n, size), func(b *testing.B) {
				db := redistest.DB(b)
				m, last := newFixture(db), uint64(0)
				mail(b, m, "bob", "x", 1)
				ids := make([]uint64, n)
				fill := func() {
					pipe := db.Pipeline()
					for i := range ids {
						last++
						ids[i] = last + 1
						pipe.XAdd(ctx, &redis.XAddArgs{Stream: log, ID: fmt.Sprint(last+1, "-0"), Values: []any{"sender", "x", "body", text, "time", "1"}})
						if size > 1<<10 {
							pipe.ZAdd(ctx, "skidway:mail:{bob}:big", redis.Z{Score: float64(last + 1), Member: fmt.Sprint(last+1, "-", size)})
						}
					}
					if _, err := pipe.Exec(ctx); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					fill()
					b.StartTimer()
					if err := step(m, ids); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("ack", 100, func(m fixture, ids []uint64) error { return chattest.ErrorOf(m.Ack(ctx, "bob", ids...)) })
		run("drop", 50, func(m fixture, _ []uint64) error { return m.Keep(ctx, "bob", 0) })
	}
}
