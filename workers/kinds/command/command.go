// Package command runs commands that the configuration lists: jobs of the kind
// exec.run.
package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// Defaults of [Config].
const (
	DefaultExecGrace = 5 * time.Second

	// DefaultExecOutput is also the most, so that a result holds both outputs.
	DefaultExecOutput = 64 << 10
)

// Config lists the programs that jobs may start. The zero value lists none.
type Config struct {
	// Commands by the names that jobs call them.
	Commands map[string]Command

	// Grace is how long a command may go on after SIGTERM, and how long what
	// it started may hold its output after its end. Then SIGKILL ends them.
	// It should be shorter than [workers.Config.Grace]. Zero means
	// [DefaultExecGrace].
	Grace time.Duration
}

// A Command is a program as jobs may start it.
type Command struct {
	// Path of the program, absolute. There is no shell, unless this is one.
	Path string

	// Args come before those of the job. Where a program takes options, let
	// the last one be "--", so that a job can't give any.
	Args []string

	// MaxArgs is the most arguments that a job may add; zero: none.
	MaxArgs int

	// Env and the variables named by Inherit, which keep the values they have
	// in the worker, are the whole environment, beside SKIDWAY_JOB_ID and
	// SKIDWAY_ATTEMPT, which counts from 1.
	Env     map[string]string
	Inherit []string

	// Dir is where it runs, absolute; empty: where the worker does.
	Dir string

	// Timeout ends the attempt if that of the job doesn't; zero: only that.
	Timeout time.Duration

	// Output is how many bytes are kept of stdout, and as many of stderr: the
	// first half and the last. Zero means [DefaultExecOutput].
	Output int

	// DeadCodes are the exit codes after which another try would not help.
	// Nil means 64, 65, 77 and 78: EX_USAGE, EX_DATAERR, EX_NOPERM and
	// EX_CONFIG of sysexits.h. After all others but 0 the job is retried.
	DeadCodes []int
}

// Args are the args of exec.run: a command of the worker's list, and what it
// is given.
type Args struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Stdin   string   `json:"stdin,omitempty"`
}

// Kind is exec.run.
func (Args) Kind() string { return "exec.run" }

// Check gives a [fields.Error] for the first field that can't be right. It doesn't
// know which commands a worker has.
func (a Args) Check() error {
	if a.Command == "" {
		return fields.Wrong("command", "it is missing: want the name of a command that the worker's configuration lists")
	}
	for i, arg := range a.Args {
		if strings.ContainsRune(arg, 0) {
			return fields.Wrong("args", "number %d has a zero byte in it", i+1)
		}
	}
	return nil
}

// Result is the result of exec.run, as JSON. Where output was too much, a
// line in the middle says how much of it is left out.
type Result struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// Runner runs jobs of the kind exec.run. It is safe for concurrent use.
type Runner struct {
	commands map[string]Command
	grace    time.Duration
}

// New makes the kind exec.run. A wrong configuration is a
// [queue.ErrInvalid] that names the command and the field; so is any where there
// are no process groups, on systems that are no Unix.
func New(config Config) (*Runner, error) {
	if err := supported(); err != nil {
		return nil, fmt.Errorf("%w: exec.run: %w", queue.ErrInvalid, err)
	}
	if config.Grace < 0 {
		return nil, fmt.Errorf("%w: exec.run: Grace is %s: it can't be below zero", queue.ErrInvalid, config.Grace)
	}
	e := &Runner{commands: map[string]Command{}, grace: cmp.Or(config.Grace, DefaultExecGrace)}
	for name, command := range config.Commands {
		if problem := command.problem(); problem != "" {
			return nil, fmt.Errorf("%w: exec.run: command %q: %s", queue.ErrInvalid, name, problem)
		}
		command.Output = cmp.Or(command.Output, DefaultExecOutput)
		if command.DeadCodes == nil {
			command.DeadCodes = []int{64, 65, 77, 78}
		}
		e.commands[name] = command
	}
	return e, nil
}

// problem says what is wrong with a command; empty: nothing.
func (c Command) problem() string {
	switch {
	case !filepath.IsAbs(c.Path):
		return fmt.Sprintf("Path is %q: want an absolute path", c.Path)
	case c.Dir != "" && !filepath.IsAbs(c.Dir):
		return fmt.Sprintf("Dir is %q: want an absolute path", c.Dir)
	case c.MaxArgs < 0:
		return fmt.Sprintf("MaxArgs is %d: it can't be below zero", c.MaxArgs)
	case c.Timeout < 0:
		return fmt.Sprintf("Timeout is %s: it can't be below zero", c.Timeout)
	case c.Output < 0 || c.Output > DefaultExecOutput:
		return fmt.Sprintf("Output is %d: want 0 to %d", c.Output, DefaultExecOutput)
	}
	texts := slices.Concat(c.Args, []string{c.Path, c.Dir})
	for _, name := range slices.Concat(c.Inherit, slices.Sorted(maps.Keys(c.Env))) {
		if name == "" || strings.Contains(name, "=") {
			return fmt.Sprintf("Env: %q is no name of a variable", name)
		}
		texts = append(texts, name, c.Env[name])
	}
	if strings.ContainsRune(strings.Join(texts, ""), 0) {
		return "there is a zero byte in its Path, Dir, Args, Env or Inherit"
	}
	return ""
}

// environment gives the whole environment. Later variables win.
func (c Command) environment(job *queue.Job) []string {
	var env []string
	for _, name := range c.Inherit {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	return append(env, "SKIDWAY_JOB_ID="+job.ID, "SKIDWAY_ATTEMPT="+strconv.Itoa(job.Attempts+1))
}

// Run starts the command of a job and waits for its end; the result is an
// [Result]. Its output is also logged with the job while it runs, each line
// for itself. When ctx or the command's Timeout ends, its process group gets
// SIGTERM and, after the grace, SIGKILL; no process of that group outlives the
// attempt. If the worker itself is killed, Linux ends the command, but not what
// the command has started.
//
// A command that is not listed, too many args, and an exit code of
// [Command.DeadCodes] make the job dead. After other codes, an end by a signal,
// and where it can't be started, the job is retried; the error has the end of
// stderr.
func (e *Runner) Run(ctx context.Context, job *workers.Job[Args]) error {
	args := job.Args
	command, listed := e.commands[args.Command]
	if !listed {
		return workers.Dead(fields.Wrong("command", "this worker's configuration lists no %.40q, it has: %s", args.Command, fields.Names(e.commands)))
	}
	if len(args.Args) > command.MaxArgs {
		return workers.Dead(fields.Wrong("args", "there are %d; for %s the worker's configuration allows %d", len(args.Args), args.Command, command.MaxArgs))
	}
	if command.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, command.Timeout, fmt.Errorf("%w: it may take %s", workers.ErrTimeout, command.Timeout))
		defer cancel()
	}
	return e.execute(ctx, job, command)
}
