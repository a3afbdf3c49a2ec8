package request_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/request"
	"skidway/workers/workerstest"
)

// serve starts a server that ends with the test, and returns its URL.
func serve(t *testing.T, host string, handler http.HandlerFunc) string {
	t.Helper()
	return serveAt(t, host+":0", handler)
}

func serveAt(t *testing.T, address string, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// inside returns a Client that may reach this host.
func inside(t *testing.T, config request.Config) *request.Client {
	config.AllowPrivate = true
	h := request.New(config)
	t.Cleanup(h.Close)
	return h
}

func resultOf(t *testing.T, outcome workerstest.Outcome) (result request.Result) {
	t.Helper()
	if outcome.Disposition != queue.AttemptSucceeded {
		t.Fatal(outcome)
	}
	if err := json.Unmarshal(outcome.Result, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestErrorsDoNotShowThePathOfAURL(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refusing.Close)
	h := request.New(request.Config{AllowPrivate: true})
	t.Cleanup(h.Close)
	for _, url := range []string{refusing.URL + "/services/T0SECRET", "http://127.0.0.1:1/bot1:T0SECRET/send?key=T0SECRET"} {
		if _, _, err := h.Fetch(t.Context(), url, 1000); err == nil || strings.Contains(err.Error(), "T0SECRET") || !strings.Contains(err.Error(), "/…") {
			t.Errorf("%v", err)
		}
	}
}

func TestRequestIsThatOfItsArgs(t *testing.T) {
	t.Parallel()
	type seen struct {
		method, path, host, body string
		header                   http.Header
	}
	requests := make(chan seen, 1)
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Method, r.URL.String(), r.Host, string(body), r.Header}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Request-Id", "r1")
		w.Header().Set("Set-Cookie", "secret")
		io.WriteString(w, "hello")
	})
	h := inside(t, request.Config{})

	outcome := do(t, h, request.Args{URL: server + "/a?b=c", JSON: json.RawMessage(`{"n":12345678901234567890}`), Headers: map[string]string{"host": "shop.test", "X-A": "b"}})
	got := <-requests
	if got.method != "POST" || got.path != "/a?b=c" || got.host != "shop.test" || got.body != `{"n":12345678901234567890}` ||
		got.header.Get("Content-Type") != "application/json" || got.header.Get("X-A") != "b" || !strings.HasPrefix(got.header.Get("Idempotency-Key"), outcome.Job.ID+".") {
		t.Errorf("%+v", got)
	}
	result := resultOf(t, outcome)
	if result.Status != 200 || result.Body != "hello" || len(result.Headers) != 2 || result.Headers["X-Request-Id"] != "r1" {
		t.Errorf("%+v", result)
	}

	resultOf(t, do(t, h, request.Args{Method: "PUT", URL: server, Body: "b", Headers: map[string]string{"idempotency-key": "mine"}}))
	if got := <-requests; got.method != "PUT" || got.body != "b" || got.header.Get("Idempotency-Key") != "mine" {
		t.Errorf("%+v", got)
	}
	resultOf(t, do(t, h, request.Args{URL: server}))
	if got := <-requests; got.method != "GET" || got.body != "" {
		t.Errorf("%+v", got)
	}
}

func TestStatusDecidesTheOutcome(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if after := r.URL.Query().Get("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		status, _ := strconv.Atoi(r.URL.Path[1:])
		if status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		io.WriteString(w, " the server's words ")
	})
	h := inside(t, request.Config{})
	only := func(from, to int) []request.StatusRange { return []request.StatusRange{{From: from, To: to}} }
	for name, c := range map[string]struct {
		path   string
		expect []request.StatusRange
		as     queue.Disposition
		wait   time.Duration // zero: by the policy
		want   string
	}{
		"success":                        {"200", nil, queue.AttemptSucceeded, 0, ""},
		"other success":                  {"299", nil, queue.AttemptSucceeded, 0, ""},
		"expected":                       {"404", only(404, 404), queue.AttemptSucceeded, 0, ""},
		"expected redirect":              {"302", only(300, 399), queue.AttemptSucceeded, 0, ""},
		"not the expected one":           {"200", only(201, 204), queue.AttemptDead, 0, "200 OK"},
		"refused":                        {"422", nil, queue.AttemptDead, 0, `422 Unprocessable Entity: "the server's words"`},
		"redirect":                       {"302", nil, queue.AttemptDead, 0, "AllowRedirects"},
		"timeout":                        {"408", nil, queue.AttemptRetry, 0, "408"},
		"too early":                      {"425", nil, queue.AttemptRetry, 0, "425"},
		"too many":                       {"429", nil, queue.AttemptRetry, 0, "429"},
		"too many, with a wait":          {"429?after=77", nil, queue.AttemptRetry, 77 * time.Second, "429"},
		"error":                          {"500", nil, queue.AttemptRetry, 0, `"the server's words"`},
		"away, with a wait":              {"503?after=120", nil, queue.AttemptRetry, 2 * time.Minute, "503"},
		"away, with much too long waits": {"503?after=9999999999", nil, queue.AttemptRetry, request.MaxRetryAfter, "503"},
		"away, at once again":            {"503?after=0", nil, queue.AttemptRetry, 0, "503"},
		"away, with a wait of nonsense":  {"503?after=soon", nil, queue.AttemptRetry, 0, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := do(t, h, request.Args{URL: server + "/" + c.path, Expect: c.expect})
			if outcome.Disposition != c.as || !strings.Contains(outcome.Reason, c.want) || c.wait > 0 && outcome.Wait != c.wait {
				t.Error(outcome)
			}
			if c.as == queue.AttemptRetry && outcome.Wait <= 0 {
				t.Errorf("it waits for %s", outcome.Wait)
			}
			if strings.Contains(outcome.Reason, "?") {
				t.Errorf("the error shows the query: %s", outcome.Reason)
			}
		})
	}
}

