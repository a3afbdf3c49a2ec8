package rdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Guard is a condition on which Redis runs a command: the reply of Look has the word "ok", and
// since then nothing has written one of the keys in Watched. The keys must lie on one slot.
type Guard struct {
	Watched []string
	Look    *Script // reads
	Call
}

// RunGuarded runs the command that a function returns for the reply of the look, in two round
// trips. ran reports whether Redis has run it: it has not if the condition was not met, if Redis
// refused it, or if the first round trip failed. A command whose reply was lost may have been
// run: that is an [OutcomeUnknownError]. ctx may be one of [ExpectServer]. The embedded server
// runs no guarded commands.
func (db *DB) RunGuarded(ctx context.Context, op string, guard Guard, command func(Reply) redis.Cmder) (ran bool, err error) {
	node, err := db.nodeOf(ctx, guard.Watched[0])
	if err != nil || db.Embedded() || db.restarts.check(ctx) != nil {
		return false, nil
	}
	conn := node.Conn()
	defer func() { _ = conn.Close() }() // returns it to its pool
	reply, ok := guard.look(ctx, conn)
	// The look may have opened the connection, and so have noticed another server.
	if !ok || db.restarts.check(ctx) != nil {
		unwatch(ctx, conn)
		return false, nil
	}
	cmd := command(reply)
	_, err = conn.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Process(ctx, cmd) })
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return true, nil
	case errors.Is(err, redis.TxFailedErr), redis.HasErrorPrefix(err, "EXECABORT"):
		return false, nil
	}
	unwatch(ctx, conn) // perhaps it was not sent
	if errors.Is(err, ErrServerChanged) {
		return false, nil // it was not sent
	}
	if notRun(err) {
		return false, fmt.Errorf("%s: %w", op, db.explain(err))
	}
	// Where Redis has refused MULTI alone, the command was run without it.
	return false, &OutcomeUnknownError{op, db.explain(err)}
}

// look watches the keys, and returns the reply of the look if that has the word "ok".
func (g Guard) look(ctx context.Context, conn *redis.Conn) (Reply, bool) {
	script := g.Look.lua(false)
	keys := make([]any, len(g.Watched))
	for i, key := range g.Watched {
		keys[i] = key
	}
	var watched, answer *redis.Cmd
	_, _ = conn.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its error
		watched = pipe.Do(ctx, append([]any{"watch"}, keys...)...)
		answer = script.EvalSha(ctx, pipe, g.Keys, g.Args...)
		return nil
	})
	if watched.Err() != nil {
		return Reply{}, false
	}
	if unknownScript(answer.Err()) {
		answer = script.Eval(ctx, conn, g.Keys, g.Args...)
	}
	if answer.Err() != nil {
		return Reply{}, false
	}
	reply, err := g.Look.reply(answer.Val())
	return reply, err == nil && reply.Word == "ok"
}

// unwatch makes a connection that watches keys ready for other uses. If that fails, the
// connection is not used again.
func unwatch(ctx context.Context, conn *redis.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ioTimeout)
	defer cancel()
	_ = conn.Do(ctx, "unwatch").Err()
}

// nodeOf returns the client of the server that has a key.
func (db *DB) nodeOf(ctx context.Context, key string) (*redis.Client, error) {
	switch client := db.UniversalClient.(type) {
	case *redis.Client:
		return client, nil
	case *redis.ClusterClient:
		return client.MasterForKey(ctx, key)
	}
	return nil, errors.ErrUnsupported
}
