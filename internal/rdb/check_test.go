package rdb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestServerThatDropsKeysIsRefusedByName(t *testing.T) {
	t.Parallel()
	db := open(t, redistest.Start(t).URL(0), rdb.Options{})
	for policy, fit := range map[string]bool{"noeviction": true, "volatile-lru": true, "allkeys-lru": false, "allkeys-random": false} {
		if err := db.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		server, err := db.Check(soon(t))
		if server.Policy != policy || server.Version == "" {
			t.Errorf("%s: the server is %+v", policy, server)
		}
		var unfit *rdb.UnfitServerError
		if fit && err != nil || !fit && (!errors.As(err, &unfit) || !strings.Contains(err.Error(), policy)) {
			t.Errorf("%s: the error is %v", policy, err)
		}
	}
}

func TestServersAreCheckedByWhatTheySay(t *testing.T) {
	t.Parallel()
	info := func(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
	for name, c := range map[string]struct {
		answer string
		want   rdb.Server
		reason string
	}{
		"too old":  {info("redis_version:6.2.14\r\n"), rdb.Server{Name: "redis", Version: "6.2.14"}, "6.2.14"},
		"valkey":   {info("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n"), rdb.Server{Name: "valkey", Version: "8.1.0"}, ""},
		"hidden":   {"-NOPERM this user has no permissions to run the 'info' command\r\n", rdb.Server{Name: "redis"}, ""},
		"for ever": {"-BUSY Redis is busy running a script\r\n", rdb.Server{}, "BUSY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := fake(t, func(command string) string {
				if command == "INFO" {
					return c.answer
				}
				return ""
			})
			server, err := open(t, url, rdb.Options{Patience: 50 * time.Millisecond}).Check(soon(t))
			if server != c.want {
				t.Errorf("the server is %+v, want %+v", server, c.want)
			}
			if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("the error is %v, want one with %q", err, c.reason)
			}
		})
	}
}

func TestEmbeddedServerPassesTheCheck(t *testing.T) {
	t.Parallel()
	if server, err := open(t, "embedded:", rdb.Options{}).Check(t.Context()); server.Name != "embedded" || err != nil {
		t.Errorf("Check gave %+v and %v", server, err)
	}
}
