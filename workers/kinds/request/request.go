// Package request sends HTTP requests: jobs of the kind http.request.
//
//	requests := request.New(request.Config{Secrets: map[string]string{"shop": secret}})
//	defer requests.Close()
//	workers.Handle(pool, requests.Do)
//	client.Enqueue(ctx, request.Args{URL: "https://example.com/hook", JSON: order, Sign: "shop"}, nil)
//
// The zero Config lets jobs reach the public internet only. The result of a job is a
// [Result].
package request

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// Config configures a [Client]. With the zero value jobs can reach the public
// internet.
type Config struct {
	// AllowRedirects makes the client follow up to 10 redirects, but none from
	// https to http. A request to another host has no headers of the job and no
	// signature. A request whose method has changed, or whose body was dropped, has
	// no signature either.
	AllowRedirects bool

	// AllowPrivate lets jobs reach addresses outside of the public internet:
	// this host, private and link-local networks, the metadata of clouds.
	// Otherwise the address of each connection is checked when it is dialled,
	// after its name was resolved, also for redirects.
	AllowPrivate bool

	// Proxy, if set, makes the connections and decides what can be reached:
	// AllowPrivate has no effect then. HTTP_PROXY and the like are ignored.
	Proxy *url.URL

	// Secrets that can sign requests, by name.
	Secrets map[string]string

	// Transport, if set, returns a transport that sends each request by the given one, such as
	// otelhttp.NewTransport for traces. It sees the URLs of requests, whose paths may be secrets.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Client sends the requests of jobs. It is safe for concurrent use.
//
// # Signatures
//
// A signed request has the header
//
//	Skidway-Signature: t=1767225600,v1=5257a869…
//
// where t is the time of the request in seconds since 1970, and v1 the HMAC-SHA256, in
// hexadecimal digits, of t, a dot and the body, with the secret that both sides
// know. The receiver computes it from the body before it parses it, compares in
// constant time, and refuses a t that differs from its clock by more than some
// minutes. Each attempt has its own t and the same Idempotency-Key. Within an attempt
// net/http may repeat a request, with the same t, if a kept connection was closed.
type Client struct {
	config Config
	dialer *net.Dialer
	base   *http.Transport // of the client, perhaps behind Config.Transport
	client *http.Client
}

// New returns a Client. It does not connect.
func New(config Config) *Client {
	h := &Client{config: config}
	h.config.Secrets = maps.Clone(config.Secrets)
	h.dialer = newDialer(config.AllowPrivate || config.Proxy != nil)
	h.base = &http.Transport{
		DialContext:            h.dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    10,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if config.Proxy != nil {
		h.base.Proxy = http.ProxyURL(config.Proxy)
	}
	h.client = &http.Client{Transport: h.base, CheckRedirect: h.redirect}
	if config.Transport != nil {
		h.client.Transport = config.Transport(h.base)
	}
	return h
}

// Close closes idle connections. Those in use stay open.
func (h *Client) Close() { h.base.CloseIdleConnections() }

// Do is the handler of http.request: it sends the request of a job and blocks until the
// answer. An expected status is a success, and the result is a [Result]. The statuses
// 407, 408, 425, 429 and 5xx and errors of the network are retried, after the answer's
// Retry-After if it has one, at most [MaxRetryAfter]. Other answers, a private address
// ([ErrPrivateAddress]) and wrong args make the job dead.
func (h *Client) Do(ctx context.Context, job *workers.Job[Args]) error {
	args := job.Args
	request, err := h.request(ctx, args)
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
			return fmt.Errorf("%s: the answer is incomplete: %w", describe(request), err)
		}
		_ = workers.SetResultJSON(ctx, answer) // fails only outside of a handler
		return nil
	}
	return refusal(request, response, answer.Body)
}

