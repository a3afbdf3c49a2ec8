package rdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// UnreachableError is the error for a Redis that could not be reached, or did not
// come back in time.
type UnreachableError struct {
	Name string // the server, without secrets
	Err  error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("redis at %s is not reachable: %v", e.Name, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// OutcomeUnknownError is the error for a change whose reply was lost: it may have
// happened or not.
type OutcomeUnknownError struct {
	Op  string
	Err error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("%s: the answer was lost, so it may have happened or not: %v", e.Op, e.Err)
}

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// Retry calls f until it returns nil or an error that is not transient, or until
// the patience of [Options] is used up. f must be safe to repeat: an earlier try
// may have had its effect.
func (db *DB) Retry(ctx context.Context, f func() error) error {
	return db.retry(ctx, f, transient)
}

func (db *DB) retry(ctx context.Context, f func() error, again func(error) bool) error {
	deadline := time.Now().Add(db.options.Patience)
	for backoff := (Backoff{Max: time.Second}); ; {
		err := db.restarts.check(ctx)
		if err == nil {
			err = f()
		}
		if err == nil || errors.Is(err, redis.Nil) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !again(err) {
			return db.explain(err)
		}
		pause := backoff.Next()
		if time.Now().Add(pause).After(deadline) {
			return db.explain(err)
		}
		if err := Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
	}
}

// explain wraps errors of the connection in an UnreachableError. Replies of the
// server stay as they are.
func (db *DB) explain(err error) error {
	var already *UnreachableError
	if err == nil || !connection(err) || errors.As(err, &already) {
		return err
	}
	return &UnreachableError{db.name, err}
}

// refusals are the prefixes of error replies after which the command was not run
// and may be run a little later. UNBLOCKED ends a blocked read, for example when a
// master becomes a replica; NOREPLICAS comes as long as a new master has no replica yet.
var refusals = []string{"LOADING ", "BUSY ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "READONLY ", "NOREPLICAS ", "UNBLOCKED "}

// Refused reports whether err is a reply of a server that can't run commands now, such as LOADING.
func Refused(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	for _, prefix := range refusals {
		if strings.HasPrefix(answer.Error(), prefix) {
			return true
		}
	}
	return false
}

// connection reports whether err is an error of the connection, not a reply of the
// server.
func connection(err error) bool {
	var netErr net.Error
	var lost *lostAnswer
	return errors.As(err, &netErr) || errors.As(err, &lost) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout)
}

func isAnswer(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// moved reports whether a node of a Cluster refused a command because another one
// serves its keys.
func moved(err error) bool {
	return redis.HasErrorPrefix(err, "MOVED ") || redis.HasErrorPrefix(err, "ASK ")
}

func transient(err error) bool {
	return !errors.Is(err, redis.ErrClosed) && (connection(err) || Refused(err))
}

// notRun reports whether err means that the command was certainly not run. The
// client checks a context only before it sends.
func notRun(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) || Refused(err) ||
		errors.Is(err, context.DeadlineExceeded)
}

// outcome returns the error of a change that is not repeated. failed is the error of its
// last try, nil if there was none; err is what the caller is to see of it.
func outcome(op string, failed, err error) error {
	if failed != nil && connection(failed) && !notRun(failed) {
		// Not err: if ctx is done, err is only the cause of that.
		return &OutcomeUnknownError{op, err}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// Defaults of a [Backoff].
const (
	DefaultFirstPause = 20 * time.Millisecond
	DefaultMaxPause   = 2 * time.Second
)

// A Backoff is the pauses between tries: each is twice the one before. The zero
// value is ready to use. It is not safe for concurrent use.
type Backoff struct {
	First time.Duration // zero: [DefaultFirstPause]
	Max   time.Duration // zero: [DefaultMaxPause]

	last time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	if b.last == 0 {
		b.last = cmp.Or(b.First, DefaultFirstPause)
	} else {
		b.last = min(2*b.last, cmp.Or(b.Max, DefaultMaxPause))
	}
	return b.last
}

// Reset begins with the first pause again.
func (b *Backoff) Reset() { b.last = 0 }

// Sleep blocks for the next pause, or until ctx is done: then it returns the
// cause.
func (b *Backoff) Sleep(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Sleep blocks for d, or until ctx is done: then it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
