package request

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"skidway/workers/kinds/internal/fields"
)

// Args are the args of http.request: one request, and the statuses that are a success.
type Args struct {
	// Method; empty means GET, or POST if there is a body.
	Method string `json:"method,omitempty"`

	// URL begins with http:// or https://.
	URL string `json:"url"`

	// Headers of the request. The default Idempotency-Key is that of
	// [workers.IdempotencyKey], the same for each attempt.
	Headers map[string]string `json:"headers,omitempty"`

	// Body is the body of the request. JSON is a body with the Content-Type
	// application/json. Only one of them may be set.
	Body string          `json:"body,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`

	// Expect has the statuses that are a success; empty means 200 to 299.
	Expect []StatusRange `json:"expect,omitempty"`

	// Sign is the name of the worker's secret that signs the request, see
	// [Client].
	Sign string `json:"sign,omitempty"`
}

// Kind returns "http.request".
func (Args) Kind() string { return "http.request" }

// Check returns a [workers.FieldError] for the first field that is not allowed. It does
// not resolve the host, and does not know the secrets of the worker.
func (a Args) Check() error {
	if a.Method != "" && (!isToken(a.Method) || a.Method == http.MethodConnect) {
		return fields.Wrong("method", "%.40q is not a method such as GET or POST", a.Method)
	}
	if err := checkURL("url", a.URL); err != nil {
		return err
	}
	for name, value := range a.Headers {
		if err := checkHeader(name, value); err != nil {
			return err
		}
	}
	if a.Body != "" && a.JSON != nil {
		return fields.Wrong("body", "json is set too: set only one of them")
	}
	if a.JSON != nil && !json.Valid(a.JSON) {
		return fields.Wrong("json", "it is not JSON")
	}
	for _, r := range a.Expect {
		if r.From < 100 || r.To > 599 || r.From > r.To {
			return fields.Wrong("expect", "%s: want statuses from 100 to 599", r)
		}
	}
	return nil
}

// checkURL returns an error unless text is an absolute http or https URL.
func checkURL(field, text string) error {
	target, err := url.Parse(text)
	switch {
	case text == "":
		return fields.Wrong(field, "it is missing")
	case err != nil:
		return fields.Wrong(field, "it is not a URL: %s", fields.Reason(err))
	case target.Scheme != "http" && target.Scheme != "https":
		return fields.Wrong(field, "it begins with %.20q: want http:// or https://", target.Scheme+":")
	case target.Hostname() == "":
		return fields.Wrong(field, "it has no host")
	}
	return nil
}

// checkHeader returns an error if a header is malformed (RFC 9110, section 5), or set
// by the worker itself.
func checkHeader(name, value string) error {
	if !isToken(name) {
		return fields.Wrong("headers", "%.40q is not the name of a header", name)
	}
	switch key := http.CanonicalHeaderKey(name); key {
	case "Connection", "Content-Length", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", signatureHeader:
		return fields.Wrong("headers", "%s is set by the worker", key)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fields.Wrong("headers", "the value of %s has control characters", name)
	}
	return nil
}

// isToken reports whether a text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// method returns the method of the request.
func (a Args) method() string {
	switch {
	case a.Method != "":
		return a.Method
	case a.Body != "" || a.JSON != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// body returns the body of the request.
func (a Args) body() string {
	if a.JSON != nil {
		return string(a.JSON)
	}
	return a.Body
}

// expects reports whether a status is a success.
func (a Args) expects(status int) bool {
	for _, r := range a.Expect {
		if r.From <= status && status <= r.To {
			return true
		}
	}
	return len(a.Expect) == 0 && status >= 200 && status <= 299
}

// A StatusRange is a range of statuses, both ends included. In JSON it is a number
// (404), or a string: "404", "200-204" or "2xx".
type StatusRange struct{ From, To int }

// String returns a text such as "404" or "200-204".
func (r StatusRange) String() string {
	if r.From == r.To {
		return strconv.Itoa(r.From)
	}
	return strconv.Itoa(r.From) + "-" + strconv.Itoa(r.To)
}

// MarshalJSON encodes a single status as a number.
func (r StatusRange) MarshalJSON() ([]byte, error) {
	if r.From == r.To {
		return strconv.AppendInt(nil, int64(r.From), 10), nil
	}
	return strconv.AppendQuote(nil, r.String()), nil
}

// UnmarshalJSON decodes a number or a string. Its error is a [workers.FieldError] of
// the field expect.
func (r *StatusRange) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if class, ok := strings.CutSuffix(text, "xx"); ok {
		text = class + "00-" + class + "99"
	}
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	var errFrom, errTo error
	r.From, errFrom = strconv.Atoi(from)
	r.To, errTo = strconv.Atoi(to)
	if errFrom != nil || errTo != nil {
		return fields.Wrong("expect", `%.40s: want statuses as 201, "200-204" or "2xx"`, data)
	}
	return nil
}
