package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Calls that add jobs without delay and unique key send an XADD for each, which takes Redis a
// fifth of the time of a script. What the script would check is checked in other ways:
//
//   - The names of lines begin with the format, and NOMKSTREAM creates no line: on a queue
//     that has another format, or that Redis has lost, XADD adds nothing and returns nil.
//     Then the script creates the line, or refuses.
//   - A queue that keeps events needs the script. A client that has seen in the settings
//     that a queue keeps none adds natively for at most settingsFor after it has sent that
//     look, and [Queue.KeepEvents] returns only after that time.
//   - Redis counts the entries of the lines itself, see added.lua. The embedded server does
//     not: there the script adds all jobs.
const (
	settingsEvery = 100 * time.Millisecond // after a look at the settings, the next one is sent with the jobs
	settingsFor   = 200 * time.Millisecond
)

// An adder adds the jobs of calls to one queue.
type adder struct {
	queue    *Queue
	settings settings
	calls    sync.Pool               // of *call
	keys     [len(priorities)]any    // of the fresh lines, by rank of the priority
	ids      [len(priorities)]string // the beginning of ids of jobs there, likewise
}

// init sets the queue.
func (a *adder) init(q *Queue) {
	a.queue = q
	for _, p := range priorities {
		a.keys[p.rank()] = q.keys[freshLine.of(p.Priority)-1]
		a.ids[p.rank()] = globalID(q.name, string(p.letter))
	}
}

var processStart = time.Now()

// settings records when a client has seen that a queue has this release's format and keeps no
// events.
type settings struct{ seen atomic.Int64 } // ns since processStart; 0 if it has not

// age returns the time since the latest look that allows native adding.
func (s *settings) age(now time.Duration) time.Duration {
	seen := s.seen.Load()
	if seen == 0 {
		return settingsFor
	}
	return now - time.Duration(seen)
}

// set stores what a look that was sent at a time has found.
func (s *settings) set(sent time.Duration, native bool) {
	if !native {
		sent = 0
	}
	s.seen.Store(int64(sent))
}

// A call is one call of Enqueue. Calls are used again, with their command.
type call struct {
	job    encodedJob
	result Result
	done   chan struct{} // receives a value when the result of a waiting call is set

	xadd     *redis.StringCmd // that adds job: one of the following, whose arguments point to job
	plain    *redis.StringCmd // for a job without options
	recorded *redis.StringCmd // for another one
}

// recordAt is the index of the record in the arguments of a call's command.
const recordAt = 5

// newCall returns a call without a result.
func (a *adder) newCall(job encodedJob) *call {
	c, ok := a.calls.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1)}
		c.plain = redis.NewStringCmd(context.Background(), "xadd", "", "nomkstream", "*", "kind", &c.job.kind, "args", &c.job.args)
		c.recorded = redis.NewStringCmd(context.Background(), "xadd", "", "nomkstream", "*", "job", nil)
	}
	c.job, c.xadd = job, c.plain
	if job.record != nil {
		c.xadd = c.recorded
		c.xadd.Args()[recordAt] = job.record
	}
	return c
}

// free makes a call with a result ready for use by newCall.
func (a *adder) free(c *call) {
	c.job, c.result = encodedJob{}, Result{} // payloads may be large
	c.recorded.Args()[recordAt] = nil
	c.xadd.SetVal("")
	c.xadd.SetErr(nil)
	a.calls.Put(c)
}

// add adds the jobs of calls and sets their results. Each job is added or not for itself.
func (a *adder) add(ctx context.Context, calls []*call) {
	now := time.Since(processStart)
	age := a.settings.age(now)
	if age >= settingsFor || a.queue.client.db.Embedded() {
		a.addByScript(ctx, calls)
		return
	}
	commands := make([]redis.Cmder, 0, len(calls)+1)
	for _, c := range calls {
		if c.job.entryOnly() {
			c.xadd.Args()[1] = a.keys[c.job.priority.rank()]
			commands = append(commands, c.xadd)
		}
	}
	if len(commands) > 0 {
		a.sendNative(ctx, commands, now, age >= settingsEvery)
	}
	var left []*call
	for _, c := range calls {
		if !c.job.entryOnly() || !a.readXAdd(c) {
			left = append(left, c)
		}
	}
	if len(left) > 0 {
		a.addByScript(ctx, left)
	}
}

// sendNative sends commands once, with a look at the settings if that is wanted.
func (a *adder) sendNative(ctx context.Context, commands []redis.Cmder, now time.Duration, withLook bool) {
	db, meta := a.queue.client.db, a.queue.keys[keyMeta]
	if !withLook {
		db.SendOnce(ctx, "enqueue", meta, commands)
		return
	}
	look := redis.NewSliceCmd(ctx, "hmget", meta, "format", "events")
	db.SendOnce(ctx, "enqueue", meta, append(commands, look))
	if found := look.Val(); look.Err() == nil && len(found) == 2 {
		a.settings.set(now, found[0] == formatVersion && found[1] == nil)
	}
}

// readXAdd sets the result of a call whose XADD was sent. It returns false if the line does
// not exist.
func (a *adder) readXAdd(c *call) bool {
	switch entry, err := c.xadd.Result(); {
	case err == nil:
		c.result.ID = a.ids[c.job.priority.rank()] + entry
	case errors.Is(err, redis.Nil):
		a.queue.registered.Store(0) // Redis may have lost the list of queues too
		return false
	default:
		c.result.Err = a.queue.explain(err)
	}
	return true
}

// addByScript adds the jobs of calls, those of each script all or none. After a script that failed,
// the others are not sent: a silent Redis would make the last callers wait for all of them.
func (a *adder) addByScript(ctx context.Context, calls []*call) {
	for len(calls) > 0 {
		var jobs []encodedJob
		var load scriptLoad
		for len(jobs) < len(calls) && load.take(calls[len(jobs)].job) {
			jobs = append(jobs, calls[len(jobs)].job)
		}
		results := a.queue.enqueue(ctx, jobs, nil)
		for i, result := range results {
			calls[i].result = result
		}
		calls = calls[len(jobs):]
		var duplicate *DuplicateError
		if err := results[0].Err; err != nil && !errors.As(err, &duplicate) {
			for _, c := range calls {
				c.result.Err = fmt.Errorf("%w: %v", ErrNotSent, err)
			}
			return
		}
	}
}
