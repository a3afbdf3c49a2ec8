package rdb

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestURLsOfEverySchemeAreRead(t *testing.T) {
	t.Parallel()
	type want struct {
		addrs                  []string
		db                     int
		user, password, master string
		cluster, tls           bool
		name                   string
	}
	for name, c := range map[string]struct {
		url string
		want
	}{
		"one server":        {"redis://h:1234/3", want{addrs: []string{"h:1234"}, db: 3, name: "redis://h:1234/3"}},
		"default port":      {"redis://h", want{addrs: []string{"h:6379"}, name: "redis://h"}},
		"IPv6":              {"redis://[::1]:7/0", want{addrs: []string{"[::1]:7"}, name: "redis://[::1]:7/0"}},
		"password":          {"redis://:s%40%2Fcret@h", want{addrs: []string{"h:6379"}, password: "s@/cret", name: "redis://h"}},
		"user":              {"redis://u:s3cret@h/1", want{addrs: []string{"h:6379"}, db: 1, user: "u", password: "s3cret", name: "redis://h/1"}},
		"bare @":            {"redis://:a@b@h", want{addrs: []string{"h:6379"}, password: "a@b", name: "redis://h"}},
		"TLS":               {"rediss://u:s3cret@h:1/1", want{addrs: []string{"h:1"}, db: 1, user: "u", password: "s3cret", tls: true, name: "rediss://h:1/1"}},
		"socket":            {"unix:///run/redis.sock?db=4", want{addrs: []string{"/run/redis.sock"}, db: 4, name: "unix:///run/redis.sock"}},
		"socket, password":  {"unix://u:s3cret@/run/redis.sock", want{addrs: []string{"/run/redis.sock"}, user: "u", password: "s3cret", name: "unix:///run/redis.sock"}},
		"socket with @":     {"unix:///run/a@b.sock", want{addrs: []string{"/run/a@b.sock"}, name: "unix://b.sock"}},
		"sentinels":         {"redis+sentinel://a,b:7,[::1]/main/2", want{addrs: []string{"a:26379", "b:7", "[::1]:26379"}, db: 2, master: "main", name: "redis+sentinel://a,b:7,[::1]/main/2"}},
		"sentinel, no db":   {"redis+sentinel://u:p%2Fw@a/main", want{addrs: []string{"a:26379"}, user: "u", password: "p/w", master: "main", name: "redis+sentinel://a/main"}},
		"sentinels, TLS":    {"rediss+sentinel://a/main/0", want{addrs: []string{"a:26379"}, master: "main", tls: true, name: "rediss+sentinel://a/main/0"}},
		"cluster":           {"redis+cluster://a:1,b", want{addrs: []string{"a:1", "b:6379"}, cluster: true, name: "redis+cluster://a:1,b"}},
		"cluster of one":    {"redis+cluster://a/0", want{addrs: []string{"a:6379"}, cluster: true, name: "redis+cluster://a/0"}},
		"cluster, password": {"rediss+cluster://:s3cret@a,b", want{addrs: []string{"a:6379", "b:6379"}, password: "s3cret", cluster: true, tls: true, name: "rediss+cluster://a,b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := parse(c.url)
			if err != nil {
				t.Fatal(err)
			}
			got := want{o.Addrs, o.DB, o.Username, o.Password, o.MasterName, o.IsClusterMode, o.TLSConfig != nil, redact(c.url)}
			if !slices.Equal(got.addrs, c.addrs) {
				t.Errorf("servers are %v, want %v", got.addrs, c.addrs)
			}
			got.addrs, c.addrs = nil, nil
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestWrongURLsAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, reason string }{
		"no scheme":              {"localhost:6379", "unknown scheme"},
		"other scheme":           {"http://h", "unknown scheme"},
		"no slashes":             {"redis:h", "want ://"},
		"no slashes, cluster":    {"redis+cluster:h", "want ://"},
		"database":               {"redis://h/x", "database"},
		"unknown option":         {"redis://h?colour=red", "colour"},
		"slash in password":      {"redis://:a/b@h", "percent-encode"},
		"slash after digits":     {"redis://u:1/b@h", "percent-encode"},
		"question mark":          {"redis://u:1?b@h", "percent-encode"},
		"number sign":            {"redis://u:1#b@h", "percent-encode"},
		"slash, socket":          {"unix://u:1/b@/run/redis.sock", "percent-encode"},
		"slash, sentinel":        {"redis+sentinel://u:1/b@h/main", "percent-encode"},
		"percent, cluster":       {"redis+cluster://:%zz@h", "percent-encode"},
		"socket without a slash": {"unix://run/redis.sock", "unix:///path"},
		"empty socket":           {"unix://", "empty unix socket path"},
		"no master":              {"redis+sentinel://h", "name of the master"},
		"database of sentinel":   {"redis+sentinel://h/main/x", "not a number"},
		"negative database":      {"redis+sentinel://h/main/-1", "not a number"},
		"empty host in list":     {"redis+sentinel://a,,b/main", "empty host"},
		"port in list":           {"redis+cluster://:s3cret", "port"},
		"database of cluster":    {"redis+cluster://h/3", "no database numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(c.url); err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("the error is %v, want one with %q", err, c.reason)
			}
		})
	}
}

