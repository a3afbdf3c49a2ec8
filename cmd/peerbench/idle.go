package main

import (
	"context"
	"time"
)

// startup is how long a server may take to connect and announce itself.
const startup = 2 * time.Second

// idle counts the commands of a server without jobs.
func (b *bench) idle(ctx context.Context, f figures) error {
	stop, err := b.serve(func([]byte) {})
	if err != nil {
		return err
	}
	defer stop()
	if err := pause(ctx, startup); err != nil {
		return err
	}
	before, err := b.db.number(ctx, "stats", "total_commands_processed")
	if err != nil {
		return err
	}
	started := time.Now()
	if err := pause(ctx, b.idleFor); err != nil {
		return err
	}
	took := time.Since(started)
	after, err := b.db.number(ctx, "stats", "total_commands_processed")
	if err != nil {
		return err
	}
	f.add("idle_commands_per_s", (after-before-1)/took.Seconds()) // one was ours, asking before
	return nil
}
