package email

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"skidway/queue"
)

// How a connection to a mail server is encrypted.
const (
	TLSNone             = "none"
	TLSStartTLS         = "starttls"          // where the server offers it
	TLSStartTLSRequired = "starttls-required" // or no message is sent
	TLSImplicit         = "tls"               // from the first byte on
)

// How a worker logs in at a mail server.
const (
	AuthAuto        = "auto" // the best that the server offers; without TLS none that shows the password
	AuthPlain       = "plain"
	AuthLogin       = "login"
	AuthCRAMMD5     = "cram-md5"
	AuthSCRAMSHA1   = "scram-sha-1"
	AuthSCRAMSHA256 = "scram-sha-256"
	AuthXOAuth2     = "xoauth2" // the password is the token
)

// Defaults of an [Config].
const (
	DefaultSMTPPort              = 587
	DefaultSMTPConnections       = 4
	DefaultSMTPIdleTimeout       = 30 * time.Second
	DefaultSMTPTimeout           = time.Minute
	DefaultMaxEmailSize    int64 = 20 << 20
)

// implicitTLSPort is where servers expect TLS from the first byte on (RFC 8314).
const implicitTLSPort = 465

// A Config says through which server messages go, and what they may hold.
// Only Host must be given.
type Config struct {
	Host string
	Port int // zero: [DefaultSMTPPort]

	// TLS is one of the constants above. Empty: [TLSImplicit] with port 465,
	// else [TLSStartTLSRequired].
	TLS string

	// TLSConfig is for authorities of one's own and the like; nil trusts
	// those that the system trusts.
	TLSConfig *tls.Config

	// Auth is one of the constants above; empty: [AuthAuto]. Without a
	// Username there is no login.
	Auth     string
	Username string
	Password string

	Hello  string // the name that this machine calls itself; empty: the host's
	From   string // sender of messages that name none
	Domain string // of Message-IDs; empty: that of the sender

	// Connections is the most at once; zero: [DefaultSMTPConnections]. They
	// are used for one message after another and closed when they have been
	// idle for IdleTimeout; zero: [DefaultSMTPIdleTimeout].
	Connections int
	IdleTimeout time.Duration

	// Timeout bounds making a connection, and then the wait for each answer;
	// zero: [DefaultSMTPTimeout]. For the answer to a whole message it is ten
	// times as long: to give up then means to send it twice (RFC 5321,
	// section 4.5.3.2.6).
	Timeout time.Duration

	// PerMinute is the most messages a minute of this process, evenly
	// spaced; zero: any number.
	PerMinute int

	Templates   string   // the folder of templates; empty: there are none
	Attachments []string // folders that attachments may be read from; empty: none may
	MaxSize     int64    // bytes of bodies and attachments of a message together; zero: [DefaultMaxEmailSize]

	// Fetcher reads attachments that are given by URL; nil: there can be none.
	Fetcher Fetcher
}

// A Fetcher reads what lies at a URL: the client of package request is one. It decides which addresses
// may be reached. An error that wraps [workers.Dead] makes the job dead.
type Fetcher interface {
	Fetch(ctx context.Context, url string, limit int64) (body []byte, contentType string, err error)
}

// setDefaults checks the settings. Its errors match [queue.ErrInvalid]; none
// holds the password.
func (c *Config) setDefaults() error {
	invalid := func(format string, values ...any) error {
		return fmt.Errorf("%w: email: "+format, append([]any{queue.ErrInvalid}, values...)...)
	}
	c.Port = cmp.Or(c.Port, DefaultSMTPPort)
	if c.TLS == "" {
		c.TLS = TLSStartTLSRequired
		if c.Port == implicitTLSPort {
			c.TLS = TLSImplicit
		}
	}
	c.Auth = cmp.Or(c.Auth, AuthAuto)
	c.Connections = cmp.Or(c.Connections, DefaultSMTPConnections)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, DefaultSMTPIdleTimeout)
	c.Timeout = cmp.Or(c.Timeout, DefaultSMTPTimeout)
	c.MaxSize = cmp.Or(c.MaxSize, DefaultMaxEmailSize)
	if c.Hello == "" {
		c.Hello = "localhost"
		if name, err := os.Hostname(); err == nil && isHostName(name) {
			c.Hello = name
		}
	}
	modes := []string{TLSNone, TLSStartTLS, TLSStartTLSRequired, TLSImplicit}
	methods := []string{AuthAuto, AuthPlain, AuthLogin, AuthCRAMMD5, AuthSCRAMSHA1, AuthSCRAMSHA256, AuthXOAuth2}
	switch {
	case c.Host == "":
		return invalid("host: give the name of the mail server")
	case c.Port < 1 || c.Port > 65535:
		return invalid("port %d: want 1 to 65535", c.Port)
	case !slices.Contains(modes, c.TLS):
		return invalid("tls %q: want one of %q", c.TLS, modes)
	case !slices.Contains(methods, c.Auth):
		return invalid("auth %q: want one of %q", c.Auth, methods)
	case c.Username == "" && (c.Password != "" || c.Auth != AuthAuto):
		return invalid("username: it is empty, but there is a password or a method to log in")
	case !isHostName(c.Hello):
		return invalid("hello %q: it is no name of a host", c.Hello)
	case c.Domain != "" && !isHostName(c.Domain):
		return invalid("domain %q: it is no name of a domain", c.Domain)
	case c.Connections < 0:
		return invalid("connections %d: want at least 1", c.Connections)
	case c.IdleTimeout < 0 || c.Timeout < 0:
		return invalid("timeout %s, idle timeout %s: they can't be below zero", c.Timeout, c.IdleTimeout)
	case c.PerMinute < 0:
		return invalid("per minute %d: it can't be below zero", c.PerMinute)
	case c.MaxSize < 0:
		return invalid("max size %d: it can't be below zero", c.MaxSize)
	}
	if c.From != "" {
		if _, err := parseAddress("from", c.From); err != nil {
			return invalid("%w", err)
		}
	}
	return c.checkFolders(invalid)
}

// checkFolders makes folders absolute, so that paths in jobs can be compared
// with them.
func (c *Config) checkFolders(invalid func(string, ...any) error) error {
	check := func(field string, folder *string) error {
		path, err := filepath.Abs(*folder)
		if err != nil {
			return invalid("%s: %w", field, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return invalid("%s: %w", field, err)
		}
		if !info.IsDir() {
			return invalid("%s: %s is no folder", field, path)
		}
		*folder = path
		return nil
	}
	if c.Templates != "" {
		if err := check("templates", &c.Templates); err != nil {
			return err
		}
	}
	c.Attachments = slices.Clone(c.Attachments)
	for i := range c.Attachments {
		if err := check("attachments", &c.Attachments[i]); err != nil {
			return err
		}
	}
	return nil
}

// isHostName reports whether a name can stand in a greeting or a Message-ID.
func isHostName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return name != "" && name[0] != '.' && name[len(name)-1] != '.'
}

// address is where the server listens.
func (c *Config) address() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// tlsConfig is for one connection.
func (c *Config) tlsConfig() *tls.Config {
	config := c.TLSConfig.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName = c.Host
	}
	return config
}

// sender parses what a job or the configuration names.
func (c *Config) sender(args Args) (*mail.Address, error) {
	from := cmp.Or(args.From, c.From)
	if from == "" {
		return nil, fmt.Errorf("no sender: the job has no field from, and the worker's configuration has none either")
	}
	return parseAddress("from", from)
}
