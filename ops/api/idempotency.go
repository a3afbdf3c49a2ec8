package api

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"skidway/ops"
	"skidway/queue"
)

// The header that makes a request repeatable, as in draft-ietf-httpapi-idempotency-key-header-07, and
// the header of the answer to a repeated one.
const (
	idempotencyKey      = "Idempotency-Key"
	idempotencyReplayed = "Idempotency-Replayed"
	maxIdempotencyKey   = 255 // bytes
)

// readIdempotencyKey reads the header of the request.
func (c *call) readIdempotencyKey() error {
	values := c.r.Header.Values(idempotencyKey)
	switch {
	case len(values) == 0 || c.route.method == get:
		return nil
	case !c.route.repeatable:
		return invalidField(idempotencyKey, "this request can't be repeated by the header: leave it out")
	case c.principal.Name == "" && c.principal.ID == "":
		return invalidField(idempotencyKey, "it is not known whose key it is: the server has authorized the request without a name")
	case len(values) > 1 || values[0] == "" || len(values[0]) > maxIdempotencyKey:
		return invalidField(idempotencyKey, "want one value of 1 to %d bytes", maxIdempotencyKey)
	}
	c.key = digestOf(strconv.FormatBool(c.principal.Token), c.principal.ID, c.principal.Name, values[0])
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

// operationID returns the id of the operation that a request with a key begins; "" without one. The
// operation itself is the record of the request.
func (c *call) operationID(name string) string {
	if c.key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(c.key + " " + name))
	return name + ":0:" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// replayOperation returns the operation that an earlier request with the same key has begun, and
// continues it if the process that ran it has ended.
func (c *call) replayOperation(ctx context.Context, op queue.Operation) (any, error) {
	if op.Request != c.digest {
		return nil, problem("other-request", "operation %s was begun with the same %s", op.ID, idempotencyKey)
	}
	c.replay()
	if op.Status == "interrupted" {
		answer, err := c.run(ctx, op.Queue, op.Match, op.Count, func() (*ops.OperationRun, error) { return c.ops.Continue(ctx, op.ID) })
		var running *ops.OperationRunningError
		if !errors.As(err, &running) { // else it waits for another one
			return answer, err
		}
	}
	c.location("operations", op.ID)
	return c.operationOf(op), nil
}
