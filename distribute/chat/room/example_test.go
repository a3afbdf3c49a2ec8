package room_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/room"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// one leaves the error of a call that returns something else, too.
func one(_ any, err error) error { return err }

// Ann opens a room and shows a picture. Bob comes later and reads everything. His
// next read reports that Ann has retracted a message.
func Example() {
	ctx := context.Background()
	db, err := skidway.Open(ctx, "embedded:", nil)
	must(err)
	defer func() { _ = db.Close() }()
	r := room.NewClient(db)

	must(r.Create(ctx, "lobby", &room.CreateOptions{TTL: time.Hour, Owner: "ann"}))
	ann, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "ann", Nick: "Annie"})
	must(err)
	must(one(r.Send(ctx, ann, chat.Text("look:"))))
	must(one(r.Send(ctx, ann, chat.Content{Type: chat.TypeImage, URL: "https://example.com/cat.png"})))

	bob, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "bob"})
	must(err)
	news, err := r.Read(ctx, bob, 0, 0)
	must(err)
	for _, m := range news.Messages {
		fmt.Printf("%d %s: %s%s\n", m.ID, m.Nick, m.Body, m.URL)
	}
	fmt.Println(news.Online, "people, lives for", news.TTL.Round(time.Minute))

	must(r.Retract(ctx, ann, 2))
	news, err = r.Read(ctx, bob, news.Position, 0)
	must(err)
	for _, change := range news.Changes {
		fmt.Printf("%s took back message %d\n", change.By, change.Message)
	}
	// Output:
	// 1 Annie: look:
	// 2 Annie: https://example.com/cat.png
	// 2 people, lives for 1h0m0s
	// ann took back message 2
}

// A wrong password and a room that does not exist are the same.
func ExampleClient_Enter() {
	ctx := context.Background()
	db, err := skidway.Open(ctx, "embedded:", nil)
	must(err)
	defer func() { _ = db.Close() }()
	r := room.NewClient(db)

	must(r.Create(ctx, "cellar", &room.CreateOptions{Password: "open sesame"}))
	for _, password := range []string{"open sesame", "open barley"} {
		_, err := r.Enter(ctx, "cellar", &room.EnterOptions{Password: password})
		fmt.Println(err == nil, errors.Is(err, room.ErrNoRoom))
	}
	_, err = r.Enter(ctx, "attic", &room.EnterOptions{Password: "open sesame"})
	fmt.Println(err == nil, errors.Is(err, room.ErrNoRoom))
	// Output:
	// true false
	// false true
	// false true
}

// Wait blocks until there is a message after the position that was read last.
func ExampleClient_Wait() {
	r, done := openLobby()
	defer done()
	ctx := context.Background()
	bob, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "bob"})
	must(err)
	ann, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "ann"})
	must(err)

	sent := make(chan error, 1)
	go func() { sent <- one(r.Send(ctx, ann, chat.Text("hello"))) }()
	must(r.Wait(ctx, bob, 0))
	must(<-sent)
	page, err := r.Read(ctx, bob, 0, 0)
	must(err)
	fmt.Printf("%s: %s\n", page.Messages[0].Sender, page.Messages[0].Body)
	// Output:
	// ann: hello
}

// The owner mutes a person, who can still read.
func ExampleClient_Mute() {
	r, done := openLobby()
	defer done()
	ctx := context.Background()
	ann, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "ann"})
	must(err)
	bob, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "bob", Nick: "Bobby"})
	must(err)

	must(r.Mute(ctx, ann, "bob", time.Hour))
	_, err = r.Send(ctx, bob, chat.Text("hello"))
	fmt.Println(errors.Is(err, room.ErrMuted))
	people, err := r.People(ctx, ann)
	must(err)
	for _, p := range people {
		fmt.Println(p.ID, p.Nick, p.Muted)
	}
	// Output:
	// true
	// ann  false
	// bob Bobby true
}

// Set changes the fields of a room that are not nil.
func ExampleClient_Set() {
	r, done := openLobby()
	defer done()
	ctx := context.Background()
	ann, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "ann"})
	must(err)

	maxPeople := 1
	ann, err = r.Set(ctx, ann, room.Change{Max: &maxPeople})
	must(err)
	info, err := r.Info(ctx, ann)
	must(err)
	fmt.Println("at most", info.Settings.Max)
	_, err = r.Enter(ctx, "lobby", nil)
	fmt.Println(errors.Is(err, chat.ErrFull))
	// Output:
	// at most 1
	// true
}

// openLobby returns a client with a room that belongs to Ann, in a Redis inside this
// process.
func openLobby() (*room.Client, func()) {
	ctx := context.Background()
	db, err := skidway.Open(ctx, "embedded:", nil)
	must(err)
	r := room.NewClient(db)
	must(r.Create(ctx, "lobby", &room.CreateOptions{Owner: "ann"}))
	return r, func() { _ = db.Close() }
}
