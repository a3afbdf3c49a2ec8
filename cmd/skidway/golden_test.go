package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// The files of testdata/golden record the output and exit code of every command. In
// files with sessions, each line that begins with "$ " or
// "^N " is a command line, and what follows is its standard output, the lines of
// its standard error, and its exit code unless that is 0. A command after "^N "
// gets an interrupt when it has printed N lines. To record more, add such a line
// and run the tests with -update. Volatile values are replaced: see normalize.
var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	last := ""
	for i, line := range gotLines {
		if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "^") {
			last = line
		}
		if i >= len(wantLines) || line != wantLines[i] {
			t.Fatalf("%s:%d: after %s\ngot  %q\nwant %q", path, i+1, last, line, strings.Join(wantLines[min(i, len(wantLines)):min(i+1, len(wantLines))], ""))
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%s has %d lines more than there were", path, len(wantLines)-len(gotLines))
	}
}

// A session runs the command lines of a golden file on one Redis.
type session struct {
	*testing.T
	url       string
	folder    string
	days      bool              // the output has dates of today and before
	variables map[string]string // by name, for command lines
	server    []string          // flags of commands that go through a server; nil: all go to Redis
}

func newSession(t *testing.T, url string) *session {
	return &session{T: t, url: url, folder: t.TempDir(), variables: map[string]string{}}
}

// replay runs the command lines of a golden file again, and compares.
func (s *session) replay(name string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden", name+".txt"))
	if err != nil {
		s.Fatal(err)
	}
	var record strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		command, found := strings.CutPrefix(line, "$ skidway")
		count := 0
		if n, _ := fmt.Sscanf(line, "^%d skidway", &count); n == 1 {
			_, command, found = strings.Cut(line, "skidway")
		}
		if !found {
			continue
		}
		args := s.args(command)
		var o outcome
		if count > 0 {
			o = s.interrupted(args, count)
		} else {
			o = inProcess(s, args)
		}
		fmt.Fprintf(&record, "%s\n%s", line, s.normalize(o.stdout))
		for output := range strings.Lines(s.normalize(o.stderr)) {
			record.WriteString("2> " + output)
		}
		if o.code != 0 {
			fmt.Fprintf(&record, "exit code %d\n", o.code)
		}
	}
	golden(s.T, name, record.String())
}

var word = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// args splits a command line, fills in variables and adds the Redis.
func (s *session) args(command string) (args []string) {
	expand := func(name string) string {
		value, known := s.variables[name]
		if !known {
			s.Fatalf("there is no variable %s", name)
		}
		return value
	}
	s.variables["DIR"] = s.folder
	for _, text := range word.FindAllString(command, -1) {
		switch {
		case strings.HasPrefix(text, "'"):
			args = append(args, strings.Trim(text, "'"))
		default:
			args = append(args, os.Expand(strings.Trim(text, `"`), expand))
		}
	}
	switch {
	case s.server != nil && len(args) > 1 && slices.Contains([]string{"enqueue", "queues", "jobs"}, args[0]):
		args = append(args, s.server...)
	case !slices.Contains(args, "--redis") && !slices.Contains(args, "--server"):
		args = append(args, "--redis", s.url)
	}
	return args
}

// interrupted runs a command line until it has printed some lines.
func (s *session) interrupted(args []string, lines int) (o outcome) {
	s.Helper()
	c := command(s, s.folder, args...)
	var output strings.Builder
	c.Stderr = &output
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	late := time.AfterFunc(waitLimit, func() { _ = c.Process.Kill() })
	defer late.Stop()
	reader := bufio.NewReader(out)
	for range lines {
		line, err := reader.ReadString('\n')
		if err != nil {
			s.Fatalf("%v: %v: %s", args, err, output.String())
		}
		o.stdout += line
	}
	if err := c.Process.Signal(interrupt); err != nil {
		s.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, reader)
	_ = c.Wait() // the exit code is checked
	o.stderr, o.code = output.String(), c.ProcessState.ExitCode()
	return o
}

