package api

import (
	"context"
	"net/url"
	"strings"
	"time"

	"skidway/ops/access"
)

// prefix begins the paths of the API.
const prefix = "/api/v1"

// A route is a row of the table of requests that the API answers.
type route struct {
	method, path string // the path without the prefix
	pattern      string // of the whole, as in [http.ServeMux]
	action       access.Action
	scope        scope
	summary      string
	audit        string // the action in the audit; empty: the request is no change that is audited
	params       []param

	body         any // a value of the type of the body; nil: there is none
	bodyOptional bool
	bodyTypes    []string // nil: JSON only
	batch        bool     // whether the body may be as large as a batch

	status       int
	answer       any         // a value of the type of the answer; nil: there is none
	otherAnswers map[int]any // by status
	types        []string    // further types of answers
	problems     []string    // names, beside those that many routes have

	repeatable bool                         // whether it may have an Idempotency-Key
	tagged     bool                         // whether what the path names has an ETag; a change may have an If-Match then
	stream     bool                         // it has no time limit
	extra      func(*request) time.Duration // that the request may take longer than others; nil means none
	serve      func(context.Context, *call) (any, error)
}

// oneOf has values of the types that an answer may have.
type oneOf []any

// A scope is the queue for which a principal needs the action of a route.
type scope int

const (
	noQueue   scope = iota // none: every principal may
	pathQueue              // that of the path
	idQueue                // that in the id of the path
	allQueues              // all queues
	anyQueue               // at least one; the handler leaves the others out, or refuses them
)

// A param is a parameter in the query.
type param struct {
	name, summary    string
	words            []string // the only values
	number, required bool
}

var (
	limitParam  = param{name: "limit", summary: "maximum number of entries, 1 to 500 (default 50)", number: true}
	cursorParam = param{name: "cursor", summary: "next of the page before"}
	pageParams  = []param{limitParam, cursorParam}
)

// listParams returns the parameters of a list, with others.
func listParams(params ...param) []param { return append(params, pageParams...) }

// param returns a parameter by its name, nil if there is none.
func (r *route) param(name string) *param {
	for i := range r.params {
		if r.params[i].name == name {
			return &r.params[i]
		}
	}
	return nil
}

// Bounds of bodies.
const (
	bodyOverhead = 64 << 10 // beside the args
	maxBatchBody = 8 << 20
)

// maxBody returns the maximum size of the body, where args have at most maxPayload bytes.
func (r *route) maxBody(maxPayload int) int64 {
	if r.batch {
		return maxBatchBody
	}
	return int64(maxPayload) + bodyOverhead
}

// match returns the values in a path that matches, in its escaped form.
func (r *route) match(path string) (map[string]string, bool) {
	path, ok := strings.CutPrefix(path, prefix)
	if !ok || strings.Count(path, "/") != strings.Count(r.path, "/") {
		return nil, false
	}
	var values map[string]string
	for pattern := range strings.SplitSeq(r.path, "/") {
		var segment string
		segment, path, _ = strings.Cut(path, "/")
		name, isName := strings.CutPrefix(pattern, "{")
		if !isName {
			if segment != pattern {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(segment)
		if err != nil || value == "" {
			return nil, false
		}
		if values == nil {
			values = map[string]string{}
		}
		values[strings.TrimSuffix(name, "}")] = value
	}
	return values, true
}
