package rdb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pingEvery is the interval at which a tracker checks both connections: when one of
	// them ends, Redis stops tracking without a message.
	pingEvery = time.Second

	// pingTimeout bounds how long a connection does not answer before it is broken.
	pingTimeout = 3 * time.Second

	// maxChecked is about the number of streams that one read checks, so that it does not
	// hold Redis for long, and maxChecks the number of reads in one round trip.
	maxChecked = 100
	maxChecks  = 10

	// lookEvery is the time in which all streams are checked where Redis refuses tracking,
	// and maxLooked the number of groups that are checked together.
	lookEvery = 2 * time.Second
	maxLooked = 50
)

// A tracker has two connections to a node of Redis. Redis remembers the keys that were
// read through one of them. When one of these keys is written to, it sends its name
// through the other one, and forgets it.
type tracker struct {
	client *redis.Client // of both connections
	reads  *redis.Conn
	sub    *redis.PubSub
	broken chan error // has a buffer of one

	receiver sync.WaitGroup
}

// invalidations is the channel of Redis's messages about tracked keys.
const invalidations = "__redis__:invalidate"

// openTracker opens a tracker of the node of a client. It calls invalidated with the keys
// that were written to, or with none if all keys were, as by FLUSHALL.
func openTracker(ctx context.Context, node *redis.Client, invalidated func(keys []string)) (*tracker, error) {
	options := *node.Options()
	var lastID atomic.Int64
	options.Protocol = 2 // with a redirection, the messages are those of a subscription
	options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns = 2, 0, 0, 0
	options.MaxRetries, options.DialerRetries, options.PipelinePoolSize = -1, 1, -1
	options.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		id, err := conn.ClientID(ctx).Result()
		lastID.Store(id)
		return err
	}
	client := redis.NewClient(&options)
	client.AddHook(dialHook{})
	t := &tracker{client: client, sub: client.Subscribe(ctx, invalidations), broken: make(chan error, 1)}
	opening, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	_, err := t.sub.ReceiveTimeout(opening, dialTimeout) // the answer to the subscription
	if err == nil {
		redirect := lastID.Load()
		t.reads = client.Conn()
		err = t.reads.Do(opening, "client", "tracking", "on", "redirect", redirect).Err()
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.receiver.Go(func() { t.receive(ctx, invalidated) })
	return t, nil
}

// receive calls invalidated for each message until the subscription's connection is broken
// or closed.
func (t *tracker) receive(ctx context.Context, invalidated func(keys []string)) {
	for {
		answer, err := t.sub.ReceiveTimeout(ctx, pingEvery+pingTimeout)
		message, _ := answer.(*redis.Message)
		switch {
		case err != nil && (ctx.Err() != nil || connection(err) || errors.Is(err, redis.ErrClosed)):
			t.broken <- err
			return
		case err != nil: // the client does not know the message that has no keys
			invalidated(nil)
		case message != nil && message.Payload != "":
			invalidated([]string{message.Payload})
		case message != nil:
			invalidated(message.PayloadSlice)
		}
	}
}

// ping checks both connections. If the subscription's does not answer, receive finds out.
func (t *tracker) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return cmp.Or(t.sub.Ping(ctx), t.reads.Ping(ctx).Err())
}

func (t *tracker) close() {
	_ = t.sub.Close()
	if t.reads != nil {
		_ = t.reads.Close()
	}
	_ = t.client.Close()
	t.receiver.Wait()
}

// CheckTracking returns an error if a server does not track keys for a [Watch].
func CheckTracking(ctx context.Context, client *redis.Client) error {
	t, err := openTracker(ctx, client, func([]string) {})
	if err == nil {
		t.close()
	}
	return err
}

// track watches by a tracker until the mode changes, a connection is broken or ctx is done.
func (n *watchNode) track(ctx context.Context) error {
	n.watch.mu.Lock()
	client := n.client
	n.watch.mu.Unlock()
	t, err := openTracker(ctx, client, func(keys []string) {
		if keys == nil {
			n.notifyAll()
		}
		n.notifyKeys(keys)
	})
	if err != nil && isAnswer(err) && !Refused(err) {
		n.refuse(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer t.close()
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for groups := n.takeAll(); n.mode() == modeTrack; groups = n.takeFresh() {
		// Redis tracks the streams from now on; entries that came before are found here.
		if err := n.check(ctx, t.reads, groups); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.added:
		case err := <-t.broken:
			return err
		case <-ticker.C:
			if err := t.ping(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// look checks all streams every lookEvery until the mode changes or ctx is done.
func (n *watchNode) look(ctx context.Context) error {
	for ctx.Err() == nil && n.mode() == modeLook {
		groups := n.takeAll()
		for some := range slices.Chunk(groups, maxLooked) {
			if err := n.check(ctx, n.watch.db, some); err != nil {
				return err
			}
			_ = Sleep(ctx, lookEvery*time.Duration(len(some))/time.Duration(len(groups)))
		}
	}
	return nil
}

// check calls the functions of the groups whose streams have entries after their marks, by
// reads that do not block. A connection that is tracked makes Redis remember the streams.
func (n *watchNode) check(ctx context.Context, client redis.Cmdable, groups []*watchGroup) error {
	for reads := range slices.Chunk(n.readsOf(groups), maxChecks) {
		answers := make([]*redis.XStreamSliceCmd, len(reads))
		_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its error
			for i, marks := range reads {
				answers[i] = p.XRead(ctx, readArgs(marks, -1))
			}
			return nil
		})
		for i, answer := range answers {
			streams, err := answer.Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			n.notifyFound(streams, reads[i])
		}
	}
	return nil
}

// readsOf returns the marks of groups, for each read those of one slot if Redis is a
// Cluster.
func (n *watchNode) readsOf(groups []*watchGroup) (reads [][]Mark) {
	if n.watch.cluster != nil {
		slices.SortFunc(groups, func(a, b *watchGroup) int { return strings.Compare(a.tag, b.tag) })
	}
	for i, group := range groups {
		last := len(reads) - 1
		if i == 0 || len(reads[last]) >= maxChecked || n.watch.cluster != nil && group.tag != groups[i-1].tag {
			reads = append(reads, nil)
			last++
		}
		reads[last] = append(reads[last], group.marks...)
	}
	return reads
}
