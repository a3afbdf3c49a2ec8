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
	name       string
	idempotent bool
	lua        *redis.Script
}

// NewScript makes a script that is tried again only while it is certain that
// it was not run. name says in errors what failed, as in "send a message".
func NewScript(name, source string) *Script {
	return &Script{name: name, lua: redis.NewScript(source)}
}

// NewIdempotentScript makes a script that can be repeated after a lost answer:
// the second run changes nothing and answers as the first would have.
func NewIdempotentScript(name, source string) *Script {
	return &Script{name: name, idempotent: true, lua: redis.NewScript(source)}
}

// Run runs the script by its hash, sending its text only to a server that has
// not seen it. It follows the package's retry rule. All keys must lie on one
// slot.
func (s *Script) Run(ctx context.Context, db *DB, keys []string, args ...any) (*redis.Cmd, error) {
	var answer *redis.Cmd
	call := func() error {
		answer = s.lua.EvalSha(ctx, db.UniversalClient, keys, args...)
		if unknownScript(answer.Err()) {
			answer = s.lua.Eval(ctx, db.UniversalClient, keys, args...)
		}
		return answer.Err()
	}
	again := notRun
	if s.idempotent {
		again = transient
	}
	err := db.retry(ctx, call, again)
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return answer, nil
	case !s.idempotent && answer.Err() != nil && connection(answer.Err()) && !notRun(answer.Err()):
		// Not err: where ctx ended meanwhile, that speaks of ctx alone.
		return nil, &OutcomeUnknownError{s.name, err}
	}
	return nil, fmt.Errorf("%s: %w", s.name, err)
}

// Int runs a script that answers one number.
func (s *Script) Int(ctx context.Context, db *DB, keys []string, args ...any) (int64, error) {
	answer, err := s.Run(ctx, db, keys, args...)
	if err != nil {
		return 0, err
	}
	n, err := answer.Int64()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	return n, nil
}

// Strings runs a script that answers a list of strings and numbers, and gives
// them all as strings.
func (s *Script) Strings(ctx context.Context, db *DB, keys []string, args ...any) ([]string, error) {
	answer, err := s.Run(ctx, db, keys, args...)
	if err != nil {
		return nil, err
	}
	values, err := answer.Slice()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	texts := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case string:
			texts[i] = value
		case int64:
			texts[i] = fmt.Sprint(value)
		case nil:
		default:
			return nil, fmt.Errorf("%s: unexpected %T in the answer", s.name, value)
		}
	}
	return texts, nil
}

// A Call is what one run of a script is given.
type Call struct {
	Keys []string // all on one slot
	Args []any
}

// RunAll runs an idempotent script once for each call, all of them in one round
// trip (on a Cluster, one for each node), and gives their answers in order. An
// answer may hold an error that speaks of its call alone, as WRONGTYPE does. It
// is for a few hundred calls: the answers are all held at once.
func (s *Script) RunAll(ctx context.Context, db *DB, calls []Call) ([]*redis.Cmd, error) {
	answers := make([]*redis.Cmd, len(calls))
	left := make([]int, len(calls)) // calls without an answer yet
	for i := range left {
		left[i] = i
	}
	send := func(one func(redis.Pipeliner, Call) *redis.Cmd) (err error) {
		_, _ = db.Pipelined(ctx, func(p redis.Pipeliner) error { // the answers tell
			for _, i := range left {
				answers[i] = one(p, calls[i])
			}
			return nil
		})
		left = slices.DeleteFunc(left, func(i int) bool {
			failed := answers[i].Err()
			if failed == nil || isAnswer(failed) && !refused(failed) && !unknownScript(failed) {
				return true
			}
			err = failed
			return false
		})
		return err
	}
	err := db.Retry(ctx, func() error {
		err := send(func(p redis.Pipeliner, call Call) *redis.Cmd { return s.lua.EvalSha(ctx, p, call.Keys, call.Args...) })
		if unknownScript(err) {
			err = send(func(p redis.Pipeliner, call Call) *redis.Cmd { return s.lua.Eval(ctx, p, call.Keys, call.Args...) })
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return answers, nil
}

func unknownScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }
