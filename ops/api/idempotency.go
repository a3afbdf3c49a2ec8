package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"skidway/ops/access"
	"skidway/queue"
)

// The header that makes a request repeatable, as in draft-ietf-httpapi-idempotency-key-header-07, and
// the header of the answer to a repeated one.
const (
	idempotencyKey      = "Idempotency-Key"
	idempotencyReplayed = "Idempotency-Replayed"
	maxIdempotencyKey   = 255 // bytes
)

// readIdempotencyKey reads the header of a request of a principal.
func (q *request) readIdempotencyKey(p *access.Principal) error {
	values := q.r.Header.Values(idempotencyKey)
	switch {
	case len(values) == 0 || q.route.method == get:
		return nil
	case !q.route.repeatable:
		return invalidField(idempotencyKey, "this request can't be repeated by the header: leave it out")
	case p.Name == "" && p.ID == "":
		return invalidField(idempotencyKey, "it is not known whose key it is: the server has authorized the request without a name")
	case len(values) > 1 || values[0] == "" || len(values[0]) > maxIdempotencyKey:
		return invalidField(idempotencyKey, "want one value of 1 to %d bytes", maxIdempotencyKey)
	}
	q.key = digestOf(strconv.FormatBool(p.Token), p.ID, p.Name, values[0])
	return nil
}

// digestOf returns a digest of some texts.
func digestOf(texts ...string) string {
	hash := sha256.New()
	for _, text := range texts {
		hash.Write([]byte(strconv.Itoa(len(text)) + " " + text))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// repeatable makes a job known by the key of the request that adds it.
func (c *call) repeatable(job *queue.NewJob) {
	if c.key != "" {
		job.Options.RequestKey, job.Options.RequestDigest = c.key, c.digest
	}
}

// repeated marks the answer if an earlier request has added the job.
func (c *call) repeated(result queue.Result) {
	if result.Repeated {
		c.replay()
	}
}

// replay marks the answer as that of an earlier request.
func (c *call) replay() {
	c.status = 200
	c.w.Header().Set(idempotencyReplayed, "true")
}

// otherRequest returns the first error that reports a key of a request that added other jobs.
func otherRequest(failed []error) error {
	for _, err := range failed {
		var duplicate *queue.DuplicateError
		if errors.As(err, &duplicate) && duplicate.Owner == "" {
			return err
		}
	}
	return nil
}
