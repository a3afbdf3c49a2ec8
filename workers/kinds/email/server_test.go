package email_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/email"
	"skidway/workers/workerstest"
)

// A mailServer is a go-smtp server on loopback that a test can make refuse, be
// slow and drop connections.
type mailServer struct {
	config email.Config // reaches it
	server *smtp.Server

	// answer is asked at each step of a session: connect, mail, rcpt, data
	// (when the content begins) and end (when it has come whole). What it
	// returns is the answer; errDrop closes the connection without one.
	answer func(step, address string) error
	leave  chan struct{} // gets a value when a session ends

	// unanswered gets a message that came whole and was not taken; may be nil.
	unanswered func(receivedMail)

	mu          sync.Mutex
	connections int
	open, most  int // sessions
	mails       []receivedMail
}

// A receivedMail was accepted by the server.
type receivedMail struct {
	from string
	to   []string
	data []byte
}

func (m receivedMail) parse(t *testing.T) *mail.Message {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(m.data))
	if err != nil {
		t.Fatalf("%v\n%s", err, m.data)
	}
	return message
}

var errDrop = errors.New("drop the connection")

// refuse is an answer of the server.
func refuse(code int, words string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: words}
}

// startMailServer starts a server that accepts all messages. change may be nil.
func startMailServer(t *testing.T, change func(*mailServer)) *mailServer {
	t.Helper()
	s := &mailServer{
		answer: func(string, string) error { return nil },
		leave:  make(chan struct{}, 1000),
	}
	s.server = smtp.NewServer(s)
	s.server.Domain = "mail.example.com"
	s.server.ErrorLog = log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.config = email.Config{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, TLS: email.TLSNone,
		From: "Shop <shop@example.com>", Hello: "worker.example.com", Timeout: 10 * time.Second,
	}
	if change != nil {
		change(s)
	}
	var served sync.WaitGroup
	counting := countingListener{listener, s, s.config.TLS == email.TLSImplicit}
	served.Go(func() { _ = s.server.Serve(counting) })
	t.Cleanup(func() {
		_ = s.server.Close()
		_ = listener.Close() // which it knows only once it serves
		served.Wait()
	})
	return s
}

// withTLS returns the server a certificate of its own, which the config trusts.
func (s *mailServer) withTLS(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate)
	s.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.config.TLSConfig = &tls.Config{RootCAs: trusted}
}

// countingListener asks for an answer before the server sees a connection.
type countingListener struct {
	net.Listener
	s   *mailServer
	tls bool // from the first byte on
}

func (l countingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.s.mu.Lock()
		l.s.connections++
		l.s.mu.Unlock()
		if l.s.answer("connect", "") == nil {
			if l.tls {
				conn = tls.Server(conn, l.s.server.TLSConfig)
			}
			return conn, nil
		}
		_ = conn.Close()
	}
}

func (s *mailServer) NewSession(conn *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.most = max(s.most, s.open)
	return &mailSession{s: s, conn: conn}, nil
}

func (s *mailServer) received() []receivedMail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mails
}

func (s *mailServer) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

type mailSession struct {
	s    *mailServer
	conn *smtp.Conn
	mail receivedMail
}

func (m *mailSession) step(name, address string) error {
	err := m.s.answer(name, address)
	if errors.Is(err, errDrop) {
		_ = m.conn.Conn().Close()
	}
	return err
}

func (m *mailSession) AuthMechanisms() []string { return []string{"PLAIN"} }

func (m *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "shop" || password != "open sesame" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (m *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	m.mail = receivedMail{from: from}
	return m.step("mail", from)
}

func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.mail.to = append(m.mail.to, to)
	return m.step("rcpt", to)
}

func (m *mailSession) Data(r io.Reader) error {
	if err := m.step("data", ""); err != nil {
		return err
	}
	var err error
	if m.mail.data, err = io.ReadAll(r); err != nil {
		return err
	}
	if err := m.step("end", ""); err != nil {
		if m.s.unanswered != nil {
			m.s.unanswered(m.mail)
		}
		return err
	}
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.mails = append(m.s.mails, m.mail)
	return nil
}

func (m *mailSession) Reset() { m.mail = receivedMail{} }

func (m *mailSession) Logout() error {
	m.s.mu.Lock()
	m.s.open--
	m.s.mu.Unlock()
	m.s.leave <- struct{}{}
	return nil
}

// newEmail makes an Email that ends with the test.
func newEmail(t *testing.T, config email.Config) *email.Sender {
	t.Helper()
	sender, err := email.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	return sender
}

// runEmail returns the outcome of a job.
func runEmail(t *testing.T, sender *email.Sender, args email.Args) workerstest.Outcome {
	t.Helper()
	return workerstest.Run(t, workers.Typed(sender.Send), workerstest.Job{Args: args})
}

// expectEmail fails unless the job ended with the disposition, and its reason contains
// all words.
func expectEmail(t *testing.T, outcome workerstest.Outcome, as queue.Disposition, words ...string) {
	t.Helper()
	if outcome.Disposition != as {
		t.Fatal(outcome)
	}
	for _, word := range words {
		if !strings.Contains(outcome.Reason, word) {
			t.Errorf("the reason has no %q: %s", word, outcome.Reason)
		}
	}
}

// jobOf returns a job with args, as a handler receives it.
func jobOf(job *queue.Job, args email.Args) *workers.Job[email.Args] {
	return &workers.Job[email.Args]{Job: job, Args: args}
}

// hello is a valid message.
func hello() email.Args {
	return email.Args{To: []string{"ada@example.com"}, Subject: "Hello", Text: "Hello, Ada\n"}
}
