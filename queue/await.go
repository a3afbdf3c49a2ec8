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
	askedFor = 30 * time.Second
	askAgain = 10 * time.Second

	// listenFor is how long one blocked read lasts.
	listenFor = 5 * time.Second
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
	told, leave, err := q.endings.join(ctx, q, local)
	if err != nil {
		return nil, err
	}
	defer leave()
	for {
		reply, err := q.run(ctx, awaitScript, local, millis(askedFor))
		switch {
		case err != nil:
			return nil, err
		case reply.Word == "none":
			return nil, noJob(id)
		case reply.Int(0) == 1:
			job, _ := q.given(reply.From(1))
			return job, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-told:
		case <-time.After(askAgain):
		}
	}
}

// listeners are all who wait in this process for the end of a job of one queue.
// As long as there are some, one goroutine reads for all of them.
type listeners struct {
	mu      sync.Mutex
	told    map[string]map[chan struct{}]bool // by local id
	reading bool
}

// join makes a channel that is told when the job may have ended, and a function
// that ends that.
func (l *listeners) join(ctx context.Context, q *Queue, local string) (told chan struct{}, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reading {
		mark, err := q.lastEntry(ctx, q.keys[keyDone])
		if err != nil {
			return nil, nil, err
		}
		l.reading = true
		go l.read(context.WithoutCancel(ctx), q, mark)
	}
	told = make(chan struct{}, 1)
	if l.told == nil {
		l.told = map[string]map[chan struct{}]bool{}
	}
	if l.told[local] == nil {
		l.told[local] = map[chan struct{}]bool{}
	}
	l.told[local][told] = true
	return told, func() { l.leave(local, told) }, nil
}

func (l *listeners) leave(local string, told chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.told[local], told)
	if len(l.told[local]) == 0 {
		delete(l.told, local)
	}
}

// read tells listeners until there are none. It outlives the last one by up to
// listenFor: whoever comes meanwhile finds it reading, and a read that blocks
// can't be taken back sooner anyway. Closing the DB ends it at once.
func (l *listeners) read(ctx context.Context, q *Queue, mark string) {
	for l.wanted() {
		streams, err := q.client.db.XRead(ctx, &redis.XReadArgs{
			Streams: []string{q.keys[keyDone], mark}, Count: maxBatch, Block: listenFor,
		}).Result()
		switch {
		case err == nil:
			mark = l.hear(streams[0].Messages, mark)
		case errors.Is(err, redis.Nil): // nothing within listenFor
		case errors.Is(err, redis.ErrClosed):
			l.tellAll() // they find out by asking again
			time.Sleep(time.Millisecond)
		default:
			time.Sleep(time.Second)
		}
	}
}

// wanted reports whether anybody listens, and otherwise ends the reading.
func (l *listeners) wanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = len(l.told) > 0
	return l.reading
}

// hear tells those whose job has ended, and gives the mark after it.
func (l *listeners) hear(entries []redis.XMessage, mark string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range entries {
		mark = entry.ID
		local, _ := entry.Values["id"].(string)
		tell(l.told[local])
	}
	return mark
}

func (l *listeners) tellAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.told {
		tell(of)
	}
}

func tell(all map[chan struct{}]bool) {
	for told := range all {
		select {
		case told <- struct{}{}:
		default: // told already, and has not looked yet
		}
	}
}
