// Package remote reaches the queues of a Redis through a server of the HTTP API.
//
// Its errors are those of the packages that answer directly, such as [queue.ErrNoJob], so that
// commands treat both alike. A server that can't be reached is a [cli.UnreachableServerError]. Changes
// that add jobs, other than copies, have an Idempotency-Key, and are repeated when their answers were
// lost.
package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/ops"
	"skidway/ops/api"
	"skidway/queue"
)

const (
	requestTime = time.Minute + 15*time.Second // the longest wait of the API, and some more
	maxAnswer   = 64 << 20                     // bytes
	maxTries    = 5                            // of a request that can be repeated
)

// A Client answers for the queues that a server has. It is safe for concurrent use.
type Client struct{ server *transport }

// New returns a client of the server at an address such as https://host:8470/skidway. Nothing is sent.
// Plain http is only for addresses of this machine, because a token would be readable on the way.
func New(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("server %q: want an address such as https://host:8470", address)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("server %s: want https, except for this machine: the token would be readable on the way", address)
	}
	if strings.ContainsAny(token, " \t\r\n") {
		return nil, errors.New("the token has white space inside")
	}
	client := &http.Client{Timeout: requestTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Client{&transport{strings.TrimSuffix(address, "/") + "/api/v1", token, client}}, nil
}

// A transport sends requests to a server.
type transport struct {
	base  string // of the API, without a slash at its end
	token string // empty: the server asks for none
	http  *http.Client
}

// path returns a path of segments, which may contain any text.
func path(segments ...string) string {
	text := ""
	for _, segment := range segments {
		text += "/" + url.PathEscape(segment)
	}
	return text
}

// get decodes the answer to a request.
func get[T any](ctx context.Context, t *transport, path string, query url.Values) (answer T, err error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	err = t.send(ctx, http.MethodGet, path, nil, nil, &answer)
	return answer, err
}

// all returns the entries of all pages of a list, and when the first was read.
func all[T any](ctx context.Context, t *transport, path string, query url.Values) (items []T, asOf time.Time, err error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", "500")
	for {
		page, err := get[api.List[T]](ctx, t, path, query)
		if err != nil {
			return nil, asOf, err
		}
		if items = append(items, page.Items...); asOf.IsZero() {
			asOf = page.AsOf
		}
		if page.Next == "" {
			return items, asOf, nil
		}
		query.Set("cursor", page.Next)
	}
}

// post sends a change, and decodes its answer unless answer is nil.
func (t *transport) post(ctx context.Context, path string, body, answer any) error {
	return t.change(ctx, http.MethodPost, path, nil, body, answer)
}

// remove sends the deletion of what is at a path.
func (t *transport) remove(ctx context.Context, path string) error {
	return t.change(ctx, http.MethodDelete, path, nil, nil, nil)
}

// change sends a change once.
func (t *transport) change(ctx context.Context, method, path string, header map[string]string, body, answer any) error {
	err := t.send(ctx, method, path, header, body, answer)
	if lost(err) {
		return unknownOutcome(method, path, err)
	}
	return err
}

// postOnce sends a change under a key, and repeats it as long as it is not known whether it happened.
func (t *transport) postOnce(ctx context.Context, path string, body, answer any) (err error) {
	header, pause, unknown := map[string]string{"Idempotency-Key": rand.Text()}, rdb.Backoff{}, false
	for range maxTries {
		if err = t.send(ctx, http.MethodPost, path, header, body, answer); err == nil {
			return nil
		}
		unknown = unknown || lost(err)
		if !passes(err) || rdb.Sleep(ctx, pause.Next()) != nil {
			break
		}
	}
	if unknown {
		return unknownOutcome(http.MethodPost, path, err)
	}
	return err
}

// passes reports whether a request that failed may succeed when it is sent again.
func passes(err error) bool {
	var p *problemError
	var away *cli.UnreachableServerError
	return errors.As(err, &away) || errors.As(err, &p) && p.retryAfter > 0
}

