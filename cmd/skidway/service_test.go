package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A workerFixture is a worker process with its configuration.
type workerFixture struct {
	*fixture
	worker *processtest.Process
	file   string
}

// waits is a command that reports by one pipe that it runs, and ends when it reads from
// the other.
const waits = "worker: {drain: 20s, grace: 1s, name: old}\nkinds: {http.request: {allow_private: true}, exec.run: {commands: {waits: {path: /bin/sh, args: [-c, 'echo > %[1]s/runs; read x < %[1]s/end; echo waited'], dir: /}}}}\n"

// newWorkerFixture starts a worker with a configuration, and waits until it is ready. %[1]s
// in it is a folder with the pipes that the command waits has.
func newWorkerFixture(t testing.TB, config string, args ...string) *workerFixture {
	t.Helper()
	return newFixture(t).workerFixture(config, args...)
}

func (d *fixture) workerFixture(config string, args ...string) *workerFixture {
	d.Helper()
	folder := d.TempDir()
	for _, name := range []string{"runs", "end"} {
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o600); err != nil {
			d.Fatal(err)
		}
	}
	s := &workerFixture{fixture: d, file: filepath.Join(folder, "c.yaml")}
	s.configure(config)
	s.worker = processtest.Start(d, command(d, folder, append([]string{"worker", "--config", s.file, "--redis", d.url}, args...)...))
	s.worker.Await("worker is ready")
	return s
}

// configure writes the configuration.
func (s *workerFixture) configure(text string) {
	s.Helper()
	if strings.Contains(text, "%[1]s") {
		text = fmt.Sprintf(text, filepath.Dir(s.file))
	}
	write(s, filepath.Dir(s.file), "c.yaml", text)
}

// reload makes the worker read its configuration, and returns the line with message that
// it logs then.
func (s *workerFixture) reload(want string) (line string) {
	s.Helper()
	s.worker.Signal(syscall.SIGHUP)
	return s.worker.Await(want)
}

// runs enqueues a job of the command waits and blocks until it runs.
func (s *workerFixture) runs(name string) (id string) {
	s.Helper()
	id = s.must("enqueue", name, "exec.run", `{"command":"waits"}`, "--retain", "1h", "--quiet").one(s)
	if _, err := os.ReadFile(filepath.Join(filepath.Dir(s.file), "runs")); err != nil { // opens when it is opened for writing
		s.Fatal(err)
	}
	return id
}

// end lets the command end.
func (s *workerFixture) end() {
	s.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.file), "end"), []byte("\n"), 0); err != nil {
		s.Fatal(err)
	}
}

// awaitOutcome waits for the end of a job.
func (s *workerFixture) awaitOutcome(id string, want queue.Outcome) *queue.Job {
	s.Helper()
	job, err := s.client.Wait(s.Context(), id)
	if err != nil || job.Outcome != want || job.Attempts != 0 && want == queue.Succeeded {
		s.Errorf("job %s: %+v, %v", id, job, err)
	}
	return job
}

