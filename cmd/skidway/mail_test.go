package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat/mailbox"
	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// mailCommands runs mail commands on a new database.
type mailCommands struct {
	t   *testing.T
	url string
}

func newMailCommands(t *testing.T) *mailCommands { return &mailCommands{t, redistest.URL(t)} }

func (m *mailCommands) args(text string, more ...string) []string {
	return append(append([]string{"mail"}, strings.Fields(text)...), append(more, "--redis", m.url)...)
}

func (m *mailCommands) run(text string, more ...string) outcome {
	m.t.Helper()
	return mustRun(m.t, "", m.args(text, more...)...)
}

func (m *mailCommands) prints(want, text string, more ...string) {
	m.t.Helper()
	if got := m.run(text, more...).stdout; got != want {
		m.t.Fatalf("mail %s prints %q, want %q", text, got, want)
	}
}

func (m *mailCommands) fails(code int, want, text string) {
	m.t.Helper()
	o := skidway(m.t, "", m.args(text)...)
	if o.code != code || o.stdout != "" {
		m.t.Errorf("mail %s: exit code %d, want %d; standard output %q", text, o.code, code, o.stdout)
	}
	hasLine(m.t, o.stderr, want)
}

func TestPrintedMailIsRead(t *testing.T) {
	t.Parallel()
	m := newMailCommands(t)
	m.prints("0\n", "count bob")
	m.prints("[]\n", "read bob -o json")
	m.prints("1\n", "send bob --as ann", "call me")
	m.prints("2\n", "send bob --as cem --type image --url https://example.com/a.png")
	hasLine(t, m.run("read bob --peek -o table").stdout, "1  ", "ann: call me")
	m.prints("2\n", "count bob")

	var messages []struct {
		ID                         uint64
		Sender, Message, Type, URL string
		Time                       string
	}
	if err := json.Unmarshal([]byte(m.run("read bob -o json").stdout), &messages); err != nil || len(messages) != 2 {
		t.Fatalf("got %+v, %v", messages, err)
	}
	if a, b := messages[0], messages[1]; a.ID != 1 || a.Sender != "ann" || a.Message != "call me" || a.Time == "" ||
		b.ID != 2 || b.Type != "image" || b.URL != "https://example.com/a.png" {
		t.Errorf("got %+v", messages)
	}
	m.prints("{\n  \"box\": \"bob\",\n  \"unread\": 0\n}\n", "count bob -o json")
	m.prints("read\n", "status bob 2")
	m.prints("notsent\n", "status bob 3")
}

func TestMailIsReadInParts(t *testing.T) {
	t.Parallel()
	m := newMailCommands(t)
	for _, text := range []string{"one", "two", "three", "four"} {
		m.run("send bob --as ann", text)
	}
	hasLine(t, m.run("read bob --newest 1").stdout, "four")
	hasLine(t, m.run("read bob --limit 1").stdout, "one")
	m.run("keep bob 1")
	m.prints("dropped\n", "status bob 2")
	hasLine(t, m.run("status bob -o table").stdout, "1 unread", "the oldest is 3")
	m.prints("{\n  \"box\": \"bob\",\n  \"id\": 3,\n  \"state\": \"unread\"\n}\n", "status bob 3 -o json")
	m.run("delete bob")
	m.prints("1\n", "send bob --as ann", "again")
}

func TestFullMailboxFailsTheSender(t *testing.T) {
	t.Parallel()
	m := newMailCommands(t)
	hasLine(t, m.run("limit bob --max 1 --idle 1h").stderr, "at most 1 messages", "refuse", "1h0m0s")
	m.run("send bob --as ann one")
	m.fails(cli.ExitFailed, "1 messages wait", "send bob --as ann two")
	hasLine(t, m.run("limit bob --when-full drop-oldest").stderr, "at most 1 messages", "drop-oldest", "1h0m0s")
	m.prints("2\n", "send bob --as ann two")
	m.prints("1\n", "count bob")
	var status struct {
		Unread, Oldest, Max uint64
		WhenFull            string `json:"when_full"`
		Idle                string
	}
	if err := json.Unmarshal([]byte(m.run("status bob -o json").stdout), &status); err != nil ||
		status.Unread != 1 || status.Oldest != 2 || status.Max != 1 || status.WhenFull != "drop-oldest" || status.Idle != "1h0m0s" {
		t.Errorf("got %+v, %v", status, err)
	}
	hasLine(t, m.run("status bob -o csv").stdout, "bob,1,1024,2,2,")
}

func TestMailIsFollowedAndPrintsNothingTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ flags, first, unread string }{
		"read":   {"", "1", "0\n"},
		"peek":   {"--peek", "1", "4\n"},
		"newest": {"--newest 1", "2", "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMailCommands(t)
			m.run("send bob --as ann 1")
			m.run("send bob --as ann 2")
			cmd := command(t, t.TempDir(), m.args("read bob --follow -o json "+c.flags)...)
			out, err := cmd.StdoutPipe()
			put(t, err)
			put(t, cmd.Start())
			lines := bufio.NewScanner(out)
			next := func(want string) {
				t.Helper()
				var object struct{ Message string }
				if !lines.Scan() || json.Unmarshal(lines.Bytes(), &object) != nil || object.Message != want {
					t.Errorf("got %q, want message %s", lines.Text(), want)
				}
			}
			next(c.first)
			if c.first == "1" {
				next("2")
			}
			for _, text := range []string{"3", "4"} {
				m.run("send bob --as ann " + text)
				next(text)
			}
			m.settled(c.unread)
			put(t, cmd.Process.Signal(interrupt))
			rest, _ := io.ReadAll(out)
			if err := cmd.Wait(); err != nil || len(rest) > 0 {
				t.Errorf("ended with %v, printed %q", err, rest)
			}
			m.prints(c.unread, "count bob")
		})
	}
}

// settled waits until this many messages are unread: messages are acknowledged after
// they are printed.
func (m *mailCommands) settled(unread string) {
	box := mailbox.NewClient(handle.New(redistest.Open(m.t, m.url)))
	ctx, cancel := context.WithTimeout(m.t.Context(), waitLimit)
	defer cancel()
	for got := ""; got != unread; {
		n, err := box.Count(ctx, "bob")
		put(m.t, err)
		got = fmt.Sprintln(n)
	}
}

func TestMailRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	m := newMailCommands(t)
	for name, c := range map[string]struct{ args, want string }{
		"no box":               {"send --as ann", "missing BOX"},
		"no message":           {"send bob --as ann", "missing MESSAGE"},
		"two messages":         {"send bob --as ann call me", "quotes"},
		"no sender":            {"send bob hello", `"as"`},
		"bad box":              {"send b{o}b --as ann hello", "box"},
		"image without a URL":  {"send bob --as ann --type image hello", "URL"},
		"keep without number":  {"keep bob", "missing N"},
		"keep less than none":  {"keep bob minus", "whole number"},
		"status of no number":  {"status bob x", "no id"},
		"no limit":             {"limit bob", "nothing to change"},
		"little room":          {"limit bob --max-bytes 1kB", "1048576"},
		"idle below zero":      {"limit bob --idle -1s", "idle"},
		"unknown policy":       {"limit bob --when-full explode", "refuse, drop-oldest"},
		"newest and limit":     {"read bob --newest 1 --limit 1", "limit"},
		"too many newest":      {"read bob --newest 501", "at most 500"},
		"follow with a limit":  {"read bob --follow --limit 1", "follow"},
		"unknown mail command": {"sned bob", "did you mean send"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&mailCommands{t, m.url}).fails(cli.ExitUsage, c.want, c.args)
		})
	}
	o := skidway(t, "", "mail", "count", "bob", "--redis", "unix:///nowhere/redis.sock")
	if o.code != cli.ExitUnreachable {
		t.Errorf("without Redis: exit code %d", o.code)
	}
}
