package skidway_test

import (
	"context"
	"fmt"

	"skidway"
	"skidway/distribute/chat"
)

func ExampleConnect() {
	ctx := context.Background()
	db, err := skidway.Connect(ctx, "embedded:", skidway.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()

	group := chat.NewGroup(db)
	if _, err := group.Create(ctx, "crew", chat.CreateOptions{Members: []string{"ann", "bob"}}); err != nil {
		fmt.Println(err)
		return
	}
	id, err := group.Send(ctx, "crew", "ann", chat.Text("the logs are here"))
	fmt.Println(id, err)
	// Output: 1 <nil>
}
