//go:build unix

package processtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"skidway/internal/redistest"
)

// marker of the environment makes the test binary run the program.
const marker = "SKIDWAY_TEST_PROCESS"

// Environment is the setting with which the test binary runs the program where
// something else than [Command] starts it.
const Environment = marker + "=1"

// Main runs the tests of a package, or program in a process that a test has
// started.
func Main(m *testing.M, program func() error) {
	if os.Getenv(marker) == "" {
		redistest.Main(m)
		return
	}
	if err := program(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns a command that runs the program with arguments. It ends with
// the test.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), Environment)
	redistest.EndWithParent(c)
	return c
}

// BuildFlags returns the flags with which the go command takes what the tests were compiled from, and compiles
// nothing anew: with the race detector, -race.
func BuildFlags() []string {
	if built, ok := debug.ReadBuildInfo(); ok && slices.Contains(built.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return []string{"-race"}
	}
	return nil
}

// ListCompiled runs go list with a format for the module's packages and all that they import, which have
// their export data then.
func ListCompiled(t testing.TB, format string) string {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", format}, BuildFlags()...)
	output, err := exec.Command("go", append(args, "skidway/...")...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return string(output)
}

// A Process is one run of the program. All methods are safe for concurrent use.
type Process struct {
	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended and err is set
	err   error

	mu     sync.Mutex
	output []byte        // of standard output, unless the command has another, and standard error
	read   int           // bytes of it that Await and Word have passed
	more   chan struct{} // closed and replaced when there is more output
}

// Start starts a process. It is killed at the end of the test if it still runs.
func Start(t testing.TB, c *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, cmd: c, ended: make(chan struct{}), more: make(chan struct{})}
	if c.Stderr = (*writer)(p); c.Stdout == nil {
		c.Stdout = c.Stderr
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = c.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.Kill)
	return p
}

// A writer is the standard output and error of its process.
type writer Process

func (w *writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.output = append(w.output, text...)
	close(w.more)
	w.more = make(chan struct{})
	return len(text), nil
}

// patience bounds how long a test waits for a line, on a busy machine.
const patience = 5 * time.Minute

// line blocks until there is a line that was not read yet and returns it; false:
// the process has ended and there is none, or it was late before.
func (p *Process) line(late <-chan time.Time) (line string, ok bool) {
	for ended := false; ; {
		p.mu.Lock()
		rest, more := p.output[p.read:], p.more
		end := bytes.IndexByte(rest, '\n')
		if end >= 0 {
			p.read += end + 1
		}
		p.mu.Unlock()
		if end >= 0 {
			return string(rest[:end]), true
		}
		if ended {
			return "", false
		}
		select {
		case <-more:
		case <-p.ended:
			ended = true
		case <-late:
			return "", false
		}
	}
}

// Await blocks until lines with all of the parts have come, in any order, after
// those that an earlier call has read, and returns the last of them. It fails the
// test if they don't come.
func (p *Process) Await(parts ...string) (line string) {
	p.t.Helper()
	for late := time.After(patience); len(parts) > 0; {
		var ok bool
		if line, ok = p.line(late); !ok {
			p.t.Fatalf("process %d did not print %q in time:\n%s", p.PID(), parts, p.Output())
		}
		parts = slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return strings.Contains(line, part) })
	}
	return line
}

// Word blocks until a line begins with a word and returns what follows it;
// false: the process has ended without.
func (p *Process) Word(word string) (rest string, ok bool) {
	for {
		line, ok := p.line(nil)
		if !ok {
			return "", false
		}
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest), true
		}
	}
}

// Output returns what the process has printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.output)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends the process a signal.
func (p *Process) Signal(signal os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatalf("process %d: %v", p.PID(), err)
	}
}

// Pause stops the process and blocks until that has taken effect. SIGCONT ends
// it.
func (p *Process) Pause() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.PID(), &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			p.t.Fatalf("process %d did not stop: %v", p.PID(), err)
		}
		return
	}
}

// Kill ends the process at once, as kill -9 does, and blocks until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// Stop ends the process as a deploy does, and blocks until it has ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.ended
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ExitCode blocks until the process has ended and returns its exit code, -1 if a
// signal has ended it.
func (p *Process) ExitCode() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// End blocks until the process has ended, and returns what it printed and its
// exit code.
func (p *Process) End() (output string, code int) {
	code = p.ExitCode()
	return p.Output(), code
}

// Killed blocks until the process has ended and reports whether SIGKILL has ended
// it.
func (p *Process) Killed() bool {
	<-p.ended
	var exit *exec.ExitError
	return errors.As(p.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// Check blocks until the process has ended, and fails the test if it has failed
// otherwise than by SIGKILL, or had a data race. It reports whether it was
// killed.
func (p *Process) Check() (killed bool) {
	p.t.Helper()
	killed = p.Killed()
	if output := p.Output(); p.err != nil && !killed || strings.Contains(output, "DATA RACE") {
		p.t.Errorf("process %d: %v\n%s", p.PID(), p.err, output)
	}
	return killed
}
