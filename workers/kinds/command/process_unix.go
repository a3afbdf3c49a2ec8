//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

func supported() error { return nil }

const (
	maxStderrInError = 1 << 10 // bytes

	// closeWait is how long output is still read after all processes of the
	// group are dead, if a process that left the group keeps it open.
	closeWait = 100 * time.Millisecond
)

// execute runs a command and returns the error of its end.
func (e *Runner) execute(ctx context.Context, job *workers.Job[Args], command Command) error {
	args, log := job.Args, workers.Logger(ctx)
	p := &process{
		runner: e,
		stdout: &output{name: "stdout", log: log, limit: command.Output},
		stderr: &output{name: "stderr", log: log, limit: command.Output},
		cmd: &exec.Cmd{
			Path:        command.Path,
			Args:        slices.Concat([]string{command.Path}, command.Args, args.Args),
			Env:         command.environment(job.Job),
			Dir:         command.Dir,
			SysProcAttr: processAttributes(),
		},
	}
	err := p.run(ctx, args.Stdin)
	p.stdout.close()
	p.stderr.close()
	if e.isKilled() && (err != nil || !p.cmd.ProcessState.Success()) {
		<-ctx.Done()
		p.interrupted = true
	}
	if cause := context.Cause(ctx); cause != nil && p.interrupted {
		return fmt.Errorf("command %s: %w; the worker ended it%s", args.Command, cause, p.stderrSuffix())
	}
	switch state := p.cmd.ProcessState; {
	case errors.Is(err, syscall.E2BIG):
		return workers.Dead(fields.Wrong("args", "they are too long for this system: %v", err))
	case err != nil:
		return fmt.Errorf("command %s cannot be run: %w", args.Command, err)
	case state.Success():
		_ = workers.SetResultJSON(ctx, Result{p.stdout.String(), p.stderr.String()}) // fails only outside of a handler
		return nil
	default:
		err := fmt.Errorf("command %s: %s%s", args.Command, state, p.stderrSuffix())
		if slices.Contains(command.DeadCodes, state.ExitCode()) {
			return workers.Dead(err)
		}
		return err
	}
}

// A process is a running command, in a process group of its own.
type process struct {
	cmd            *exec.Cmd
	runner         *Runner
	stdout, stderr *output
	interrupted    bool // it received SIGTERM
}

// stderrSuffix returns the end of stderr as the end of an error.
func (p *process) stderrSuffix() string {
	if text := p.stderr.last(maxStderrInError); text != "" {
		return ": " + text
	}
	return ""
}

// run starts the command, and blocks until it and its group have ended and all output
// is read. Its error is that of a command that could not be started.
func (p *process) run(ctx context.Context, stdin string) error {
	if p.interrupted = ctx.Err() != nil; p.interrupted {
		return ctx.Err()
	}
	// The kernel sends the signal of the parent's death when the thread ends that
	// has started the child, so that thread must live as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var s streams
	if err := s.open(p.cmd, stdin != ""); err != nil {
		return err
	}
	if err := p.runner.start(p.cmd); err != nil {
		s.close()
		return err
	}
	s.copy(p.stdout, p.stderr, stdin)
	p.await(ctx, s.read)
	p.runner.forget(p.cmd)
	select {
	case <-s.read:
	case <-time.After(closeWait):
	}
	s.close()
	// From here on another process may get the id of this one and its group.
	_ = p.cmd.Wait() // the state is in the command
	return nil
}

// await blocks until no process of the group is left. read is closed when no process
// has the output open any more.
func (p *process) await(ctx context.Context, read <-chan struct{}) {
	exited, over := make(chan struct{}), make(chan struct{})
	go func() {
		awaitExit(p.cmd)
		close(exited)
		<-read
		close(over)
	}()
	group, hurry := -p.cmd.Process.Pid, ctx.Done()
	select {
	case <-exited: // its children may still write
	case <-hurry:
		p.interrupted, hurry = true, nil
		_ = syscall.Kill(group, syscall.SIGTERM) // fails if they have ended
	}
	grace := time.NewTimer(p.runner.grace)
	defer grace.Stop()
	select {
	case <-over:
	case <-grace.C:
	case <-hurry:
	}
	killGroup(p.cmd.Process.Pid)
	<-exited
}

// killGroup sends SIGKILL to a process group. It does nothing if the group has ended.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// errKilled: the command is not started, because of [Runner.Kill].
var errKilled = errors.New("the worker exits")

// start starts a command, unless Kill was called. It holds the mutex, so that Kill
// reaches each command that is started.
func (e *Runner) start(cmd *exec.Cmd) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.killed {
		return errKilled
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	e.groups[cmd.Process.Pid] = struct{}{}
	return nil
}

// forget removes the group of a command, before another process can get its id.
func (e *Runner) forget(cmd *exec.Cmd) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.groups, cmd.Process.Pid)
}

// streams are the pipes to a command.
type streams struct {
	stdin          io.WriteCloser // nil: /dev/null
	stdout, stderr io.ReadCloser
	read           chan struct{} // closed when all output was read
	copies         sync.WaitGroup
}

func (s *streams) open(cmd *exec.Cmd, stdin bool) (err error) {
	if s.stdout, err = cmd.StdoutPipe(); err != nil {
		return err
	}
	if s.stderr, err = cmd.StderrPipe(); err != nil {
		return err
	}
	if stdin {
		s.stdin, err = cmd.StdinPipe()
	}
	return err
}

// copy starts goroutines that copy the streams. They end with an error when the pipes
// are closed.
func (s *streams) copy(stdout, stderr io.Writer, stdin string) {
	s.read = make(chan struct{})
	var outputs sync.WaitGroup
	outputs.Go(func() { _, _ = io.Copy(stdout, s.stdout) })
	outputs.Go(func() { _, _ = io.Copy(stderr, s.stderr) })
	s.copies.Go(func() {
		outputs.Wait()
		close(s.read)
	})
	if s.stdin != nil {
		s.copies.Go(func() {
			_, _ = io.WriteString(s.stdin, stdin)
			_ = s.stdin.Close()
		})
	}
}

// close closes the pipes and blocks until the goroutines have ended.
func (s *streams) close() {
	_ = s.stdout.Close()
	_ = s.stderr.Close()
	if s.stdin != nil {
		_ = s.stdin.Close()
	}
	s.copies.Wait()
}
