package rdb_test

import (
	"context"
	"fmt"
	"time"

	"skidway/internal/rdb"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := rdb.Open(ctx, "embedded:", rdb.Options{Prefix: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()

	count := rdb.NewScript("count", `return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	n, err := count.Int(ctx, db, []string{db.Prefix() + ":n"}, 3)
	fmt.Println(db, n, err)
	news, err := db.Wait(ctx, time.Millisecond, rdb.Mark{Key: "example:s", ID: "0"})
	fmt.Println(news, err)
	// Output:
	// embedded: 3 <nil>
	// false <nil>
}
