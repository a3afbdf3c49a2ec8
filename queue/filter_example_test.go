package queue_test

import (
	"context"
	"fmt"
	"time"

	"skidway/queue"
)

func ExampleQueue_CountAll() {
	ctx := context.Background()
	client, mail, done := open(ctx)
	defer done()

	for range 3 {
		_, _ = client.Enqueue(ctx, SendEmail{"a"}, &queue.Options{Queue: "mail", Delay: time.Hour})
	}
	fmt.Println(mail.CountAll(ctx, queue.Delayed, queue.Filter{Kind: "email.send", NewerThan: time.Hour}))
	fmt.Println(mail.CountAll(ctx, queue.Delayed, queue.Filter{Error: "connection refused"}))
	// Output:
	// 3 <nil>
	// 0 <nil>
}

func ExampleClient_Validate() {
	client, _, done := open(context.Background())
	defer done()

	fmt.Println(client.Validate(queue.NewJob{Args: SendEmail{"a"}, Options: queue.Options{Queue: "mail"}}))
	fmt.Println(client.Validate(queue.NewJob{Args: SendEmail{"a"}, Options: queue.Options{Delay: -time.Second}}))
	// Output:
	// <nil>
	// not valid: delay -1s: it can't be below zero
}

func ExampleMarshalArgs() {
	args, err := queue.MarshalArgs(SendEmail{"a"})
	fmt.Println(string(args), err)
	// Output: {"to":"a"} <nil>
}
