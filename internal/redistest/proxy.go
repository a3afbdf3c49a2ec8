package redistest

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy stands before a server and injects the faults of a network. It passes all
// other bytes on unchanged.
//
// It counts the commands that it passes to the server: those of a pipeline
// each, MULTI and EXEC as well, but not those that only set a connection up
// (HELLO, AUTH, CLIENT, SELECT, PING). A connection that subscribes to
// channels is counted no further. All methods are safe for concurrent use.
type Proxy struct {
	// URL leads through the proxy to the database of the URL it was made for.
	URL string

	t        testing.TB
	listener net.Listener
	network  string // of the server's address
	work     sync.WaitGroup
	gate     sync.RWMutex // bytes pass under its read lock; [Proxy.Hold] locks it

	line sync.Mutex // held while bytes are under way, see Slow
	rate atomic.Int64

	silence sync.Mutex
	held    bool // whether gate is locked

	mu       sync.Mutex
	addr     string // where the server listens
	closed   bool
	links    map[*link]struct{}
	commands int
	dropAt   int // the number of the command whose reply gets lost; 0: none
	dropped  chan string
	holds    []*HeldReply // that no reply has come for
	holding  []*HeldReply // that one has come for
	losing   string       // commands with this text are not passed on; empty: all are
	lost     chan struct{}

	refusing string // commands with this text are refused, as long as refusals are left
	refusals int
	refusal  string
}

// StartProxy starts a proxy before the server of a redis:// or unix:// URL. It
// ends with the test. The server may be away and come back meanwhile.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, links: map[*link]struct{}{}}
	listen, folder := "127.0.0.1:0", ""
	switch u.Scheme {
	case "unix":
		// Names from t.TempDir are too long for a socket.
		if folder, err = os.MkdirTemp("", "skidway-proxy-"); err != nil {
			t.Fatal(err)
		}
		p.network, p.addr, listen = "unix", u.Path, filepath.Join(folder, "redis.sock")
	case "redis":
		p.network, p.addr = "tcp", u.Host
	default:
		t.Fatalf("a proxy needs a redis:// or a unix:// URL, not %s:", u.Scheme)
	}
	if p.listener, err = net.Listen(p.network, listen); err != nil {
		t.Fatal(err)
	}
	if folder != "" {
		u.Path = listen
	} else {
		u.Host = p.listener.Addr().String()
	}
	p.URL = u.String()
	p.work.Go(p.serve)
	t.Cleanup(func() { p.close(); _ = os.RemoveAll(folder) })
	return p
}

// Commands is how many commands were passed to the server since the start.
func (p *Proxy) Commands() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commands
}

// DropReply loses the reply to the nth command from now on, 1 is the next; 0
// calls an earlier DropReply off. The server carries the command out and the
// client is given, instead of the reply, the end of its connection. Of a
// pipeline the replies before it are delivered; all commands of it that the
// client has written are still carried out, those after the nth too.
//
// The channel that is returned receives the start of the command ("EVALSHA
// 5a… 1 key") when its reply got lost and all that this connection had sent
// was carried out. It stays empty if there is no nth command.
func (p *Proxy) DropReply(n int) <-chan string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropAt, p.dropped = 0, make(chan string, 1)
	if n > 0 {
		p.dropAt = p.commands + n
	}
	return p.dropped
}

// Cut closes all connections, and loses the bytes that are under way. New ones are
// served.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Redirect closes all connections, as Cut does, and leads new ones to another server, as a
// failover does. The URL must have the scheme of that of the proxy.
func (p *Proxy) Redirect(target string) {
	p.t.Helper()
	u, err := url.Parse(target)
	if err != nil || (u.Scheme == "unix") != (p.network == "unix") {
		p.t.Fatalf("a proxy cannot be redirected to %s: %v", target, err)
	}
	p.mu.Lock()
	if p.addr = u.Host; p.network == "unix" {
		p.addr = u.Path
	}
	p.mu.Unlock()
	p.Cut()
}

