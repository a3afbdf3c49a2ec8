package email_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers/kinds/email"
)

func TestMessagesShareAConnection(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	sender := newEmail(t, s.config)
	for range 20 {
		if err := sender.Send(t.Context(), jobOf(&queue.Job{ID: "mail:0:n1-0"}, hello())); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.received()) != 20 || s.connected() != 1 {
		t.Errorf("%d messages over %d connections", len(s.received()), s.connected())
	}
}

func TestRefusedMessageLeavesItsConnectionForTheNext(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) {
		s.answer = func(_, address string) error {
			if address == "bob@example.com" {
				return refuse(550, "no such user")
			}
			return nil
		}
	})
	sender := newEmail(t, s.config)
	bob := hello()
	bob.To = []string{"bob@example.com"}
	expectEmail(t, runEmail(t, sender, bob), queue.AttemptDead)
	expectEmail(t, runEmail(t, sender, hello()), queue.AttemptSucceeded)
	if s.connected() != 1 || len(s.received()[0].to) != 1 {
		t.Errorf("%d connections, sent to %s", s.connected(), s.received()[0].to)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.Connections = 2 })
	sender := newEmail(t, s.config)
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			if err := sender.Send(t.Context(), jobOf(&queue.Job{ID: "mail:0:n1-0"}, hello())); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	if len(s.received()) != 16 || s.most > 2 {
		t.Errorf("%d messages, %d connections at once", len(s.received()), s.most)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.IdleTimeout = time.Millisecond })
	expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AttemptSucceeded)
	<-s.leave
}

func TestCloseClosesConnectionsAndLaterOnesAtOnce(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	sender := newEmail(t, s.config)
	expectEmail(t, runEmail(t, sender, hello()), queue.AttemptSucceeded)
	sender.Close()
	<-s.leave
	expectEmail(t, runEmail(t, sender, hello()), queue.AttemptSucceeded)
	<-s.leave
}

func TestMessageGoesOverTLS(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{email.TLSStartTLS, email.TLSStartTLSRequired, email.TLSImplicit} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, func(s *mailServer) {
				s.withTLS(t)
				s.config.TLS = mode
				s.config.Username, s.config.Password = "shop", "open sesame" // PLAIN is offered on TLS only
			})
			expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AttemptSucceeded)
		})
	}
}

func TestMessageIsNotSentWithoutTheRequiredEncryption(t *testing.T) {
	t.Parallel()
	t.Run("not offered", func(t *testing.T) {
		t.Parallel()
		s := startMailServer(t, func(s *mailServer) { s.config.TLS = "" })
		expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AttemptRetry, "STARTTLS: the server does not offer it")
	})
	t.Run("unknown authority", func(t *testing.T) {
		t.Parallel()
		s := startMailServer(t, func(s *mailServer) {
			s.withTLS(t)
			s.config.TLS, s.config.TLSConfig = email.TLSStartTLS, nil
		})
		expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AttemptRetry, "certificate")
	})
}

func TestWrongLoginIsRetriedAndShowsNoPassword(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*email.Config)
	}{
		{"wrong password", func(c *email.Config) { c.TLS = email.TLSStartTLS }},
		{"method not offered", func(c *email.Config) { c.TLS, c.Auth = email.TLSStartTLS, email.AuthCRAMMD5 }},
		{"nothing that is safe without TLS", func(c *email.Config) { c.TLS = email.TLSNone }},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, func(s *mailServer) {
				s.withTLS(t)
				s.server.AllowInsecureAuth = true
				s.config.Username, s.config.Password = "shop", "shut-sesame"
			})
			test.change(&s.config)
			outcome := runEmail(t, newEmail(t, s.config), hello())
			expectEmail(t, outcome, queue.AttemptRetry, "log in as shop", "check user name, password")
			if !errors.Is(outcome.Err, email.ErrLogin) {
				t.Error(outcome.Err)
			}
			if strings.Contains(outcome.Reason, "sesame") {
				t.Errorf("the password is shown: %s", outcome.Reason)
			}
		})
	}
}

func TestServerThatWantsALoginDoesntMakeJobsDead(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.answer = refuseAt("mail", refuse(530, "authentication required")) })
	expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AttemptRetry, "530")
}
