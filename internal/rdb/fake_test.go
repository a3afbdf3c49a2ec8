package rdb_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// serve accepts connections on a socket of the test's own until the test ends.
func serve(t *testing.T, listener net.Listener, handle func(net.Conn)) {
	t.Helper()
	var conns sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			conns.Go(func() { defer func() { _ = conn.Close() }(); handle(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		conns.Wait()
	})
}

func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return listener, path
}

// fake starts a server that replies with the results of a function, in RESP, and
// returns its URL. It knows PING; what the function answers with "" is unknown,
// and [hangUp] ends the connection.
func fake(t *testing.T, answer func(command string) string) string {
	t.Helper()
	listener, path := listen(t)
	serve(t, listener, func(conn net.Conn) {
		for requests := bufio.NewReader(conn); ; {
			command, err := readCommand(requests)
			if err != nil {
				return
			}
			reply := answer(command)
			switch {
			case reply == hangUp:
				return
			case reply != "":
			case command == "PING":
				reply = "+PONG\r\n"
			default:
				reply = "-ERR unknown command\r\n"
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
	return "unix://" + path
}

// hangUp as the reply of a fake server ends the connection.
const hangUp = "hang up"

// bulk returns a text as a reply in RESP.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// readCommand reads a request and returns its first word.
func readCommand(requests *bufio.Reader) (string, error) {
	var words, size int
	if _, err := fmt.Fscanf(requests, "*%d\r\n", &words); err != nil {
		return "", err
	}
	var name string
	for i := range words {
		if _, err := fmt.Fscanf(requests, "$%d\r\n", &size); err != nil {
			return "", err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(requests, word); err != nil {
			return "", err
		}
		if i == 0 {
			name = strings.ToUpper(string(word[:size]))
		}
	}
	return name, nil
}

// A proxy stands before a real server and can lose an answer.
type proxy struct {
	mu     sync.Mutex
	marker string
	seen   int
}

// through forwards from listener to a real server.
func through(t *testing.T, listener net.Listener, network, addr string) *proxy {
	t.Helper()
	p := &proxy{}
	serve(t, listener, func(client net.Conn) {
		server, err := net.Dial(network, addr)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		requests := make(chan struct{}) // closed when no more of them come
		cut := make(chan struct{}, 1)
		go func() {
			defer close(requests)
			defer func() { _ = server.Close() }()
			for block := make([]byte, 64<<10); ; {
				n, err := client.Read(block)
				if p.matches(block[:n]) {
					cut <- struct{}{}
				}
				if err != nil {
					return
				}
				if _, err := server.Write(block[:n]); err != nil {
					return
				}
			}
		}()
		for block := make([]byte, 64<<10); ; {
			n, err := server.Read(block)
			if err != nil {
				break
			}
			select {
			case <-cut: // the request was run; its answer is lost
				_ = client.Close()
			default:
				_, _ = client.Write(block[:n])
			}
		}
		_ = client.Close()
		<-requests
	})
	return p
}

// lose makes the proxy lose the answer to the next request that holds marker,
// and count those requests.
func (p *proxy) lose(marker string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.seen = marker, 0
}

// requests is how many requests with the marker came since lose.
func (p *proxy) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

func (p *proxy) matches(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marker == "" || !strings.Contains(string(request), p.marker) {
		return false
	}
	p.seen++
	return p.seen == 1
}
