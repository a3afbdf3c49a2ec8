package chat_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestOldMessagesAreDroppedOnlyWhenBothHaveReadThem(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k := talking(t, db, chat.ConversationConfig{Keep: 3})
		k.send("ann", "1", "2", "3", "4", "5")
		wantStrings(t, k.history(chat.HistoryPage{}), "1", "2", "3", "4", "5")
		k.ack("bob", 4)
		k.send("bob", "6") // 5 is unread, and 4 beyond the three is not
		wantStrings(t, k.history(chat.HistoryPage{}), "4", "5", "6")
		k.ack("bob", 5)
		k.send("bob", "7")
		wantStrings(t, k.history(chat.HistoryPage{}), "5", "6", "7")
		wantPage(t, k.read("ann", 0), 2, 7, "6", "7")
	})
}

func TestFullConversationSaysWhoHasToRead(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		k, ctx := talking(t, db, chat.ConversationConfig{Keep: 2, MaxUnread: 3}), t.Context()
		refused := func(who string) {
			t.Helper()
			_, err := k.Send(ctx, "ann", "bob", chat.Text("too much"))
			if wantErr(t, err, chat.ErrFull); !strings.Contains(err.Error(), who) {
				t.Errorf("it says %v", err)
			}
		}
		k.send("bob", "thanks")
		k.send("ann", "1", "2", "3")
		refused(`wait for "bob"`)
		k.read("bob", 0)
		k.send("ann", "4")
		k.read("bob", 0)
		refused(`"ann" has not read`) // nothing can be dropped behind what she did not read
		k.read("ann", 0)
		k.send("ann", "5")
	})
}

func TestConversationArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	c, ctx := chat.NewConversation(db, chat.ConversationConfig{}), t.Context()
	one := func(_ any, err error) error { return err }
	long := strings.Repeat("x", chat.MaxName+1)
	for name, call := range map[string]struct {
		got   error
		field string
	}{
		"with oneself":    {one(c.Send(ctx, "ann", "ann", chat.Text("x"))), "to"},
		"empty sender":    {one(c.Send(ctx, "", "bob", chat.Text("x"))), "from"},
		"long receiver":   {one(c.Send(ctx, "ann", long, chat.Text("x"))), "to"},
		"long body":       {one(c.Send(ctx, "ann", "bob", chat.Content{Body: make([]byte, chat.MaxText+1)})), "body"},
		"image, no URL":   {one(c.Send(ctx, "ann", "bob", chat.Content{Type: chat.TypeImage})), "type"},
		"read oneself":    {one(c.Read(ctx, "ann", "ann", 0)), "peer"},
		"peek, brace":     {one(c.Peek(ctx, "a{b", "bob", 0, 0)), "person"},
		"ack, newline":    {one(c.Ack(ctx, "ann", "b\nb", 0)), "peer"},
		"history, UTF-8":  {one(c.History(ctx, "ann", "b\xff", chat.HistoryPage{})), "peer"},
		"unread, empty":   {one(c.Unread(ctx, "")), "person"},
		"wait, empty":     {c.Wait(ctx, ""), "person"},
		"wait oneself":    {c.WaitFrom(ctx, "ann", "ann", 0), "peer"},
		"present, empty":  {c.Present(ctx, "ann", "", time.Second), "peer"},
		"presence, empty": {one(c.PresentUntil(ctx, "", "bob")), "person"},
		"delete, empty":   {c.Delete(ctx, "ann", ""), "peer"},
	} {
		var invalid *chat.InvalidError
		if !errors.As(call.got, &invalid) || invalid.Field != call.field {
			t.Errorf("%s: got %v, want an InvalidError for %s", name, call.got, call.field)
		}
	}
	if keys := db.Keys(ctx, "*").Val(); len(keys) > 0 {
		t.Errorf("something was written: %q", keys)
	}
}

func TestEmptyMessageIsRefusedByAConversation(t *testing.T) {
	t.Parallel()
	k := talking(t, redistest.DB(t), chat.ConversationConfig{})
	var invalid *chat.InvalidError
	if _, err := k.Send(t.Context(), "ann", "bob", chat.Content{}); !errors.As(err, &invalid) || invalid.Field != "body" {
		t.Errorf("got error %v", err)
	}
}
