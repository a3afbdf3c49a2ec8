package request

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"skidway/workers"
)

const (
	// MaxBody is the maximal number of bytes of a body that are kept in the
	// result of http.request.
	MaxBody = 64 << 10

	// MaxRetryAfter is the longest wait that a server may ask for.
	MaxRetryAfter = 24 * time.Hour

	maxExcerpt     = 512     // bytes of a body in an error
	maxHeaderValue = 1 << 10 // bytes of a header in a result
)

// Result is the result of http.request, as JSON.
type Result struct {
	Status int `json:"status"`

	// Headers has the headers that a later job may need: Content-Type, ETag,
	// Last-Modified, Location and X-Request-Id.
	Headers map[string]string `json:"headers,omitempty"`

	// Body is the first [MaxBody] bytes. If they are not UTF-8, Bytes has
	// them instead, in base64. Truncated is set if there were more.
	Body      string `json:"body,omitempty"`
	Bytes     []byte `json:"bytes,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// readResult reads an answer. It returns what it could read also with an error.
func readResult(response *http.Response) (*Result, error) {
	result := &Result{Status: response.StatusCode, Headers: map[string]string{}}
	for _, name := range []string{"Content-Type", "ETag", "Last-Modified", "Location", "X-Request-Id"} {
		if value := response.Header.Get(name); value != "" {
			result.Headers[name] = value[:min(len(value), maxHeaderValue)]
		}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxBody+1))
	if result.Truncated = len(body) > MaxBody; result.Truncated {
		body = body[:MaxBody]
	}
	whole := body
	if result.Truncated {
		whole = completeRunes(body)
	}
	if utf8.Valid(whole) {
		result.Body = string(whole)
	} else {
		result.Bytes = body
	}
	return result, err
}

// completeRunes cuts off an incomplete character at the end.
func completeRunes(text []byte) []byte {
	for i := 1; i <= min(len(text), utf8.UTFMax); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// refusal returns the error of an answer with another status than expected.
func refusal(request *http.Request, response *http.Response, body string) error {
	err := fmt.Errorf("%s: the server answered %s%s", describe(request), response.Status, excerpt(body))
	status := response.StatusCode
	switch {
	case status >= 500, status == http.StatusProxyAuthRequired, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		if wait := retryAfter(response.Header, time.Now()); wait > 0 {
			return workers.RetryAfter(wait, err)
		}
		return err
	case status >= 300 && status <= 399 && response.Header.Get("Location") != "":
		return workers.Dead(fmt.Errorf("%w; this worker does not follow redirects (AllowRedirects is not set)", err))
	}
	return workers.Dead(err)
}

// excerpt returns the first bytes of a body for an error.
func excerpt(body string) string {
	body = strings.TrimSpace(body)
	if body == "" {
		return ""
	}
	if len(body) > maxExcerpt {
		body = string(completeRunes([]byte(body[:maxExcerpt]))) + "…"
	}
	return fmt.Sprintf(": %q", body)
}

// retryAfter returns the wait that the server asks for (RFC 9110, section 10.2.3),
// zero if there is none or it is over. A date is compared with the server's own Date,
// if it sends one.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(MaxRetryAfter/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(0, until.Sub(now)), MaxRetryAfter)
}
