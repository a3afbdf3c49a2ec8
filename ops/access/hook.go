package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/queue"
)

// A Hook lets another program add jobs of one kind to one queue, by requests that it signs.
type Hook struct {
	Name    string   // in the path of the requests; 1 to 64 letters, digits, '.', '_', '-' or '@'
	Scheme  string   // how requests are signed, see [HookSchemes]
	Secrets []string // one or two, so that they can be changed while requests arrive
	Queue   string
	Kind    string
}

// Bounds of hooks.
const (
	minHookSecret  = 16
	maxSignatures  = 10 // in a request
	maxDeliveryID  = 256
	hookTolerance  = 5 * time.Minute // between the time of a signature and now
	standardSecret = "whsec_"        // begins the secrets of standard-webhooks
)

// HookSchemes returns the names of the schemes:
//
//   - skidway: Skidway-Signature: t=SECONDS,v1=HEX, of "SECONDS.BODY", as http.request signs
//   - stripe: Stripe-Signature, of the same form
//   - standard-webhooks: webhook-id, webhook-timestamp, and webhook-signature: v1,BASE64, of
//     "ID.SECONDS.BODY"; a secret is "whsec_" and base64
//   - github: X-Hub-Signature-256: sha256=HEX, of the body. It signs no time
//
// All are HMAC-SHA256.
func HookSchemes() []string { return slices.Sorted(maps.Keys(hookSchemes)) }

// A delivery is what the headers of a signed request have.
type delivery struct {
	content    []byte // that is signed
	id         string // of the delivery; "" if the content stands for it
	stamp      string // seconds since 1970; "" if no time is signed
	signatures [][]byte
}

var hookSchemes = map[string]func(header http.Header, body []byte) (delivery, error){
	"skidway":           skidwayHook,
	"stripe":            stripeHook,
	"standard-webhooks": standardWebhook,
	"github":            githubHook,
}

// ErrSignature is the error for a request whose signature is missing, malformed, wrong or too old.
var ErrSignature = errors.New("the request is not signed with a secret of the hook, or not within 5 minutes of now")

// Validate returns an error, which wraps [queue.ErrInvalid], if the hook can't be used.
func (h *Hook) Validate() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: hook %.80q: %w", queue.ErrInvalid, h.Name, fmt.Errorf(format, args...))
	}
	if !isUserName(h.Name) {
		return invalid("a name has 1 to %d letters, digits, '.', '_', '-' or '@', and is not %q", maxUserName, LocalName)
	}
	if h.Name == "." || h.Name == ".." {
		return invalid("its name means a folder in addresses")
	}
	if hookSchemes[h.Scheme] == nil {
		return invalid("scheme %.40q: want one of %s", h.Scheme, strings.Join(HookSchemes(), ", "))
	}
	if len(h.Secrets) < 1 || len(h.Secrets) > 2 {
		return invalid("it has %d secrets: want one or two", len(h.Secrets))
	}
	for _, secret := range h.Secrets {
		if key, err := h.key(secret); err != nil || len(key) < minHookSecret {
			return invalid("a secret has at least %d bytes, and for standard-webhooks it is whsec_ and base64", minHookSecret)
		}
	}
	if strings.ContainsAny(h.Queue+h.Kind, "*?[") {
		return invalid("queue %.80q and kind %.80q: want names, not patterns", h.Queue, h.Kind)
	}
	if _, err := ParseScope(h.scope().String()); err != nil {
		return invalid("%w", err)
	}
	return h.Principal().CheckJob(queue.NewJob{Args: queue.Raw(h.Kind, []byte("{}")), Options: queue.Options{Queue: h.Queue}})
}

func (h *Hook) scope() Scope { return Scope{Enqueue, h.Queue, h.Kind} }

// Principal returns what a signed request may do: add jobs of the kind to the queue.
func (h *Hook) Principal() *Principal {
	return &Principal{Name: "hook " + h.Name, ID: "hook " + h.Name, Token: true, Proven: true, Scopes: []Scope{h.scope()}}
}

// key returns the key of MACs.
func (h *Hook) key(secret string) ([]byte, error) {
	if h.Scheme != "standard-webhooks" {
		return []byte(secret), nil
	}
	text, found := strings.CutPrefix(secret, standardSecret)
	if !found {
		return nil, errors.New("no " + standardSecret)
	}
	return base64.StdEncoding.DecodeString(text)
}