func TestNetworkErrorsAreRetried(t *testing.T) {
	t.Parallel()
	h := inside(t, request.Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	dropped := serve(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	cut := serve(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "the beginning")
	})
	for name, address := range map[string]string{"no server": "http://" + listener.Addr().String(), "dropped": dropped, "broken off": cut} {
		if outcome := do(t, h, request.Args{URL: address}); outcome.Disposition != queue.AttemptRetry {
			t.Errorf("%s: %s", name, outcome)
		}
	}
}

func TestRequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := serve(t, "127.0.0.1", func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	h := inside(t, request.Config{})
	handler := func(ctx context.Context, job *queue.Job) error {
		go func() {
			<-asked
			workerstest.Interrupt(ctx, workers.ErrTimeout)
		}()
		return workers.Typed(h.Do)(ctx, job)
	}
	outcome := workerstest.Run(t, handler, workerstest.Job{Args: request.Args{URL: server}})
	if outcome.Disposition != queue.AttemptRetry || !errors.Is(outcome.Err, workers.ErrTimeout) {
		t.Error(outcome)
	}
}

func TestResultIsBounded(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		text := []byte("é")
		if r.URL.Path == "/binary" {
			text = []byte{0xff, 0}
		}
		io.WriteString(w, "x")
		for r.Context().Err() == nil { // without end
			if _, err := w.Write(bytes.Repeat(text, 1000)); err != nil {
				return
			}
		}
	})
	h := inside(t, request.Config{})
	result := resultOf(t, do(t, h, request.Args{URL: server}))
	if n := len(result.Body); n != request.MaxBody-1 || !result.Truncated || !strings.HasSuffix(result.Body, "é") {
		t.Errorf("%d bytes, truncated %t", n, result.Truncated)
	}
	result = resultOf(t, do(t, h, request.Args{URL: server + "/binary"}))
	if n := len(result.Bytes); n != request.MaxBody || result.Body != "" {
		t.Errorf("%d bytes, body %.20q", n, result.Body)
	}
}

func TestUnknownSecretIsDeadAndTheKnownOnesAreListed(t *testing.T) {
	t.Parallel()
	h := inside(t, request.Config{Secrets: map[string]string{"shop": "hidden", "crm": "hidden"}})
	outcome := do(t, h, request.Args{URL: "http://127.0.0.1:1", Sign: "shp"})
	if outcome.Disposition != queue.AttemptDead || !strings.Contains(outcome.Reason, "crm, shop") || strings.Contains(outcome.Reason, "hidden") {
		t.Error(outcome)
	}
}

func TestConfiguredProxyDials(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	proxy, _ := url.Parse(serve(t, "127.0.0.1", func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.URL.String()) }))
	h := request.New(request.Config{Proxy: proxy})
	defer h.Close()
	resultOf(t, do(t, h, request.Args{URL: "http://shop.test/a"}))
	if asked.Load() != "http://shop.test/a" {
		t.Error(asked.Load())
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:58:59 GMT")
	f.Fuzz(func(t *testing.T, after, date string) {
		wait := request.RetryAfter(http.Header{"Retry-After": {after}, "Date": {date}}, time.Now())
		if wait < 0 || wait > request.MaxRetryAfter {
			t.Errorf("%s", wait)
		}
	})
}

