package main

import (
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// unreachableURL is the URL of no server, with a password.
const unreachableURL = "redis://someone:verysecret@127.0.0.1:1/0"

func TestUnreachableRedisEndsWithThreeAndHidesThePassword(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	write(t, folder, "url", unreachableURL+"\n")
	for name, args := range map[string]string{
		"count":  "logs count a.log --redis " + unreachableURL,
		"ship":   "logs ship a.log --channel web --redis " + unreachableURL,
		"file":   "logs ship a.log --channel web --redis @url",
		"status": "logs status --channel web --redis " + unreachableURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, folder, strings.Fields(args)...)
			if o.code != cli.ExitUnreachable {
				t.Errorf("exit code %d", o.code)
			}
			hasLine(t, o.stderr, "skidway: ", "127.0.0.1:1", "not reachable")
			if strings.Contains(o.stderr, "verysecret") || strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("%s", o.stderr)
			}
		})
	}
}

func TestWrongSettingIsReportedWithItsVariable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, args, want string }{
		"SKIDWAY_REDIS": {"SKIDWAY_REDIS=127.0.0.1:6379", "queues list", "skidway: the environment variable SKIDWAY_REDIS: read the Redis URL"},
		"REDIS_URL":     {"REDIS_URL=http://verysecret@x", "queues list", "skidway: the environment variable REDIS_URL: read the Redis URL"},
		"doctor":        {"REDIS_URL=@/no/such", "doctor", "skidway: the environment variable REDIS_URL: read the Redis URL: open /no/such"},
		"worker":        {"SKIDWAY_REDIS=localhost", "worker", "skidway: configuration: the environment variable SKIDWAY_REDIS: redis: unknown scheme"},
		"flag":          {"SKIDWAY_REDIS=localhost", "queues list --redis other", "skidway: read the Redis URL"},
		"server":        {"SKIDWAY_SERVER=http://127.0.0.1:1", "workers list", "skidway: this command needs Redis itself, so it can't go through the server http://127.0.0.1:1 of SKIDWAY_SERVER: give --redis or set SKIDWAY_REDIS"},
		"server flag":   {"SKIDWAY_REDIS=localhost", "workers list --server http://127.0.0.1:1", "can't go through --server"},
		"server doctor": {"SKIDWAY_SERVER=http://127.0.0.1:1", "doctor", "can't go through the server http://127.0.0.1:1 of SKIDWAY_SERVER: give --redis or set SKIDWAY_REDIS"},
		"server queue":  {"SKIDWAY_SERVER=http://127.0.0.1:1", "bench queue", "can't go through the server http://127.0.0.1:1 of SKIDWAY_SERVER: give --redis or set SKIDWAY_REDIS"},
		"server logs":   {"SKIDWAY_REDIS=localhost", "bench logs --server http://127.0.0.1:1", "can't go through --server"},
		"server worker": {"SKIDWAY_SERVER=http://127.0.0.1:1", "worker", "can't go through the server http://127.0.0.1:1 of SKIDWAY_SERVER: give --redis or set SKIDWAY_REDIS, or set redis in the file of --config"},
		"worker flag":   {"SKIDWAY_REDIS=" + unreachableURL, "worker --server http://127.0.0.1:1", "can't go through --server"},
		"rules":         {"SKIDWAY_RULES=/no/such", "config alerts", "skidway: the environment variable SKIDWAY_RULES: open /no/such"},
		"prefix":        {"SKIDWAY_REDIS=localhost", "queues list --prefix {x}", "skidway: prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := command(t, t.TempDir(), strings.Fields(c.args)...)
			p.Env = append(p.Env, c.env)
			o := finish(t, p)
			if o.code != cli.ExitUsage || strings.Contains(o.stderr, "verysecret") {
				t.Errorf("exit code %d: %s", o.code, o.stderr)
			}
			hasLine(t, o.stderr, c.want)
		})
	}
}

func TestRedisComesFromTheEnvironmentInOrder(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	if _, err := distribute.Open(t.Context(), handle.New(redistest.Open(t, url)), "web"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		flag string
		code int
	}{
		"flag first":         {[]string{"SKIDWAY_REDIS=" + unreachableURL, "REDIS_URL=" + unreachableURL}, url, cli.ExitDone},
		"then SKIDWAY_REDIS": {[]string{"SKIDWAY_REDIS=" + url, "REDIS_URL=" + unreachableURL}, "", cli.ExitDone},
		"then REDIS_URL":     {[]string{"REDIS_URL=" + unreachableURL}, "", cli.ExitUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := command(t, t.TempDir(), "logs", "status", "--channel", "web", "--redis", c.flag)
			p.Env = append(p.Env, c.env...)
			if o := finish(t, p); o.code != c.code {
				t.Errorf("exit code %d: %s", o.code, o.stderr)
			}
		})
	}
}

func TestCountUsesAServerOnlyWithTheFlag(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	p := command(t, folder, "logs", "count", "a.log")
	p.Env = append(p.Env, "SKIDWAY_REDIS="+unreachableURL)
	if o := finish(t, p); o.code != cli.ExitDone || o.stdout != smallCSV {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if o := mustRun(t, folder, "logs", "count", "a.log", "--redis", redistest.URL(t)); o.stdout != smallCSV {
		t.Errorf("%s", o.stdout)
	}
}

func TestServerThatDropsKeysIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	o := skidway(t, "", "logs", "status", "--channel", "web", "--redis", server.URL(0))
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "skidway: ", "allkeys-lru", "noeviction")
}

func TestServerThatRefusesTheLoginIsAFailure(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := strings.Replace(server.URL(0), "unix://", "unix://someone:verysecret@", 1)
	o := skidway(t, "", "logs", "status", "--channel", "web", "--redis", url)
	if o.code != cli.ExitFailed || strings.Contains(o.stderr, "verysecret") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	hasLine(t, o.stderr, "skidway: ", "check user, password")
}
