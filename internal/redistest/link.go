package redistest

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// A conn can end one direction and leave the other open.
type conn interface {
	net.Conn
	CloseWrite() error
}

// A link is one connection through a [Proxy]. It has one goroutine for each
// direction, and ends when both have: a client that leaves still has carried
// out what it sent, as behind any network.
type link struct {
	proxy          *Proxy
	client, server conn

	left atomic.Bool // the client has ended the connection

	mu         sync.Mutex
	pending    []command // sent and not answered yet, the oldest first
	subscribed bool
}

// A command is one that a reply is due for.
type command struct {
	start   string
	lost    chan<- string // receives the command whose reply was dropped; nil: deliver it
	refusal string        // the reply in place of that of the server; empty: there is none
}

// ping is what the server receives in place of a refused command.
const ping = "*1\r\n$4\r\nPING\r\n"

func (l *link) run() {
	var requests sync.WaitGroup
	requests.Go(l.requests)
	l.replies()
	requests.Wait()
}

// cut ends both directions at once.
func (l *link) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// requests passes on the bytes that the client sends, until it ends the connection.
func (l *link) requests() {
	for in := newFrames(l.client); ; {
		raw, words, err := in.request()
		if err == nil && l.proxy.loses(words) {
			l.proxy.pass(l.cut)
			return
		}
		refusal := l.proxy.refuses(words)
		if refusal != "" {
			raw = []byte(ping)
		}
		l.proxy.pass(func() {
			if err == nil {
				l.expect(words, refusal)
			}
			if _, failed := l.server.Write(raw); err == nil {
				err = failed
			}
			if err != nil {
				_ = l.server.CloseWrite()
			}
		})
		if err != nil {
			l.left.Store(true)
			l.proxy.fail(err)
			return
		}
	}
}

// expect takes note of a command before it is passed on, or a PING in its place.
func (l *link) expect(words []string, refusal string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribed = l.subscribed || len(words) > 0 && subscribes(words[0])
	if len(words) == 0 || l.subscribed {
		return
	}
	sent := command{start: strings.Join(words[:min(len(words), 4)], " "), refusal: refusal}
	if !setsUp(words[0]) && refusal == "" {
		sent.lost = l.proxy.count()
	}
	l.pending = append(l.pending, sent)
}

// replies passes on the bytes that the server sends, until it ends the connection.
// Instead of a dropped reply the client receives the end of the connection. Later
// replies are read and discarded, so that the server executes the commands.
func (l *link) replies() {
	var lost []command
	for in := newFrames(l.server); ; {
		raw, err := in.reply()
		var answered command
		drop := false
		if err == nil && raw[0] != '>' { // a push answers no command
			if answered = l.answered(); answered.refusal != "" {
				raw = []byte(answered.refusal)
			}
			drop = l.proxy.hold(answered.start, raw) || answered.lost != nil
		}
		for n := len(raw); n > 0 && !l.left.Load() && l.proxy.slow(min(n, packet)); n -= packet {
		}
		l.proxy.pass(func() {
			if drop {
				lost = append(lost, answered)
				_ = l.client.CloseWrite()
			}
			if len(lost) == 0 {
				// A client that is gone needs no replies; its commands
				// are carried out all the same.
				_, _ = l.client.Write(raw)
			}
			if err != nil {
				l.cut()
			}
		})
		if err != nil {
			l.proxy.fail(err)
			break
		}
	}
	for _, dropped := range lost {
		if dropped.lost != nil {
			dropped.lost <- dropped.start
		}
	}
}

// answered removes and returns the pending command that a reply belongs to. When a
// server refuses a connection, it sends a reply without a command.
func (l *link) answered() command {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return command{}
	}
	first := l.pending[0]
	l.pending = l.pending[1:]
	return first
}
