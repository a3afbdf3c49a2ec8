package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// silentClient sends a request and reads nothing of its answer. The connection is closed with the test.
func silentClient(t *testing.T, address string) {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

// endless writes an answer that no buffer has room for, until a write fails.
func endless(w http.ResponseWriter) {
	for block := make([]byte, 1<<20); ; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestAnAnswerThatIsNotReadEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := httptest.NewServer(limitTimes(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		endless(w)
	}), time.Hour, 100*time.Millisecond))
	defer s.Close()
	silentClient(t, s.Listener.Addr().String())
	select {
	case <-ended:
	case <-time.After(time.Minute):
		s.CloseClientConnections()
		t.Error("the answer is still being written after a minute")
	}
}

func TestServersEndInOrderThoughAClientDoesNotRead(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	one := &server{
		Listener: listener, endStreams: func() {}, close: func() error { return nil },
		handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(started)
			endless(w)
		}),
	}
	servers := &Servers{list: []*server{one}, config: Config{Logger: slog.New(slog.DiscardHandler)}}
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- servers.Serve(t.Context(), stopping) }()
	silentClient(t, listener.Addr().String())
	<-started
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the servers do not end")
	}
}
