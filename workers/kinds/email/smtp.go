package email

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"skidway/workers"
)

// An smtpConn is a connection on which messages can be sent. It is not safe for
// concurrent use.
type smtpConn struct {
	wire   *timeoutConn
	client *smtp.Client
	reused bool // a message was sent on it before
	state  connState

	idle *time.Timer // closes it; set while it is in the pool
}

// A connState is the state of a connection after a message.
type connState int

const (
	usable      connState = iota
	broken                // the server has not accepted the message
	unconfirmed           // broken between the message and the answer
)

// A timeoutConn bounds each read and write by a timeout.
type timeoutConn struct {
	net.Conn
	timeout time.Duration
}

func (c *timeoutConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *timeoutConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// connect returns a connection, encrypted and logged in as configured. Its errors are
// not caused by a message.
func (c *Config) connect(ctx context.Context) (*smtpConn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no connection within %s", c.Timeout))
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", c.address())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", because(ctx, err))
	}
	conn := &smtpConn{wire: &timeoutConn{raw, c.Timeout}}
	stop := conn.closeWith(ctx)
	err = c.prepare(conn)
	if !stop() || err != nil {
		_ = raw.Close()
		return nil, because(ctx, err)
	}
	return conn, nil
}

// closeWith closes the connection when ctx is done, so that no call on it blocks any
// longer. stop reports whether it has prevented that.
func (conn *smtpConn) closeWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.wire.Close() })
}

// because returns the cause of the end of ctx, or err if ctx has not ended.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// prepare greets the server, encrypts the connection and logs in.
func (c *Config) prepare(conn *smtpConn) (err error) {
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

func (c *Config) startTLS(client *smtp.Client) error {
	offered, _ := client.Extension("STARTTLS")
	switch {
	case c.TLS == TLSNone || c.TLS == TLSImplicit || c.TLS == TLSStartTLS && !offered:
		return nil
	case !offered:
		return fmt.Errorf("the server does not offer it, and no message is sent without encryption unless tls is set to %q or %q", TLSStartTLS, TLSNone)
	}
	return client.StartTLS(c.tlsConfig())
}

// ErrLogin: the mail server offers no method to log in that the worker may use, or
// it refuses the login. The settings are wrong, not the message.
var ErrLogin = errors.New("login at the mail server failed: check user name, password, auth and tls")

func (c *Config) logIn(client *smtp.Client) error {
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
		return fmt.Errorf("%w: %w", ErrLogin, err)
	}
	return err
}

