package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/queue"
)

// A server is a running "skidway serve".
type server struct {
	*fixture
	url, token string
	process    *processtest.Process
}

// serve starts the server, with a token for scopes.
func (d *fixture) serve(scopes []string, args ...string) *server {
	d.Helper()
	p := start(d, d.TempDir(), append([]string{"serve", "--listen", "127.0.0.1:0", "--redis", d.url}, args...)...)
	d.Cleanup(func() { p.Signal(syscall.SIGTERM); _, _ = p.End() })
	p.Await("the API is served")
	return d.server(p, scopes)
}

// server returns the server of a process that serves the API, with a token for scopes.
func (d *fixture) server(p *processtest.Process, scopes []string) *server {
	d.Helper()
	_, address, found := strings.Cut(p.Output(), `msg="the API is served" address=http://`)
	if !found {
		d.Fatal(p.Output())
	}
	address, _, _ = strings.Cut(address, "/")
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
	return &server{d, "http://" + address, token, p}
}

// request returns a request with the token.
func (s *server) request(method, path, body string) *http.Request {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do sends a request with the token and returns the status and the answer.
func (s *server) do(method, path, body string) (int, string) {
	s.Helper()
	return s.send(s.request(method, path, body))
}

// into decodes the answer to a request of the API, which must have a status.
func (s *server) into(value any, method, path, body string, status int) {
	s.Helper()
	code, text := s.do(method, "/api/v1"+path, body)
	for tries := 0; code == http.StatusTooManyRequests && tries < 100; tries++ { // the searches of a busy machine seem to take long
		code, text = s.do(method, "/api/v1"+path, body)
	}
	if code != status {
		s.Fatalf("%s %s: %d, want %d: %s", method, path, code, status, text)
	}
	put(s, json.Unmarshal([]byte(text), value))
}

// send sends a request and returns the status and the answer.
func (s *server) send(r *http.Request) (int, string) {
	s.Helper()
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
	_, secret, _ := strings.Cut(strings.TrimPrefix(s.token, "skd_"), "_") // which may contain "_" itself
	if strings.Contains(s.process.Output(), secret) {
		t.Errorf("the token is in the log: %s", s.process.Output())
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

func TestWorkerServesTheAPIAndTheDashboard(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := d.workerFixture(waits+"queues: [{name: mail}]\n", "--serve", "127.0.0.1:0", "--dash", "127.0.0.1:0", "--queue-metrics", "--base-path", "/skidway")
	s := d.server(w.worker, []string{"view:*", "enqueue:mail:exec.run"})
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/api/v1/queues": 200, "/nothing": 404} {
		if code, text := s.do("GET", "/skidway"+path, ""); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, text, want)
		}
	}
	if code, text := s.do("POST", "/skidway/api/v1/queues/mail/jobs", `{"kind":"exec.run","args":{"command":"waits"}}`); code != 201 {
		t.Errorf("%d %s", code, text)
	}
	if _, err := os.ReadFile(filepath.Join(filepath.Dir(w.file), "runs")); err != nil { // the job runs
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	address := regexp.MustCompile(`http://\S+/login\S+`).FindString(w.worker.Output())
	for range 2 { // the first one logs in
		response, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if address = response.Request.URL.String(); response.StatusCode != 200 || !strings.HasSuffix(address, "/skidway/") {
			t.Errorf("%s: %d", address, response.StatusCode)
		}
	}
	w.worker.Signal(syscall.SIGTERM)
	w.worker.Await("stopping")
	if code, text := s.do("GET", "/skidway/readyz", ""); code != 503 {
		t.Errorf("ready while it stops: %d %s", code, text)
	}
	w.end()
	if output, code := w.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
}

func TestFlagsThatHaveNoEffectAreRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.ends(d.run("worker", "--users", "users.yaml"), 2, "--users is for a server")
	d.ends(d.run("worker", "--serve", "0.0.0.0:0"), 2, "needs --tls-cert")
	d.ends(d.run("worker", "--dash", "0.0.0.0:0", "--behind-tls"), 2, "needs --users")
	d.ends(d.run("dash", "--demo", "--redis", "redis://127.0.0.1"), 2, "--demo has a Redis of its own")
	for _, flags := range [][]string{{"--listen", "0.0.0.0:0"}, {"--listen", ":0"}, {"--users", "users.yaml"}} {
		d.ends(inProcess(t, append([]string{"dash", "--demo"}, flags...)), 2, "--demo is for this machine")
	}
}

