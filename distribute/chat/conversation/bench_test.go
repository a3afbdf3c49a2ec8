package conversation_test

import (
	"context"
	"testing"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/internal/redistest"
)

var body = make([]byte, 100)

// BenchmarkConversationSend counts messages of 100 bytes, sent one after the
// other to a receiver that has read the earlier ones.
func BenchmarkConversationSend(b *testing.B) {
	db := redistest.DB(b)
	k, ctx := talking(b, db, conversation.Config{MaxUnread: 1 << 40}), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Send(ctx, "ann", "bob", chat.Content{Body: body}); err != nil {
			b.Fatal(err)
		}
	}
	log := db.Prefix() + ":dm:{ann/bob}:log"
	bytes, kept := db.MemoryUsage(ctx, log, 0).Val(), db.XLen(ctx, log).Val()
	b.ReportMetric(float64(bytes)/float64(kept), "redis-B/msg")
}

// BenchmarkConversationSendAndDrop is the same where each message makes an old
// one go.
func BenchmarkConversationSendAndDrop(b *testing.B) {
	k, ctx := talking(b, redistest.DB(b), conversation.Config{Keep: 100}), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		sent, err := k.Send(ctx, "ann", "bob", chat.Content{Body: body})
		if err != nil {
			b.Fatal(err)
		}
		if sent.ID%50 == 0 {
			k.ack("bob", sent.ID)
		}
	}
}

// BenchmarkConversationRead counts messages of 100 bytes, read in pages of 100.
func BenchmarkConversationRead(b *testing.B) {
	k, ctx := talking(b, redistest.DB(b), conversation.Config{}), context.Background()
	b.ReportAllocs()
	for read := 0; b.Loop(); read++ {
		if read%100 > 0 {
			continue
		}
		b.StopTimer()
		for range 100 {
			if _, err := k.Send(ctx, "ann", "bob", chat.Content{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if page := k.read("bob", 100); len(page.Messages) != 100 {
			b.Fatal(len(page.Messages))
		}
	}
}
