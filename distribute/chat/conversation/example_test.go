package conversation_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// one leaves the error of a call that returns something else, too.
func one(_ any, err error) error { return err }

// openConversations returns the conversations of a Redis inside this process.
func openConversations() (*conversation.Client, func()) {
	db, err := skidway.Open(context.Background(), "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	return conversation.NewClient(db, nil), func() { _ = db.Close() }
}

// Bob was away while Ann wrote to him.
func Example() {
	c, done := openConversations()
	defer done()
	ctx := context.Background()

	sent, err := c.Send(ctx, "ann", "bob", chat.Text("noon?"))
	must(err)
	fmt.Println("sent", sent.ID, "notify:", sent.Notify)

	must(c.Wait(ctx, "bob"))
	page, err := c.Read(ctx, "bob", "ann", 0)
	must(err)
	for _, m := range page.Messages {
		fmt.Printf("%s: %s\n", m.Sender, m.Body)
	}
	fmt.Println(page.Unread, "unread of", page.Total)
	// Output:
	// sent 1 notify: true
	// ann: noon?
	// 1 unread of 1
}

// A message is acknowledged after it was handled, so a crash in between loses
// nothing.
func ExampleClient_Peek() {
	c, done := openConversations()
	defer done()
	ctx := context.Background()

	must(one(c.Send(ctx, "ann", "bob", chat.Text("noon?"))))
	page, err := c.Peek(ctx, "bob", "ann", 0, 0)
	must(err)
	fmt.Printf("%s\n", page.Messages[0].Body)
	must(one(c.Ack(ctx, "bob", "ann", page.Messages[0].ID)))
	page, err = c.Peek(ctx, "bob", "ann", 0, 0)
	must(err)
	fmt.Println(page.Unread, "unread")
	// Output:
	// noon?
	// 0 unread
}

func ExampleClient_History() {
	c, done := openConversations()
	defer done()
	ctx := context.Background()

	for _, from := range []string{"ann", "bob"} {
		for i := range 3 {
			to := map[string]string{"ann": "bob", "bob": "ann"}[from]
			must(one(c.Send(ctx, from, to, chat.Text(fmt.Sprint(i)))))
		}
	}
	for before := uint64(0); ; {
		page, err := c.History(ctx, "bob", "ann", &conversation.HistoryOptions{Before: before, Limit: 4})
		must(err)
		if len(page.Messages) == 0 {
			break
		}
		before = page.Messages[0].ID
		fmt.Println(before, "to", page.Messages[len(page.Messages)-1].ID)
	}
	// Output:
	// 3 to 6
	// 1 to 2
}

func ExampleClient_Unread() {
	c, done := openConversations()
	defer done()
	ctx := context.Background()

	must(one(c.Send(ctx, "ann", "bob", chat.Text("noon?"))))
	must(one(c.Send(ctx, "ann", "bob", chat.Text("or later?"))))
	must(one(c.Send(ctx, "cem", "bob", chat.Text("hello"))))
	all, err := c.Unread(ctx, "bob")
	must(err)
	for _, one := range all {
		fmt.Println(one.Peer, one.Unread)
	}
	// Output:
	// ann 2
	// cem 1
}

func ExampleClient_Present() {
	c, done := openConversations()
	defer done()
	ctx := context.Background()

	must(c.Present(ctx, "bob", "ann", time.Minute))
	sent, err := c.Send(ctx, "ann", "bob", chat.Text("noon?"))
	must(err)
	fmt.Println("notify:", sent.Notify)
	// Output:
	// notify: false
}

// An acknowledgement moves the cursor up to a message, and never back.
func ExampleClient_Ack() {
	c, done := openConversations()
	defer done()
	ctx := context.Background()

	for _, text := range []string{"noon?", "or later?"} {
		must(one(c.Send(ctx, "ann", "bob", chat.Text(text))))
	}
	for _, upTo := range []uint64{2, 1} {
		cursor, err := c.Ack(ctx, "bob", "ann", upTo)
		must(err)
		fmt.Println("bob has read up to", cursor)
	}
	// Output:
	// bob has read up to 2
	// bob has read up to 2
}
