package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
)

// runsCommand makes the test binary be the command, so that tests run real
// processes of exactly what is tested.
const runsCommand = "SKIDWAY_TEST_RUNS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(runsCommand) != "" {
		main()
		return
	}
	redistest.Main(m)
}

// command prepares a process of the command in a folder, with no Redis in its
// environment.
func command(t testing.TB, folder string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Dir = folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SKIDWAY_REDIS=") && !strings.HasPrefix(variable, "REDIS_URL=") {
			c.Env = append(c.Env, variable)
		}
	}
	c.Env = append(c.Env, runsCommand+"=1")
	return c
}

// An outcome is what a process that has ended printed.
type outcome struct {
	stdout, stderr string
	code           int
}

// skidway runs a command to its end.
func skidway(t testing.TB, folder string, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, folder, args...))
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

// mustRun runs a command that has to succeed.
func mustRun(t testing.TB, folder string, args ...string) outcome {
	t.Helper()
	o := skidway(t, folder, args...)
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

// A process runs while the test watches what it tells.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string
	told  strings.Builder
	done  sync.WaitGroup
}

// patience bounds how long a test waits for a line, on a busy machine.
const patience = 60 * time.Second

func start(t testing.TB, folder string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, folder, args...), lines: make(chan string, 10_000)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.done.Go(func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	})
	return p
}

// tells waits for a line on standard error that holds the part.
func (p *process) tells(part string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			p.told.WriteString(line + "\n")
			if ok && strings.Contains(line, part) {
				return
			}
			if !ok {
				p.t.Fatalf("it ended without telling %q:\n%s", part, p.told.String())
			}
		case <-late:
			p.t.Fatalf("it does not tell %q:\n%s", part, p.told.String())
		}
	}
}

// tellsAll waits for lines that hold the parts, in whatever order they come.
func (p *process) tellsAll(parts ...string) {
	p.t.Helper()
	late := time.After(patience)
	for len(parts) > 0 {
		select {
		case line, ok := <-p.lines:
			p.told.WriteString(line + "\n")
			if !ok {
				p.t.Fatalf("it ended without telling %q:\n%s", parts, p.told.String())
			}
			parts = slices.DeleteFunc(parts, func(part string) bool { return strings.Contains(line, part) })
		case <-late:
			p.t.Fatalf("it does not tell %q:\n%s", parts, p.told.String())
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the end and gives what it told, and its exit code.
func (p *process) ends() (told string, code int) {
	p.t.Helper()
	for line := range p.lines {
		p.told.WriteString(line + "\n")
	}
	p.done.Wait()
	_ = p.cmd.Wait() // the exit code tells
	return p.told.String(), p.cmd.ProcessState.ExitCode()
}

// line writes a log line in the Combined format.
func line(addr, day string) string {
	return addr + ` - - [` + day + `/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "-"` + "\n"
}

// small has four lines: two of the first of November, one of the second from a
// private address, and one that is none.
var small = line("8.8.8.8", "01") + line("193.0.6.139", "01") + line("10.0.0.1", "02") + "no such thing\n"

// write writes a file into a folder, compressed as its name says, and gives
// its path.
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

var interrupt os.Signal = syscall.SIGINT
