package rdb

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// SendOnce sends commands on keys of one slot, of which key is one, in one round trip. A
// command whose reply was lost is not sent again: it gets an [OutcomeUnknownError]. Those
// that were certainly not run are sent again as the package's retry rule says. The commands
// must be new, or have neither a value nor an error. op names the operation in errors.
func (db *DB) SendOnce(ctx context.Context, op, key string, commands []redis.Cmder) {
	left := commands
	err := db.retry(ctx, func() error {
		db.sendTogether(ctx, key, left)
		if !slices.ContainsFunc(left, canRepeat) {
			return nil
		}
		left = slices.DeleteFunc(slices.Clone(left), func(c redis.Cmder) bool { return !canRepeat(c) })
		return left[0].Err()
	}, notRun)
	for _, c := range commands {
		switch failed := c.Err(); {
		case failed == nil, errors.Is(failed, redis.Nil):
		case answered(c):
			c.SetErr(nil) // a later reply was lost
		case canRepeat(c):
			c.SetErr(outcome(op, failed, err))
		case connection(failed) && ctx.Err() != nil:
			c.SetErr(outcome(op, failed, context.Cause(ctx)))
		default:
			c.SetErr(outcome(op, failed, db.explain(failed)))
		}
	}
}

// canRepeat reports whether a command that was sent was certainly not run.
func canRepeat(c redis.Cmder) bool {
	return c.Err() != nil && !answered(c) && (notRun(c.Err()) || moved(c.Err()))
}

// answered reports whether a command has a value. When a connection is lost, commands
// that have their reply get an error too.
func answered(c redis.Cmder) bool {
	text, ok := c.(*redis.StringCmd)
	return ok && text.Val() != ""
}

// sendTogether sends commands once. The pipeline of a Cluster client would repeat
// commands whose replies were lost, so they go to the node of the key; those that it
// refuses because another one has the slot follow one by one.
func (db *DB) sendTogether(ctx context.Context, key string, commands []redis.Cmder) {
	if len(commands) == 1 {
		_ = db.Process(ctx, commands[0])
		return
	}
	cluster, ok := db.UniversalClient.(*redis.ClusterClient)
	if !ok {
		pipe := db.Pipeline()
		_ = pipe.BatchProcess(ctx, commands...)
		_, _ = pipe.Exec(ctx) // each command has its error
		return
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		for _, c := range commands {
			c.SetErr(err)
		}
		return
	}
	pipe := master.Pipeline()
	_ = pipe.BatchProcess(ctx, commands...)
	_, _ = pipe.Exec(ctx)
	for _, c := range commands {
		if moved(c.Err()) {
			cluster.ReloadState(ctx)
			_ = cluster.Process(ctx, c)
		}
	}
}

// ReadTogether sends commands that read keys of one slot, of which key is one, in one round
// trip, again as the package's retry rule says: queue adds them to the pipeline for each try. The
// errors of commands that the server refuses are theirs.
func (db *DB) ReadTogether(ctx context.Context, key string, queue func(redis.Pipeliner)) error {
	return db.Retry(ctx, func() error {
		node, err := db.nodeOf(ctx, key)
		if err != nil {
			return err
		}
		commands, _ := node.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its error
			queue(pipe)
			return nil
		})
		for _, c := range commands {
			if c.Err() != nil && moved(c.Err()) {
				c.SetErr(nil)
				_ = db.Process(ctx, c)
			}
			if c.Err() != nil && transient(c.Err()) {
				return c.Err()
			}
		}
		return nil
	})
}
