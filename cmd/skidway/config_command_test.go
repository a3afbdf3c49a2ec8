package main

import (
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
)

func TestConfigCheckTellsByItsExitCode(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "right.yaml", "queues: [{name: mail}]\nkinds: {exec.run: {commands: {a: {path: /bin/true}}}}\n")
	write(t, folder, "wrong.yaml", "queue: []\n")
	write(t, folder, "host.yaml", "kinds:\n  email.send:\n    from: a@example.com\n")
	write(t, folder, "kind.yaml", "kinds:\n  email.send:\n    host: h\n    tls: perhaps\n")
	o := mustRun(t, folder, "config", "check", "right.yaml")
	hasLine(t, o.stderr, "right.yaml is valid", "[mail]", "exec.run", "http.request")
	for file, want := range map[string]string{"wrong.yaml": "wrong.yaml:1: ", "kind.yaml": `kind.yaml:2: kinds.email.send: `, "host.yaml": `host.yaml:2: kinds.email.send: it has settings, but no host`, "none.yaml": "none.yaml: no such file"} {
		o := skidway(t, folder, "config", "check", file)
		if o.code != cli.ExitFailed || strings.Count(o.stderr, file) != 1 {
			t.Errorf("exit code %d: %s", o.code, o.stderr)
		}
		hasLine(t, o.stderr, "skidway: ", want)
		o = skidway(t, folder, "worker", "--config", file, "--redis", "redis://127.0.0.1:1")
		if o.code != cli.ExitUsage {
			t.Errorf("a worker with %s ends with %d: %s", file, o.code, o.stderr)
		}
	}
	if o := skidway(t, folder, "config", "check"); o.code != cli.ExitUsage {
		t.Errorf("exit code %d", o.code)
	}
}

func TestConfigVariablesListsThem(t *testing.T) {
	t.Parallel()
	o := mustRun(t, t.TempDir(), "config", "variables")
	hasLine(t, o.stdout, "worker.max_attempts ", " SKIDWAY_WORKER_MAX_ATTEMPTS")
	hasLine(t, o.stdout, "kinds.email.send.password ", " SKIDWAY_KINDS_EMAIL_SEND_PASSWORD")
}
