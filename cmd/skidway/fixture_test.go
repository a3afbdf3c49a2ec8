package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/processtest"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestMain(m *testing.M) {
	prepare()
	processtest.Main(m, func() error { main(); return nil })
}

// command returns a process of the command in a folder.
func command(t testing.TB, folder string, args ...string) *exec.Cmd {
	t.Helper()
	c := processtest.Command(t, args...)
	c.Dir = folder
	return c
}

// An outcome is the output and exit code of a process that has ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// skidway runs a command in a folder and waits for its end. Without a folder, where it names no
// relative path, it runs in the process of the test.
func skidway(t testing.TB, folder string, args ...string) outcome {
	t.Helper()
	if folder == "" {
		return inProcess(t, args)
	}
	return finish(t, command(t, folder, args...))
}

// inProcess runs a command in the process of the test: the start of one takes longer than most
// commands do, above all with the race detector. Paths must be absolute.
func inProcess(t testing.TB, args []string) (o outcome) {
	t.Helper()
	folder := t.TempDir()
	var files [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		file, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		files[i] = file
	}
	o.code = run(args, files[0], files[1])
	for i, text := range []*string{&o.stdout, &o.stderr} {
		content, err := os.ReadFile(files[i].Name())
		if err != nil {
			t.Fatal(err)
		}
		*text = string(content)
	}
	return o
}

func finish(t testing.TB, c *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// mustRun runs a command that must succeed.
func mustRun(t testing.TB, folder string, args ...string) outcome {
	t.Helper()
	return succeeded(t, skidway(t, folder, args...), args)
}

func succeeded(t testing.TB, o outcome, args []string) outcome {
	t.Helper()
	if o.code != cli.ExitDone {
		t.Fatalf("skidway %s: exit code %d\n%s", strings.Join(args, " "), o.code, o.stderr)
	}
	return o
}

// hasLine fails the test if no line of text holds all of the parts.
func hasLine(t testing.TB, text string, parts ...string) {
	t.Helper()
lines:
	for line := range strings.Lines(text) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		return
	}
	t.Errorf("no line with %q in:\n%s", parts, text)
}

// waitLimit bounds how long a test waits for an event, on a busy machine.
const waitLimit = 60 * time.Second

// start starts a process of which the test reads standard error.
func start(t testing.TB, folder string, args ...string) *processtest.Process {
	t.Helper()
	c := command(t, folder, args...)
	c.Stdout = io.Discard
	return processtest.Start(t, c)
}

// line writes a log line in the Combined format.
func line(addr, day string) string {
	return addr + ` - - [` + day + `/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "-"` + "\n"
}

// small has four lines: two of the first of November, one of the second from a
// private address, and one that cannot be parsed.
var small = line("8.8.8.8", "01") + line("193.0.6.139", "01") + line("10.0.0.1", "02") + "no such thing\n"

// write writes a file into a folder, compressed by the extension of its name, and
// returns its path.
func write(t testing.TB, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, pack(t, filepath.Ext(name), content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func pack(t testing.TB, extension, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	var w io.WriteCloser
	switch extension {
	case ".gz":
		w = gzip.NewWriter(&packed)
	case ".zst":
		encoder, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	case ".xz":
		encoder, err := xz.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	case ".lz4":
		w = lz4.NewWriter(&packed)
	case ".br":
		w = brotli.NewWriter(&packed)
	default:
		return []byte(content)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// A fixture is a Redis for one test, with a client.
type fixture struct {
	testing.TB
	url     string
	client  *queue.Client
	started chan string // ids of slow jobs that run
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureAt(t, redistest.URL(t))
}

// newFixtureAt returns a fixture on the Redis of a URL.
func newFixtureAt(t testing.TB, url string) *fixture {
	t.Helper()
	client, err := queue.NewClient(handle.New(redistest.Open(t, url)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, url, client, make(chan string, 100)}
}

// run runs a command on the fixture's Redis, in the process of the test.
func (d *fixture) run(args ...string) outcome {
	d.Helper()
	return inProcess(d, append(args, "--redis", d.url))
}

// must is run for a command that must succeed.
func (d *fixture) must(args ...string) outcome {
	d.Helper()
	return succeeded(d, d.run(args...), args)
}

// ends fails the test unless the exit code is code, and a line of standard error has
// all parts.
func (d *fixture) ends(o outcome, code int, parts ...string) {
	d.Helper()
	if o.code != code {
		d.Errorf("exit code %d, want %d: %s", o.code, code, o.stderr)
	}
	hasLine(d, o.stderr, parts...)
}

func (d *fixture) add(kind string, o queue.Options) string {
	d.Helper()
	o.Queue = "mail"
	id, err := d.client.Enqueue(d.Context(), queue.Raw(kind, []byte(`{"to":"a"}`)), &o)
	if err != nil {
		d.Fatal(err)
	}
	return id
}

func (d *fixture) queue() *queue.PoolQueue {
	q, err := d.client.ForPool("mail")
	if err != nil {
		d.Fatal(err)
	}
	return q
}

var interrupt os.Signal = syscall.SIGINT
