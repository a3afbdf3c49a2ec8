package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

func TestScaleCountsWorkersForTheBacklog(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for range 5 {
		f.add("mail", "news", `1`)
	}
	soon := queue.Options{Queue: "mail", Delay: 30 * time.Second}
	late := queue.Options{Queue: "mail", Delay: time.Hour}
	for _, options := range []queue.Options{soon, late} {
		_, err := f.queues.Enqueue(f.Context(), queue.Raw("news", []byte("1")), &options)
		f.must(err)
	}
	scaler := f.as("scale:mail")
	scale := into[api.Scale](scaler.do("GET", "/scale?queue=mail&per_worker=4", nil, 200))
	if scale.Backlog != 6 || scale.Active != 0 || scale.Wanted != 2 || scale.Oldest == 0 {
		t.Errorf("%+v", scale)
	}
	f.add("mail", "news", `1`)
	if again := into[api.Scale](scaler.do("GET", "/scale?queue=mail&per_worker=4", nil, 200)); again != scale {
		t.Errorf("%+v is not remembered", again)
	}
	f.do("POST", "/queues/mail/pause", nil, 200)
	if paused := into[api.Scale](scaler.do("GET", "/scale?queue=mail&per_worker=1", nil, 200)); paused.Wanted != 0 || paused.Backlog != 7 {
		t.Errorf("%+v", paused)
	}
	scaler.do("GET", "/scale?queue=other", nil, 403).problem("forbidden")
	scaler.do("GET", "/scale?channel=web&subscriber=s", nil, 403).problem("forbidden")
	f.as("scale:*").do("GET", "/scale?queue=none", nil, 404).problem("no-queue")
	f.as("scale:*").do("GET", "/scale", nil, 400).problem("invalid")
	channel, err := distribute.Open(f.Context(), handle.New(f.db), "web")
	f.must(err)
	f.must(channel.Subscribe(f.Context(), "s", ""))
	if scale := into[api.Scale](f.as("scale:*").do("GET", "/scale?channel=web&subscriber=s", nil, 200)); scale.Wanted != 0 {
		t.Errorf("%+v", scale)
	}
	f.as("scale:*").do("GET", "/scale?channel=web&subscriber=none", nil, 404).problem("not-found")
}

func TestEventsAreStreamedAndContinued(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setupOn(t, db, api.Config{})
		f.add("mail", "news", `1`)
		f.do("GET", "/events?queue=mail", nil, 409).problem("events-off")
		q, err := f.queues.Queue("mail")
		f.must(err)
		f.must(q.KeepEvents(f.Context(), 100))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.handler.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), f.principal())))
		}))
		defer server.Close()
		open := func(after string) (next func() string, response *http.Response) {
			r, err := http.NewRequestWithContext(f.Context(), "GET", server.URL+"/api/v1/events?queue=mail", nil)
			f.must(err)
			r.Header.Set("Last-Event-ID", after)
			response, err = http.DefaultClient.Do(r)
			f.must(err)
			lines, inEvent := bufio.NewScanner(response.Body), false
			return func() string {
				for lines.Scan() {
					begins := strings.HasPrefix(lines.Text(), "event: ")
					if inEvent = lines.Text() != "" && (inEvent || begins); inEvent {
						return lines.Text()
					}
				}
				return "the end"
			}, response
		}
		next, response := open("")
		if response.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%v", response.Header)
		}
		id := f.add("mail", "news", `2`)
		kind, cursor, data := next(), next(), next()
		if kind != "event: enqueued" || !strings.Contains(data, id) {
			t.Errorf("%q %q %q", kind, cursor, data)
		}
		second, third := f.add("mail", "news", `3`), f.add("mail", "news", `4`)
		for _, want := range []string{second, third} { // both are in the first batch
			again, response := open(strings.TrimPrefix(cursor, "id: "))
			if _, cursor, data = again(), again(), again(); !strings.Contains(data, want) {
				t.Errorf("%q, want %s", data, want)
			}
			_ = response.Body.Close()
		}
		f.do("HEAD", "/events?queue=mail", nil, 200)
		f.as("view:other").do("GET", "/events?queue=mail", nil, 403).problem("forbidden")
		f.handler.Close()
		for end := next(); end != "the end"; end = next() {
			if strings.HasPrefix(end, "event: ") && end != "event: enqueued" {
				t.Errorf("%q", end)
			}
		}
	})
}