// The secret stands in each place where people put passwords, rightly or not,
// as it is and percent-encoded. Its two ends are what is looked for, so that
// what is found can't come from anywhere else.
func FuzzParseURL(f *testing.F) {
	for _, middle := range []string{"", "a", "/", "?", "#", "@", "@h/", "://", ":", "%", "%2", "%zz", " ", "\n", "[", "]", ",", "/@", "?db=", "é", "\x00", "1@2/3"} {
		for number := range uint8(8) {
			f.Add(number, middle, "host:6379/0", number%2 == 0)
		}
	}
	const head, tail = "73058264", "91640357"
	f.Fuzz(func(t *testing.T, number uint8, middle, rest string, encode bool) {
		if strings.Contains(middle+rest, head) || strings.Contains(middle+rest, tail) || strings.Contains(rest, "@") {
			t.Skip()
		}
		secret := head + middle + tail
		if encode {
			secret = url.QueryEscape(secret)
		}
		raw := append(slices.Clip(schemes), secret)[int(number)%(len(schemes)+1)] + "://user:" + secret + "@" + rest
		client, err := dial(raw, Options{}, ioTimeout, &restarts{})
		if err == nil {
			_ = client.Close()
		}
		for what, shown := range map[string]string{"name": redact(raw), "error": text(err)} {
			if strings.Contains(shown, head) || strings.Contains(shown, tail) {
				t.Errorf("the %s of %q shows the password: %s", what, raw, shown)
			}
		}
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestURLIsReadFromAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "url")
	for name, c := range map[string]struct{ content, want, reason string }{
		"first line":  {"  redis://:pw@h \nanother\n", "redis://:pw@h", ""},
		"no newline":  {"embedded:", "embedded:", ""},
		"empty":       {"", "", "is empty"},
		"blank first": {"\nredis://h\n", "", "is empty"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readURL("@" + path)
		if got != c.want || !strings.Contains(text(err), c.reason) || (err == nil) != (c.reason == "") {
			t.Errorf("%s: got %q and %v", name, got, err)
		}
	}
	if _, err := readURL("@" + path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: the error is %v", err)
	}
	if got, err := readURL(" "); got != DefaultURL || err != nil {
		t.Errorf("no URL: got %q and %v, want the default", got, err)
	}
}

func TestPrefixIsChecked(t *testing.T) {
	t.Parallel()
	for prefix, good := range map[string]bool{
		"": true, "a": true, "My.app_1-x:y": true, strings.Repeat("p", 64): true,
		strings.Repeat("p", 65): false, "a b": false, "{a}": false, "a*": false, "ä": false, "a\n": false,
	} {
		if err := (Options{Prefix: prefix}).withDefaults().validate(); (err == nil) != good {
			t.Errorf("prefix %q: the error is %v", prefix, err)
		}
	}
}

func TestServersTellWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info string
		want Server
	}{
		"redis":  {"# Server\r\nredis_version:7.0.15\r\nmaxmemory:1048576\r\nused_memory:77\r\nmaxmemory_policy:noeviction\r\n", Server{"redis", "7.0.15", "noeviction", 1 << 20, 77, ""}},
		"valkey": {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nmaxmemory:0\r\nmaxmemory_policy:volatile-lru\r\n", Server{"valkey", "8.1.0", "volatile-lru", 0, 0, ""}},
		"no CR":  {"redis_version:8.2.1\nmaxmemory:12x\n", Server{"redis", "8.2.1", "", 0, 0, ""}},
		"empty":  {"", Server{Name: "redis"}},
	} {
		if got := ServerOf(ParseInfo(c.info)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestUnfitServersAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server Server
		fit    bool
	}{
		"oldest":           {Server{Version: "7.0.0"}, true},
		"new":              {Server{Version: "8.2.1", Policy: "noeviction"}, true},
		"two digits":       {Server{Version: "10.0.0"}, true},
		"too old":          {Server{Version: "6.2.14"}, false},
		"ancient":          {Server{Version: "2.8"}, false},
		"hidden":           {Server{}, true},
		"odd version":      {Server{Version: "unstable"}, true},
		"volatile-lru":     {Server{Version: "7.2.0", Policy: "volatile-lru"}, true},
		"allkeys-lru":      {Server{Version: "7.2.0", Policy: "allkeys-lru"}, false},
		"allkeys-lrm":      {Server{Version: "8.6.0", Policy: "allkeys-lrm"}, false},
		"old but volatile": {Server{Version: "5.0.0", Policy: "volatile-ttl"}, false},
	} {
		err := c.server.fit()
		var unfit *UnfitServerError
		if (err == nil) != c.fit || err != nil && !errors.As(err, &unfit) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add("redis_version:7.0.15\r\nmaxmemory:1\r\n")
	f.Add(":\r\n::\nvalkey_version:")
	f.Fuzz(func(t *testing.T, info string) {
		server := ServerOf(ParseInfo(info))
		if server.Name != "redis" && server.Name != "valkey" {
			t.Errorf("the name of the server is %q", server.Name)
		}
		_ = server.fit()
	})
}