func TestArgsThatTheWorkerAllowsAreNotMalformed(t *testing.T) {
	t.Parallel()
	s := newWorkerFixture(t, "queues: [{name: q}]\nworker: {max_payload: 4MiB}\n")
	client, err := queue.NewClient(s.client.DB(), &queue.Config{MaxPayload: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	args := []byte(`{"url":"http://127.0.0.1:1/","body":"` + strings.Repeat("x", 2<<20) + `"}`)
	id, err := client.Enqueue(t.Context(), queue.Raw("http.request", args), &queue.Options{Queue: "q"})
	if err != nil {
		t.Fatal(err)
	}
	// Its handler has run, and has refused the private address.
	if job, err := client.Wait(t.Context(), id); err != nil || job.Outcome != queue.Died || strings.Contains(job.Reason, "malformed") || job.Attempts != 1 {
		t.Errorf("%v: %.200s, %d attempts", err, job.Reason, job.Attempts)
	}
}

func TestReloadLosesNoJob(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan bool, 1), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-answer
	}))
	defer server.Close()
	s := newWorkerFixture(t, waits+"queues: [{name: mail}]\n")
	command := s.runs("mail")
	request := s.must("enqueue", "mail", "http.request", `{"url":"`+server.URL+`"}`, "--retain", "1h").one(t)
	<-asked

	s.configure("worker: {concurrency: 1, name: new}\nqueues: [{name: reports}]\nkinds: {exec.run: {commands: {other: {path: /bin/true}}}}\n")
	s.reload("new configuration")
	if o := s.must("enqueue", "reports", "exec.run", `{"command":"other"}`, "--wait"); o.stdout == "" {
		t.Errorf("%+v", o)
	}
	s.ends(s.run("enqueue", "reports", "exec.run", `{"command":"waits"}`, "--max-attempts", "1", "--wait"), cli.ExitFailed, "is dead")
	s.ends(s.run("enqueue", "reports", "http.request", `{"url":"`+server.URL+`"}`, "--max-attempts", "1", "--wait"), cli.ExitFailed, "is dead")
	left := s.must("enqueue", "mail", "http.request", `{"url":"`+server.URL+`"}`).one(t)
	if list := s.workers(); len(list) != 2 {
		t.Errorf("while jobs of the old one run there are %+v", list)
	}
	close(answer)
	s.awaitOutcome(request, queue.Succeeded)
	s.end()
	if job := s.awaitOutcome(command, queue.Succeeded); !strings.Contains(string(job.Result), "waited") {
		t.Errorf("%s", job.Result)
	}
	s.worker.Await("has ended")
	if list := s.workers(); len(list) != 1 || !strings.HasPrefix(list[0].Name, "new") || list[0].Concurrency != 1 {
		t.Errorf("%+v", list)
	}
	if job, err := s.client.Get(t.Context(), left); err != nil || job.State != queue.Waiting {
		t.Errorf("a job of a queue that is served no more: %+v, %v", job, err)
	}
	s.worker.Signal(syscall.SIGTERM)
	if output, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
}

func TestWrongNewConfigurationLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	s := newWorkerFixture(t, waits+"queues: [{name: mail}]\n")
	schedule := "schedules: [{name: n, cron: '%s', job: {queue: mail, kind: k}}]\n"
	s.configure(waits + "queues: [{name: mail}]\n" + strings.Replace(schedule, "%s", "@daily", 1))
	s.reload("new configuration")
	for _, c := range []struct{ text, want string }{
		{"worker: {}\nnope: 1\n", "c.yaml:2: "},
		{"kinds:\n  email.send: {host: h, tls: perhaps}\n", "c.yaml:2: kinds.email.send: "},
		{"kinds: {email.send: {password: hunter2}}\n", "c.yaml:1: a secret must not be in the configuration itself"},
		{"queues: [{name: 'a b'}]\n", "c.yaml:1: queues[0]: "},
		{"worker: {}\n" + strings.Replace(schedule, "%s", "@weekly", 1), "c.yaml:2: schedule"},
	} {
		s.configure(c.text)
		last := s.reload("the old one stays")
		if !strings.Contains(last, "level=ERROR") || !strings.Contains(last, c.want) || strings.Contains(last, "hunter2") {
			t.Errorf("want %q in %s", c.want, last)
		}
	}
	id := s.runs("mail")
	s.end()
	s.awaitOutcome(id, queue.Succeeded)
}

func TestSettingsThatNeedARestartAreLogged(t *testing.T) {
	t.Parallel()
	s := newWorkerFixture(t, "log: {level: debug}\n")
	s.configure("log: {level: warn, format: json}\nprefix: other\nlisten: 127.0.0.1:1\n")
	s.worker.Signal(syscall.SIGHUP)
	for range 3 {
		s.worker.Await("needs a restart")
	}
	for _, setting := range []string{"setting=prefix", "setting=listen", "setting=log.format"} {
		hasLine(t, s.worker.Output(), setting)
	}
	s.worker.Signal(syscall.SIGTERM)
	if output, code := s.worker.End(); code != cli.ExitDone || strings.Contains(output, "level=INFO msg=stop") {
		t.Errorf("exit code %d, and the level of the log is as before: %s", code, output)
	}
}

func TestManyReloadsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.url = redistest.Start(t).URL(0) // all clients of this server belong to this test
	db := redistest.Open(t, d.url)
	clients := func() int {
		list, err := db.ClientList(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(list, "\n")
	}
	s := d.workerFixture(waits+"queues: [{name: mail}, {name: 'x-*'}]\n", "--listen", "127.0.0.1:0")
	address := s.address()
	const reloads = 15
	turn := func(n int) (goroutines float64) {
		for range n {
			s.worker.Signal(syscall.SIGHUP)
			s.worker.Await("new configuration", "has ended") // an idle pool may end first
		}
		return scrape(t, address)["go_goroutines"].GetMetric()[0].GetGauge().GetValue()
	}
	before := turn(3)
	connections := clients()
	after := turn(reloads)
	// A pool that has ended may have goroutines and connections for a moment.
	for deadline := time.Now().Add(time.Minute); after > before+reloads/2 || clients() > connections+reloads/2; after = turn(0) {
		if time.Now().After(deadline) {
			t.Fatalf("%v goroutines and %d connections after 3 reloads, %v and %d after %d more", before, connections, after, clients(), reloads)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if list := s.workers(); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

func TestWorkerSurvivesAnOutageOfRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := newFixture(t)
	d.url = server.URL(0)
	s := d.workerFixture(waits+"queues: [{name: mail}]\n", "--listen", "127.0.0.1:0")
	address := s.address()
	server.Kill()
	if got := status(t, address+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("ready without Redis: %d", got)
	}
	if up := scrape(t, address)["skidway_redis_up"].GetMetric()[0].GetGauge().GetValue(); up != 0 {
		t.Errorf("redis is up: %v", up)
	}
	s.configure("queues: [{name: reports, retention: {dead: {jobs: 5}}}]\nkinds: {exec.run: {commands: {other: {path: /bin/true}}}}\n")
	s.reload("the old one stays")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	s.reload("new configuration")
	if o := s.must("enqueue", "reports", "exec.run", `{"command":"other"}`, "--wait"); o.stdout == "" {
		t.Errorf("%+v", o)
	}
	if got := status(t, address+"/readyz"); got != http.StatusOK {
		t.Errorf("not ready: %d", got)
	}
	server.Kill()
	began := time.Now()
	s.worker.Signal(syscall.SIGTERM)
	if output, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("without Redis it takes %s to stop", took)
	}
}

func TestRetentionAndEventsOfTheConfigurationHold(t *testing.T) {
	t.Parallel()
	s := newWorkerFixture(t, waits+"queues: [{name: mail, retention: {dead: {jobs: 2}}, events: 100}]\n")
	for n := range 4 {
		s.ends(s.run("enqueue", "mail", "exec.run", `{"command":"`+strconv.Itoa(n)+`"}`, "--wait", "--max-attempts", "1"), cli.ExitFailed, "is dead")
	}
	var list struct{ Jobs []jobJSON }
	if err := json.Unmarshal([]byte(s.must("jobs", "list", "mail", "--state", "dead", "-o", "json").stdout), &list); err != nil || len(list.Jobs) != 2 {
		t.Errorf("%d dead jobs are kept, %v", len(list.Jobs), err)
	}
	mail, err := s.client.Queue("mail")
	if err != nil {
		t.Fatal(err)
	}
	if events, _, err := mail.Events(t.Context(), "", 0); err != nil || len(events) < 4 {
		t.Errorf("the events %+v are kept, %v", events, err)
	}
}
