package skidway_test

import (
	"context"
	"fmt"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

func ExampleConnect() {
	ctx := context.Background()
	db, err := skidway.Connect(ctx, "embedded:", skidway.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()

	chats := group.New(db)
	if _, err := chats.Create(ctx, "crew", group.CreateOptions{Members: []string{"ann", "bob"}}); err != nil {
		fmt.Println(err)
		return
	}
	id, err := chats.Send(ctx, "crew", "ann", chat.Text("the logs are here"))
	fmt.Println(id, err)
	// Output: 1 <nil>
}
