package api

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A request is what a client has sent to a route.
type request struct {
	w          http.ResponseWriter // that of the answer, which bounds the reading of the body
	r          *http.Request
	route      *route
	values     map[string]string // of the path
	query      url.Values
	maxPayload int    // bytes of the args of a job
	key        string // the Idempotency-Key, with the principal; empty if there is none
	version    string // that the request is to change; empty: any or none
	digest     string // of the request, once its body has been read
}

// time returns how long the request may take, where others may take a time.
func (q *request) time(others time.Duration) time.Duration {
	if q.route.extra == nil {
		return others
	}
	return others + q.route.extra(q)
}

// readQuery refuses parameters that the route does not have, and those that are there twice.
func (q *request) readQuery() (err error) {
	if q.query, err = url.ParseQuery(q.r.URL.RawQuery); err != nil {
		return problem("invalid", "the parameters can't be read: %v", err)
	}
	for _, p := range q.route.params {
		if p.required && q.query.Get(p.name) == "" {
			return invalidField(p.name, "the parameter is missing: %s", p.summary)
		}
	}
	for name, values := range q.query {
		switch p := q.route.param(name); {
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
func (q *request) number(name string, low, high, missing int) (int, error) {
	text := q.query.Get(name)
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
func (q *request) duration(name string, max time.Duration) (time.Duration, error) {
	text := q.query.Get(name)
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
func (q *request) body(target any) error {
	if q.route.bodyOptional && q.r.ContentLength == 0 {
		q.digest = digestOf(q.r.URL.EscapedPath())
		return nil
	}
	data, _, err := q.read(jsonType)
	if err != nil {
		return err
	}
	return decode(data, reflect.TypeOf(q.route.body), target)
}

// refuseBody returns an error for a body of a route that has none, as it would be ignored. An empty object
// is none.
func (q *request) refuseBody() error {
	if q.route.body != nil || q.r.ContentLength == 0 {
		return nil
	}
	data, err := readAll(q.w, http.MaxBytesReader(q.w, q.r.Body, bodyOverhead))
	var over *http.MaxBytesError
	if err != nil && !errors.As(err, &over) {
		return problem("invalid", "the body can't be read: %v", err)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && string(text) != "{}" {
		return problem("invalid", "this request has no body: its fields would be ignored")
	}
	return nil
}

// read reads the body, of one of some types.
func (q *request) read(types ...string) (data []byte, mediaType string, err error) {
	data, mediaType, err = readBody(q.w, q.r, q.route.maxBody(q.maxPayload), types...)
	q.digest = digestOf(q.r.URL.EscapedPath(), mediaType, string(data))
	return data, mediaType, err
}

// accepts returns the first of some types of answers that the client accepts most.
func (q *request) accepts(types ...string) string {
	best, bestQuality := types[0], 0.0
	for part := range strings.SplitSeq(q.r.Header.Get("Accept"), ",") {
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