// authMethod returns the first method that the server offers and the settings allow.
// AuthAuto prefers methods that do not send the password, and allows the others
// only with TLS.
func (c *Config) authMethod(client *smtp.Client, offered []string) (smtp.Auth, error) {
	methods := []struct {
		name string
		auth smtp.Auth
		open bool // sends the password
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
	return nil, fmt.Errorf("%w: with auth %q and tls %q none of the methods can be used that it offers: %q", ErrLogin, c.Auth, c.TLS, offered)
}

// ErrUnconfirmed: the connection was lost between the end of the message and the
// server's answer, so that the server may have accepted it. It is sent again, with
// the same Message-ID.
var ErrUnconfirmed = errors.New("the connection was lost before the answer to the message: it may have been sent, and is sent again with the same Message-ID")

// acceptTimeouts is the number of timeouts that the answer to a message may take.
const acceptTimeouts = 10

// deliver sends a message, sets conn.state and returns the server's answer.
func (conn *smtpConn) deliver(ctx context.Context, m *outgoing) (reply string, err error) {
	stop := conn.closeWith(ctx)
	defer func() {
		if !stop() && conn.state == usable {
			conn.state = broken
		}
	}()
	if err := conn.fits(m); err != nil {
		return "", err
	}
	if err := conn.announce(ctx, m); err != nil {
		return "", err
	}
	return conn.transfer(ctx, m)
}

// fits returns an error if the server does not accept such a message.
func (conn *smtpConn) fits(m *outgoing) error {
	_, size := conn.client.Extension("SIZE") // RFC 1870; zero or none: unknown
	if limit, err := strconv.Atoi(size); err == nil && limit > 0 && len(m.content) > limit {
		return workers.Dead(fmt.Errorf("%w: it has %d bytes encoded, this server accepts %d", ErrTooLarge, len(m.content), limit))
	}
	if able, _ := conn.client.Extension("SMTPUTF8"); m.international && !able {
		return workers.Dead(errors.New("an address has letters beyond ASCII, and this server does not accept them (SMTPUTF8)"))
	}
	// Only if needed: the next server on the way may not support it.
	conn.client.SkipSMTPUTF8(!m.international)
	return nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// announce sends the sender and the recipients. It tries all recipients, so that the
// error names each that is refused.
func (conn *smtpConn) announce(ctx context.Context, m *outgoing) error {
	if err := conn.client.Mail(envelope(m.sender)); err != nil {
		return conn.refused(ctx, fmt.Sprintf("sender %s", m.sender), err)
	}
	var refusals []error
	for _, recipient := range m.recipients {
		if err := conn.client.Rcpt(envelope(recipient)); err != nil {
			refusal := conn.answered(ctx, fmt.Sprintf("recipient %s", recipient), err)
			if conn.state != usable {
				return refusal
			}
			refusals = append(refusals, refusal)
		}
	}
	if len(refusals) == 0 {
		return nil
	}
	conn.reset()
	err := error(refusedRecipients{refusals, len(m.recipients)})
	for _, refusal := range refusals {
		if forGood(refusal) {
			return workers.Dead(err)
		}
	}
	return err
}

// envelope returns an address as the envelope has it, quoted where necessary.
func envelope(address string) string { return (&mail.Address{Address: address}).String() }

// transfer sends the content. The server accepts the message only at its end.
func (conn *smtpConn) transfer(ctx context.Context, m *outgoing) (reply string, err error) {
	data, err := conn.client.Data()
	if err != nil {
		return "", conn.refused(ctx, "message", err)
	}
	if _, err := data.Write(m.content); err != nil {
		return "", conn.lost(ctx, err) // data is not closed: that would end the message
	}
	return conn.finish(ctx, data)
}

func (conn *smtpConn) finish(ctx context.Context, data io.WriteCloser) (reply string, err error) {
	timeout := conn.wire.timeout
	conn.wire.timeout *= acceptTimeouts
	err = data.Close()
	conn.wire.timeout = timeout
	var answer *textproto.Error
	switch {
	case errors.As(err, &answer):
		return "", conn.refused(ctx, "message", err)
	case err != nil:
		conn.state = unconfirmed
		return "", fmt.Errorf("%w: %w", ErrUnconfirmed, because(ctx, err))
	}
	if closer, ok := data.(*smtp.DataCloser); ok {
		reply = closer.ServerResponse()
	}
	return reply, nil
}

// refused returns the error of a command that failed; it makes the job dead if the
// server has refused it for good.
func (conn *smtpConn) refused(ctx context.Context, what string, err error) error {
	err = conn.answered(ctx, what, err)
	if conn.state != usable {
		return err
	}
	conn.reset()
	if forGood(err) {
		return workers.Dead(err)
	}
	return err
}

// answered returns the error of an answer or of a lost connection. 421 is both: the
// server closes the connection and has accepted nothing.
func (conn *smtpConn) answered(ctx context.Context, what string, err error) error {
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code != 421 {
		return fmt.Errorf("%s refused: %w", what, answer)
	}
	return conn.lost(ctx, err)
}

func (conn *smtpConn) lost(ctx context.Context, err error) error {
	conn.state = broken
	return fmt.Errorf("the connection was lost before the message was sent: %w", because(ctx, err))
}

// reset makes the server forget the sender and the recipients.
func (conn *smtpConn) reset() {
	if err := conn.client.Reset(); err != nil {
		conn.state = broken
	}
}

// forGood reports whether a refusal is about the message. Those that ask for a
// login or for encryption (RFC 4954, section 6) are about the settings: they
// must not make every job dead.
func forGood(err error) bool {
	var answer *textproto.Error
	if !errors.As(err, &answer) || answer.Code < 500 {
		return false
	}
	switch answer.Code {
	case 530, 534, 535, 538:
		return false
	}
	return true
}

// refusedRecipients is the error of the recipients that were refused.
type refusedRecipients struct {
	refusals []error
	of       int
}

func (r refusedRecipients) Error() string {
	var all []string
	for _, refusal := range r.refusals {
		all = append(all, refusal.Error())
	}
	text := strings.Join(all, "; ")
	if r.of > len(all) {
		text += fmt.Sprintf(" (so it was sent to none of %d)", r.of)
	}
	return text
}

func (r refusedRecipients) Unwrap() []error { return r.refusals }
