//go:build unix

package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/delayed"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers/kinds/command"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// newService returns a service that is connected and has no generation.
func newService(t *testing.T, c *config) *service {
	t.Helper()
	s := &service{
		config: c, db: redistest.DB(t), log: slog.New(slog.DiscardHandler),
		stopping: make(chan struct{}), over: make(chan *generation), signals: make(chan os.Signal, 4),
	}
	if err := s.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// configOf returns the configuration with a text.
func configOf(t *testing.T, text string) *config {
	t.Helper()
	c, err := read(t, text, none)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSecondSignalKillsTheCommandsOfAllGenerations(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// All processes of the script have the pipe open, and only SIGKILL ends them in time.
	c := configOf(t, `
worker: {drain: 1ms, grace: 10m}
queues: [{name: mail}]
kinds: {exec.run: {grace: 5m, commands: {ignores: {path: /bin/sh, args: [-c, "exec 3>`+pipe+`; trap '' TERM; (sleep 1000; sleep 1000) & echo up >&3; sleep 1000; sleep 1000"], inherit: [PATH]}}}}
`)
	s := newService(t, c)
	if err := s.begin(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	args := command.Args{Command: "ignores"}
	if _, err := s.client.Enqueue(t.Context(), args, &queue.Options{Queue: "mail"}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(pipe) // blocks until the script has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(file, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	if err := s.begin(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.signals <- syscall.SIGTERM
	if err := s.stop(context.WithoutCancel(t.Context())); err == nil || !strings.Contains(err.Error(), "stopped at once") {
		t.Error(err)
	}
	if _, err := io.ReadAll(file); err != nil {
		t.Fatalf("a process lives on: %v", err)
	}
	s.generations.Wait()
}

func TestScheduleThatIsRefusedPreventsAllWrites(t *testing.T) {
	t.Parallel()
	s := newService(t, &config{})
	const schedule = "  - {name: b, cron: '@daily', job: {queue: mail, kind: k}}\n"
	if err := s.store(t.Context(), configOf(t, "queues: [{name: mail, events: 10}]\nschedules:\n"+schedule)); err != nil {
		t.Fatal(err)
	}
	text := "revision: 1\nqueues: [{name: mail, events: 20}]\nschedules:\n  - {name: a, cron: '@daily', job: {queue: mail, kind: k}}\n" +
		strings.Replace(schedule, "@daily", "@weekly", 1)
	expect := func(events int, names ...string) {
		t.Helper()
		mail, err := s.client.ForPool("mail")
		if err != nil {
			t.Fatal(err)
		}
		kept, err := mail.EventsKept(t.Context())
		if kept != events || err != nil {
			t.Errorf("%d events are kept, want %d (%v)", kept, events, err)
		}
		infos, err := delayed.Schedules(t.Context(), s.client, "mail")
		var there []string
		for _, info := range infos {
			there = append(there, info.Name+" "+info.Expr)
		}
		if !slices.Equal(there, names) || err != nil {
			t.Errorf("%q are there, want %q (%v)", there, names, err)
		}
	}
	var revision *queue.RevisionError
	if err := s.store(t.Context(), configOf(t, text)); !errors.As(err, &revision) || !strings.Contains(err.Error(), "c.yaml:5: ") {
		t.Error(err)
	}
	expect(10, "b @daily")
	if err := s.store(t.Context(), configOf(t, strings.Replace(text, "revision: 1", "revision: 2", 1))); err != nil {
		t.Error(err)
	}
	expect(20, "a @daily", "b @weekly")
}

func TestSettingsThatNeedARestartAreNamed(t *testing.T) {
	t.Parallel()
	const text = "listen: a:1\nworker: {max_payload: 1MiB, drain: 1s}\n"
	c := configOf(t, text)
	if got := c.needsRestart(configOf(t, text)); len(got) > 0 {
		t.Errorf("%q", got)
	}
	next := configOf(t, "redis: redis://r\nprefix: p\nqueue_metrics: true\nlog: {format: json}\nworker: {max_payload: 2MiB, drain: 2s}\nlisten: a:2\n")
	if got, want := c.needsRestart(next), []string{"listen", "log.format", "prefix", "queue_metrics", "redis", "worker.max_payload"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
