package kinds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"skidway/queue"
	"skidway/workers"
)

// HTTPConfig is what jobs may do by HTTP. The zero value lets them reach the
// public internet.
type HTTPConfig struct {
	// AllowRedirects follows up to 10 redirects, never from https to http.
	// To another host go no headers of the job and no signature.
	AllowRedirects bool

	// AllowPrivate lets jobs reach addresses that are not of the public
	// internet: this host, private and link-local networks, the metadata of
	// clouds. Else the address of each connection is checked when it is
	// dialled, after its name was looked up, also those of redirects.
	AllowPrivate bool

	// Proxy, if set, dials for the jobs and decides what they can reach:
	// AllowPrivate has no effect then. HTTP_PROXY and the like are not looked
	// at.
	Proxy *url.URL

	// Secrets by which requests can be signed, by name.
	Secrets map[string]string
}

// HTTP runs jobs of the kind http.request. It is safe for concurrent use.
//
//	workers.Handle(pool, kinds.NewHTTP(kinds.HTTPConfig{}).Do, workers.Kind{})
//
// # Signatures
//
// A signed request has the header
//
//	Skidway-Signature: t=1767225600,v1=5257a869…
//
// where t is when it was sent, in seconds since 1970, and v1 the HMAC-SHA256, in
// hexadecimal digits, over t, a dot and the body, by the secret that both sides
// know. The receiver computes it from the body as it came, before it parses it,
// compares in constant time, and refuses a t that is more than some minutes off.
// A repeated attempt has a t of its own; the Idempotency-Key stays the same. Within
// an attempt net/http may send a request once more, with the same t, when a kept
// connection turns out to be closed.
type HTTP struct {
	config HTTPConfig
	dialer *net.Dialer
	client *http.Client
}

// NewHTTP makes the kind http.request.
func NewHTTP(config HTTPConfig) *HTTP {
	h := &HTTP{config: config}
	h.config.Secrets = maps.Clone(config.Secrets)
	h.dialer = newDialer(config.AllowPrivate || config.Proxy != nil)
	transport := &http.Transport{
		DialContext:            h.dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    10,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if config.Proxy != nil {
		transport.Proxy = http.ProxyURL(config.Proxy)
	}
	h.client = &http.Client{Transport: transport, CheckRedirect: h.redirect}
	return h
}

// Close closes connections that are kept for further requests. Those in use go
// on.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

// Do sends the request of a job and waits for the answer. An expected status is
// a success; the result is an [HTTPResult]. 407, 408, 425, 429, 5xx and what
// the network does are retried, after the answer's Retry-After if it has one, at
// most [MaxRetryAfter]. Other answers, a private address ([ErrPrivateAddress])
// and wrong args make the job dead.
func (h *HTTP) Do(ctx context.Context, job *queue.Job, args HTTPArgs) error {
	request, err := h.request(ctx, job, args)
	if err != nil {
		return workers.Dead(err)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return failure(request, err)
	}
	defer response.Body.Close()
	answer, err := readResult(response)
	if args.expects(response.StatusCode) {
		if err != nil {
			return fmt.Errorf("%s: the answer broke off: %w", describe(request), err)
		}
		_ = workers.SetResult(ctx, answer.encode()) // outside of a handler nobody asks for it
		return nil
	}
	return refusal(request, response, answer.Body)
}

// request makes the request of a job.
func (h *HTTP) request(ctx context.Context, job *queue.Job, args HTTPArgs) (*http.Request, error) {
	if err := args.Check(); err != nil {
		return nil, err
	}
	body := args.body()
	request, err := http.NewRequestWithContext(ctx, args.method(), args.URL, strings.NewReader(body))
	if err != nil {
		return nil, wrong("url", "%s", reason(err))
	}
	request.Header.Set("User-Agent", "skidway")
	request.Header.Set("Idempotency-Key", job.ID)
	if args.JSON != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range args.Headers {
		request.Header.Set(name, value)
	}
	request.Host = request.Header.Get("Host") // empty: the URL's
	if args.Sign == "" {
		return request, nil
	}
	secret := h.config.Secrets[args.Sign]
	if secret == "" {
		return nil, wrong("sign", "this worker has no secret %.40q, it has: %s", args.Sign, list(h.config.Secrets))
	}
	request.Header.Set(signatureHeader, signature(secret, body, time.Now()))
	return request, nil
}

// list names the keys of a map for a message.
func list[V any](values map[string]V) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}

// errRedirect: a redirect that is not followed though redirects are.
var errRedirect = errors.New("redirect refused")

const maxRedirects = 10

// redirect is asked before a redirect is followed.
func (h *HTTP) redirect(next *http.Request, before []*http.Request) error {
	first, last := before[0], before[len(before)-1]
	switch {
	case !h.config.AllowRedirects:
		return http.ErrUseLastResponse
	case len(before) > maxRedirects:
		return fmt.Errorf("%w: more than %d", errRedirect, maxRedirects)
	case next.URL.Scheme != "https" && next.URL.Scheme != last.URL.Scheme:
		return fmt.Errorf("%w: it leads from %s to %s", errRedirect, last.URL.Scheme, next.URL.Scheme)
	case leaves(first.URL.Host, append(before, next)):
		kind := next.Header.Get("Content-Type")
		next.Header = http.Header{"User-Agent": {"skidway"}}
		if kind != "" {
			next.Header.Set("Content-Type", kind)
		}
	}
	return nil
}

// leaves reports whether redirects have led to another host, be it for a while.
func leaves(host string, requests []*http.Request) bool {
	return slices.ContainsFunc(requests, func(r *http.Request) bool { return r.URL.Host != host })
}

// failure is the error of a request that got no answer.
func failure(request *http.Request, err error) error {
	if cause := context.Cause(request.Context()); cause != nil {
		err = cause // says more than that the context has ended
	}
	err = fmt.Errorf("%s: %w", describe(request), reason(err))
	if errors.Is(err, ErrPrivateAddress) || errors.Is(err, errRedirect) {
		return workers.Dead(err)
	}
	return err
}

// describe names a request without what is secret in its URL.
func describe(request *http.Request) string {
	return request.Method + " " + request.URL.Scheme + "://" + request.URL.Host + request.URL.EscapedPath()
}

// reason takes the URL, which may hold secrets, off an error.
func reason(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}
