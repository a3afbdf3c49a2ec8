package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestOneSignalStopsGentlyAndTwoAtOnce(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name+" once", func(t *testing.T) {
			t.Parallel()
			s := newWorkerFixture(t, waits+"queues: [{name: mail}]\n")
			id := s.runs("mail")
			s.worker.Signal(signal)
			s.worker.Await("stopping: waiting for running jobs")
			if !strings.Contains(s.worker.Output(), "drain=20s grace=1s") {
				t.Errorf("the wait is not logged: %s", s.worker.Output())
			}
			s.end()
			if output, code := s.worker.End(); code != cli.ExitDone {
				t.Errorf("exit code %d: %s", code, output)
			}
			s.awaitOutcome(id, queue.Succeeded)
		})
		t.Run(name+" twice", func(t *testing.T) {
			t.Parallel()
			s := newWorkerFixture(t, waits+"queues: [{name: mail}]\n")
			s.runs("mail")
			s.worker.Signal(signal)
			s.worker.Await("stopping: waiting for running jobs")
			s.worker.Signal(signal)
			if output, code := s.worker.End(); code != cli.ExitFailed || !strings.Contains(output, "stopped at once") {
				t.Errorf("exit code %d: %s", code, output)
			}
		})
	}
}

func TestStopHandsUnfinishedJobsBack(t *testing.T) {
	t.Parallel()
	s := newWorkerFixture(t, strings.Replace(waits, "drain: 20s", "drain: 100ms", 1)+"queues: [{name: mail}]\n")
	id := s.runs("mail")
	began := time.Now()
	s.worker.Signal(syscall.SIGTERM)
	if output, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
	if took := time.Since(began); took > 15*time.Second { // drain, grace, and a slow machine
		t.Errorf("it took %s", took)
	}
	if job, err := s.client.Get(t.Context(), id); err != nil || job.State != queue.Waiting || job.Attempts != 0 {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestStopSignalEndsAWorker(t *testing.T) {
	t.Parallel()
	s := newWorkerFixture(t, "queues: [{name: mail}]\nkinds: {exec.run: {commands: {yes: {path: /bin/true}}}}\n")
	s.must("enqueue", "mail", "exec.run", `{"command":"yes"}`, "--wait") // from here on the queue knows the worker
	s.must("workers", "stop", "--all")
	if output, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
}

func TestReloadDoesNotUndoQuietOrStop(t *testing.T) {
	t.Parallel()
	for _, signal := range []string{"quiet", "stop"} {
		s := newWorkerFixture(t, waits+"queues: [{name: mail}]\n", "--listen", "127.0.0.1:0")
		address, id := s.address(), s.runs("mail")
		s.must("workers", signal, "--all")
		s.worker.Await(signal + " signal")
		if got := status(t, address+"/readyz"); got != http.StatusServiceUnavailable {
			t.Errorf("%s: ready though it takes no jobs: %d", signal, got)
		}
		s.reload("the configuration is not read again")
		s.end()
		s.awaitOutcome(id, queue.Succeeded)
		if signal == "quiet" {
			s.worker.Signal(syscall.SIGTERM)
		}
		if output, code := s.worker.End(); code != cli.ExitDone {
			t.Errorf("exit code %d: %s", code, output)
		}
	}
}

func TestExitCodesOfWorkersThatCannotStart(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	for name, c := range map[string]struct {
		args, want string
		code       int
	}{
		"Redis is away":         {"--redis redis://127.0.0.1:1", "not reachable", cli.ExitUnreachable},
		"embedded Redis":        {"--redis embedded:", "embedded", cli.ExitUsage},
		"no name of a queue":    {"--queue two:words --redis " + url, "two:words", cli.ExitUsage},
		"bad weight":            {"--queue a=0 --redis " + url, "weight", cli.ExitUsage},
		"queue twice":           {"--queue a --queue a=2 --redis " + url, "twice", cli.ExitUsage},
		"address without port":  {"--listen localhost --redis " + url, "want host and port", cli.ExitUsage},
		"bad pattern":           {"--queue a[* --redis " + url, "a[*", cli.ExitUsage},
		"no such configuration": {"--config nope.yaml --redis " + url, "nope.yaml", cli.ExitUsage},
		"argument":              {"mail --redis " + url, "mail", cli.ExitUsage},
		"address it can't have": {"--listen 192.0.2.1:1 --redis " + url, "listen for health and metrics", cli.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, t.TempDir(), append([]string{"worker"}, strings.Fields(c.args)...)...)
			if o.code != c.code {
				t.Errorf("exit code %d, want %d", o.code, c.code)
			}
			hasLine(t, o.stderr, "skidway: ", c.want)
		})
	}
}

func TestSecretsAreInNoErrorAndNoLog(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"of a Redis that is away":   "redis: redis://user:hunter2@127.0.0.1:1/0\n",
		"of a URL that is none":     "redis: 'redis://user:hunter2@127.0.0.1:port/0'\n",
		"of a scheme that is none":  "redis: 'http://user:hunter2@127.0.0.1'\n",
		"of a file":                 "redis: '@" + write(t, folder, "redis", "redis://user:hunter2@127.0.0.1:1\n") + "'\n",
		"of a proxy":                "kinds: {http.request: {proxy: 'user:hunter2@proxy'}}\n",
		"of text that is not YAML":  "redis: 'redis://user:hunter2@127.0.0.1\nx\n",
		"of mail that is set wrong": "kinds: {email.send: {host: h, port: 99999, username: u, password: {file: " + write(t, folder, "smtp", "hunter2\n") + "}}}\n",
	} {
		file := write(t, folder, "c.yaml", text)
		o := skidway(t, folder, "worker", "--config", file)
		if o.code != cli.ExitUsage && o.code != cli.ExitUnreachable || strings.Contains(o.stdout+o.stderr, "hunter2") {
			t.Errorf("%s: exit code %d: %s", name, o.code, o.stderr)
		}
	}
}
