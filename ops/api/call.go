package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/ops/access"
	"skidway/queue"
)

// A call is a request to a route.
type call struct {
	*Handler
	w         http.ResponseWriter
	r         *http.Request
	route     *route
	principal *access.Principal
	values    map[string]string // of the path
	query     url.Values
	action    string // in the audit; empty means that of the route
	status    int    // of the answer; zero means that of the route
	key       string // the Idempotency-Key, with the principal; empty if the request has none
	version   string // that the request is to change; empty: any or none
	digest    string // of the request, once its body has been read
}

// serve calls the handler of the route and writes its answer.
func (c *call) serve() error {
	ctx := c.r.Context()
	if !c.route.stream {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.time())
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

// explain returns the error of the call; after an unknown outcome it says how a request with a key goes on.
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

// time returns how long the request may take.
func (c *call) time() time.Duration {
	if c.route.extra == nil {
		return c.config.Timeout
	}
	return c.config.Timeout + c.route.extra(c)
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

// readQuery refuses parameters that the route does not have, and those that are there twice.
func (c *call) readQuery() (err error) {
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return problem("invalid", "the parameters can't be read: %v", err)
	}
	for _, p := range c.route.params {
		if p.required && c.query.Get(p.name) == "" {
			return invalidField(p.name, "the parameter is missing: %s", p.summary)
		}
	}
	for name, values := range c.query {
		switch p := c.route.param(name); {
		case p == nil:
			return invalidField(name, "there is no parameter %.80q", name)
		case len(values) > 1:
			return invalidField(name, "the parameter is there twice")
		case len(p.words) > 0 && !slices.Contains(p.words, values[0]):
			return invalidField(name, "%.40q: want one of %s", values[0], strings.Join(p.words, ", "))
		}
	}
	return nil
}

// number returns a parameter that is a number from low to high, or its default.
func (c *call) number(name string, low, high, missing int) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, invalidField(name, "%.40q: want a number from %d to %d", text, low, high)
	}
	return n, nil
}

// duration returns a parameter that is a length of time of at most max; zero if it is missing.
func (c *call) duration(name string, max time.Duration) (time.Duration, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	var d Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return 0, invalidField(name, "%v", err)
	}
	if d < 0 || time.Duration(d) > max {
		return 0, invalidField(name, "%.40q: want 0s to %s", text, max)
	}
	return time.Duration(d), nil
}

// body decodes the body into target, which has the type that the route names. A missing body leaves
// target as it is, if the route allows that.
func (c *call) body(target any) error {
	if c.route.bodyOptional && c.r.ContentLength == 0 {
		return nil
	}
	data, _, err := c.read(jsonType)
	if err != nil {
		return err
	}
	return decode(data, reflect.TypeOf(c.route.body), target)
}

// read reads the body, of one of some types.
func (c *call) read(types ...string) (data []byte, mediaType string, err error) {
	data, mediaType, err = readBody(c.w, c.r, c.route.maxBody(c.config.MaxPayload), types...)
	c.digest = digestOf(c.r.URL.EscapedPath(), mediaType, string(data))
	return data, mediaType, err
}

// accepts returns the first of some types of answers that the client accepts most.
func (c *call) accepts(types ...string) string {
	best, bestQuality := types[0], 0.0
	for part := range strings.SplitSeq(c.r.Header.Get("Accept"), ",") {
		pattern, parameters, _ := strings.Cut(part, ";")
		quality := 1.0
		if text, found := strings.CutPrefix(strings.TrimSpace(parameters), "q="); found {
			quality, _ = strconv.ParseFloat(text, 64)
		}
		for _, t := range types {
			if matches, _ := path.Match(strings.TrimSpace(pattern), t); matches && quality > bestQuality {
				best, bestQuality = t, quality
				break
			}
		}
	}
	return best
}

// location sets the header Location to a path of the API.
func (c *call) location(parts ...string) {
	address := c.config.BasePath + prefix
	for _, part := range parts {
		address += "/" + url.PathEscape(part)
	}
	c.w.Header().Set("Location", address)
}

// queue returns the queue of the path, which must exist.
func (c *call) queue(ctx context.Context) (*queue.Queue, error) {
	return c.ops.Queue(ctx, c.values["queue"])
}
