//go:build unix

package command_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/command"
)

// The configuration of the worker lists the commands; jobs choose one and add args.
func ExampleRunner_Run() {
	ctx := context.Background()
	client, err := queue.Open(ctx, "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	runner, err := command.New(command.Config{Commands: map[string]command.Command{
		"greet": {Path: "/bin/echo", Args: []string{"hello,"}, MaxArgs: 1},
	}})
	if err != nil {
		log.Fatal(err)
	}
	pool := workers.NewPool(client, &workers.Config{Logger: slog.New(slog.DiscardHandler)})
	workers.Handle(pool, runner.Run)
	go pool.Run(ctx)
	defer pool.Stop(ctx)

	for _, args := range []command.Args{{Command: "greet", Args: []string{"Ada"}}, {Command: "reboot"}} {
		id, err := client.Enqueue(ctx, args, &queue.Options{Retain: time.Minute})
		if err != nil {
			log.Fatal(err)
		}
		job, err := client.Wait(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s%s\n", job.Outcome, job.Result, job.Reason)
	}
	// Output:
	// succeeded {"stdout":"hello, Ada\n","stderr":""}
	// dead field command: this worker's configuration lists no "reboot", it has: greet
}