// target returns the address of the server for a new connection.
func (p *Proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// Hold makes the network fall silent: once it has returned, no byte and no end
// of a connection passes in either direction. Connections stay open, new ones
// are taken.
func (p *Proxy) Hold() {
	p.silence.Lock()
	defer p.silence.Unlock()
	if !p.held {
		p.gate.Lock()
		p.held = true
	}
}

// Release ends Hold. What was sent meanwhile arrives now, even commands of
// clients that wait for them no longer.
func (p *Proxy) Release() {
	p.silence.Lock()
	defer p.silence.Unlock()
	if p.held {
		p.gate.Unlock()
		p.held = false
	}
}

// Slow bounds the bytes a second that all clients receive together. Zero ends that.
func (p *Proxy) Slow(bytesPerSecond int) { p.rate.Store(int64(bytesPerSecond)) }

// packet is the number of bytes after which a slow proxy serves another connection.
const packet = 16 << 10

// slow blocks for the time that n bytes take, and reports whether the proxy is slow.
func (p *Proxy) slow(n int) bool {
	rate := p.rate.Load()
	if rate > 0 {
		p.line.Lock()
		defer p.line.Unlock()
		time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
	}
	return rate > 0
}

// A HeldReply is a reply that a proxy keeps from the client, see
// [Proxy.HoldReply].
type HeldReply struct {
	command, text string
	held          chan struct{}
	over          chan struct{}
	once          sync.Once
	drops         bool // the client gets the end of its connection; set before over is closed
}

// HoldReply keeps the next reply that contains text from the client, until it is
// released or dropped. It looks at replies to commands that begin with command,
// in any case; "eval" is every script. Other connections go on. Several calls
// with the same arguments hold one reply each. At the end of the test what is
// still held is dropped.
func (p *Proxy) HoldReply(command, text string) *HeldReply {
	h := &HeldReply{command: strings.ToLower(command), text: text, held: make(chan struct{}), over: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = append(p.holds, h)
	return h
}

// Held is closed when the server's reply has arrived: its command was carried
// out, and the client doesn't know.
func (h *HeldReply) Held() <-chan struct{} { return h.held }

// Release delivers the reply. If none has come yet, the next one passes.
func (h *HeldReply) Release() { h.once.Do(func() { close(h.over) }) }

// Drop ends the client's connection instead of delivering the reply.
func (h *HeldReply) Drop() { h.once.Do(func() { h.drops = true; close(h.over) }) }

// hold blocks while the reply to a command is held and reports whether it is to
// be dropped.
func (p *Proxy) hold(command string, reply []byte) (drop bool) {
	p.mu.Lock()
	i := slices.IndexFunc(p.holds, func(h *HeldReply) bool {
		return strings.HasPrefix(strings.ToLower(command), h.command) && bytes.Contains(reply, []byte(h.text))
	})
	if i < 0 || p.closed {
		p.mu.Unlock()
		return false
	}
	h := p.holds[i]
	p.holds = slices.Delete(p.holds, i, i+1)
	p.holding = append(p.holding, h)
	p.mu.Unlock()
	close(h.held)
	<-h.over
	return h.drops
}

// LoseCommands loses all commands from now on that contain text: the server does
// not receive them, and the client's connection ends. An empty text ends that.
// The channel that is returned receives a value for each command that was lost,
// as long as there is room in it.
func (p *Proxy) LoseCommands(text string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing, p.lost = text, make(chan struct{}, 1000)
	return p.lost
}

// RefuseCommands makes the next n commands that contain text have an error as their reply, for
// example "TRYAGAIN …". The server receives a PING in place of each, so they must not be part
// of a transaction.
func (p *Proxy) RefuseCommands(n int, text, reply string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing, p.refusals, p.refusal = text, n, "-"+reply+"\r\n"
}

// Refusals returns how many commands are still to be refused.
func (p *Proxy) Refusals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refusals
}

// refuses returns the reply to a command that is to be refused, "" for others.
func (p *Proxy) refuses(words []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusals == 0 || !contains(words, p.refusing) {
		return ""
	}
	p.refusals--
	return p.refusal
}

// contains reports whether one of the words of a command contains a text.
func contains(words []string, text string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, text) })
}

// loses reports whether a command is to be lost.
func (p *Proxy) loses(words []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.losing == "" || !contains(words, p.losing) {
		return false
	}
	select {
	case p.lost <- struct{}{}:
	default:
	}
	return true
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() {
			server, err := net.Dial(p.network, p.target())
			if err != nil {
				p.pass(func() { _ = client.Close() })
				return
			}
			l := &link{proxy: p, client: client.(conn), server: server.(conn)}
			if p.add(l) {
				l.run()
			}
			l.cut()
			p.remove(l)
		})
	}
}

// pass does something that an end of the connection could notice.
func (p *Proxy) pass(do func()) {
	p.gate.RLock()
	defer p.gate.RUnlock()
	do()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.links[l] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// count counts a command that is about to be passed on. If its reply is to be lost,
// it returns the channel for that event.
func (p *Proxy) count() chan<- string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commands++
	if p.commands != p.dropAt {
		return nil
	}
	return p.dropped
}

// fail reports what is an error of the test, not a fault of the network.
func (p *Proxy) fail(err error) {
	if errors.Is(err, errFrame) {
		p.t.Errorf("proxy: %v", err)
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for _, h := range p.holding {
		h.Drop()
	}
	p.mu.Unlock()
	p.Cut()
	p.Release()
	p.work.Wait()
}

// setsUp reports whether a command only prepares a connection.
func setsUp(command string) bool {
	switch strings.ToUpper(command) {
	case "HELLO", "AUTH", "CLIENT", "SELECT", "PING", "INFO":
		return true
	}
	return false
}

// subscribes reports whether a command does not have one reply.
func subscribes(command string) bool {
	switch strings.ToUpper(command) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR":
		return true
	}
	return false
}