// request returns the request of a job.
func (h *Client) request(ctx context.Context, args Args) (*http.Request, error) {
	body := args.body()
	request, err := http.NewRequestWithContext(ctx, args.method(), args.URL, strings.NewReader(body))
	if err != nil {
		return nil, fields.Wrong("url", "%s", fields.Reason(err))
	}
	request.Header.Set("User-Agent", "skidway")
	if args.JSON != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range args.Headers {
		request.Header.Set(name, value)
	}
	if request.Header.Get("Idempotency-Key") == "" {
		key, err := workers.IdempotencyKey(ctx)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Idempotency-Key", key)
	}
	request.Host = request.Header.Get("Host") // empty: the URL's
	if args.Sign == "" {
		return request, nil
	}
	secret := h.config.Secrets[args.Sign]
	if secret == "" {
		return nil, fields.Wrong("sign", "this worker has no secret %.40q, it has: %s", args.Sign, fields.Names(h.config.Secrets))
	}
	request.Header.Set(signatureHeader, signature(secret, body, time.Now()))
	return request, nil
}

// errRedirect: a redirect was refused although redirects are allowed.
var errRedirect = errors.New("redirect refused")

const maxRedirects = 10

// redirect is the CheckRedirect function of the HTTP client.
func (h *Client) redirect(next *http.Request, before []*http.Request) error {
	first, last := before[0], before[len(before)-1]
	switch {
	case !h.config.AllowRedirects:
		return http.ErrUseLastResponse
	case len(before) > maxRedirects:
		return fmt.Errorf("%w: more than %d", errRedirect, maxRedirects)
	case next.URL.Scheme != "https" && next.URL.Scheme != last.URL.Scheme:
		return fmt.Errorf("%w: from %s to %s", errRedirect, last.URL.Scheme, next.URL.Scheme)
	case leaves(first.URL.Host, append(before, next)):
		kind := next.Header.Get("Content-Type")
		next.Header = http.Header{"User-Agent": {"skidway"}}
		if kind != "" {
			next.Header.Set("Content-Type", kind)
		}
	case next.Method != first.Method || next.ContentLength != first.ContentLength:
		next.Header.Del(signatureHeader) // it is that of the body
	}
	return nil
}

// leaves reports whether one of the requests went to another host.
func leaves(host string, requests []*http.Request) bool {
	return slices.ContainsFunc(requests, func(r *http.Request) bool { return r.URL.Host != host })
}

// failure returns the error of a request without an answer.
func failure(request *http.Request, err error) error {
	if cause := context.Cause(request.Context()); cause != nil {
		err = cause // instead of "context canceled"
	}
	err = fmt.Errorf("%s: %w", describe(request), fields.Reason(err))
	if errors.Is(err, ErrPrivateAddress) || errors.Is(err, errRedirect) {
		return workers.Dead(err)
	}
	return err
}

// describe returns a text for a request, without user, password, path and query, each of
// which may be a secret: webhooks have theirs in the path.
func describe(request *http.Request) string {
	rest := ""
	if len(request.URL.Path) > 1 || request.URL.RawQuery != "" {
		rest = "/…"
	}
	return request.Method + " " + request.URL.Scheme + "://" + request.URL.Host + rest
}

// Fetch returns the content of a URL and its Content-Type, within the same bounds as
// the requests of jobs. More than limit bytes are an error. A handler can return the
// errors of Fetch, also wrapped: they make the job dead if another attempt would not
// help.
func (h *Client) Fetch(ctx context.Context, url string, limit int64) (data []byte, contentType string, err error) {
	if err := checkURL("url", url); err != nil {
		return nil, "", workers.Dead(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, "", workers.Dead(fields.Wrong("url", "%s", fields.Reason(err)))
	}
	request.Header.Set("User-Agent", "skidway")
	response, err := h.client.Do(request)
	if err != nil {
		return nil, "", failure(request, err)
	}
	defer response.Body.Close()
	if !(Args{}).expects(response.StatusCode) {
		answer, _ := readResult(response) // of a failed answer, as much as there is
		return nil, "", refusal(request, response, answer.Body)
	}
	data, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s: the answer is incomplete: %w", describe(request), err)
	case int64(len(data)) > limit:
		return nil, "", workers.Dead(fmt.Errorf("%s: the answer has more than %d bytes", describe(request), limit))
	}
	return data, response.Header.Get("Content-Type"), nil
}

// signatureHeader is the header of a signed request.
const signatureHeader = "Skidway-Signature"

// signature returns the value of the header, see [Client].
func signature(secret, body string, now time.Time) string {
	stamp := fmt.Sprint(now.Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
