package api_test

import (
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

	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

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
