package rdb

import (
	"errors"
	"testing"
)

func TestServersTellWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info string
		want Server
	}{
		"redis":  {"# Server\r\nredis_version:7.0.15\r\nmaxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n", Server{"redis", "7.0.15", "noeviction", 1 << 20}},
		"valkey": {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nmaxmemory:0\r\nmaxmemory_policy:volatile-lru\r\n", Server{"valkey", "8.1.0", "volatile-lru", 0}},
		"no CR":  {"redis_version:8.2.1\nmaxmemory:12x\n", Server{"redis", "8.2.1", "", 0}},
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
