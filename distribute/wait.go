package distribute

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// An Event tells a person what happens to a file, or what a shipper or worker
// waits for.
type Event struct {
	File string // empty: not about one file
	Text string // what happens, in words; empty when Err says it
	Err  error  // what went wrong
}

// A Notify is called with each event, by one goroutine at a time for one
// shipper or worker. It should return soon. Nil is fine: nobody listens.
type Notify func(Event)

func (n Notify) tell(event Event) {
	if n != nil {
		n(event)
	}
}

// guarded returns n for calls by several goroutines.
func (n Notify) guarded(mu *sync.Mutex) Notify {
	return func(event Event) {
		mu.Lock()
		defer mu.Unlock()
		n.tell(event)
	}
}

// A notice remembers when a person was last told what is waited for.
type notice struct{ told time.Time }

// noticeEvery is how often it is told again.
const noticeEvery = 30 * time.Second

// due reports whether it is time to tell, and then takes it as told.
func (n *notice) due() bool {
	if time.Since(n.told) < noticeEvery {
		return false
	}
	n.told = time.Now()
	return true
}

// A moment is the channel's state of affairs at one time, to wait from: what
// happens after it ends the wait.
type moment struct{ mark rdb.Mark }

// moment must be taken before looking, so that nothing falls in between.
func (c *Channel) moment(ctx context.Context) (moment, error) {
	last, err := ask(ctx, c.db, func() ([]redis.XMessage, error) { return c.db.XRevRangeN(ctx, c.keys.wake(), "+", "-", 1).Result() })
	if err != nil {
		return moment{}, fmt.Errorf("look at channel %q: %w", c.name, err)
	}
	mark := rdb.Mark{Key: c.keys.wake(), ID: "0"}
	if len(last) > 0 {
		mark.ID = last[0].ID
	}
	return moment{mark}, nil
}

// wait blocks until something has happened in the channel since the moment,
// the timeout has passed or quit is closed.
func (c *Channel) wait(ctx context.Context, since moment, timeout time.Duration, quit <-chan struct{}) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if quit != nil {
		go func() {
			select {
			case <-quit:
				cancel()
			case <-waiting.Done():
			}
		}()
	}
	_, err := c.db.Wait(waiting, timeout, since.mark)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil // told to quit
	}
	return err
}

// poke wakes all who wait for something in the channel.
func (c *Channel) poke(ctx context.Context) error {
	return c.db.Retry(ctx, func() error {
		return c.db.XAdd(ctx, &redis.XAddArgs{Stream: c.keys.wake(), MaxLen: 1, Values: []any{"look", "again"}}).Err()
	})
}

// now is the time of the Redis server that holds the channel.
func (c *Channel) now(ctx context.Context) (time.Time, error) {
	return serverTime(ctx, c.db, c.keys.channel())
}

func serverTime(ctx context.Context, db *rdb.DB, key string) (time.Time, error) {
	answer, err := nowScript.Run(ctx, db, []string{key})
	return answer.Time(0), err
}

// milliseconds reads a time as the scripts write it. What is no number is the
// zero time: nothing from Redis is trusted.
func milliseconds(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func closed(quit <-chan struct{}) bool {
	select {
	case <-quit:
		return true
	default:
		return false
	}
}

// heartbeat calls beat at once and then every interval, until stop is called or
// ctx is done. stop returns when no beat runs any more. A beat that fails needs
// no answer: whoever loses a lease over it is told when it next does something.
func heartbeat(ctx context.Context, interval time.Duration, beat func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			beat(ctx)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() { cancel(); beating.Wait() }
}
