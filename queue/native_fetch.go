package queue

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// A script copies all that it returns. So when a fetch has brought many jobs from one line, the
// next fetch takes jobs from that line by XREADGROUP. It keeps the rules of fetch.lua: a script,
// the look, checks whether the next jobs are those of that line and are small, and Redis runs the
// XREADGROUP only if nothing has changed since then, see [rdb.Guard]. Each change that matters
// writes one of these keys:
//
//   - the loss or the end of the lease: tombs
//   - a pause: control
//   - a job that comes before those of the line, or a retry of its priority: its line
//   - a job with a unique key, which its fetch may release: unique
//
// Where that fails, and for jobs of other lines, the fetch runs the script.

// A fetch that returns at least nativeFrom jobs of one line, or nativeBytes of their args, makes the
// next one begin natively.
const (
	nativeFrom  = 32
	nativeBytes = 128 << 10 // which hold Redis for 0.2 ms in a script
)

// A nativeFetch remembers the latest fetch of a lease. The zero value is ready for use.
type nativeFetch struct {
	mu   sync.Mutex // held while a native fetch is under way
	line line       // from which all jobs of the latest fetch came, if others may wait there; else 0
	jobs int        // of that fetch
	size int        // bytes of their args and headers
	skip int        // how many fetches are to use the script, because a native one was refused
}

// After a refused native fetch as many fetches use the script: the reason, such as a unique key,
// usually lasts, and a refused fetch costs two more round trips.
const skipRefused = 16

// after records the jobs of a fetch. from is nativeFrom, or less.
func (n *nativeFetch) after(jobs []*Job, limits FetchLimits, from int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line, n.jobs, n.size = 0, len(jobs), 0
	if len(jobs) == 0 {
		return
	}
	at := jobs[0].line
	for _, job := range jobs {
		if job.line != at {
			return
		}
		n.size += job.packedSize()
	}
	many := n.jobs >= from || n.size >= nativeBytes
	if many && limits.reachedBy(n.jobs, n.size) && (at.kind() == freshLine || at.kind() == dueLine) {
		n.line = at
	}
}

// limit returns how many jobs to take: at most twice as many as before. The look checks whether the
// next ones may be far larger.
func (n *nativeFetch) limit(limits FetchLimits) int {
	return max(1, min(limits.Jobs, maxBatch, 2*n.jobs, limits.Bytes*n.jobs/(n.size+1)))
}

// replies has buffers for the replies of native fetches, whose jobs have copies of what they keep.
var replies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// fetchNative returns jobs that it has taken without the script, which may be fewer than wait,
// and the bytes of their args and headers.
func (l *Lease) fetchNative(ctx context.Context, limits FetchLimits) (fetched FetchResult, size int, err error) {
	n := &l.native
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.line == 0 || !l.open.Load() {
		return FetchResult{}, 0, nil
	}
	if n.skip > 0 {
		n.skip--
		return FetchResult{}, 0, nil
	}
	at, keys, count := n.line, l.queue.keys, n.limit(limits)
	guard := rdb.Guard{
		Watched: l.queue.guardsOf(at),
		Look:    fetchLookScript,
		Call:    rdb.Call{Keys: keys, Args: []any{l.worker, int(at), limits.retries().First, count}},
	}
	var ahead time.Duration
	reply := replies.Get().(*bytes.Buffer)
	defer replies.Put(reply)
	reply.Reset()
	ran, err := l.queue.client.db.RunGuarded(l.expectServer(ctx), "fetch jobs", guard, func(look rdb.Reply) redis.Cmder {
		ahead = time.Since(time.UnixMilli(look.Int(0)))
		return redis.NewRawWriteToCmd(ctx, reply, "xreadgroup", "group", "workers", l.worker, "count", count, "streams", keys[at-1], ">")
	})
	if err != nil || !ran {
		n.skip = l.queue.client.skipRefused
		return FetchResult{}, 0, err
	}
	var jobs, malformed []*Job
	kind := ""
	err = rdb.EachEntry(reply.Bytes(), func(entry []byte, fields [][]byte) {
		job := l.newJob(at, string(entry), ahead)
		jobs, malformed = l.accept(job, job.setEntry(fields, kind), jobs, malformed)
		size, kind = size+job.packedSize(), job.Kind
	})
	if err != nil {
		return FetchResult{}, 0, &rdb.OutcomeUnknownError{Op: "fetch jobs", Err: err}
	}
	fetched, err = l.deadLetterMalformed(ctx, jobs, malformed)
	return fetched, size, err
}

// guardsOf returns the keys whose changes may give the next fetch jobs of other lines, or none.
func (q *PoolQueue) guardsOf(at line) []string {
	guards := []string{q.keys[keyTombs], q.keys[keyControl], q.keys[keyUnique]}
	for other := line(1); other <= lineCount; other++ {
		if other.precedes(at) || other == retryLine.of(at.priority()) {
			guards = append(guards, q.keys[other-1])
		}
	}
	return guards
}

// fetchRest adds to jobs that were taken natively those that the limits leave room for. ctx and
// limits are those of the fetch.
func (l *Lease) fetchRest(ctx context.Context, limits FetchLimits, fetched FetchResult, size int) (FetchResult, error) {
	jobs := len(fetched.Jobs) + fetched.Malformed
	if jobs > 0 && limits.reachedBy(jobs, size) {
		return fetched, nil
	}
	if jobs > 0 {
		retries := *limits.retries()
		retries.First = false // no retry precedes the first job
		limits.Jobs, limits.Bytes, limits.Retries = min(limits.Jobs, maxBatch)-jobs, limits.Bytes-size, &retries
	}
	rest, err := l.fetchByScript(ctx, limits)
	var unknown *rdb.OutcomeUnknownError
	switch {
	case jobs == 0, errors.Is(err, ErrLeaseLost), errors.Is(err, ErrServerChanged), errors.As(err, &unknown):
		return rest, err // after these Reread returns what was taken
	case err != nil:
		return fetched, nil
	}
	return FetchResult{Jobs: append(fetched.Jobs, rest.Jobs...), Malformed: fetched.Malformed + rest.Malformed}, nil
}
