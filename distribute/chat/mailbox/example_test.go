package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/mailbox"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// one leaves the error of a call that returns something else, too.
func one(_ any, err error) error { return err }

// mailboxes returns the mailboxes of a Redis inside this process.
func mailboxes() (*mailbox.Client, func()) {
	db, err := skidway.Open(context.Background(), "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	return mailbox.NewClient(db), func() { _ = db.Close() }
}

// Bob was away while Ann wrote. He reads, and acknowledges when he is done.
func Example() {
	m, done := mailboxes()
	defer done()
	ctx := context.Background()

	_, err := m.Send(ctx, "bob", "ann", chat.Text("call me"))
	must(err)

	must(m.Wait(ctx, "bob", 0))
	messages, err := m.Read(ctx, "bob", 0, 0)
	must(err)
	for _, message := range messages {
		fmt.Printf("%d %s: %s\n", message.ID, message.Sender, message.Body)
		must(one(m.Ack(ctx, "bob", message.ID)))
	}
	state, err := m.Status(ctx, "bob", 1)
	must(err)
	fmt.Println("message 1:", state)
	// Output:
	// 1 ann: call me
	// message 1: read
}

func ExampleClient_Take() {
	m, done := mailboxes()
	defer done()
	ctx := context.Background()

	for _, text := range []string{"one", "two", "three"} {
		must(one(m.Send(ctx, "bob", "ann", chat.Text(text))))
	}
	for range 2 {
		messages, err := m.Take(ctx, "bob", 2)
		must(err)
		fmt.Println(len(messages))
	}
	// Output:
	// 2
	// 1
}

// The limits are kept in the box, so that they hold for all senders.
func ExampleClient_SetLimits() {
	m, done := mailboxes()
	defer done()
	ctx := context.Background()

	must(m.SetLimits(ctx, "bob", mailbox.Limits{Messages: 1}))
	must(one(m.Send(ctx, "bob", "ann", chat.Text("one"))))
	_, err := m.Send(ctx, "bob", "ann", chat.Text("two"))
	fmt.Println(errors.Is(err, chat.ErrFull))

	must(m.SetLimits(ctx, "bob", mailbox.Limits{Messages: 1, Full: mailbox.DropOldest}))
	must(one(m.Send(ctx, "bob", "ann", chat.Text("two"))))
	info, err := m.Info(ctx, "bob")
	must(err)
	fmt.Println(info.Unread, info.Oldest)
	// Output:
	// true
	// 1 2
}

// Messages are acknowledged one by one, in any order.
func ExampleClient_Ack() {
	m, done := mailboxes()
	defer done()
	ctx := context.Background()

	for _, text := range []string{"one", "two", "three"} {
		must(one(m.Send(ctx, "bob", "ann", chat.Text(text))))
	}
	n, err := m.Ack(ctx, "bob", 2, 7)
	must(err)
	fmt.Println(n, "acknowledged")
	messages, err := m.Read(ctx, "bob", 0, 0)
	must(err)
	for _, message := range messages {
		fmt.Printf("%d %s\n", message.ID, message.Body)
	}
	// Output:
	// 1 acknowledged
	// 1 one
	// 3 three
}

// Newest leaves the messages unread.
func ExampleClient_Newest() {
	m, done := mailboxes()
	defer done()
	ctx := context.Background()

	for _, text := range []string{"one", "two", "three"} {
		must(one(m.Send(ctx, "bob", "ann", chat.Text(text))))
	}
	messages, err := m.Newest(ctx, "bob", 2)
	must(err)
	unread, err := m.Count(ctx, "bob")
	must(err)
	fmt.Printf("%s %s, %d unread\n", messages[0].Body, messages[1].Body, unread)
	// Output:
	// two three, 3 unread
}
