package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"

	"skidway/distribute"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// openExample returns a channel in a Redis inside this process, and a log file.
func openExample() (channel *distribute.Channel, path string, done func()) {
	ctx, db, path, done := begin()
	channel, err := distribute.Open(ctx, db, "web")
	must(err)
	return channel, path, done
}

func ExampleChannel_Status() {
	channel, path, done := openExample()
	defer done()
	ctx := context.Background()

	must(channel.Subscribe(ctx, "countries", ""))
	must(channel.SetWindow(ctx, 64<<20))
	_, err := distribute.NewShipper(channel, nil).Ship(ctx, []string{path})
	must(err)
	status, err := channel.Status(ctx)
	must(err)
	fmt.Println("window:", status.Window>>20, "MiB")
	for _, file := range status.Open {
		fmt.Println(filepath.Base(file.Name), file.State, file.Waiting)
	}
	for _, s := range status.Subscribers {
		fmt.Println(s.Name, s.Pending, "pending")
	}
	// Output:
	// window: 64 MiB
	// access.log uploaded [countries]
	// countries 1 pending
}

// A window that has room for no file is refused.
func ExampleChannel_SetWindow() {
	channel, _, done := openExample()
	defer done()
	fmt.Println(channel.SetWindow(context.Background(), 1000))
	// Output:
	// a window of 1000 bytes is too small: 1 MiB is the least
}

func ExampleChannel_Unsubscribe() {
	channel, _, done := openExample()
	defer done()
	ctx := context.Background()

	must(channel.Subscribe(ctx, "countries", ""))
	must(channel.Subscribe(ctx, "old", ""))
	must(channel.Unsubscribe(ctx, "old"))
	subscribers, err := channel.Subscribers(ctx)
	must(err)
	for _, s := range subscribers {
		fmt.Println(s.Name)
	}
	fmt.Println(errors.Is(channel.Unsubscribe(ctx, "old"), distribute.ErrNoSubscriber))
	// Output:
	// countries
	// true
}

// Follow ships what is written to the files of a folder, until Stop.
func ExampleShipper_Follow() {
	channel, path, done := openExample()
	defer done()
	ctx := context.Background()

	var shipper *distribute.Shipper
	shipper = distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: func(e distribute.Event) {
		fmt.Println(filepath.Base(e.File), e.Kind, e.Shipped.Outcome)
		shipper.Stop()
	}})
	must(shipper.Follow(ctx, []string{filepath.Dir(path)}))
	// Output:
	// access.log shipped shipped
}
