package kinds_test

import (
	"errors"
	"strings"
	"testing"

	"skidway/queue"
	"skidway/workers/kinds"
)

func TestMessageGoesOverTLS(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{kinds.TLSStartTLS, kinds.TLSStartTLSRequired, kinds.TLSImplicit} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, func(s *mailServer) {
				s.withTLS(t)
				s.config.TLS = mode
				s.config.Username, s.config.Password = "shop", "open sesame" // PLAIN is offered on TLS only
			})
			expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AsSucceeded)
		})
	}
}

func TestMessageGoesNowhereWithoutTheEncryptionThatIsWanted(t *testing.T) {
	t.Parallel()
	t.Run("not offered", func(t *testing.T) {
		t.Parallel()
		s := startMailServer(t, func(s *mailServer) { s.config.TLS = "" })
		expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AsRetry, "STARTTLS: the server doesn't offer it")
	})
	t.Run("unknown authority", func(t *testing.T) {
		t.Parallel()
		s := startMailServer(t, func(s *mailServer) {
			s.withTLS(t)
			s.config.TLS, s.config.TLSConfig = kinds.TLSStartTLS, nil
		})
		expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AsRetry, "certificate")
	})
}

func TestWrongLoginIsTriedAgainAndTellsNoPassword(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*kinds.EmailConfig)
	}{
		{"wrong password", func(c *kinds.EmailConfig) { c.TLS = kinds.TLSStartTLS }},
		{"method not offered", func(c *kinds.EmailConfig) { c.TLS, c.Auth = kinds.TLSStartTLS, kinds.AuthCRAMMD5 }},
		{"nothing that is safe without TLS", func(c *kinds.EmailConfig) { c.TLS = kinds.TLSNone }},
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
			expectEmail(t, outcome, queue.AsRetry, "log in as shop", "check user name, password")
			if !errors.Is(outcome.Err, kinds.ErrEmailLogin) {
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
	expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AsRetry, "530")
}
