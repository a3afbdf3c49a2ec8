package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is a handler and the queues behind it.
type fixture struct {
	testing.TB
	db      *rdb.DB
	queues  *queue.Client
	handler *api.Handler
	log     *bytes.Buffer
	scopes  []string // of the principal of requests
}

// admin are the scopes that allow everything.
var admin = []string{"view:*", "operate:*", "enqueue:*", "admin:*"}

func setup(t testing.TB) *fixture { return setupOn(t, redistest.DB(t), api.Config{}) }

func setupOn(t testing.TB, db *rdb.DB, config api.Config) *fixture {
	t.Helper()
	f := &fixture{TB: t, db: db, log: &bytes.Buffer{}, scopes: admin}
	config.Logger = slog.New(slog.NewTextHandler(f.log, nil))
	var err error
	f.queues, err = queue.NewClient(handle.New(db), nil)
	f.must(err)
	f.handler, err = api.New(handle.New(db), config)
	f.must(err)
	t.Cleanup(f.handler.Close)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// as returns the fixture with another principal.
func (f *fixture) as(scopes ...string) *fixture {
	other := *f
	other.scopes = scopes
	return &other
}

// principal returns a principal with the scopes.
func (f *fixture) principal() *access.Principal {
	f.Helper()
	scopes, err := access.ParseScopes(f.scopes)
	f.must(err)
	return &access.Principal{Name: "robot", ID: "robot", Token: true, Proven: true, Scopes: scopes}
}

// An answer is what the handler answered.
type answer struct {
	*http.Response
	t    testing.TB
	text string
}

// request returns a request; a body that is no string is marshalled.
func (f *fixture) request(method, path string, body any) *http.Request {
	f.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		text, err := json.Marshal(body)
		f.must(err)
		reader = bytes.NewReader(text)
	}
	r := httptest.NewRequest(method, path, reader)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r.WithContext(access.NewContext(f.Context(), f.principal()))
}

// send serves a request, and compares the status of the answer.
func (f *fixture) send(r *http.Request, status int) answer {
	f.Helper()
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		f.must(err)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	recorder := httptest.NewRecorder()
	f.handler.ServeHTTP(recorder, r)
	for tries := 0; recorder.Code == http.StatusTooManyRequests && status != recorder.Code && tries < 100; tries++ { // the searches of a busy machine seem to take long
		recorder = httptest.NewRecorder()
		f.handler.ServeHTTP(recorder, r)
	}
	text := recorder.Body.String()
	if recorder.Code != status {
		f.Fatalf("%s %s: %d, want %d: %s%s", r.Method, r.URL, recorder.Code, status, text, f.log)
	}
	if status != http.StatusMethodNotAllowed && strings.HasPrefix(r.URL.Path, "/api/v1/") && !strings.Contains(text, `problem:not-found","title":"There is no such thing","status":404,"detail":"the API has`) {
		f.conforms(r, string(body), recorder.Result(), text)
	}
	return answer{recorder.Result(), f, text}
}

// do sends a request below /api/v1.
func (f *fixture) do(method, path string, body any, status int) answer {
	f.Helper()
	return f.send(f.request(method, "/api/v1"+path, body), status)
}

// into decodes the answer.
func into[T any](a answer) (value T) {
	a.t.Helper()
	decoder := json.NewDecoder(strings.NewReader(a.text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		a.t.Fatalf("%s: %v", a.text, err)
	}
	return value
}

// problem compares the problem in the answer.
func (a answer) problem(name string) api.Problem {
	a.t.Helper()
	p := into[api.Problem](a)
	if p.Name() != name || p.Status != a.StatusCode || a.Header.Get("Content-Type") != "application/problem+json" || p.Title == "" || p.Instance == "" {
		a.t.Errorf("problem %+v of type %q, want %s", p, a.Header.Get("Content-Type"), name)
	}
	return p
}

// add adds a job to a queue.
func (f *fixture) add(name, kind, args string) string {
	f.Helper()
	id, err := f.queues.Enqueue(f.Context(), queue.Raw(kind, []byte(args)), &queue.Options{Queue: name})
	f.must(err)
	return id
}