func TestServeTakesDeliveriesToHooks(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	folder := t.TempDir()
	write(t, folder, "secret", "0123456789abcdef\n")
	file := func(secret string) string {
		write(t, folder, "hooks.yaml", "hooks: [{name: ci, scheme: github, secrets: ['"+secret+"'], queue: ci, kind: ci.push}]\n")
		return filepath.Join(folder, "hooks.yaml")
	}
	hooks := file("0123456789abcdef")
	d.ends(d.run("serve", "--hooks", hooks), 2, "write @FILE")
	hooks = file("@" + filepath.Join(folder, "secret"))
	d.ends(d.run("worker", "--dash", "127.0.0.1:0", "--hooks", hooks), 2, "give --serve too")
	d.ends(d.run("serve", "--read-only", "--hooks", hooks), 2, "give --hooks or --read-only")
	s := d.serve([]string{"view:*"}, "--hooks", hooks)
	if code, text := s.do("POST", "/hooks/ci", "{}"); code != 401 {
		t.Errorf("without a signature: %d %s", code, text)
	}
	mac := hmac.New(sha256.New, []byte("0123456789abcdef"))
	mac.Write([]byte("{}"))
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/hooks/ci", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if o := d.must("jobs", "list", "ci", "-o", "json"); response.StatusCode != 202 || !strings.Contains(o.stdout, "ci.push") {
		t.Errorf("%d: %s", response.StatusCode, o.stdout)
	}
}

func TestReadinessNamesFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	d, folder := newFixture(t), t.TempDir()
	secret := write(t, folder, "secret", "0123456789abcdef\n")
	hooks := write(t, folder, "hooks.yaml", "hooks: [{name: ci, scheme: github, secrets: ['@"+secret+"'], queue: ci, kind: ci.push}]\n")
	users := write(t, folder, "users.yaml", "users: []\n")
	s := d.serve([]string{"view:*"}, "--hooks", hooks, "--users", users)
	await := func(want string) {
		t.Helper()
		code, text := 0, ""
		for deadline := time.Now().Add(waitLimit); text != want; code, text = s.do("GET", "/readyz", "") {
			if time.Now().After(deadline) {
				t.Fatalf("%d %q, want %q", code, text, want)
			}
		}
		if code != 200 {
			t.Errorf("%q: %d", text, code) // it goes on with what the files had
		}
	}
	await("ready\n")
	write(t, folder, "users.yaml", "users: [")
	await("ready\nthe file of users is refused: see the log\n")
	write(t, folder, "hooks.yaml", "hooks: [")
	await("ready\nthe file of users is refused: see the log\nthe file of hooks is refused: see the log\n")
	write(t, folder, "users.yaml", "users: []\n")
	await("ready\nthe file of hooks is refused: see the log\n")
}

