package rdb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Step is a script with its keys and arguments.
type Step struct {
	Script *Script
	Call

	// Absence is nil unless the step may be left out while another master of a Cluster than that
	// of the next script has its keys and cannot be reached.
	Absence *Absence
}

// An Absence records that a master of a Cluster could not be reached. The zero value is ready to
// use. It is safe for concurrent use.
type Absence struct {
	until atomic.Pointer[time.Time] // before which the master is not tried again
}

// An optional step takes at most maxStepWait. If it has failed, the steps of the next absentFor
// are left out, so that not all of them wait.
const (
	maxStepWait = 250 * time.Millisecond
	absentFor   = 2 * time.Second
)

// run runs the script of the step, unless that may be left out.
func (s Step) run(ctx context.Context, db *DB) error {
	optional := s.Absence != nil && db.restarts.cluster
	if !optional {
		_, err := s.Script.Run(ctx, db, s.Keys, s.Args...)
		return err
	}
	if until := s.Absence.until.Load(); until != nil && time.Now().Before(*until) {
		return nil
	}
	trying, cancel := context.WithTimeout(ctx, maxStepWait)
	defer cancel()
	_, err := s.Script.Run(trying, db, s.Keys, s.Args...)
	if err == nil || ctx.Err() != nil || !transient(err) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	until := time.Now().Add(absentFor)
	s.Absence.until.Store(&until)
	return nil
}

// RunAfter is Run, but first runs another script, which must be idempotent: in the same round
// trip if one server has all keys, else in one of its own. If the first one fails, it is run
// again, and s only if it has not run; if it fails again, that is the error unless s has run, or
// the step has an Absence.
func (s *Script) RunAfter(ctx context.Context, db *DB, first Step, keys []string, args ...any) (Reply, error) {
	if db.restarts.cluster {
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
	if err := first.run(ctx, db); err != nil {
		return Reply{Op: s.op}, fmt.Errorf("before %s: %w", s.op, err)
	}
	return s.Run(ctx, db, keys, args...)
}