// Verify checks the signature of a request with a body as it was received. It returns a text that
// is the same for repeated deliveries, whichever secret signed them, or [ErrSignature].
func (h *Hook) Verify(header http.Header, body []byte, now time.Time) (id string, err error) {
	d, err := hookSchemes[h.Scheme](header, body)
	if err != nil || len(d.signatures) > maxSignatures {
		return "", ErrSignature
	}
	signed := false
	for _, secret := range h.Secrets {
		key, err := h.key(secret)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(d.content)
		want := mac.Sum(nil)
		for _, signature := range d.signatures {
			signed = hmac.Equal(signature, want) || signed
		}
	}
	if !signed || d.stamp != "" && !isNear(d.stamp, now) {
		return "", ErrSignature
	}
	if d.id == "" {
		d.id = string(d.content)
	}
	return hashOf("hook " + h.Name + " " + h.Scheme + " " + d.id), nil
}

// isNear reports whether a time in seconds is near another one.
func isNear(stamp string, now time.Time) bool {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= hookTolerance
}

// only returns the value of a header that is there once.
func only(header http.Header, name string) (string, error) {
	values := header.Values(name)
	if len(values) != 1 {
		return "", ErrSignature
	}
	return values[0], nil
}

// skidwayHook is the scheme of http.request. It signs each attempt at another time, under the same
// Idempotency-Key. Different jobs may have the same body, so without a key the content stands for the delivery.
func skidwayHook(header http.Header, body []byte) (delivery, error) {
	d, err := stamped(header, "Skidway-Signature", body)
	if key := strings.Join(header.Values("Idempotency-Key"), "\n"); key != "" {
		d.id = key + "\n" + string(body)
	}
	return d, err
}

// stripeHook is the scheme of Stripe, which signs each attempt at another time. The body has the id of an event.
func stripeHook(header http.Header, body []byte) (delivery, error) {
	d, err := stamped(header, "Stripe-Signature", body)
	d.id = string(body)
	return d, err
}

// stamped returns the delivery of a header such as "t=1767225600,v1=5257a869…".
func stamped(header http.Header, name string, body []byte) (d delivery, err error) {
	value, err := only(header, name)
	if err != nil {
		return d, err
	}
	for part := range strings.SplitSeq(value, ",") {
		key, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case key == "t" && d.stamp == "":
			d.stamp = text
		case key == "t":
			return d, ErrSignature
		case key == "v1":
			signature, err := hex.DecodeString(text)
			if err != nil {
				return d, err
			}
			d.signatures = append(d.signatures, signature)
		}
	}
	if d.stamp == "" {
		return d, ErrSignature
	}
	d.content = append([]byte(d.stamp+"."), body...)
	return d, nil
}

// standardWebhook is the scheme of www.standardwebhooks.com. Senders repeat a delivery under its id.
func standardWebhook(header http.Header, body []byte) (d delivery, err error) {
	id, err1 := only(header, "Webhook-Id")
	stamp, err2 := only(header, "Webhook-Timestamp")
	list, err3 := only(header, "Webhook-Signature")
	// With a dot in the id it could begin elsewhere in what is signed.
	if errors.Join(err1, err2, err3) != nil || id == "" || len(id) > maxDeliveryID || stamp == "" || strings.Contains(id, ".") {
		return d, ErrSignature
	}
	for part := range strings.SplitSeq(list, " ") {
		text, found := strings.CutPrefix(part, "v1,")
		if !found {
			continue // of other versions
		}
		signature, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return d, err
		}
		d.signatures = append(d.signatures, signature)
	}
	d.id, d.stamp, d.content = id, stamp, append([]byte(id+"."+stamp+"."), body...)
	return d, nil
}

func githubHook(header http.Header, body []byte) (d delivery, err error) {
	value, err := only(header, "X-Hub-Signature-256")
	if err != nil {
		return d, err
	}
	text, found := strings.CutPrefix(value, "sha256=")
	signature, err := hex.DecodeString(text)
	if !found || err != nil {
		return d, ErrSignature
	}
	return delivery{content: body, signatures: [][]byte{signature}}, nil
}
