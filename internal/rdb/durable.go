package rdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// UnconfirmedError is the error for a change that has happened, but of which Redis has
// not confirmed that it survives a crash. It must not be repeated.
type UnconfirmedError struct {
	Op  string
	ID  string // of what was added
	Err error  // why it is not confirmed
}

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("%s: %s was added, but it is not confirmed that it survives a crash of Redis: %v", e.Op, e.ID, e.Err)
}

func (e *UnconfirmedError) Unwrap() error { return e.Err }

// RunDurable is Run for a change that must survive a crash of the server. It sends the
// script and the command that waits for the confirmation in one pipeline, on a
// connection that no other call uses meanwhile: the server confirms the writes of one
// connection. It waits for at most timeout.
//
// The server's replies to INFO decide what it waits for: with appendonly, from Redis
// 7.2 on, until the change is on disk (WAITAOF); with replicas, until one of them has
// it (WAIT); with both, for both. With neither, nothing is changed and the error is an
// [UnfitServerError]. If the change has happened and is not confirmed, RunDurable
// returns the reply and an [UnconfirmedError] without an ID.
func (s *Script) RunDurable(ctx context.Context, db *DB, timeout time.Duration, keys []string, args ...any) (Reply, error) {
	if db.Embedded() {
		return Reply{}, &UnfitServerError{"durable changes need a server that keeps its data; the embedded one does not"}
	}
	var run durableRun
	err := db.retry(ctx, func() error {
		// The connections have no time limit of their own.
		ctx, cancel := context.WithTimeout(ctx, 2*timeout+ioTimeout)
		defer cancel()
		run = durableRun{script: s, keys: keys, args: args, timeout: timeout}
		return run.do(ctx, db)
	}, func(err error) bool { return !run.sent && transient(err) || notRun(err) || moved(err) })
	switch {
	case err == nil, errors.Is(err, redis.Nil):
	case run.sent && run.answer.Err() != nil && connection(run.answer.Err()) && !notRun(run.answer.Err()):
		return Reply{}, &OutcomeUnknownError{s.op, err}
	default:
		return Reply{}, fmt.Errorf("%s: %w", s.op, err)
	}
	reply, err := s.reply(run.answer.Val())
	if err != nil {
		return reply, err
	}
	if err := run.confirmed(); err != nil {
		return reply, &UnconfirmedError{Op: s.op, Err: err}
	}
	return reply, nil
}

// A durableRun is one try of [Script.RunDurable].
type durableRun struct {
	script  *Script
	keys    []string
	args    []any
	timeout time.Duration

	sent    bool
	answer  *redis.Cmd         // of the script
	disk    *redis.IntSliceCmd // nil: not waited for
	replica *redis.IntCmd      // nil: not waited for
}

// do returns the error of the script, not those of the confirmations.
func (r *durableRun) do(ctx context.Context, db *DB) error {
	client, err := db.durable()
	if err != nil {
		return err
	}
	conn, err := connOf(ctx, client, r.keys[0])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns it to its pool
	text, err := conn.Info(ctx, "server", "persistence", "replication").Result()
	if err != nil {
		return err
	}
	disk, replica, err := confirmations(ParseInfo(text))
	if err != nil {
		return err
	}
	millis := r.timeout.Milliseconds()
	send := func(run func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) {
		_, _ = conn.Pipelined(ctx, func(p redis.Pipeliner) error { // each reply has its error
			r.answer = run(ctx, p, r.keys, r.args...)
			if disk {
				r.disk = redis.NewIntSliceCmd(ctx, "waitaof", 1, 0, millis)
				_ = p.Process(ctx, r.disk)
			}
			if replica {
				r.replica = redis.NewIntCmd(ctx, "wait", 1, millis)
				_ = p.Process(ctx, r.replica)
			}
			return nil
		})
	}
	r.sent = true
	if send(r.script.lua(false).EvalSha); unknownScript(r.answer.Err()) {
		send(r.script.lua(false).Eval)
	}
	if cluster, ok := client.(*redis.ClusterClient); ok && moved(r.answer.Err()) {
		cluster.ReloadState(ctx)
	}
	if r.answer.Val() != nil {
		return nil // also if the connection was lost later: then all commands have that error
	}
	return r.answer.Err()
}

// connOf returns a connection to the master of a key, for the caller alone.
func connOf(ctx context.Context, client redis.UniversalClient, key string) (*redis.Conn, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.(*redis.Client).Conn(), nil
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return master.Conn(), nil
}

// confirmations returns what a server can confirm, by its reply to INFO: that a change
// is on its disk, and that a replica has it.
func confirmations(info map[string]string) (disk, replica bool, err error) {
	appendOnly, replicas := info["aof_enabled"] == "1", info["connected_slaves"]
	disk, replica = appendOnly && hasWaitAOF(info["redis_version"]), replicas != "0" && replicas != ""
	if disk || replica {
		return disk, replica, nil
	}
	server := ServerOf(info)
	state := "appendonly no"
	if appendOnly {
		state = "appendonly yes, which it can confirm from version 7.2 on only,"
	}
	return false, false, &UnfitServerError{fmt.Sprintf(
		"durable changes need appendonly yes with Redis 7.2 or newer, or a connected replica; this is %s %s with %s and no replica",
		server.Name, server.Version, state)}
}

// hasWaitAOF reports whether a version of Redis has WAITAOF. Valkey reports the version
// of Redis that it is compatible with.
func hasWaitAOF(version string) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ := strconv.Atoi(first)
	minor, _ := strconv.Atoi(second)
	return major > 7 || major == 7 && minor >= 2
}

// confirmed returns nil if the server has confirmed the change.
func (r *durableRun) confirmed() error {
	if r.disk != nil {
		if synced, err := r.disk.Result(); err != nil {
			return fmt.Errorf("wait for the append-only file: %w", err)
		} else if len(synced) == 0 || synced[0] < 1 {
			return fmt.Errorf("it was not on disk within %s (with appendfsync no, Redis never confirms that)", r.timeout)
		}
	}
	if r.replica != nil {
		if replicas, err := r.replica.Result(); err != nil {
			return fmt.Errorf("wait for a replica: %w", err)
		} else if replicas < 1 {
			return fmt.Errorf("no replica had it within %s", r.timeout)
		}
	}
	return nil
}
