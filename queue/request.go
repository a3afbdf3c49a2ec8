package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strconv"
)

// A request is a part of a call with [Options.RequestKey]. Parts are known by the number of jobs before
// them: a repeated call takes the parts of the first one, though middleware may have changed its jobs
// so that they would be cut elsewhere.
type request struct {
	key, digest string
	token       string       // of the call: a part that has it was not repeated by another call
	before      int          // jobs of the parts before this one
	jobs        []encodedJob // of this part and later ones
	whole       bool         // it is the only part
}

// args returns the first arguments of enqueue_once.lua.
func (r *request) args() []any {
	short := func(text string) []byte {
		sum := sha256.Sum256([]byte(strconv.Itoa(r.before) + " " + text))
		return sum[:16]
	}
	whole := ""
	if r.whole {
		whole = "1"
	}
	return []any{short(r.key), short(r.digest), r.token, whole}
}

// enqueueRequest adds the jobs of a call with a request key, and returns one result for each.
func (c *Client) enqueueRequest(ctx context.Context, jobs []NewJob) []Result {
	results := make([]Result, len(jobs))
	var q *Queue
	var valid []encodedJob
	var indexes []int
	for i, newJob := range jobs {
		of, job, err := c.prepare(newJob)
		if err == nil {
			err = sameRequest(&jobs[0].Options, &newJob.Options)
		}
		if results[i].Err = err; err == nil {
			q, valid, indexes = of, append(valid, job), append(indexes, i)
		}
	}
	if q == nil {
		return results
	}
	for i, result := range q.enqueueRequest(ctx, valid, &jobs[0].Options) {
		results[indexes[i]] = result
	}
	return results
}

// sameRequest returns an error unless the jobs with some options can be added by one call.
func sameRequest(first, other *Options) error {
	if first.RequestKey != other.RequestKey || first.RequestDigest != other.RequestDigest ||
		first.RequestKey != "" && cmp.Or(first.Queue, DefaultQueue) != cmp.Or(other.Queue, DefaultQueue) {
		return invalid("the jobs of a call must all have the same request key, digest and queue, or no request key")
	}
	return nil
}

// enqueueRequest adds the jobs of a call, and returns one result for each. After a part that failed no
// later one is sent.
func (q *Queue) enqueueRequest(ctx context.Context, jobs []encodedJob, o *Options) []Result {
	results := make([]Result, 0, len(jobs))
	token := rand.Text()[:requestTokenSize]
	for len(results) < len(jobs) {
		of := &request{key: o.RequestKey, digest: o.RequestDigest, token: token, before: len(results), jobs: jobs[len(results):]}
		var load scriptLoad
		n := 0
		for n < len(of.jobs) && load.take(of.jobs[n]) {
			n++
		}
		of.whole = n == len(jobs)
		part := q.enqueue(ctx, of.jobs[:n], of)
		results = append(results, part...)
		var held *DuplicateError
		for _, result := range part {
			if result.Err == nil || errors.As(result.Err, &held) && held.Owner != "" {
				continue
			}
			for len(results) < len(jobs) {
				results = append(results, Result{Err: notSent(result.Err)})
			}
		}
	}
	return results
}

// requestTokenSize is the length of tokens in lua/enqueue_once.lua.
const requestTokenSize = 8
