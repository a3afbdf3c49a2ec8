package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

// TestSlowClientsAreBoundedByTime has clients that send a head or a body a byte at a time. A server drops the
// first after 5 s and answers the second after a minute; others are served meanwhile. What clients do not read is
// in the tests of package ops/api.
func TestSlowClientsAreBoundedByTime(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	s := d.serve([]string{"view:*", "enqueue:*"})
	address := strings.TrimPrefix(s.url, "http://")
	slow := func(head string) (c net.Conn, ended chan error) {
		t.Helper()
		c, err := net.Dial("tcp", address)
		put(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprint(c, head)
		put(t, err)
		ended = make(chan error, 1)
		go func() {
			for range time.Tick(500 * time.Millisecond) {
				if _, err := c.Write([]byte("x")); err != nil {
					ended <- err
					return
				}
			}
		}()
		return c, ended
	}
	var heads []chan error
	for range 20 {
		_, ended := slow("GET /api/v1/queues HTTP/1.1\r\nX-Slow: ")
		heads = append(heads, ended)
	}
	bodies := map[int]chan *http.Response{}
	for status, token := range map[int]string{http.StatusBadRequest: s.token, http.StatusUnauthorized: "skd_none_none"} {
		body, _ := slow("POST /api/v1/queues/mail/jobs HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
		answered := make(chan *http.Response, 1)
		go func() {
			defer close(answered)
			if answer, err := http.ReadResponse(bufio.NewReader(body), nil); err == nil {
				answered <- answer
			}
		}()
		bodies[status] = answered
	}
	served := func() {
		t.Helper()
		if code, text := s.do("GET", "/api/v1/queues", ""); code != 200 {
			t.Errorf("%d %s", code, text)
		}
	}
	served()
	limit := time.After(3 * time.Minute)
	for i, head := range heads {
		select {
		case <-head:
		case <-limit:
			t.Fatalf("client %d may send its head for ever", i)
		}
	}
	served()
	for status, answered := range bodies {
		select {
		case answer := <-answered: // nil if the connection is only closed
			if answer != nil && answer.StatusCode != status {
				t.Errorf("a body that is too slow is answered %d, want %d", answer.StatusCode, status)
			}
		case <-limit:
			t.Fatalf("a client that is answered %d may send its body for ever", status)
		}
	}
	served()
}
