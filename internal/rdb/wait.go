package rdb

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Mark is a place in a stream: the id of the last entry that was seen.
type Mark struct {
	Key string
	ID  string // as Redis writes it, "5-0"; "0" is before the first
}

// Wait blocks until one of the streams has an entry after its mark, timeout
// has passed (rounded up to a millisecond) or ctx is done, whichever comes
// first, and reports whether there is an entry. While it blocks, Redis gets one
// read every [maxReadBlock]. A connection that breaks, or a server that refuses, ends the wait
// early with false and no error: the caller looks again, and that call finds
// out. Before that Wait pauses, the longer the more waits ended so, up to 1 s:
// callers that wait in a loop do not storm a Redis that is away. Keys may lie on
// different slots; on a Cluster each slot then takes a connection.
func (db *DB) Wait(ctx context.Context, timeout time.Duration, marks ...Mark) (bool, error) {
	groups := db.bySlot(marks)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		found []redis.XStream
		err   error
	}
	results := make(chan result, len(groups))
	for _, group := range groups {
		go func() {
			found, err := db.wait(waiting, timeout, group)
			results <- result{found, err}
		}()
	}
	first := <-results
	if ctx.Err() == nil && first.err != nil && transient(first.err) {
		return false, nil
	}
	return len(first.found) > 0, first.err
}

// bySlot groups marks by the hash tag of their keys where one read can't have
// them all.
func (db *DB) bySlot(marks []Mark) [][]Mark {
	if _, cluster := db.UniversalClient.(*redis.ClusterClient); !cluster {
		return [][]Mark{marks}
	}
	var groups [][]Mark
	places := map[string]int{}
	for _, mark := range marks {
		tag := hashTag(mark.Key)
		place, known := places[tag]
		if !known {
			place = len(groups)
			places[tag] = place
			groups = append(groups, nil)
		}
		groups[place] = append(groups[place], mark)
	}
	return groups
}

// wait is Wait for keys of one slot. It returns streams that have an entry after their
// marks, not necessarily all, each with the first of these entries. After a transient
// error it pauses and returns the error.
func (db *DB) wait(ctx context.Context, timeout time.Duration, marks []Mark) ([]redis.XStream, error) {
	args := readArgs(marks, max((timeout+time.Millisecond-1).Truncate(time.Millisecond), time.Millisecond))

	// The client does not interrupt a blocked read when ctx is done: it goes on for up to
	// maxReadBlock, and a later wait at the same marks joins it. So a process uses one
	// connection for a set of marks, however many waits were cancelled.
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	for first := true; ; first = false {
		r, started := db.read(args)
		over := limit.C
		if started && first {
			over = nil // Redis keeps the time
		}
		select {
		case <-ctx.Done():
			db.leave(r)
			return nil, context.Cause(ctx)
		case <-over:
			db.leave(r)
			return nil, nil
		case <-r.done:
		}
		switch {
		case r.err == nil:
			return r.found, nil
		case errors.Is(r.err, redis.Nil):
			if started && first {
				return nil, nil
			}
			// It was another's, with less time.
		case transient(r.err):
			if err := Sleep(ctx, min(timeout, r.pause)); err != nil {
				return nil, err
			}
			return nil, r.err
		default:
			return nil, r.err
		}
	}
}

// readArgs returns the arguments of a read of the first entry after each of the marks. A
// negative block means that it does not block.
func readArgs(marks []Mark, block time.Duration) *redis.XReadArgs {
	streams := make([]string, 0, 2*len(marks))
	for _, mark := range marks {
		streams = append(streams, mark.Key)
	}
	for _, mark := range marks {
		streams = append(streams, mark.ID)
	}
	return &redis.XReadArgs{Streams: streams, Count: 1, Block: block}
}

// maxReadBlock is how long one command blocks in Redis. A read that is longer sends several, as
// long as a wait wants it. A read of streams without a consumer group takes nothing out of Redis, so
// that no entry is lost with a wait that was cancelled. To interrupt a command would take a
// connection of its own for each wait, since the client does so only by closing all connections, or
// CLIENT UNBLOCK, which an ACL may refuse.
const maxReadBlock = 5 * time.Second

// A read is blocked in Redis until done is closed.
type read struct {
	waits int // that want it; guarded by readsMu
	done  chan struct{}
	found []redis.XStream
	err   error
	pause time.Duration // before the next read, if err is transient
}

// leave is called by a wait that ends before its read.
func (db *DB) leave(r *read) {
	db.readsMu.Lock()
	defer db.readsMu.Unlock()
	r.waits--
}

// read returns the read that is blocked at the same marks, or starts one, and
// reports whether it started it.
func (db *DB) read(args *redis.XReadArgs) (r *read, started bool) {
	key := strings.Join(args.Streams, " ")
	db.readsMu.Lock()
	defer db.readsMu.Unlock()
	if r := db.reads[key]; r != nil {
		r.waits++
		return r, false
	}
	r = &read{waits: 1, done: make(chan struct{})}
	if db.closing {
		r.err = redis.ErrClosed
		close(r.done)
		return r, true
	}
	if db.reads == nil {
		db.reads = map[string]*read{}
	}
	db.reads[key] = r
	db.waits.Go(func() {
		for left := args.Block; ; left -= maxReadBlock {
			args.Block = min(left, maxReadBlock)
			r.found, r.err = db.XRead(context.Background(), args).Result()
			if db.endRead(key, r, left > maxReadBlock) {
				break
			}
		}
		close(r.done)
	})
	return r, true
}

// endRead removes a read after a command and returns true, unless the command found nothing, the
// read has time left and a wait wants it.
func (db *DB) endRead(key string, r *read, hasTime bool) bool {
	db.readsMu.Lock()
	defer db.readsMu.Unlock()
	if errors.Is(r.err, redis.Nil) && hasTime && r.waits > 0 && !db.closing {
		return false
	}
	delete(db.reads, key)
	if r.err != nil && transient(r.err) {
		r.pause = db.readBackoff.Next()
	} else {
		db.readBackoff.Reset()
	}
	return true
}
