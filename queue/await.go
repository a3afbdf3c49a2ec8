package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// askedFor is how long a question for the end of a job stands; it is
	// asked again each askAgain, in case that a wake-up was lost with its
	// connection. What was told stays readable for as long, see
	// lua/place.lua.
	waitExpiry  = 30 * time.Second
	waitRefresh = 10 * time.Second

	// listenFor is how long one blocked read lasts.
	waitBlock = 5 * time.Second
)

// Wait blocks until a job has finished or is dead, or ctx is done, and gives the
// job with its outcome and result, whether its result is retained or not. It
// does not poll. Any number of calls of a client share one connection a queue.
// [ErrNoJob] says that the job is gone and nobody told how: it was deleted, it
// never was, or it had finished before anyone waited for it and its result was
// not retained.
func (c *Client) Wait(ctx context.Context, id string) (*Job, error) {
	q, local, err := c.find(id)
	if err != nil {
		return nil, err
	}
	// First listen, then ask: what ends after the answer is heard.
	told, leave, err := q.waiters.join(ctx, q, local)
	if err != nil {
		return nil, err
	}
	defer leave()
	for {
		reply, err := q.run(ctx, awaitScript, local, millis(waitExpiry))
		switch {
		case err != nil:
			return nil, err
		case reply.Word == "none":
			return nil, noJob(id)
		case reply.Int(0) == 1:
			job, _ := q.decodeJob(reply.From(1))
			return job, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-told:
		case <-time.After(waitRefresh):
		}
	}
}

// listeners are all who wait in this process for the end of a job of one queue.
// As long as there are some, one goroutine reads for all of them.
type waiters struct {
	mu       sync.Mutex
	channels map[string]map[chan struct{}]bool // by local id
	reading  bool
}

// join makes a channel that is told when the job may have ended, and a function
// that ends that.
func (l *waiters) join(ctx context.Context, q *Queue, local string) (told chan struct{}, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reading {
		mark, err := lastEntry(ctx, q.client.db, q.keys[keyDone])
		if err != nil {
			return nil, nil, err
		}
		l.reading = true
		go l.read(context.WithoutCancel(ctx), q, mark)
	}
	told = make(chan struct{}, 1)
	if l.channels == nil {
		l.channels = map[string]map[chan struct{}]bool{}
	}
	if l.channels[local] == nil {
		l.channels[local] = map[chan struct{}]bool{}
	}
	l.channels[local][told] = true
	return told, func() { l.leave(local, told) }, nil
}

func (l *waiters) leave(local string, told chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.channels[local], told)
	if len(l.channels[local]) == 0 {
		delete(l.channels, local)
	}
}

// read tells listeners until there are none. It outlives the last one by up to
// listenFor: whoever comes meanwhile finds it reading, and a read that blocks
// can't be taken back sooner anyway. Closing the DB ends it at once.
func (l *waiters) read(ctx context.Context, q *Queue, mark string) {
	for l.needed() {
		streams, err := q.client.db.XRead(ctx, &redis.XReadArgs{
			Streams: []string{q.keys[keyDone], mark}, Count: maxBatch, Block: waitBlock,
		}).Result()
		switch {
		case err == nil:
			mark = l.notify(streams[0].Messages, mark)
		case errors.Is(err, redis.Nil): // nothing within listenFor
		case errors.Is(err, redis.ErrClosed):
			l.notifyAll() // they find out by asking again
			time.Sleep(time.Millisecond)
		default:
			time.Sleep(time.Second)
		}
	}
}

// wanted reports whether anybody listens, and otherwise ends the reading.
func (l *waiters) needed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = len(l.channels) > 0
	return l.reading
}

// hear tells those whose job has ended, and gives the mark after it.
func (l *waiters) notify(entries []redis.XMessage, mark string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range entries {
		mark = entry.ID
		local, _ := entry.Values["id"].(string)
		notifyEach(l.channels[local])
	}
	return mark
}

func (l *waiters) notifyAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.channels {
		notifyEach(of)
	}
}

func notifyEach(all map[chan struct{}]bool) {
	for told := range all {
		select {
		case told <- struct{}{}:
		default: // told already, and has not looked yet
		}
	}
}
