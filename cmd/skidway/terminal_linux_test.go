package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A terminal is the controlling side of a pseudo-terminal on which a command runs.
type terminal struct {
	t      testing.TB
	far    *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	shown  strings.Builder
	more   chan struct{}
	closed chan struct{}
}

// onTerminal starts a command on a terminal of 80 by 24.
func onTerminal(t testing.TB, args ...string) *terminal {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	control := func(request uintptr, arg unsafe.Pointer) {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, far.Fd(), request, uintptr(arg)); failed != 0 {
			t.Fatal(failed)
		}
	}
	var number uint32
	unlocked := int32(0)
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, 80}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	near, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	c := command(t, t.TempDir(), args...)
	c.Stdin, c.Stdout, c.Stderr = near, near, near
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, far: far, cmd: c, more: make(chan struct{}, 1), closed: make(chan struct{})}
	go x.read()
	t.Cleanup(func() { _ = far.Close() })
	return x
}

func (x *terminal) read() {
	defer close(x.closed)
	for block := make([]byte, 4096); ; {
		n, err := x.far.Read(block)
		x.mu.Lock()
		x.shown.Write(block[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil { // EIO: the other side is closed
			return
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

// shows waits until the terminal shows a text.
func (x *terminal) shows(part string) {
	x.t.Helper()
	for late := time.After(waitLimit); !strings.Contains(x.text(), part); {
		select {
		case <-x.more:
		case <-late:
			x.t.Fatalf("it does not show %q:\n%q", part, x.text())
		}
	}
}

func (x *terminal) types(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.far, text); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the end of the command and returns all that was shown.
func (x *terminal) ends() (shown string, code int) {
	_ = x.cmd.Wait() // the exit code is checked
	<-x.closed
	return x.text(), x.cmd.ProcessState.ExitCode()
}

func TestBulkChangesAskWithTheCount(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 2 {
		d.addDead("email.send", "connection refused", queue.Options{})
	}
	d.addDead("email.send", "no such user", queue.Options{})
	if shown := d.must("jobs", "retry", "--queue", "mail", "--error", "refused", "--dry-run").stdout; shown != "2 dead jobs of queue mail that match\n" {
		t.Errorf("with --dry-run it prints %q", shown)
	}
	d.ends(d.run("jobs", "retry", "--queue", "mail", "--error", "refused"), cli.ExitUsage, "Retry 2 dead jobs of queue mail that match?", "--yes")
	asked := onTerminal(t, "jobs", "retry", "--queue", "mail", "--error", "refused", "--redis", d.url)
	asked.shows("Retry 2 dead jobs of queue mail that match? [y/N] ")
	asked.types("yes\n")
	if shown, code := asked.ends(); code != cli.ExitDone || !strings.Contains(shown, "2 dead jobs will run again") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if got := d.must("jobs", "delete", "--queue", "mail", "--state", "dead", "--yes").one(t); got != "1 dead job deleted" {
		t.Errorf("%q", got)
	}
	if got := d.must("jobs", "cancel", "--queue", "mail", "--state", "waiting", "--kind", "email.send", "-y").one(t); got != "2 waiting jobs cancelled" {
		t.Errorf("%q", got)
	}
	d.add("a", queue.Options{Delay: time.Hour})
	if got := d.must("jobs", "run-now", "--queue", "mail", "-y").one(t); got != "1 delayed job will run now" {
		t.Errorf("%q", got)
	}
}

func TestTerminalIsNoStandardInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"logs", "count", "-"}, {"logs", "explain", "-"}, {"jobs", "retry", "-", "--yes"}} {
		if shown, code := onTerminal(t, args...).ends(); code != cli.ExitUsage || !strings.Contains(shown, "standard input is a terminal") {
			t.Errorf("%v: exit code %d: %q", args, code, shown)
		}
	}
}

func TestPurgeAsksAtATerminalAndNeedsYesElsewhere(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		d.add("a", queue.Options{})
	}
	d.add("b", queue.Options{Delay: time.Hour})
	d.ends(d.run("queues", "purge", "mail"), cli.ExitUsage, "Delete 3 waiting jobs of queue mail?", "--yes")

	asked := onTerminal(t, "queues", "purge", "mail", "--redis", d.url)
	asked.shows("Delete 3 waiting jobs of queue mail? [y/N] ")
	asked.types("n\n")
	if shown, code := asked.ends(); code != cli.ExitFailed || !strings.Contains(shown, "nothing was changed") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if got := d.kinds(queue.Waiting); got != "a a a" {
		t.Errorf("waiting are %q", got)
	}
	asked = onTerminal(t, "queues", "purge", "mail", "--redis", d.url)
	asked.shows("[y/N] ")
	asked.types("y\n")
	if shown, code := asked.ends(); code != cli.ExitDone || !strings.Contains(shown, "3 waiting jobs deleted") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if o := d.must("queues", "purge", "mail", "--state", "delayed", "--yes"); o.one(t) != "1 delayed job deleted" {
		t.Errorf("%q", o.stdout)
	}
	if o := d.must("queues", "purge", "mail"); o.one(t) != "0 waiting jobs deleted" { // without a question
		t.Errorf("%q", o.stdout)
	}
}

func TestWatchDrawsInPlaceAndRestoresTheCursor(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		if _, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: name}); err != nil {
			t.Fatal(err)
		}
	}
	x := onTerminal(t, "queues", "watch", "--every", "100ms", "--redis", d.url)
	x.shows("Ctrl-C ends this")
	x.shows("the terminal is too small")
	first := len(x.text())
	d.must("enqueue", "a", "a")
	for late := time.After(waitLimit); len(x.text()) < 2*first; {
		select {
		case <-x.more:
		case <-late:
			t.Fatal("it draws once only")
		}
	}
	if err := x.cmd.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	shown, code := x.ends()
	if code != cli.ExitDone || !strings.HasSuffix(shown, "\x1b[?25h") || !strings.HasPrefix(shown, "\x1b[?25l") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	screen := strings.Split(shown, "\x1b[H")[1]
	lines := strings.Split(strings.TrimRight(regexp.MustCompile("\x1b\\[[0-9?]*[A-Za-z]").ReplaceAllString(screen, ""), "\r\n"), "\r\n")
	if len(lines) >= 24 {
		t.Errorf("%d lines on a terminal of 24", len(lines))
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}

