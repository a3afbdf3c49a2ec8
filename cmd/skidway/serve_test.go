package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/ops/access"
)

// A server is a running "skidway serve".
type server struct {
	*fixture
	url, token string
}

// serve starts the server, with a token for scopes.
func (d *fixture) serve(scopes []string, args ...string) *server {
	d.Helper()
	p := start(d, d.TempDir(), append([]string{"serve", "--listen", "127.0.0.1:0", "--redis", d.url}, args...)...)
	address := p.Await("the API is served")
	d.Cleanup(func() { p.Signal(syscall.SIGTERM); _, _ = p.End() })
	db, err := rdb.Open(d.Context(), d.url, rdb.Options{})
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	parsed, err := access.ParseScopes(scopes)
	if err != nil {
		d.Fatal(err)
	}
	token, _, err := access.NewTokens(handle.New(db)).Create(d.Context(), access.Token{Name: "test", Scopes: parsed, By: "test"}, time.Hour)
	if err != nil {
		d.Fatal(err)
	}
	_, address, _ = strings.Cut(address, "address=http://")
	address, _, _ = strings.Cut(address, "/")
	return &server{d, "http://" + address, token}
}

// do sends a request with the token and returns the status and the answer.
func (s *server) do(method, path, body string) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestServeAnswersTokens(t *testing.T) {
	t.Parallel()
	s := newFixture(t).serve([]string{"enqueue:mail:email.send", "view:*"}, "--queue-metrics", "--base-path", "/skidway")
	if code, text := s.do("POST", "/skidway/api/v1/queues/mail/jobs", `{"kind":"email.send","args":{"to":"a@example.com"}}`); code != 201 {
		t.Errorf("%d %s", code, text)
	}
	for path, want := range map[string]int{
		"/skidway/healthz": 200, "/skidway/readyz": 200, "/skidway/metrics": 200, "/skidway/api/v1/queues": 200, "/skidway/nothing": 404, "/api/v1/queues": 404, "/skidway/api/v1/audit": 403,
	} {
		if code, text := s.do("GET", path, ""); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, text, want)
		}
	}
	s.token = "skd_none_none"
	for path, want := range map[string]int{"/skidway/healthz": 200, "/skidway/readyz": 200, "/skidway/metrics": 401, "/skidway/api/v1/whoami": 401} {
		if code, text := s.do("GET", path, ""); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, text, want)
		}
	}
}

func TestServeRefusesOpenAddresses(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.ends(d.run("serve", "--listen", "0.0.0.0:0"), 2, "needs --tls-cert")
	d.ends(d.run("serve", "--listen", "nonsense"), 2, "want HOST:PORT")
}
