package rdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Step is a script with its keys and arguments.
type Step struct {
	Script *Script
	Call
}

// RunAfter is Run, but first runs another script, which must be idempotent: in the same round
// trip if one server has all keys, else in one of its own. If the first one fails, it is run
// again, and s only if it has not run; if it fails again, that is the error unless s has run.
func (s *Script) RunAfter(ctx context.Context, db *DB, first Step, keys []string, args ...any) (Reply, error) {
	if _, cluster := db.UniversalClient.(*redis.ClusterClient); cluster {
		return s.runApart(ctx, db, first, keys, args...)
	}
	var before, answer *redis.Cmd
	err := db.retry(ctx, func() error {
		pipe := db.Pipeline()
		before = first.Script.lua(db.Embedded()).EvalSha(ctx, pipe, first.Keys, first.Args...)
		answer = s.lua(db.Embedded()).EvalSha(ctx, pipe, keys, args...)
		_, _ = pipe.Exec(ctx) // each command has its error
		return answer.Err()
	}, notRun)
	switch {
	case answer == nil: // they were not sent
		return Reply{Op: s.op}, fmt.Errorf("%s: %w", s.op, err)
	case unknownScript(err):
		return s.runApart(ctx, db, first, keys, args...)
	case err != nil && !errors.Is(err, redis.Nil):
		return Reply{Op: s.op}, outcome(s.op, answer.Err(), err)
	}
	if before.Err() != nil && !errors.Is(before.Err(), redis.Nil) {
		_, _ = first.Script.Run(ctx, db, first.Keys, first.Args...)
	}
	return s.reply(answer.Val())
}

// runApart runs two scripts one after the other.
func (s *Script) runApart(ctx context.Context, db *DB, first Step, keys []string, args ...any) (Reply, error) {
	if _, err := first.Script.Run(ctx, db, first.Keys, first.Args...); err != nil {
		return Reply{Op: s.op}, fmt.Errorf("before %s: %w", s.op, err)
	}
	return s.Run(ctx, db, keys, args...)
}