func TestTopDrawsInPlaceUntilItEnds(t *testing.T) {
	t.Parallel()
	folder, url := t.TempDir(), redistest.URL(t)
	write(t, folder, "a.log", seen)
	path := filepath.Join(folder, "a.log")
	mustRun(t, folder, "logs", "ship", path, "--channel", "web", "--subscriber", "s", "--redis", url)
	mustRun(t, folder, "logs", "work", "--channel", "web", "--subscriber", "s", "--until-done", "--redis", url)
	x := onTerminal(t, "logs", "top", "--channel", "web", "--every", "100ms", "--redis", url)
	x.shows("lines/s") // of two readings
	if err := x.cmd.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	y := onTerminal(t, "logs", "top", path)
	for name, x := range map[string]*terminal{"channel": x, "files": y} {
		shown, code := x.ends()
		if code != cli.ExitDone || !strings.Contains(shown, "\x1b[?25h") || !strings.HasPrefix(shown, "\x1b[?25l") || !strings.Contains(shown, "COUNTRY") {
			t.Errorf("%s: exit code %d: %q", name, code, shown)
		}
		shown, _, _ = strings.Cut(shown, "\x1b[?25h")
		for line := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9?]*[A-Za-z]").ReplaceAllString(shown, "")) {
			if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestSchedulesThatHaveFiredFitTheTerminal(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.must("cron", "add", "nightly-report", "15,45 2 * * 1-5", "reports", "k", "--tz", "America/New_York")
	d.must("cron", "run", "nightly-report")
	shown, code := onTerminal(t, "cron", "list", "-q", "--redis", d.url).ends()
	lines := strings.Split(strings.TrimRight(shown, "\r\n"), "\r\n")
	if code != cli.ExitDone || len(lines) != 2 || !strings.HasPrefix(lines[1], "nightly-report  reports  15,45 2 * * 1-5") {
		t.Fatalf("exit code %d: %q", code, shown)
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}
