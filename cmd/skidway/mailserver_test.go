package main

import (
	"bytes"
	"io"
	"log"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// A mailServer is a mail server on loopback. It accepts every message, and replies when
// the test allows it.
type mailServer struct {
	port   int
	came   chan struct{} // gets a value for each complete message
	answer chan struct{} // closed by the test to allow replies

	mu    sync.Mutex
	mails []receivedMail
}

// A receivedMail is a complete message.
type receivedMail struct{ id, text string }

func startMailServer(t testing.TB) *mailServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &mailServer{
		port: listener.Addr().(*net.TCPAddr).Port, came: make(chan struct{}, 100), answer: make(chan struct{}),
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return mailSession{o}, nil }))
	server.ErrorLog = log.New(io.Discard, "", 0)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // the server knows the listener only when it serves
		served.Wait()
	})
	return o
}

// awaitOne waits for a complete message.
func (o *mailServer) awaitOne(t testing.TB) {
	t.Helper()
	select {
	case <-o.came:
	case <-time.After(waitLimit):
		t.Fatal("no mail has come")
	}
}

// received returns all complete messages.
func (o *mailServer) received() []receivedMail {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mails
}

// A mailSession is one session of a mail server.
type mailSession struct{ server *mailServer }

func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (mailSession) Reset()                               {}
func (mailSession) Logout() error                        { return nil }

func (d mailSession) Data(r io.Reader) error {
	whole, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	message, err := mail.ReadMessage(bytes.NewReader(whole))
	if err != nil {
		return err
	}
	body := message.Body
	if strings.EqualFold(message.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	d.server.mu.Lock()
	d.server.mails = append(d.server.mails, receivedMail{message.Header.Get("Message-ID"), string(text)})
	d.server.mu.Unlock()
	d.server.came <- struct{}{}
	<-d.server.answer
	return nil
}
