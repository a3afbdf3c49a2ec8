package rdb_test

import (
	"context"
	"fmt"
	"testing/fstest"
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

	files := fstest.MapFS{"lua/count.lua": {Data: []byte("return redis.call('INCRBY', COUNTER, ARGV[1])")}}
	count := rdb.LoadScripts("example", files, rdb.Keys{"counter"}, nil).Script("count", "count")
	reply, err := count.Run(ctx, db, []string{db.Prefix() + ":n"}, 3)
	fmt.Println(db, reply.Int(0), err)
	news, err := db.Wait(ctx, time.Millisecond, rdb.Mark{Key: "example:s", ID: "0"})
	fmt.Println(news, err)
	// Output:
	// embedded: 3 <nil>
	// false <nil>
}