func TestKilledServerRepeatsNoRequestWithAKey(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		d.add("late", queue.Options{Delay: time.Hour})
	}
	proxy := redistest.StartProxy(t, d.url)
	behind := *d
	behind.url = proxy.URL
	token := ""
	serve := func() *server {
		p := start(t, t.TempDir(), "serve", "--listen", "127.0.0.1:0", "--redis", behind.url)
		p.Await("the API is served")
		s := behind.server(p, []string{"view:*", "enqueue:*", "operate:*"})
		token = cmp.Or(token, s.token) // keys are those of a token
		s.token = token
		return s
	}
	keyed := func(s *server, path, body, key string) *http.Request {
		r := s.request("POST", "/api/v1/queues/mail/"+path, body)
		r.Header.Set("Idempotency-Key", key)
		return r
	}
	const operation = `{"action":"cancel","state":"delayed","match":"kind == \"late\""}`
	for _, c := range []struct{ path, body, reply string }{
		{"jobs", `{"kind":"news"}`, "ok"},
		{"jobs", `{"kind":"news","in":"1h"}`, "ok"},
		{"operations", operation, "began"},
	} {
		s := serve()
		if code, text := s.send(keyed(s, "jobs", `{"kind":"first"}`, "first")); code > 201 { // the scripts are known
			t.Fatal(code, text)
		}
		held := proxy.HoldReply("eval", c.reply)
		lost := keyed(s, c.path, c.body, c.path+c.body)
		ended := make(chan error, 1)
		go func() {
			_, err := http.DefaultClient.Do(lost)
			ended <- err
		}()
		<-held.Held() // Redis has done it
		s.process.Kill()
		held.Drop()
		if err := <-ended; err == nil {
			t.Error("a killed server answered")
		}
		s = serve()
		if code, text := s.send(keyed(s, c.path, c.body, c.path+c.body)); code != 200 {
			t.Errorf("%s again: %d %s", c.body, code, text)
		}
		if c.path != "operations" {
			continue
		}
		if err := d.client.DB().Redis().HSet(t.Context(), d.client.DB().Prefix()+":{mail:0}:operation", "until", 1).Err(); err != nil { // 15 s later
			t.Fatal(err)
		}
		code, text := s.send(keyed(s, c.path, c.body, c.path+c.body))
		var op operationJSON
		for err := json.Unmarshal([]byte(text), &op); op.Status != "done"; err = json.Unmarshal([]byte(text), &op) {
			if err != nil || code != 200 || op.Status != "running" {
				t.Fatal(code, text, err)
			}
			code, text = s.do("GET", "/api/v1/operations/"+op.ID, "")
		}
		if op.Changed != 3 {
			t.Errorf("%s", text)
		}
	}
	if waiting, delayed := d.kinds(queue.Waiting), d.kinds(queue.Delayed); waiting != "first news" || delayed != "news" {
		t.Errorf("waiting: %q, delayed: %q", waiting, delayed)
	}
}

func TestServeWithTLSIsLoggedOnlyIfTheCertificateIsGood(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	known := httptest.NewTLSServer(http.NotFoundHandler()) // whose client trusts the certificate
	defer known.Close()
	pair := known.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	put(t, err)
	folder := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}, "bad.pem": {Type: "CERTIFICATE", Bytes: []byte("none")}} {
		put(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600))
	}
	for _, bad := range []string{"bad.pem", "missing.pem"} {
		for _, command := range [][]string{{"serve", "--listen"}, {"worker", "--serve"}} {
			o := d.run(append(command, "127.0.0.1:0", "--tls-cert", filepath.Join(folder, bad), "--tls-key", filepath.Join(folder, "key.pem"))...)
			if o.code == 0 || strings.Contains(o.stderr, "the API is served") || !strings.Contains(o.stderr, "listen: ") {
				t.Errorf("%v with %s: %+v", command, bad, o)
			}
		}
	}
	p := start(d, folder, "serve", "--listen", "127.0.0.1:0", "--redis", d.url, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	d.Cleanup(func() { p.Signal(syscall.SIGTERM); _, _ = p.End() })
	p.Await("the API is served")
	_, address, _ := strings.Cut(p.Output(), "address=https://")
	address, _, _ = strings.Cut(address, "/")
	answer, err := known.Client().Get("https://" + address + "/readyz")
	put(t, err)
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != 200 {
		t.Errorf("%+v", answer)
	}
}
