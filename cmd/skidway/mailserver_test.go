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

// A mailServer is a mail server on loopback that takes every message, and answers
// that it has when the test lets it.
type mailServer struct {
	port   int
	came   chan struct{} // gets a value for each message that came whole
	answer chan struct{} // closed by the test: from then on it answers

	mu    sync.Mutex
	mails []letter
}

// A letter is a message that came whole.
type letter struct{ id, text string }

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
		_ = listener.Close() // which it knows only once it serves
		served.Wait()
	})
	return o
}

// awaitOne waits until a message has come.
func (o *mailServer) awaitOne(t testing.TB) {
	t.Helper()
	select {
	case <-o.came:
	case <-time.After(patience):
		t.Fatal("no mail has come")
	}
}

// received are all messages that have come.
func (o *mailServer) received() []letter {
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
	d.server.mails = append(d.server.mails, letter{message.Header.Get("Message-ID"), string(text)})
	d.server.mu.Unlock()
	d.server.came <- struct{}{}
	<-d.server.answer
	return nil
}
