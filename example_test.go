package skidway_test

import (
	"context"
	"fmt"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := skidway.Open(ctx, "embedded:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()

	chats := group.NewClient(db)
	if _, err := chats.Create(ctx, "crew", &group.CreateOptions{Members: []string{"ann", "bob"}}); err != nil {
		fmt.Println(err)
		return
	}
	id, err := chats.Send(ctx, "crew", "ann", chat.Text("the logs are here"))
	fmt.Println(id, err)

	// All other commands of Redis are available through the same connections.
	keys, err := db.Redis().DBSize(ctx).Result()
	fmt.Println(keys > 0, err)
	// Output:
	// 1 <nil>
	// true <nil>
}
