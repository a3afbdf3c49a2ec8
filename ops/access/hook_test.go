package access_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/ops/access"
)

const hookSecret = "0123456789abcdef"

var hookTime = time.Unix(1_800_000_000, 0)

// mac returns the HMAC-SHA256 of a text.
func mac(secret, text string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// signed returns the headers of a request that a scheme signs, for the time of the test and some later.
func signed(scheme, secret, body string, later time.Duration) http.Header {
	stamp := strconv.FormatInt(hookTime.Add(later).Unix(), 10)
	h := http.Header{}
	switch scheme {
	case "github":
		h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac(secret, body)))
	case "standard-webhooks":
		h.Set("Webhook-Id", "msg_1")
		h.Set("Webhook-Timestamp", stamp)
		h.Set("Webhook-Signature", "v1a,other v1,"+base64.StdEncoding.EncodeToString(mac(secret, "msg_1."+stamp+"."+body)))
	default:
		name := map[string]string{"skidway": "Skidway-Signature", "stripe": "Stripe-Signature"}[scheme]
		h.Set(name, "t="+stamp+",v1="+hex.EncodeToString(mac(secret, stamp+"."+body))+",v0=zz")
	}
	return h
}

// hookOf returns a hook with secrets.
func hookOf(scheme string, secrets ...string) *access.Hook {
	h := &access.Hook{Name: "ci", Scheme: scheme, Queue: "mail", Kind: "ci.push"}
	for _, secret := range secrets {
		if scheme == "standard-webhooks" {
			secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret))
		}
		h.Secrets = append(h.Secrets, secret)
	}
	return h
}

func TestSignedDeliveriesAreVerified(t *testing.T) {
	t.Parallel()
	const body, other = `{"a":1}`, "another secret of 16"
	for _, scheme := range access.HookSchemes() {
		h := hookOf(scheme, hookSecret)
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		id, err := h.Verify(signed(scheme, hookSecret, body, 0), []byte(body), hookTime)
		if err != nil || len(id) != 64 {
			t.Errorf("%s: %q, %v", scheme, id, err)
		}
		rotated := hookOf(scheme, other, hookSecret) // the same delivery, whatever the secrets are
		if again, err := rotated.Verify(signed(scheme, other, body, 0), []byte(body), hookTime); err != nil || again != id {
			t.Errorf("%s after a change of secrets: %q, %v", scheme, again, err)
		}
		for name, header := range map[string]http.Header{
			"another secret": signed(scheme, other, body, 0), "another body": signed(scheme, hookSecret, body+" ", 0), "none": {},
			"twice": func() http.Header {
				h := signed(scheme, hookSecret, body, 0)
				for name, values := range h {
					h[name] = append(values, values...)
				}
				return h
			}(),
			"too old": signed(scheme, hookSecret, body, -5*time.Minute-time.Second), "too new": signed(scheme, hookSecret, body, 5*time.Minute+time.Second),
		} {
			if strings.HasPrefix(name, "too ") && scheme == "github" {
				continue // it signs no time
			}
			if _, err := h.Verify(header, []byte(body), hookTime); !errors.Is(err, access.ErrSignature) {
				t.Errorf("%s, %s: %v", scheme, name, err)
			}
		}
		for _, later := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
			if _, err := h.Verify(signed(scheme, hookSecret, body, later), []byte(body), hookTime); err != nil {
				t.Errorf("%s %s later: %v", scheme, later, err)
			}
		}
	}
}

func TestRepeatedDeliveriesHaveTheSameID(t *testing.T) {
	t.Parallel()
	id := func(scheme, key, body string, later time.Duration) string {
		t.Helper()
		header := signed(scheme, hookSecret, body, later)
		if key != "" {
			header.Set("Idempotency-Key", key)
		}
		id, err := hookOf(scheme, hookSecret).Verify(header, []byte(body), hookTime)
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		return id
	}
	for _, scheme := range access.HookSchemes() {
		if id(scheme, "k", "{}", 0) != id(scheme, "k", "{}", time.Minute) {
			t.Errorf("%s: a repetition a minute later has another id", scheme)
		}
		if scheme != "standard-webhooks" && id(scheme, "k", "{}", 0) == id(scheme, "k", "[]", 0) {
			t.Errorf("%s: another body has the same id", scheme)
		}
	}
	if id("stripe", "", "{}", 0) != id("stripe", "k", "{}", time.Minute) {
		t.Error("stripe: a header that is not signed changes the id")
	}
	if id("skidway", "k", "{}", 0) == id("skidway", "l", "{}", 0) || id("skidway", "", "{}", 0) == id("skidway", "", "{}", time.Minute) {
		t.Error("skidway: different jobs with the same body have the same id")
	}
}

func TestOddSignaturesAreRefused(t *testing.T) {
	t.Parallel()
	stamp := strconv.FormatInt(hookTime.Unix(), 10)
	good := hex.EncodeToString(mac(hookSecret, stamp+".x"))
	for _, value := range []string{
		"", "t=", "t=" + stamp, "v1=" + good, "t=" + stamp + ",t=" + stamp + ",v1=" + good, "t=" + stamp + ",v1=zz", "t=" + stamp + ",v1=", "t=" + stamp + ",v1=" + good[:32],
		"t=" + stamp + strings.Repeat(",v1=00", 10) + ",v1=" + good, "t=" + stamp + ".x,v1=" + hex.EncodeToString(mac(hookSecret, stamp+".x.x")), "t=99999999999999999999,v1=" + hex.EncodeToString(mac(hookSecret, "99999999999999999999.x")),
	} {
		if _, err := hookOf("skidway", hookSecret).Verify(http.Header{"Skidway-Signature": {value}}, []byte("x"), hookTime); !errors.Is(err, access.ErrSignature) {
			t.Errorf("%q: %v", value, err)
		}
	}
	// The dot in the id moves where time and body begin.
	header := http.Header{"Webhook-Id": {"a." + stamp}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac(hookSecret, "a."+stamp+"."+stamp+".x"))}}
	if _, err := hookOf("standard-webhooks", hookSecret).Verify(header, []byte("x"), hookTime); !errors.Is(err, access.ErrSignature) {
		t.Errorf("an id with a dot: %v", err)
	}
}

func TestHooksThatAllowTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*access.Hook){
		"name": func(h *access.Hook) { h.Name = "a/b" }, "scheme": func(h *access.Hook) { h.Scheme = "none" }, "no secret": func(h *access.Hook) { h.Secrets = nil },
		"short secret": func(h *access.Hook) { h.Secrets = []string{"short"} }, "three secrets": func(h *access.Hook) { h.Secrets = []string{hookSecret, hookSecret, hookSecret} },
		"queues": func(h *access.Hook) { h.Queue = "*" }, "kinds": func(h *access.Hook) { h.Kind = "ci.*" }, "no kind": func(h *access.Hook) { h.Kind = "" },
		"template": func(h *access.Hook) { h.Kind = "{{.result}}" }, "wrong queue": func(h *access.Hook) { h.Queue = "a b" },
		"secret of another form": func(h *access.Hook) { h.Scheme = "standard-webhooks" },
	} {
		h := hookOf("github", hookSecret)
		if change(h); h.Validate() == nil {
			t.Errorf("%s: %v", name, h.Validate())
		}
	}
	h := hookOf("github", hookSecret)
	h.Kind = "exec.run" // is named
	if p := h.Principal(); h.Validate() != nil || !p.MayAdd("mail", "exec.run") || p.MayAdd("mail", "exec.other") || p.MayAdd("web", "exec.run") || p.May(access.View, "mail") {
		t.Errorf("%v: %+v", h.Validate(), p)
	}
}
