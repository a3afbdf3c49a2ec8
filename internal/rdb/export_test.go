package rdb

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// MaxReadBlock is how long one command of a [DB.Wait] blocks.
const MaxReadBlock = maxReadBlock

// ForgetTags does what [Watch.Run] does once a minute, and returns the number of hash tags whose
// node is known.
func (w *Watch) ForgetTags() int {
	w.forgetTags()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tags)
}

// NewScript is [Scripts.Script] for a complete text.
func NewScript(op, source string) *Script {
	lua := redis.NewScript(source)
	return &Script{op: op, lua: func(bool) *redis.Script { return lua }}
}

// NewIdempotentScript is [Scripts.Idempotent] for a complete text.
func NewIdempotentScript(op, source string) *Script {
	script := NewScript(op, source)
	script.idempotent = true
	return script
}

// Int runs a script that returns one number.
func (s *Script) Int(ctx context.Context, db *DB, keys []string, args ...any) (int64, error) {
	answer, err := s.Do(ctx, db, keys, args...)
	if err != nil {
		return 0, err
	}
	n, err := answer.Int64()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.op, err)
	}
	return n, nil
}

// WithWords returns a script whose replies have a word.
func (s *Script) WithWords() *Script {
	s.words = Words{"no": nil}
	return s
}
