package rdb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A Script is one atomic change or read in Redis, written in Lua.
type Script struct {
	op         string // what it does, for errors
	idempotent bool
	known      bool                              // its caller must know whether it was run
	words      Words                             // of its replies; nil: they have none
	lua        func(embedded bool) *redis.Script // the embedded server gets it without flags
}

// Run runs the script by its hash, sending its text only to a server that has
// not seen it. It follows the package's retry rule. All keys must lie on one
// slot. A word that means an error becomes that error.
func (s *Script) Run(ctx context.Context, db *DB, keys []string, args ...any) (Reply, error) {
	cmd, err := s.Do(ctx, db, keys, args...)
	if err != nil {
		return Reply{Op: s.op}, err
	}
	return s.reply(cmd.Val())
}

// Do is Run without parsing the reply.
func (s *Script) Do(ctx context.Context, db *DB, keys []string, args ...any) (*redis.Cmd, error) {
	var answer *redis.Cmd
	lost := false // a reply, so that the script may have been run
	call := func() error {
		answer = s.lua(db.Embedded()).EvalSha(ctx, db.UniversalClient, keys, args...)
		if unknownScript(answer.Err()) {
			answer = s.lua(db.Embedded()).Eval(ctx, db.UniversalClient, keys, args...)
		}
		err := answer.Err()
		lost = lost || err != nil && connection(err) && !notRun(err)
		return err
	}
	again := notRun
	if s.idempotent {
		again = transient
	}
	err := db.retry(ctx, call, again)
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return answer, nil
	case s.known && lost:
		return nil, &OutcomeUnknownError{s.op, err}
	case s.idempotent, answer == nil: // it was not sent
		return nil, fmt.Errorf("%s: %w", s.op, err)
	}
	return nil, outcome(s.op, answer.Err(), err)
}

// A Call has the keys and arguments of one run of a script.
type Call struct {
	Keys []string // all on one slot
	Args []any
}

// A Result is what [Script.RunAll] returns for one call.
type Result struct {
	Reply
	Err error // of this call alone: a refusal, or as WRONGTYPE; or it got no answer
}

// RunAll runs an idempotent script once for each call, all of them in one round
// trip (on a Cluster, one for each node), and returns their results in order. If
// some calls got no answer, as when one node of a Cluster is away, it returns an
// error, and the results as well: those calls have an error of their own. It is
// for a few hundred calls: all replies are in memory at once.
func (s *Script) RunAll(ctx context.Context, db *DB, calls []Call) ([]Result, error) {
	replies := make([]*redis.Cmd, len(calls))
	left := make([]int, len(calls)) // calls without a reply yet
	for i := range left {
		left[i] = i
	}
	send := func(one func(redis.Pipeliner, Call) *redis.Cmd) (err error) {
		_, _ = db.Pipelined(ctx, func(p redis.Pipeliner) error { // each reply has its error
			for _, i := range left {
				replies[i] = one(p, calls[i])
			}
			return nil
		})
		left = slices.DeleteFunc(left, func(i int) bool {
			failed := replies[i].Err()
			if failed == nil || isAnswer(failed) && !Refused(failed) && !unknownScript(failed) {
				return true
			}
			err = failed
			return false
		})
		return err
	}
	err := db.Retry(ctx, func() error {
		err := send(func(p redis.Pipeliner, call Call) *redis.Cmd {
			return s.lua(db.Embedded()).EvalSha(ctx, p, call.Keys, call.Args...)
		})
		if unknownScript(err) {
			err = send(func(p redis.Pipeliner, call Call) *redis.Cmd {
				return s.lua(db.Embedded()).Eval(ctx, p, call.Keys, call.Args...)
			})
		}
		return err
	})
	results := make([]Result, len(replies))
	if err != nil {
		err = fmt.Errorf("%s: %w", s.op, err)
		for _, i := range left {
			results[i] = Result{Reply{Op: s.op}, err}
		}
	}
	for i, reply := range replies {
		if results[i].Err != nil {
			continue
		}
		if err := reply.Err(); err != nil && !errors.Is(err, redis.Nil) {
			results[i] = Result{Reply{Op: s.op}, fmt.Errorf("%s: %w", s.op, err)}
			continue
		}
		results[i].Reply, results[i].Err = s.reply(reply.Val())
	}
	return results, err
}

func unknownScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }
