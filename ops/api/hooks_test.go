package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
)

const hookSecret = "0123456789abcdef"

var hookTime = time.Unix(1_800_000_000, 0)

// setupHooks returns a fixture with the hooks ci (github) and shop (stripe), whose bodies have at most 1 KiB.
func setupHooks(t testing.TB, db *rdb.DB) *fixture {
	hooks, err := access.NewHooks(
		access.Hook{Name: "ci", Scheme: "github", Secrets: []string{"an older secret, of 16", hookSecret}, Queue: "mail", Kind: "ci.push"},
		access.Hook{Name: "shop", Scheme: "stripe", Secrets: []string{hookSecret}, Queue: "shop", Kind: "exec.run"},
	)
	if err != nil {
		t.Fatal(err)
	}
	f := setupOn(t, db, api.Config{MaxPayload: 1 << 10, Hooks: hooks})
	f.handler.SetNow(hookTime)
	return f
}

// delivery returns a signed request to a hook, as a program that is not known sends it.
func (f *fixture) delivery(name, contentType, body string) *http.Request {
	sum := func(text string) string {
		m := hmac.New(sha256.New, []byte(hookSecret))
		m.Write([]byte(text))
		return hex.EncodeToString(m.Sum(nil))
	}
	r := httptest.NewRequestWithContext(f.Context(), "POST", "/hooks/"+name, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Hub-Signature-256", "sha256="+sum(body))
	r.Header.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", hookTime.Unix(), sum(fmt.Sprintf("%d.%s", hookTime.Unix(), body))))
	return r
}

func TestDeliveryBecomesAJobOnce(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setupHooks(t, db)
		const body = `{"ref":"main","n":9007199254740993,"a<b":true}`
		r := f.delivery("ci", "application/json; charset=utf-8", body)
		r.Header.Set("X-Github-Event", "push")
		r.Header.Set("Authorization", "Basic secret")
		r.Header.Set("Cookie", "secret")
		first := f.send(r, 202)
		id := into[api.Added](first).ID
		job, err := f.queues.Get(t.Context(), id)
		f.must(err)
		if want := `{"headers":{"content-type":"application/json; charset=utf-8","x-github-event":"push"},"body":` + body + `}`; job.Queue != "mail" || job.Kind != "ci.push" || string(job.Args) != want {
			t.Errorf("%s %s %s", job.Queue, job.Kind, job.Args)
		}
		again := f.send(f.delivery("ci", "application/json", body), 202)
		if into[api.Added](again).ID != id || !again.replayed() || first.replayed() || f.depth("mail").Waiting != 1 {
			t.Errorf("%s, %v, %+v", again.text, again.Header, f.depth("mail"))
		}
		f.send(f.delivery("ci", "application/json", body+" "), 202)
		f.send(f.delivery("shop", "text/plain", "a \"text\""), 202)
		if depth := f.depth("mail"); depth.Waiting != 2 {
			t.Errorf("%+v", depth)
		}
		if entries := into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items; len(entries) != 0 { // as for tokens
			t.Errorf("%+v", entries)
		}
	})
}

func TestDeliveriesAreRefused(t *testing.T) {
	t.Parallel()
	f := setupHooks(t, redistest.DB(t))
	wrong := f.delivery("ci", "application/json", "{}")
	wrong.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	get := f.delivery("ci", "application/json", "")
	get.Method = "GET"
	compressed := f.delivery("ci", "application/json", "{}")
	compressed.Header.Set("Content-Encoding", "gzip")
	chunked := f.delivery("ci", "text/plain", strings.Repeat("x", 2<<10))
	chunked.ContentLength = -1
	otherSite := f.delivery("ci", "text/plain", "x")
	otherSite.Header.Set("Origin", "https://example.com")
	for name, c := range map[string]struct {
		r       *http.Request
		status  int
		problem string
	}{
		"unknown hook": {f.delivery("none", "text/plain", "x"), 404, "not-found"}, "no name": {f.delivery("", "text/plain", "x"), 404, "not-found"}, "path": {f.delivery("ci/..", "text/plain", "x"), 404, "not-found"},
		"wrong signature": {wrong, 401, "unauthorized"}, "get": {get, 405, "method-not-allowed"}, "compressed": {compressed, 415, "wrong-type"},
		"large": {f.delivery("ci", "text/plain", strings.Repeat("x", 2<<10)), 413, "too-large"}, "large chunks": {chunked, 413, "too-large"},
		"large as JSON": {f.delivery("ci", "text/plain", strings.Repeat("\x01", 1000)), 413, "too-large"},
		"no JSON":       {f.delivery("ci", "application/json", "{"), 400, "invalid"}, "deep": {f.delivery("ci", "application/json", strings.Repeat("[", 100)+strings.Repeat("]", 100)), 400, "invalid"},
		"bytes": {f.delivery("ci", "text/plain", "\xff"), 400, "invalid"},
	} {
		a := f.send(c.r, c.status)
		if p := a.problem(c.problem); c.status == 401 && a.Header.Get("WWW-Authenticate") == "" || strings.Contains(p.Detail, hookSecret) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	entries := into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items
	if len(entries) != 1 || entries[0].Action != "hook" || entries[0].Queue != "mail" || entries[0].Filter != "hook ci" || entries[0].Outcome == "" {
		t.Errorf("the audit has %+v", entries)
	}
	f.handler.SetNow(hookTime.Add(6 * time.Minute))
	f.send(f.delivery("shop", "text/plain", "x"), 401).problem("unauthorized")
	if names, err := f.queues.Queues(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("jobs were added: %v, %v", names, err)
	}
	if _, err := access.NewHooks(access.Hook{Name: "ci", Scheme: "github", Secrets: []string{hookSecret}, Queue: "*", Kind: "k"}); err == nil {
		t.Error("a hook for all queues is possible")
	}
	if _, err := access.NewHooks(access.Hook{Name: "..", Scheme: "github", Secrets: []string{hookSecret}, Queue: "q", Kind: "k"}); err == nil {
		t.Error("a hook whose name means a folder is possible")
	}
}

func TestDeliveriesOfAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	f := setupHooks(t, redistest.DB(t))
	post := func(body io.Reader) int {
		recorder := httptest.NewRecorder()
		f.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(f.Context(), "POST", "/hooks/ci", body))
		return recorder.Code
	}
	release := make(chan struct{})
	codes := make(chan int, api.MaxDeliveriesEach)
	for range api.MaxDeliveriesEach {
		reading := make(chan struct{})
		go func() { codes <- post(&slowBody{reading, release}) }()
		<-reading
	}
	if code := post(strings.NewReader("")); code != http.StatusTooManyRequests {
		t.Errorf("one more: %d", code)
	}
	close(release)
	for range api.MaxDeliveriesEach {
		if code := <-codes; code != http.StatusUnauthorized {
			t.Errorf("%d", code)
		}
	}
	if code := post(strings.NewReader("")); code != http.StatusUnauthorized {
		t.Errorf("one after them: %d", code)
	}
}

// A slowBody is a body without content that ends when it is released.
type slowBody struct{ reading, release chan struct{} }

func (b *slowBody) Read([]byte) (int, error) {
	close(b.reading)
	<-b.release
	return 0, io.EOF
}

// FuzzDeliveries sends deliveries: without the secret none adds a job, with it none is answered with 500.
func FuzzDeliveries(f *testing.F) {
	f.Add("application/json", `{"a":[1]}`, "sha256=00", "t=1,v1=00")
	f.Add("text/plain", "\x00", "", "t=1800000000,v1=")
	s := setupHooks(f, redistest.DB(f))
	f.Fuzz(func(t *testing.T, contentType, body, github, stripe string) {
		s := s.in(t)
		for _, name := range []string{"ci", "shop"} {
			forged := s.delivery(name, contentType, body)
			forged.Header.Set("X-Hub-Signature-256", github)
			forged.Header.Set("Stripe-Signature", stripe)
			for r, want := range map[*http.Request][]int{forged: {401, 413}, s.delivery(name, contentType, body): {202, 400, 413}} {
				recorder := httptest.NewRecorder()
				s.handler.ServeHTTP(recorder, r)
				ok := false
				for _, code := range want {
					ok = ok || recorder.Code == code
				}
				if !ok {
					t.Errorf("%s %q: %d, want one of %v: %s%s", name, body, recorder.Code, want, recorder.Body, s.log)
				}
			}
		}
	})
}
