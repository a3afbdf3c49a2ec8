package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMailboxWhoseLogWasTrimmedByHandWaitsAndTakesAgain(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		m := chat.NewMailbox(db)
		if err := m.SetLimits(t.Context(), "b", chat.MailboxLimits{Bytes: chat.MaxBody}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Send(t.Context(), "b", "ann", chat.Text(strings.Repeat("x", chat.MaxBody))); err != nil {
			t.Fatal(err)
		}
		if err := db.XTrimMaxLen(t.Context(), db.Prefix()+":mail:{b}:log", 0).Err(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := m.Wait(ctx, "b", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait found what is not there: %v", err)
		}
		messages, err := m.Read(t.Context(), "b", 0, 0)
		if err != nil || len(messages) != 0 {
			t.Errorf("got %v, %v", messages, err)
		}
		if _, err := m.Send(t.Context(), "b", "ann", chat.Text("x")); err != nil {
			t.Errorf("the empty box is full: %v", err)
		}
	})
}

func TestMailboxWaitBlocksWhereABigMessageWasDeletedByHand(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		m := chat.NewMailbox(db)
		for _, body := range []string{"small", strings.Repeat("x", 20_000)} {
			if _, err := m.Send(t.Context(), "b", "ann", chat.Text(body)); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.XDel(t.Context(), db.Prefix()+":mail:{b}:log", "2-0").Err(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := m.Wait(ctx, "b", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait found what is not there: %v", err)
		}
	})
}