func TestRetryAfterADateIsMeasuredByTheServersClock(t *testing.T) {
	t.Parallel()
	header := http.Header{"Retry-After": {"Fri, 31 Dec 1999 23:59:59 GMT"}, "Date": {"Fri, 31 Dec 1999 23:58:59 GMT"}}
	if wait := request.RetryAfter(header, time.Now()); wait != time.Minute {
		t.Error(wait)
	}
	header.Del("Date")
	if wait := request.RetryAfter(header, time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC)); wait != 59*time.Second {
		t.Error(wait)
	}
}

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/csv")
		io.WriteString(w, "12345")
	})
	h := inside(t, request.Config{})
	data, contentType, err := h.Fetch(context.Background(), server, 5)
	if string(data) != "12345" || contentType != "text/csv" || err != nil {
		t.Errorf("%q %s %v", data, contentType, err)
	}
	for name, c := range map[string]struct{ url, want string }{
		"too large":   {server, "more than 4 bytes"},
		"not there":   {server + "/a", "404"},
		"no such URL": {"ftp://a", "want http"},
	} {
		handler := func(ctx context.Context, _ *queue.Job) error {
			_, _, err := h.Fetch(ctx, c.url, 4)
			return err
		}
		outcome := workerstest.Run(t, handler, workerstest.Job{Args: queue.Raw("k", nil)})
		if outcome.Disposition != queue.AttemptDead || !strings.Contains(outcome.Reason, c.want) {
			t.Errorf("%s: %s", name, outcome)
		}
	}
}

// A request that was once encrypted is not sent unencrypted after a redirect.
func TestRedirectsNeverLeaveEncryption(t *testing.T) {
	t.Parallel()
	at := func(url string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	h := request.New(request.Config{AllowRedirects: true})
	if err := h.Redirect(at("http://a/"), at("http://a/"), at("https://a/")); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("http, https, http: %v", err)
	}
	if err := h.Redirect(at("https://a/"), at("http://a/")); err != nil {
		t.Errorf("http, https: %v", err)
	}
}

func TestRedirectsToOtherHostsCarryNothingOfTheJob(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 10)
	other := serve(t, "127.0.0.2", func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header })
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		} else if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
		} else {
			headers <- r.Header
			http.Redirect(w, r, "/away", http.StatusTemporaryRedirect)
		}
	})
	h := inside(t, request.Config{AllowRedirects: true, Secrets: map[string]string{"shop": "s"}})
	resultOf(t, do(t, h, request.Args{URL: server + "/?secret=1", Body: "b", Sign: "shop", Headers: map[string]string{"X-Token": "t", "Authorization": "a"}}))
	if first := <-headers; first.Get("X-Token") != "t" || first.Get("Skidway-Signature") == "" {
		t.Errorf("%v", first)
	}
	if second := <-headers; second.Get("X-Token")+second.Get("Authorization")+second.Get("Skidway-Signature")+second.Get("Idempotency-Key")+second.Get("Referer") != "" {
		t.Errorf("%v", second)
	}
	if outcome := do(t, h, request.Args{URL: server + "/loop"}); outcome.Disposition != queue.AttemptDead || !strings.Contains(outcome.Reason, "more than 10") {
		t.Error(outcome)
	}
}

func TestRedirectsWithoutTheBodyCarryNoSignature(t *testing.T) {
	t.Parallel()
	type seen struct{ method, body, signature string }
	requests := make(chan seen, 10)
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Method, string(body), r.Header.Get("Skidway-Signature")}
		if status, err := strconv.Atoi(r.URL.Path[1:]); err == nil {
			http.Redirect(w, r, "/then", status)
		} else if r.URL.Path == "/then" {
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		}
	})
	h := inside(t, request.Config{AllowRedirects: true, Secrets: map[string]string{"shop": "s"}})
	for _, c := range []struct {
		method string
		status int
		want   seen // without signature; empty: as the first request
	}{
		{"POST", http.StatusSeeOther, seen{method: "GET"}},
		{"PUT", http.StatusFound, seen{method: "GET"}},
		{"GET", http.StatusFound, seen{method: "GET"}},
		{"POST", http.StatusPermanentRedirect, seen{}},
	} {
		resultOf(t, do(t, h, request.Args{Method: c.method, URL: server + "/" + strconv.Itoa(c.status), Body: "b", Sign: "shop"}))
		first := <-requests
		if first.signature == "" || first.body != "b" {
			t.Errorf("%+v", first)
		}
		want := c.want
		if want == (seen{}) {
			want = first
		}
		for range 2 {
			if got := <-requests; got != want {
				t.Errorf("%s %d: %+v, want %+v", c.method, c.status, got, want)
			}
		}
	}
}