// Volatile values are replaced in this order. If the width of one changes, so do the
// columns around it.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
	widths  bool // the width of the value changes
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME", false},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "YYYY-MM-DD hh:mm:ss", false},
	{regexp.MustCompile(`\b\d\d-\d\d \d\d:\d\d:\d\d`), "MM-DD hh:mm:ss", false},
	{regexp.MustCompile(`\b([nhl])\d{13}-\d+`), "$1#############-#", false},
	{regexp.MustCompile(`:d[0-9a-f]{13}\b`), ":d################", false},
	{regexp.MustCompile(`\bon mailer[-7.1]*…?`), "on mailer…", false}, // cut or not, by how long ages are
	{regexp.MustCompile(`"key": "[^"]+"`), `"key": "KEY"`, false},
	{regexp.MustCompile(`_per_second": \d+`), `_per_second": N`, false},
	{regexp.MustCompile(`_per_second,\d+`), `_per_second,N`, false},
	{regexp.MustCompile(`((ttl|oldest)_seconds"?[:,] ?)[\d.]+`), "${1}N", false},
	{regexp.MustCompile(`\b(23h59m[\d.]+s|24h0m0s)`), "24 HOURS", true},
	{regexp.MustCompile(`"seconds": [\d.e-]+`), `"seconds": N`, false},
	{regexp.MustCompile(`…[^/ ]+/001`), "…##########/001", false},
	{regexp.MustCompile(`\d+m[\d.]+s left`), "LEASE left", true},
	{regexp.MustCompile(`seconds([="]+:? ?)\d+\.\d+(e-\d+)?`), `seconds${1}N`, false},
	{regexp.MustCompile(`\b\d+\.\d{3}\b`), "N.NNN", false},
	{regexp.MustCompile(` in \d+\.\d s`), " in N.N s", false},
	{regexp.MustCompile(`\d[\d,]* +\d+s ago`), "N AGE ago", true},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)\b`), "AGE", true},
	{regexp.MustCompile(`--batch - --(redis|server)=\S+( --token=\S+)?`), "--batch - --CONNECTION", false},
	{regexp.MustCompile(`(geo-whois-asn-country) \d{4}-\d\d-\d\d`), "$1 DATE", false},
}

var datePattern = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

var spaces = regexp.MustCompile(`  +`)

// normalize replaces values that differ from run to run.
func (s *session) normalize(text string) string {
	for _, v := range volatile {
		if !v.pattern.MatchString(text) {
			continue
		}
		text = v.pattern.ReplaceAllString(text, v.with)
		if v.widths {
			text = spaces.ReplaceAllString(text, "  ")
		}
	}
	if s.days {
		text = datePattern.ReplaceAllString(text, "YYYY-MM-DD")
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, s.folder, "DIR"), s.url, "REDIS")
}

func TestGoldenHelp(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	var roomCommands func(path ...string)
	roomCommands = func(path ...string) {
		o := inProcess(t, append(path[:len(path):len(path)], "--help"))
		fmt.Fprintf(&all, "==== skidway %s, exit code %d\n%s%s\n", strings.Join(path, " "), o.code, o.stdout, o.stderr)
		_, list, _ := strings.Cut(o.stdout, "Available Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if name := strings.Fields(line)[0]; name != "completion" {
				roomCommands(append(path[:len(path):len(path)], name)...)
			}
		}
	}
	roomCommands()
	golden(t, "help", all.String())
}

func TestGoldenUsage(t *testing.T) {
	t.Parallel()
	newSession(t, redistest.URL(t)).replay("usage")
}

func TestGoldenUnreachable(t *testing.T) {
	t.Parallel()
	s := newSession(t, "unix:///nowhere/redis.sock")
	s.replay("unreachable")
}

func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	s := newSession(t, redistest.URL(t))
	write(t, s.folder, "secret", "open sesame\n")
	s.replay("messages")
}

func TestGoldenLogs(t *testing.T) {
	t.Parallel()
	s := newSession(t, redistest.URL(t))
	if err := os.Mkdir(filepath.Join(s.folder, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, s.folder, "logs/a.log", small)
	write(t, s.folder, "logs/b.log", line("10.0.0.1", "02")+small)
	write(t, s.folder, "damaged.gz", "no such thing")
	if err := os.WriteFile(filepath.Join(s.folder, "damaged.gz"), pack(t, ".gz", small)[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, s.folder, "empty.log", "")
	s.replay("logs")
}

func TestGoldenAccess(t *testing.T) {
	t.Parallel()
	newSession(t, redistest.URL(t)).replay("access")
}

func TestGoldenWorker(t *testing.T) {
	t.Parallel()
	s := newSession(t, redistest.URL(t))
	write(t, s.folder, "good.yaml", "queues: [{name: mail}]\nschedules: [{name: n, cron: '@daily', job: {queue: mail, kind: k}}]\n")
	write(t, s.folder, "bad.yaml", "worker: {}\nnope: 1\n")
	s.replay("worker")
}

func TestGoldenJobs(t *testing.T) {
	t.Parallel()
	jobsSession(t, newFixture(t)).replay("jobs")
}

// TestGoldenJobsThroughAServer compares what commands print through a server with what they print
// directly.
func TestGoldenJobsThroughAServer(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	server := d.serve([]string{"view:*", "operate:*", "admin:*", "enqueue:*", "enqueue:*:email.send", "enqueue:*:http.request", "enqueue:*:exec.run"})
	s := jobsSession(t, d)
	write(t, s.folder, "token", server.token+"\n")
	s.server = []string{"--server", server.url, "--token", "@" + filepath.Join(s.folder, "token")}
	if !*update {
		s.replay("jobs")
	}
}

// jobsSession has a queue with a job in each state, and a worker.
func jobsSession(t *testing.T, d *fixture) *session {
	t.Helper()
	s := newSession(t, d.url)
	s.days = true
	_, err := d.client.Beat(t.Context(), queue.PoolBeat{Pool: "mailer-7", Length: time.Hour, Info: &queue.PoolInfo{
		Name: "mailer-7", Host: "tern", PID: 17, Started: time.Now().Add(-time.Minute), Concurrency: 4,
		Queues: []string{"mail"}, State: "running",
	}})
	put(t, err)
	s.variables["DEAD"] = d.addDead("email.send", "550 no such user", queue.Options{MaxAttempts: 3, Headers: map[string]string{"a": "b"}})
	s.variables["DEAD2"] = d.addDead("email.send", "connection refused", queue.Options{Unique: queue.Unique{Key: "order-17"}})
	s.variables["FINISHED"] = d.add("email.send", queue.Options{Retain: time.Hour, Priority: queue.High})
	s.variables["GONE"] = d.add("email.send", queue.Options{Priority: queue.High})
	s.variables["ACTIVE"] = d.add("http.request", queue.Options{Priority: queue.High, Timeout: time.Minute})
	lease, err := d.queue().NewLease("mailer-7.1", time.Hour)
	put(t, err)
	fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 3, Bytes: 1 << 20})
	if err != nil || len(fetched.Jobs) != 3 {
		t.Fatalf("%+v, %v", fetched, err)
	}
	_, err = lease.Finish(t.Context(), []queue.Completion{
		{Job: fetched.Jobs[0], Disposition: queue.AttemptSucceeded, Result: []byte(`{"sent":1}`)}, {Job: fetched.Jobs[1], Disposition: queue.AttemptSucceeded},
	})
	put(t, err)
	s.variables["WAITING"] = d.add("email.send", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("exec.run", []byte(`{}`))}}})
	s.variables["LOW"] = d.add("email.send", queue.Options{Priority: queue.Low})
	s.variables["DELAYED"] = d.add("email.send", queue.Options{Delay: 100 * time.Hour})
	write(t, s.folder, "batch", `{"kind":"a","args":{"to":"x"}}`+"\n\n"+`{"kind":"b","max-attempts":3,"unique":"u"}`+"\n"+`{"kind":"b","unique":"u"}`+"\n")
	write(t, s.folder, "bad", `{"kind":"a"}`+"\n"+`nonsense`+"\n"+`{"kind":"c"}`+"\n")
	write(t, s.folder, "then.json", `[{"kind":"exec.run","args":{"command":"x"}}]`)
	return s
}

// TestGoldenDoctor records the form only: the findings depend on the machine.
func TestGoldenDoctor(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	object := inProcess(t, []string{"doctor", "-o", "json", "--redis", url})
	table := inProcess(t, []string{"doctor", "-o", "table", "--redis", url})
	csv := inProcess(t, []string{"doctor", "-o", "csv", "--redis", url})
	lines := strings.Split(strings.TrimSpace(table.stdout), "\n")
	digits := regexp.MustCompile(`\d+`)
	head, _, _ := strings.Cut(csv.stdout, "\n")
	golden(t, "doctor", keys(t, object.stdout)+head+"\n"+digits.ReplaceAllString(lines[len(lines)-1], "N")+"\n"+
		digits.ReplaceAllString(regexp.MustCompile(`(?m)^(ok|warning|problem|unknown) +(queues) .*`).FindString(table.stdout), "N")+"\n")
}

func TestGoldenVersion(t *testing.T) {
	t.Parallel()
	o := inProcess(t, []string{"version"})
	golden(t, "version", regexp.MustCompile(`\d{4}-\d\d-\d\d|go1\S+|skidway .*|\b[a-z]+/[a-z0-9]+\b`).ReplaceAllString(o.stdout, "X"))
}

func TestGoldenBench(t *testing.T) {
	t.Parallel()
	url, _ := benchServer(t)
	var all strings.Builder
	digits := regexp.MustCompile(`[\d.,]*\d`)
	for _, args := range []string{
		"chat --members 2,3 --messages 100 --runs 1",
		"logs --lines 1000 --runs 1",
	} {
		args := append([]string{"bench"}, strings.Fields(args)...)
		args = append(args, "--redis", url)
		object := mustRun(t, t.TempDir(), append(args, "--json")...)
		table := mustRun(t, t.TempDir(), append(args, "-q")...)
		fmt.Fprintf(&all, "%s%s", keys(t, object.stdout), spaces.ReplaceAllString(digits.ReplaceAllString(table.stdout, "N"), "  "))
	}
	golden(t, "bench", regexp.MustCompile(`(?i)(redis|valkey) N`).ReplaceAllString(all.String(), "REDIS"))
}

// keys returns the keys of JSON in their order, including those of nested objects.
func keys(t *testing.T, text string) string {
	t.Helper()
	if !json.Valid([]byte(text)) {
		t.Fatalf("no JSON: %s", text)
	}
	seen := map[string]bool{}
	var list strings.Builder
	for _, key := range regexp.MustCompile(`(?m)^ *"[a-z0-9_]+":`).FindAllString(text, -1) {
		if !seen[key] {
			seen[key] = true
			list.WriteString(key + "\n")
		}
	}
	return list.String()
}
