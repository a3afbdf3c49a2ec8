package group_test

import (
	"context"
	"fmt"
	"log"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

// open returns the group chats of a Redis inside this process.
func open() (*group.Client, func()) {
	db, err := skidway.Open(context.Background(), "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	return group.NewClient(db), func() { _ = db.Close() }
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// one leaves the error of a call that also returns another value.
func one(_ any, err error) error { return err }

// Bob was away while Ann wrote. He reads, and acknowledges when he is done.
func Example() {
	g, done := open()
	defer done()
	ctx := context.Background()

	must(one(g.Create(ctx, "lunch", &group.CreateOptions{Members: []string{"ann", "bob"}})))
	_, err := g.Send(ctx, "lunch", "ann", chat.Text("noon?"))
	must(err)

	must(g.Wait(ctx, "bob"))
	messages, err := g.Pending(ctx, "lunch", "bob", 0, 0)
	must(err)
	for _, m := range messages {
		fmt.Printf("%d %s: %s\n", m.ID, m.Sender, m.Body)
	}
	cursor, err := g.Ack(ctx, "lunch", "bob", messages[len(messages)-1].ID)
	must(err)
	fmt.Println("bob has read up to", cursor)
	// Output:
	// 1 ann: noon?
	// bob has read up to 1
}

// A channel keeps what is sent while it has no members.
func ExampleClient_Join() {
	g, done := open()
	defer done()
	ctx := context.Background()

	must(one(g.Create(ctx, "logs", &group.CreateOptions{Kind: group.Channel})))
	for _, file := range []string{"a.log", "b.log"} {
		_, err := g.Send(ctx, "logs", "uploader", chat.Text(file))
		must(err)
	}
	must(g.Join(ctx, "logs", "early", group.FromOldest))
	must(g.Join(ctx, "logs", "late", group.FromNow))
	members, err := g.Members(ctx, "logs")
	must(err)
	for _, m := range members {
		fmt.Println(m.Name, m.Unread)
	}
	// Output:
	// early 2
	// late 0
}

func ExampleClient_PendingAll() {
	g, done := open()
	defer done()
	ctx := context.Background()

	for _, id := range []string{"lunch", "work"} {
		must(one(g.Create(ctx, id, &group.CreateOptions{Members: []string{"ann", "bob"}})))
		_, err := g.Send(ctx, id, "ann", chat.Text("hello"))
		must(err)
	}
	batches, err := g.PendingAll(ctx, "bob", 10)
	must(err)
	for _, batch := range batches {
		fmt.Println(batch.Chat, len(batch.Messages))
	}
	// Output:
	// lunch 1
	// work 1
}

func ExampleClient_Fetch() {
	g, done := open()
	defer done()
	ctx := context.Background()

	must(one(g.Create(ctx, "lunch", &group.CreateOptions{Members: []string{"ann", "bob"}})))
	_, err := g.Send(ctx, "lunch", "ann", chat.Text("noon?"))
	must(err)
	for range 2 {
		messages, err := g.Fetch(ctx, "lunch", "bob", 0)
		must(err)
		fmt.Println(len(messages))
	}
	// Output:
	// 1
	// 0
}

func ExampleClient_Unread() {
	g, done := open()
	defer done()
	ctx := context.Background()

	for _, id := range []string{"lunch", "work"} {
		must(one(g.Create(ctx, id, &group.CreateOptions{Members: []string{"ann", "bob"}})))
	}
	must(one(g.Send(ctx, "lunch", "ann", chat.Text("noon?"))))
	chats, err := g.Unread(ctx, "bob")
	must(err)
	for _, c := range chats {
		fmt.Println(c.Chat, c.Unread)
	}
	// Output:
	// lunch 1
	// work 0
}

func ExampleClient_SetLimits() {
	g, done := open()
	defer done()
	ctx := context.Background()

	must(one(g.Create(ctx, "news", &group.CreateOptions{Kind: group.Channel, Members: []string{"slow"}})))
	must(g.SetLimits(ctx, "news", group.Limits{Messages: 2}))
	for _, text := range []string{"one", "two", "three"} {
		must(one(g.Send(ctx, "news", "editor", chat.Text(text))))
	}
	members, err := g.Members(ctx, "news")
	must(err)
	fmt.Printf("unread %d, missed %d\n", members[0].Unread, members[0].Missed)
	// Output:
	// unread 2, missed 1
}

// A message is pending until it is acknowledged, also after a crash of the reader.
func ExampleClient_Ack() {
	g, done := open()
	defer done()
	ctx := context.Background()

	must(one(g.Create(ctx, "lunch", &group.CreateOptions{Members: []string{"ann", "bob"}})))
	for _, text := range []string{"noon?", "or later?"} {
		must(one(g.Send(ctx, "lunch", "ann", chat.Text(text))))
	}
	cursor, err := g.Ack(ctx, "lunch", "bob", 1)
	must(err)
	messages, err := g.Pending(ctx, "lunch", "bob", 0, 0)
	must(err)
	fmt.Printf("read up to %d, pending: %s\n", cursor, messages[0].Body)
	// Output:
	// read up to 1, pending: or later?
}
