//go:build unix

package command_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/command"
	"skidway/workers/workerstest"
)

func TestEndOfTheContextEndsTheWholeProcessGroup(t *testing.T) {
	t.Parallel()
	const never, soon = 5 * time.Minute, 50 * time.Millisecond
	for name, c := range map[string]struct {
		grace        time.Duration
		script, want string
	}{
		"by SIGTERM":                       {never, `trap 'echo bye >&3; exit 0' TERM; echo up >&3; while :; do :; done`, "bye\n"},
		"by SIGKILL":                       {soon, `trap '' TERM; echo up >&3; sleep 1000; sleep 1000`, ""},
		"grandchildren that ignore it":     {soon, `echo up >&3; (trap '' TERM; sleep 1000; sleep 1000) & sleep 1000`, ""},
		"grandchildren without output":     {soon, `echo up >&3; (trap '' TERM; sleep 1000 >/dev/null 2>&1) & sleep 1000`, ""},
		"with a grandchild holding stdout": {soon, `trap '' TERM; (echo up >&3; sleep 1000) & exec 3>&-; trap - TERM; exec sleep 1000`, ""},
		"stopped processes":                {soon, `echo up >&3; kill -STOP $$`, ""},
		"a writer that never stops":        {soon, `echo up >&3; exec yes`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			life := newLifeline(t)
			waiting := life.command("exec 3>$LIFE; " + c.script)
			e := commands(t, command.Config{Grace: c.grace, Commands: map[string]command.Command{"script": waiting}})
			outcome := runUntilUp(t, e, life, workers.ErrCancelled)
			if outcome.Disposition != queue.AttemptCancelled || !errors.Is(outcome.Err, workers.ErrCancelled) {
				t.Error(outcome)
			}
			if got := life.ended(t); got != c.want {
				t.Errorf("it wrote %q, want %q", got, c.want)
			}
		})
	}
}

// runUntilUp makes one attempt and ends its context when the script has written "up".
func runUntilUp(t *testing.T, e *command.Runner, life *lifeline, cause error) workerstest.Outcome {
	t.Helper()
	handler := func(ctx context.Context, job *queue.Job) error {
		go func() {
			life.up()
			workerstest.Interrupt(ctx, cause)
		}()
		return workers.Typed(e.Run)(ctx, job)
	}
	return workerstest.Run(t, handler, workerstest.Job{Args: command.Args{Command: "script"}})
}

func TestKillEndsTheProcessGroupsOfAllCommands(t *testing.T) {
	t.Parallel()
	const ignoring = `exec 3>$LIFE; trap '' TERM; (sleep 1000; sleep 1000) & echo up >&3; sleep 1000`
	first, second := newLifeline(t), newLifeline(t)
	e := commands(t, command.Config{Grace: 5 * time.Minute, Commands: map[string]command.Command{
		"first": first.command(ignoring), "second": second.command(ignoring),
	}})
	outcomes := make(chan workerstest.Outcome)
	contexts := make(chan context.Context, 3)
	attempt := func(name string) {
		handler := func(ctx context.Context, job *queue.Job) error {
			contexts <- ctx
			err := workers.Typed(e.Run)(ctx, job)
			if ctx.Err() == nil {
				t.Errorf("%s: killed, and the job ended as %v", name, err)
			}
			return err
		}
		outcomes <- workerstest.Run(t, handler, workerstest.Job{Args: command.Args{Command: name}})
	}
	go attempt("first")
	go attempt("second")
	first.up()
	second.up()
	e.Kill()
	first.ended(t)
	second.ended(t)
	go attempt("first") // is not started: it would write to the pipe, and fail
	for range 3 {
		workerstest.Interrupt(<-contexts, workers.ErrShutdown)
	}
	for range 3 {
		if outcome := <-outcomes; outcome.Disposition != queue.AttemptReturned {
			t.Error(outcome)
		}
	}
}

func TestTimeoutOfTheCommandIsRetried(t *testing.T) {
	t.Parallel()
	e := script(t, `exec sleep 1000`, command.Command{Timeout: 50 * time.Millisecond})
	outcome := run(t, e, command.Args{})
	if outcome.Disposition != queue.AttemptRetry || !errors.Is(outcome.Err, workers.ErrTimeout) || !strings.Contains(outcome.Reason, "50ms") {
		t.Error(outcome)
	}
}

func TestProcessesThatOutliveTheirCommandAreEnded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"silent":         `exec 3>$LIFE; sleep 1000 >/dev/null 2>&1 & echo done`,
		"holding stdout": `exec 3>$LIFE; sleep 1000 & echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			life := newLifeline(t)
			e := commands(t, command.Config{Grace: 100 * time.Millisecond, Commands: map[string]command.Command{"script": life.command(text)}})
			if got := outputOf(t, run(t, e, command.Args{})).Stdout; got != "done\n" {
				t.Errorf("%q", got)
			}
			life.ended(t)
		})
	}
}

func TestOutputThatComesAfterTheCommandsEndIsKept(t *testing.T) {
	t.Parallel()
	life := makeFIFO(t) // the reader in the background sees the end of its only writer
	waiting := life.command(`(read x <$LIFE; sleep 0.1; echo late) & exec 4>$LIFE`)
	e := commands(t, command.Config{Grace: time.Minute, Commands: map[string]command.Command{"script": waiting}})
	if got := outputOf(t, run(t, e, command.Args{})).Stdout; got != "late\n" {
		t.Errorf("%q", got)
	}
}

// A fifo is a named pipe for scripts, which find it in $LIFE.
type fifo string

func makeFIFO(t *testing.T) fifo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return fifo(path)
}

// command returns a command that runs a script.
func (f fifo) command(text string) command.Command {
	return command.Command{
		Path: "/bin/sh", Args: []string{"-c", text},
		Env: map[string]string{"LIFE": string(f), "PATH": "/bin:/usr/bin"},
	}
}

// A lifeline is a FIFO that the processes of a script hold open for writing. When it is
// closed all of them are dead.
type lifeline struct {
	fifo
	file *os.File
	open chan struct{} // closed when the script has opened it
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{fifo: makeFIFO(t), open: make(chan struct{})}
	go func() {
		defer close(l.open)
		l.file, _ = os.Open(string(l.fifo)) // blocks until there is a writer
		_ = l.file.SetReadDeadline(time.Now().Add(30 * time.Second))
	}()
	t.Cleanup(func() {
		if writer, err := os.OpenFile(string(l.fifo), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			writer.Close() // no other process has opened it
		}
		<-l.open
		l.file.Close()
	})
	return l
}

// up blocks until the script has written "up".
func (l *lifeline) up() {
	<-l.open
	_, _ = io.ReadFull(l.file, make([]byte, len("up\n")))
}

// ended blocks until no process holds the lifeline, and returns what they wrote.
func (l *lifeline) ended(t *testing.T) string {
	t.Helper()
	<-l.open
	text, err := io.ReadAll(l.file)
	if err != nil {
		t.Fatalf("a process lives on: %v", err)
	}
	return string(text)
}