func TestStreamEndsWhenItsTokenIsRevoked(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	tokens := access.NewTokens(handle.New(db))
	text, token, err := tokens.Create(t.Context(), access.Token{Name: "shop", Scopes: []access.Scope{{Action: access.View, Queue: "mail"}}, By: "test"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	f := setupOn(t, db, api.Config{Authorize: func(r *http.Request) (*access.Principal, error) {
		return access.NewTokens(handle.New(db)).Authenticate(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) // which remembers nothing
	}})
	f.handler.AskAlways()
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.add("mail", "news", `1`)
	f.must(q.KeepEvents(f.Context(), 100))
	server := httptest.NewServer(f.handler)
	defer server.Close()
	r, err := http.NewRequestWithContext(f.Context(), "GET", server.URL+"/api/v1/events?queue=mail", nil)
	f.must(err)
	r.Header.Set("Authorization", "Bearer "+text)
	response, err := http.DefaultClient.Do(r)
	f.must(err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	next := func() (event bool) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event: ") {
				return true
			}
		}
		return false
	}
	f.add("mail", "news", `2`)
	if !next() {
		t.Fatal("the stream ended before the token was revoked")
	}
	f.must(tokens.Revoke(f.Context(), token.ID))
	f.add("mail", "news", `3`)
	if next() {
		t.Error("an event was sent after the token was revoked")
	}
}

func TestPrincipalHasOnlySomeStreams(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `1`)
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.must(q.KeepEvents(f.Context(), 100))
	ctx, cancel := context.WithCancel(f.Context())
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	begin := func(name string) int {
		p := f.principal()
		p.ID, p.Name = name, name
		began := make(chan int, 1)
		r := f.request("GET", "/api/v1/events?queue=mail", nil)
		r = r.WithContext(access.NewContext(ctx, p))
		open.Go(func() { f.handler.ServeHTTP(starts{httptest.NewRecorder(), began}, r) })
		return <-began
	}
	for range api.MaxStreamsEach {
		if status := begin("greedy"); status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if greedy, other := begin("greedy"), begin("other"); greedy != 429 || other != 200 {
		t.Errorf("status %d, and %d for another principal", greedy, other)
	}
}

// starts sends the status of an answer when it begins.
type starts struct {
	*httptest.ResponseRecorder
	began chan<- int
}

func (s starts) WriteHeader(status int) {
	s.ResponseRecorder.WriteHeader(status)
	s.began <- status
}

func TestSecretsAreHiddenAndCopiesNeedReveal(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setupOn(t, db, api.Config{})
		id := f.add("mail", "news", `{"to":"ada","token":"hush"}`)
		for _, path := range []string{"/jobs/" + id, "/queues/mail/jobs", "/jobs/" + id + "?wait=1ms"} {
			if a := f.do("GET", path, nil, 200); strings.Contains(a.text, "hush") || !strings.Contains(a.text, "[hidden]") {
				t.Errorf("%s: %s", path, a.text)
			}
		}
		f.do("POST", "/jobs/"+id+"/copy", nil, 403).problem("forbidden")
		copied := into[api.Added](f.as("view:*", "operate:*", "enqueue:*", "reveal:*").do("POST", "/jobs/"+id+"/copy", `{"args":{"to":"bob","token":"[hidden]"}}`, 201)).ID
		if rows := into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items; len(rows) != 1 || rows[0].Action != "reveal" || rows[0].Filter != "id == "+id {
			f.Errorf("the audit has %+v", rows)
		}
		job, err := f.queues.Get(f.Context(), copied)
		f.must(err)
		if string(job.Args) != `{"to":"bob","token":"hush"}` {
			t.Errorf("%s", job.Args)
		}
		f.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily","kind":"news","args":{"token":"hush"}}`, 200)
		if a := f.do("GET", "/queues/mail/schedules", nil, 200); strings.Contains(a.text, "hush") {
			t.Errorf("%s", a.text)
		}
		f.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily","kind":"news","args":{"token":"[hidden]"}}`, 400).problem("invalid")
		f.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily","kind":"news","headers":{"token":"[hidden]"}}`, 400).problem("invalid")
	})
}

func TestCopyKeepsHiddenHeaders(t *testing.T) {
	t.Parallel()
	f := setup(t).as("view:*", "operate:*", "enqueue:*", "reveal:*")
	id := into[api.Added](f.do("POST", "/queues/mail/jobs", `{"kind":"news","headers":{"token":"hush","a":"b"}}`, 201)).ID
	copied := into[api.Added](f.do("POST", "/jobs/"+id+"/copy", `{"headers":{"token":"[hidden]","a":"c"}}`, 201)).ID
	job, err := f.queues.Get(f.Context(), copied)
	f.must(err)
	if job.Headers["token"] != "hush" || job.Headers["a"] != "c" {
		t.Errorf("%v", job.Headers)
	}
	f.do("POST", "/jobs/"+id+"/copy", `{"headers":{"secret":"[hidden]"}}`, 400).problem("invalid")
}

// A streamServer is a server of streams of the queue mail, of a principal that each request names.
type streamServer struct {
	*fixture
	server *httptest.Server
	queue  *queue.Queue
}

