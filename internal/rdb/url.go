package rdb

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	dialTimeout = 5 * time.Second
	ioTimeout   = 10 * time.Second
	noTimeout   = -1 // of reads: only the context bounds them
)

// ErrURL is the error of a URL that [Open] cannot read.
var ErrURL = errors.New("read the Redis URL")

// readURL resolves @FILE and the empty url.
func readURL(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if path, ok := strings.CutPrefix(raw, "@"); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrURL, err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		if raw = strings.TrimSpace(line); raw == "" {
			return "", fmt.Errorf("%w: the first line of %s is empty", ErrURL, path)
		}
	}
	if raw == "" {
		raw = DefaultURL
	}
	return raw, nil
}

// CheckURL returns the error of a URL that [Open] can't read, which holds no part of it. It does not connect,
// and does not read the file of the form @FILE.
func CheckURL(url string) error {
	if url = strings.TrimSpace(url); url == "" || url[0] == '@' || strings.HasPrefix(url, "embedded:") {
		return nil
	}
	_, err := parse(url)
	return err
}

// schemes are those of [Open] that are followed by "://".
var schemes = []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// redact drops user name, password and query from a URL, even from one that
// does not parse.
func redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !slices.Contains(schemes, scheme) {
		if strings.HasPrefix(raw, "embedded:") {
			return "embedded:"
		}
		return "(unreadable URL)"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest
}

// dial builds the client for a URL; it does not connect yet. Its connections report restarts.
func dial(raw string, options Options, readTimeout time.Duration, restarts *restarts) (redis.UniversalClient, error) {
	universal, err := parse(raw)
	if err != nil {
		// Without any of the URL: what stands where the host should be may
		// be a password.
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	universal.MaxRetries = -1
	universal.DialerRetries = 1
	universal.DialTimeout = dialTimeout
	universal.ReadTimeout = readTimeout
	universal.WriteTimeout = ioTimeout
	universal.ContextTimeoutEnabled = true // a deadline of the caller's is one for the answer too
	universal.PoolSize = options.PoolSize
	universal.PipelinePoolSize = -1
	universal.DisableIdentity = true
	universal.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	universal.OnConnect = restarts.connected
	client := redis.NewUniversalClient(universal)
	if cluster, ok := client.(*redis.ClusterClient); ok {
		hooks := &clusterHooks{cluster: cluster, restarts: restarts}
		cluster.AddHook(stepHook{})
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(&nodeHook{clusterHooks: hooks, node: node}) })
	} else {
		client.AddHook(dialHook{})
	}
	return client, nil
}

// parse turns a URL into the options of one client. Its errors hold no part
// of the URL: that may hold a password.
func parse(raw string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(raw, ":")
	if slices.Contains(schemes, scheme) && !strings.HasPrefix(rest, "//") {
		return nil, errors.New("want :// after the scheme")
	}
	switch scheme {
	case "redis", "rediss", "unix":
		return parseSingle(raw)
	case "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return parseMany(raw)
	}
	return nil, errors.New("unknown scheme: use embedded: alone, or redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// and the server")
}

func parseSingle(raw string) (*redis.UniversalOptions, error) {
	if u, err := url.Parse(raw); err != nil || misplacedAt(u) {
		return nil, errNotEncoded
	} else if u.Scheme == "unix" && u.Host != "" {
		return nil, errors.New("want a path that begins with a slash: unix:///path/to/socket")
	}
	single, err := redis.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	addr := single.Addr
	if single.Network == "unix" {
		addr = strings.TrimPrefix(addr, "unix:") // UniversalOptions recognizes a socket by its leading slash
	}
	return &redis.UniversalOptions{
		Addrs: []string{addr}, DB: single.DB,
		Username: single.Username, Password: single.Password,
		TLSConfig: single.TLSConfig, ClientName: single.ClientName, Protocol: single.Protocol,
	}, nil
}

// parseMany reads the two forms with several hosts, which no other program
// shares: scheme://[user:password@]h1[:p],h2[:p][/master[/db]].
func parseMany(raw string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	secure, kind := strings.HasPrefix(scheme, "rediss"), scheme[strings.IndexByte(scheme, '+')+1:]
	options := &redis.UniversalOptions{IsClusterMode: kind == "cluster"}

	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		credentials, err := url.Parse("redis://" + rest[:i] + "@h")
		if err != nil || credentials.User == nil || credentials.Host != "h" {
			return nil, errNotEncoded
		}
		options.Username = credentials.User.Username()
		options.Password, _ = credentials.User.Password()
		rest = rest[i+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	defaultPort := "6379"
	if kind == "sentinel" {
		defaultPort = "26379"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return nil, errors.New("an empty host name in the list")
		}
		if _, port, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, errors.New("a port that is not a number: want [user:password@]host:port,host:port")
		}
		options.Addrs = append(options.Addrs, host)
	}
	if secure {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if kind == "cluster" {
		if strings.Trim(path, "/") != "" && path != "0" {
			return nil, errors.New("a cluster has no database numbers: drop what follows the hosts")
		}
		return options, nil
	}
	return options, parseMaster(options, path)
}

func parseMaster(options *redis.UniversalOptions, path string) error {
	master, number, _ := strings.Cut(path, "/")
	if master == "" {
		return errors.New("the name of the master is missing: redis+sentinel://host/MASTER/0")
	}
	options.MasterName = master
	if number == "" {
		return nil
	}
	db, err := strconv.Atoi(number)
	if err != nil || db < 0 {
		return fmt.Errorf("database %q is not a number", number)
	}
	options.DB = db
	return nil
}

// errNotEncoded stands for the errors of net/url, which quote the URL whole.
var errNotEncoded = errors.New("it does not parse: percent-encode special characters in the password")

// misplacedAt reports whether there is an @ where only a '/', '?' or '#' in a
// password can have put it. The rest of that password would be taken for a
// path, and end up in an error.
func misplacedAt(u *url.URL) bool {
	beyond := u.RawQuery + u.Fragment
	if u.Scheme != "unix" || u.Host != "" { // a socket's path may have one
		beyond += u.Path
	}
	return strings.Contains(beyond, "@")
}
