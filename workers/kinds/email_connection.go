package kinds

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// An smtpConn is a connection on which messages can be sent. One goroutine at a
// time uses it.
type smtpConn struct {
	wire   *steadyConn
	client *smtp.Client
	reused bool // a message was sent on it before
	state  connState

	idle *time.Timer // closes it; set while it is in the pool
}

// A connState says what may still be done with a connection.
type connState int

const (
	usable      connState = iota
	broken                // and the server has not taken the message
	unconfirmed           // broken after the message, before the answer
)

// A steadyConn gives each read and write its own deadline.
type steadyConn struct {
	net.Conn
	timeout time.Duration
}

func (c *steadyConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *steadyConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// connect makes a connection, encrypted and logged in as configured. Whatever
// goes wrong here is no fault of a message.
func (c *EmailConfig) connect(ctx context.Context) (*smtpConn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no connection within %s", c.Timeout))
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", c.address())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", because(ctx, err))
	}
	conn := &smtpConn{wire: &steadyConn{raw, c.Timeout}}
	stop := conn.closeWith(ctx)
	err = c.prepare(conn)
	if !stop() || err != nil {
		_ = raw.Close()
		return nil, because(ctx, err)
	}
	return conn, nil
}

// closeWith closes the connection when ctx ends, which ends what blocks on it.
// stop tells whether that has not happened.
func (conn *smtpConn) closeWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.wire.Close() })
}

// because tells the end of ctx, where that was the reason.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// prepare goes from an open connection to where messages can be sent.
func (c *EmailConfig) prepare(conn *smtpConn) (err error) {
	var wire net.Conn = conn.wire
	if c.TLS == TLSImplicit {
		wire = tls.Client(wire, c.tlsConfig())
	}
	if conn.client, err = smtp.NewClient(wire, c.Host); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	if err := conn.client.Hello(c.Hello); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if err := c.startTLS(conn.client); err != nil {
		return fmt.Errorf("STARTTLS: %w", err)
	}
	if err := c.logIn(conn.client); err != nil {
		return fmt.Errorf("log in as %s: %w", c.Username, err)
	}
	return nil
}

func (c *EmailConfig) startTLS(client *smtp.Client) error {
	offered, _ := client.Extension("STARTTLS")
	switch {
	case c.TLS == TLSNone || c.TLS == TLSImplicit || c.TLS == TLSStartTLS && !offered:
		return nil
	case !offered:
		return fmt.Errorf("the server doesn't offer it: nothing is sent without encryption unless tls is set to %q or %q", TLSStartTLS, TLSNone)
	}
	return client.StartTLS(c.tlsConfig())
}

// ErrEmailLogin: the mail server and the worker found no way to log in, or the
// server refused it. The settings are wrong, not the message.
var ErrEmailLogin = errors.New("the mail server doesn't let us in: check user name, password, auth and tls")

func (c *EmailConfig) logIn(client *smtp.Client) error {
	if c.Username == "" {
		return nil
	}
	_, offer := client.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(offer))
	method, err := c.authMethod(client, offered)
	if err != nil {
		return err
	}
	err = client.Auth(method)
	var reply *textproto.Error
	if errors.As(err, &reply) && reply.Code >= 500 || errors.Is(err, smtp.ErrUnencrypted) {
		return fmt.Errorf("%w: %w", ErrEmailLogin, err)
	}
	return err
}

// authMethod picks what the server offers. AuthAuto prefers what doesn't show
// the password and never shows it without TLS.
func (c *EmailConfig) authMethod(client *smtp.Client, offered []string) (smtp.Auth, error) {
	methods := []struct {
		name string
		auth smtp.Auth
		open bool // shows the password
	}{
		{AuthSCRAMSHA256, smtp.ScramSHA256Auth(c.Username, c.Password), false},
		{AuthSCRAMSHA1, smtp.ScramSHA1Auth(c.Username, c.Password), false},
		{AuthCRAMMD5, smtp.CRAMMD5Auth(c.Username, c.Password), false},
		{AuthPlain, smtp.PlainAuth("", c.Username, c.Password, c.Host, false), true},
		{AuthLogin, smtp.LoginAuth(c.Username, c.Password, c.Host, false), true},
		{AuthXOAuth2, smtp.XOAuth2Auth(c.Username, c.Password), true},
	}
	_, encrypted := client.TLSConnectionState()
	for _, method := range methods {
		wanted := c.Auth == method.name || c.Auth == AuthAuto && method.name != AuthXOAuth2 && (encrypted || !method.open)
		if wanted && slices.Contains(offered, strings.ToUpper(method.name)) {
			return method.auth, nil
		}
	}
	return nil, fmt.Errorf("%w: with auth %q and tls %q there is nothing to use in what it offers, %q", ErrEmailLogin, c.Auth, c.TLS, offered)
}
