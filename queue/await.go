package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// waitExpiry is how long Redis remembers that a client waits for a job. The
	// client repeats the request every waitRefresh, in case a notification was
	// lost with its connection. The outcome stays readable for as long, see
	// lua/place.lua.
	waitExpiry  = 30 * time.Second
	waitRefresh = 10 * time.Second

	// waitBlock is how long one blocked read lasts.
	waitBlock = 5 * time.Second
)

// Wait blocks until a job has finished or is dead, or ctx is done, and returns the
// job with its outcome and result, even if the result is not retained. It does not
// poll; concurrent calls share one connection per queue. The error is [ErrNoJob] if
// the job doesn't exist and no outcome was kept: it was deleted, or finished before
// Wait was called without [Options.Retain].
func (c *Client) Wait(ctx context.Context, id string) (*Job, error) {
	q, local, err := c.find(id)
	if err != nil {
		return nil, err
	}
	// Join first, then ask Redis: an end after the reply is notified.
	ended, leave, err := q.waiters.join(ctx, q, local)
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
		case <-ended:
		case <-time.After(waitRefresh):
		}
	}
}

// waiters are the calls of Wait for jobs of one queue in this process. While there
// are some, one goroutine reads the stream of ended jobs for all of them.
type waiters struct {
	mu       sync.Mutex
	channels map[string]map[chan struct{}]bool // by local id
	reader   *waitReader                       // nil while there is none
}

// A waitReader is the goroutine that reads the stream of ended jobs.
type waitReader struct {
	started chan struct{} // closed when it reads, or could not start
	err     error         // why it could not start; set before started is closed
}

// join blocks until the stream is read, and returns a channel that receives when the
// job may have ended, and a function that removes the channel.
func (w *waiters) join(ctx context.Context, q *Queue, local string) (ended chan struct{}, leave func(), err error) {
	ended, reader := w.add(ctx, q, local)
	leave = func() { w.leave(local, ended) }
	select {
	case <-reader.started:
		err = reader.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return ended, leave, nil
}

// add adds a waiter's channel, and starts a reader if there is none.
func (w *waiters) add(ctx context.Context, q *Queue, local string) (chan struct{}, *waitReader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := make(chan struct{}, 1)
	if w.channels == nil {
		w.channels = map[string]map[chan struct{}]bool{}
	}
	if w.channels[local] == nil {
		w.channels[local] = map[chan struct{}]bool{}
	}
	w.channels[local][ended] = true
	if w.reader == nil {
		w.reader = &waitReader{started: make(chan struct{})}
		go w.read(context.WithoutCancel(ctx), q, w.reader)
	}
	return ended, w.reader
}

func (w *waiters) leave(local string, ended chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.channels[local], ended)
	if len(w.channels[local]) == 0 {
		delete(w.channels, local)
	}
}

// read notifies waiters until there are none. It outlives the last one by up to
// waitBlock: the next waiter finds it still reading, and a blocked read can't be
// cancelled earlier anyway. Closing the DB ends it at once.
func (w *waiters) read(ctx context.Context, q *Queue, reader *waitReader) {
	mark, err := lastEntry(ctx, q.client.db, q.keys[keyDone])
	if reader.err = err; err != nil {
		w.mu.Lock()
		w.reader = nil // the waiters return the error, and the next one tries again
		w.mu.Unlock()
	}
	close(reader.started)
	for err == nil && w.needed() {
		streams, err := q.client.db.XRead(ctx, &redis.XReadArgs{
			Streams: []string{q.keys[keyDone], mark}, Count: maxBatch, Block: waitBlock,
		}).Result()
		switch {
		case err == nil:
			mark = w.notify(streams[0].Messages, mark)
		case errors.Is(err, redis.Nil): // nothing within waitBlock
		case errors.Is(err, redis.ErrClosed):
			w.notifyAll() // they ask Redis, which returns the error
			time.Sleep(time.Millisecond)
		default:
			time.Sleep(time.Second)
		}
	}
}

// needed reports whether there are waiters. If not, the reader must stop.
func (w *waiters) needed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.channels) == 0 {
		w.reader = nil
	}
	return w.reader != nil
}

// notify wakes the waiters of ended jobs and returns the id of the last entry.
func (w *waiters) notify(entries []redis.XMessage, mark string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, entry := range entries {
		mark = entry.ID
		local, _ := entry.Values["id"].(string)
		notifyEach(w.channels[local])
	}
	return mark
}

func (w *waiters) notifyAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, channels := range w.channels {
		notifyEach(channels)
	}
}

func notifyEach(channels map[chan struct{}]bool) {
	for ended := range channels {
		select {
		case ended <- struct{}{}:
		default: // a notification is pending
		}
	}
}