// lost reports whether an error leaves open whether a change happened: the server has received it
// maybe, or has not learned what became of it.
func lost(err error) bool {
	var unknown *skidway.OutcomeUnknownError
	var away *cli.UnreachableServerError
	var dial *net.OpError
	return errors.As(err, &unknown) || errors.As(err, &away) && !(errors.As(err, &dial) && dial.Op == "dial")
}

// unknownOutcome returns the error of a change of which it is not known whether it happened.
func unknownOutcome(method, path string, err error) error {
	var unknown *skidway.OutcomeUnknownError
	if errors.As(err, &unknown) {
		return err
	}
	return &skidway.OutcomeUnknownError{Op: method + " " + path, Err: err}
}

func (t *transport) send(ctx context.Context, method, path string, header map[string]string, body, answer any) error {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if t.token != "" {
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return t.unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return t.unreachable(ctx, err)
	}
	if response.StatusCode >= 300 {
		return t.problem(response, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s answers as no server of the API does: %w", t.base, err)
	}
	if headed, ok := answer.(headerReader); ok {
		headed.readHeader(response.Header)
	}
	return nil
}

// A headerReader is an answer with values that are in the header of the response.
type headerReader interface{ readHeader(http.Header) }

func (t *transport) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the address, which the error has already
	}
	return &cli.UnreachableServerError{Address: t.base, Err: err}
}

// A problemError is a problem that the server has answered with. It wraps the error that packages
// return where there is no server.
type problemError struct {
	api.Problem
	retryAfter time.Duration
	same       error
}

func (e *problemError) Error() string {
	if e.Detail == "" {
		return strings.ToLower(e.Title[:min(1, len(e.Title))]) + e.Title[min(1, len(e.Title)):]
	}
	return e.Detail
}

func (e *problemError) Unwrap() error { return e.same }

// problem returns the error in an answer. An answer of the class 5xx without a problem is a lost one.
func (t *transport) problem(response *http.Response, text []byte) error {
	var p api.Problem
	if err := json.Unmarshal(text, &p); err != nil || !strings.HasPrefix(p.Type, api.ProblemType) {
		if response.StatusCode >= 500 { // of a proxy, which may have passed the request on
			return &cli.UnreachableServerError{Address: t.base, Err: fmt.Errorf("the answer is %s", response.Status)}
		}
		return fmt.Errorf("%s answers %s: is it a server of the API?", t.base, response.Status)
	}
	err := errorOf(p)
	var known *problemError
	if errors.As(err, &known) {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		known.retryAfter = time.Duration(seconds) * time.Second
		if p.Name() == "busy" {
			known.same = &ops.BusyError{RetryAfter: known.retryAfter}
		}
	}
	return err
}

// errorOf returns the error for a problem.
func errorOf(p api.Problem) error {
	e := &problemError{Problem: p}
	switch p.Name() {
	case "invalid":
		e.same = queue.ErrInvalid
	case "no-job":
		e.same = queue.ErrNoJob
	case "wrong-state", "not-empty":
		e.same = queue.ErrState
	case "not-sent":
		e.same = queue.ErrNotSent
	case "duplicate":
		e.same = &queue.DuplicateError{Owner: p.Holder}
	case "unfit-server":
		e.same = &skidway.UnfitServerError{}
	case "unconfirmed":
		e.same = &skidway.UnconfirmedError{ID: p.Job, Err: errors.New("the server has not confirmed it")}
	case "outcome-unknown":
		e.same = &skidway.OutcomeUnknownError{Op: p.Instance, Err: errors.New(p.Detail)}
	case "redis-unavailable":
		// Without a name: it is the server that knows which Redis it is.
		e.same = &skidway.UnreachableError{Err: errors.New(p.Detail)}
		e.Detail = "the Redis of the server is not reachable: " + e.Error()
	}
	return e
}

// isProblem reports whether an error is a problem of a name.
func isProblem(err error, name string) bool {
	var p *problemError
	return errors.As(err, &p) && p.Name() == name
}