func newStreamServer(t *testing.T, listener net.Listener) *streamServer {
	t.Helper()
	var f *fixture
	f = setupOn(t, redistest.DB(t), api.Config{Authorize: func(r *http.Request) (*access.Principal, error) {
		p := f.principal()
		p.ID, p.Name = r.Header.Get("Principal"), r.Header.Get("Principal")
		return p, nil
	}})
	f.add("mail", "news", `{}`)
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.must(q.KeepEvents(t.Context(), 1000))
	s := &streamServer{f, httptest.NewUnstartedServer(f.handler), q}
	if listener != nil {
		_ = s.server.Listener.Close()
		s.server.Listener = listener
	}
	s.server.Start()
	t.Cleanup(s.server.Close)
	t.Cleanup(f.handler.Close) // before: the server waits for its streams
	return s
}

// get sends a request of a principal.
func (s *streamServer) get(ctx context.Context, client *http.Client, principal, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", s.server.URL+"/api/v1"+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Principal", principal)
	return client.Do(r)
}

func TestOfVeryManyStreamsOnlySomeAreOpened(t *testing.T) {
	t.Parallel()
	s := newStreamServer(t, nil)
	const streams = 2000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: streams, MaxIdleConnsPerHost: streams}} // one connection each
	var mu sync.Mutex
	open, refused := 0, 0
	var others []string
	var asked, served sync.WaitGroup
	for i := range streams {
		asked.Add(1)
		served.Go(func() {
			answer, err := s.get(ctx, client, fmt.Sprint("p", i), "/events?queue=mail")
			var text []byte
			if err == nil {
				defer func() { _ = answer.Body.Close() }()
				if answer.StatusCode != http.StatusOK {
					text, _ = io.ReadAll(answer.Body)
				}
			}
			mu.Lock()
			switch {
			case err != nil:
				others = append(others, err.Error())
			case answer.StatusCode == http.StatusOK:
				open++
			case answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != "" && strings.Contains(string(text), "too many streams are open"):
				refused++
			default:
				others = append(others, fmt.Sprint(answer.StatusCode, " ", string(text)))
			}
			mu.Unlock()
			asked.Done()
			if err == nil && answer.StatusCode == http.StatusOK {
				_, _ = io.Copy(io.Discard, answer.Body) // until the end
			}
		})
	}
	asked.Wait()
	if open != api.MaxStreams || refused != streams-api.MaxStreams {
		t.Errorf("%d streams are open, %d refused, others: %.500q", open, refused, others)
	}
	if answer, err := s.get(ctx, client, "other", "/queues/mail"); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("another request: %v, %v", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	cancel()
	served.Wait()
	for deadline := time.Now().Add(time.Minute); ; { // they make room
		answer, err := s.get(t.Context(), client, "later", "/events?queue=mail")
		s.must(err)
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("streams whose clients have gone make no room")
		}
	}
}

// A smallListener accepts connections whose clients are slow soon, because the kernel keeps little for them.
type smallListener struct{ net.Listener }

func (l smallListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(4096))
	}
	return c, err
}

// silent sends a request to the server, and reads nothing of its answer.
func (s *streamServer) silent(path string) net.Conn {
	s.Helper()
	c, err := net.Dial("tcp", s.server.Listener.Addr().String())
	s.must(err)
	s.Cleanup(func() { _ = c.Close() })
	s.must(c.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(c, "GET /api/v1%s HTTP/1.1\r\nHost: localhost\r\nPrincipal: silent\r\nAccept: application/x-ndjson\r\n\r\n", path)
	s.must(err)
	return c
}

func TestClientsThatReadNothingAreDropped(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newStreamServer(t, smallListener{listener})
	s.handler.SetAnswerTime(10 * time.Second) // for others than streams
	for range 20 {
		s.add("mail", "news", `{"text":"`+strings.Repeat("x", 100_000)+`"}`)
	}
	export := s.silent("/queues/mail/jobs?state=waiting")
	for range api.MaxStreamsEach {
		s.silent("/events?queue=mail")
	}
	status := func(path string) int { // of a request by the same principal, which is served meanwhile
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		answer, err := s.get(ctx, http.DefaultClient, "silent", path)
		s.must(err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	deadline := time.Now().Add(2 * time.Minute)
	for status("/events?queue=mail") != http.StatusTooManyRequests { // all streams are open
		if time.Now().After(deadline) {
			t.Fatal("the streams are not opened")
		}
	}
	for status("/events?queue=mail") != http.StatusOK && time.Now().Before(deadline) {
		for range 100 {
			s.add("mail", "news", `{}`) // an event
		}
		if got := status("/queues/mail"); got != http.StatusOK {
			t.Errorf("another request is answered %d", got)
		}
	}
	if time.Now().After(deadline) {
		t.Error("no stream of a client that reads nothing is dropped")
	}
	s.must(export.SetReadDeadline(deadline))
	text, err := io.ReadAll(export)
	var late net.Error
	if strings.Contains(string(text), "\r\n0\r\n\r\n") || errors.As(err, &late) && late.Timeout() {
		t.Errorf("a client that did not read has got the whole answer, or waits: %d bytes, %v", len(text), err)
	}
}
