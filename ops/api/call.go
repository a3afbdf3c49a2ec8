package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"skidway/ops/access"
	"skidway/queue"
)

// A call is a request whose principal is known, on its way to the handler of its route. Its methods
// are what handlers share; what serves one endpoint is a function beside it.
type call struct {
	*Handler
	*request
	principal *access.Principal
	action    string // in the audit; empty means that of the route
	status    int    // of the answer; zero means that of the route
}

// serve calls the handler of the route and writes its answer.
func (c *call) serve() error {
	ctx := c.r.Context()
	if !c.route.stream {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.time(c.config.Timeout))
		defer cancel()
	}
	if c.key != "" {
		served := c.key + " " + c.values["queue"]
		if _, running := c.requests.LoadOrStore(served, true); running {
			return problem("still-running", "a request with the same %s is being served", idempotencyKey).retry(time.Second)
		}
		defer c.requests.Delete(served)
	}
	answer, err := c.route.serve(ctx, c)
	if err != nil || answer == written {
		return c.explain(err)
	}
	if c.status == 0 {
		c.status = c.route.status
	}
	return writeAnswer(c.w, c.status, answer)
}

// explain returns the error of the call; after an unknown outcome it says how a request with a key
// goes on.
func (c *call) explain(err error) error {
	if err == nil || c.key == "" {
		return err
	}
	p := problemOf(err)
	if p == nil || p.Name() != "outcome-unknown" {
		return err
	}
	p.Detail = "the change may have happened or not: repeat the request with the same " + idempotencyKey
	return p
}

// writeAnswer answers with a value in JSON, or with nothing for nil.
func writeAnswer(w http.ResponseWriter, status int, answer any) error {
	if answer == nil {
		w.WriteHeader(status)
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
	return nil
}

// written is the answer of a handler that has written it.
var written any = new(int)

// allowed checks the scopes of the principal.
func (c *call) allowed() error {
	needs := access.Scope{Action: c.route.action}
	switch c.route.scope {
	case noQueue:
		return nil
	case pathQueue:
		needs.Queue = c.values["queue"]
	case idQueue:
		needs.Queue = queueOfID(c.values["id"])
	case allQueues:
		needs.Queue = access.All
	case anyQueue:
		if slices.ContainsFunc(c.principal.Scopes, func(s access.Scope) bool { return s.Action == c.route.action }) {
			return nil
		}
		needs.Queue = "QUEUE"
	}
	if c.route.scope != anyQueue && c.principal.May(needs.Action, needs.Queue) {
		return nil
	}
	return forbidden(needs)
}

// queueOfID returns the queue in the id of a job or of an operation.
func queueOfID(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

// may returns a problem unless the principal may do something with a queue.
func (c *call) may(action access.Action, name string) error {
	if c.principal.May(action, name) {
		return nil
	}
	return forbidden(access.Scope{Action: action, Queue: name})
}

// views reports whether the principal may see a queue.
func (c *call) views(name string) bool { return c.principal.May(access.View, name) }

// visible returns the names of the queues that the principal may see.
func (c *call) visible(ctx context.Context) ([]string, error) {
	names, err := c.queues.Queues(ctx)
	return slices.DeleteFunc(nonNil(names), func(name string) bool { return !c.views(name) }), err
}

// location sets the header Location to a path of the API.
func (c *call) location(parts ...string) {
	address := c.config.BasePath + prefix
	for _, part := range parts {
		address += "/" + url.PathEscape(part)
	}
	c.w.Header().Set("Location", address)
}

// setVersion sets the header ETag.
func (c *call) setVersion(version string) { c.w.Header().Set(etagHeader, `"`+version+`"`) }

// now returns the time in UTC by the clock of the Redis with the queue of the path, if there is one.
func (c *call) now(ctx context.Context) (time.Time, error) {
	now, err := c.ops.Now(ctx, c.values["queue"])
	return utc(now), err
}

// queue returns the queue of the path, which must exist.
func (c *call) queue(ctx context.Context) (*queue.Queue, error) {
	return c.ops.Queue(ctx, c.values["queue"])
}
