package email

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
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

// Values of [Config.TLS]: how a connection to a mail server is encrypted.
const (
	TLSNone             = "none"
	TLSStartTLS         = "starttls"          // where the server offers it
	TLSStartTLSRequired = "starttls-required" // or no message is sent
	TLSImplicit         = "tls"               // from the first byte on
)

// Values of [Config.Auth]: how a worker logs in to a mail server.
const (
	AuthAuto        = "auto" // the best method that the server offers; without TLS none that sends the password
	AuthPlain       = "plain"
	AuthLogin       = "login"
	AuthCRAMMD5     = "cram-md5"
	AuthSCRAMSHA1   = "scram-sha-1"
	AuthSCRAMSHA256 = "scram-sha-256"
	AuthXOAuth2     = "xoauth2" // the password is the token
)

// Defaults of [Config].
const (
	DefaultPort              = 587
	DefaultConnections       = 4
	DefaultIdleTimeout       = 30 * time.Second
	DefaultTimeout           = time.Minute
	DefaultMaxSize     int64 = 20 << 20
)

// implicitTLSPort is where servers expect TLS from the first byte on (RFC 8314).
const implicitTLSPort = 465

// Config configures a [Sender]: the mail server, and what messages may contain. Only
// Host is required.
type Config struct {
	Host string
	Port int // zero: [DefaultPort]

	// TLS is one of the constants above. Empty means [TLSImplicit] with port
	// 465, else [TLSStartTLSRequired].
	TLS string

	// TLSConfig is used for TLS, for example with another certificate
	// authority; nil means the defaults of crypto/tls.
	TLSConfig *tls.Config

	// Auth is one of the constants above; empty means [AuthAuto]. Without a
	// Username there is no login.
	Auth     string
	Username string
	Password string

	Hello  string // name of this host in the greeting; empty means the host's name
	From   string // sender of messages that have none
	Domain string // of Message-IDs; empty means that of the sender

	// Connections is the maximal number of connections at a time; zero means
	// [DefaultConnections]. Each is used for one message after another, and
	// closed when it was idle for IdleTimeout; zero means
	// [DefaultIdleTimeout].
	Connections int
	IdleTimeout time.Duration

	// Timeout bounds the time to connect, and then the wait for each answer;
	// zero means [DefaultTimeout]. For the answer to a whole message it is
	// ten times as long: a message whose answer is not awaited is sent twice
	// (RFC 5321, section 4.5.3.2.6).
	Timeout time.Duration

	// PerMinute is the maximal number of messages that this process sends in a
	// minute, evenly spaced; zero means no limit.
	PerMinute int

	Templates   string   // the folder of templates; empty means that there are none
	Attachments []string // folders that attachments may be read from
	MaxSize     int64    // of the bodies and attachments of a message together, in bytes; zero means [DefaultMaxSize]

	// Fetcher reads attachments that have a URL; nil means that they are
	// refused.
	Fetcher Fetcher
}

// A Fetcher reads the content of a URL, at most limit bytes, and decides which
// addresses may be reached. Package request has one, [request.Client]. An error of
// [workers.Dead] makes the job dead.
type Fetcher interface {
	Fetch(ctx context.Context, url string, limit int64) (body []byte, contentType string, err error)
}

// withDefaults returns the configuration with its defaults and absolute folders, so
// that the paths of jobs can be compared with them.
func (c Config) withDefaults() Config {
	c.Port = cmp.Or(c.Port, DefaultPort)
	if c.TLS == "" {
		c.TLS = TLSStartTLSRequired
		if c.Port == implicitTLSPort {
			c.TLS = TLSImplicit
		}
	}
	c.Auth = cmp.Or(c.Auth, AuthAuto)
	c.Connections = cmp.Or(c.Connections, DefaultConnections)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, DefaultIdleTimeout)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.MaxSize = cmp.Or(c.MaxSize, DefaultMaxSize)
	if c.Hello == "" {
		c.Hello = "localhost"
		if name, err := os.Hostname(); err == nil && isHostName(name) {
			c.Hello = name
		}
	}
	c.Templates = absolute(c.Templates)
	c.Attachments = slices.Clone(c.Attachments)
	for i, folder := range c.Attachments {
		c.Attachments[i] = absolute(folder)
	}
	return c
}

func absolute(folder string) string {
	if path, err := filepath.Abs(folder); err == nil && folder != "" {
		return path
	}
	return folder
}

// validate returns an error that wraps [queue.ErrInvalid] and names the setting. It
// does not contain the password.
func (c *Config) validate() error {
	invalid := func(format string, values ...any) error {
		return fmt.Errorf("%w: email: "+format, append([]any{queue.ErrInvalid}, values...)...)
	}
	modes := []string{TLSNone, TLSStartTLS, TLSStartTLSRequired, TLSImplicit}
	methods := []string{AuthAuto, AuthPlain, AuthLogin, AuthCRAMMD5, AuthSCRAMSHA1, AuthSCRAMSHA256, AuthXOAuth2}
	switch {
	case c.Host == "":
		return invalid("host: it is missing: want the name of the mail server")
	case c.Port < 1 || c.Port > 65535:
		return invalid("port %d: want 1 to 65535", c.Port)
	case !slices.Contains(modes, c.TLS):
		return invalid("tls %q: want one of %q", c.TLS, modes)
	case !slices.Contains(methods, c.Auth):
		return invalid("auth %q: want one of %q", c.Auth, methods)
	case c.Username == "" && (c.Password != "" || c.Auth != AuthAuto):
		return invalid("username: it is empty, but there is a password or a method to log in")
	case !isHostName(c.Hello):
		return invalid("hello %q: it is not the name of a host", c.Hello)
	case c.Domain != "" && !isHostName(c.Domain):
		return invalid("domain %q: it is not the name of a domain", c.Domain)
	case c.Connections < 0:
		return invalid("connections %d: want at least 1", c.Connections)
	case c.IdleTimeout < 0:
		return invalid("idle timeout %s: it must not be negative", c.IdleTimeout)
	case c.Timeout < 0:
		return invalid("timeout %s: it must not be negative", c.Timeout)
	case c.PerMinute < 0:
		return invalid("per minute %d: it must not be negative", c.PerMinute)
	case c.MaxSize < 0:
		return invalid("max size %d: it must not be negative", c.MaxSize)
	}
	if c.From != "" {
		if _, err := parseAddress("from", c.From); err != nil {
			return invalid("%w", err)
		}
	}
	if c.Templates != "" {
		if err := checkFolder(c.Templates); err != nil {
			return invalid("templates: %w", err)
		}
	}
	for _, folder := range c.Attachments {
		if err := checkFolder(folder); err != nil {
			return invalid("attachments: %w", err)
		}
	}
	return nil
}

func checkFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return err
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

// address returns the address of the server.
func (c *Config) address() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// tlsConfig returns the settings for one connection.
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

// sender returns the sender of a message: that of the job, or else of the
// configuration.
func (c *Config) sender(args Args) (*mail.Address, error) {
	from := cmp.Or(args.From, c.From)
	if from == "" {
		return nil, errors.New("no sender: the job has no field from, and the worker's configuration has none either")
	}
	return parseAddress("from", from)
}
