// Package command runs commands that the configuration lists: jobs of the kind
// exec.run.
//
//	backup := command.Command{Path: "/usr/local/bin/backup", MaxArgs: 1}
//	runner, err := command.New(command.Config{Commands: map[string]command.Command{"backup": backup}})
//	workers.Handle(pool, runner.Run)
//	client.Enqueue(ctx, command.Args{Command: "backup", Args: []string{"orders"}}, nil)
//
// No shell is started, and jobs cannot start programs that are not listed.
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
	"sync"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// Defaults of [Config].
const (
	DefaultGrace = 5 * time.Second

	// DefaultOutput is also the maximum, so that a result has room for both
	// outputs.
	DefaultOutput = 64 << 10
)

// Config configures a [Runner]: the programs that jobs may start. The zero value has
// none.
type Config struct {
	// Commands by the names that jobs use for them.
	Commands map[string]Command

	// Grace is the time from SIGTERM to SIGKILL, and the time that processes
	// which a command has started may keep its output open after its end. It
	// should be shorter than [workers.Config.Grace]. Zero means
	// [DefaultGrace].
	Grace time.Duration
}

// A Command is a program that jobs may start.
type Command struct {
	// Path of the program, absolute. It is not started by a shell.
	Path string

	// Args come before those of the job. If the program has options, the last
	// one should be "--", so that a job cannot set any.
	Args []string

	// MaxArgs is the maximal number of arguments that a job may add.
	MaxArgs int

	// Env and the variables of the worker that Inherit names are the whole
	// environment, with SKIDWAY_JOB_ID and SKIDWAY_ATTEMPT, which counts from 1.
	Env     map[string]string
	Inherit []string

	// Dir is the working directory, absolute; empty means that of the worker.
	Dir string

	// Timeout bounds the attempt, beside the timeout of the job; zero means no
	// other bound.
	Timeout time.Duration

	// Output is the number of bytes that are kept of stdout, and of stderr: the
	// first half and the last. Zero means [DefaultOutput].
	Output int

	// DeadCodes are the exit codes that make the job dead. Nil means 64, 65, 77
	// and 78: EX_USAGE, EX_DATAERR, EX_NOPERM and EX_CONFIG of sysexits.h. After
	// all others but 0 the job is retried.
	DeadCodes []int
}

// Args are the args of exec.run: the name of a command of the worker's configuration,
// and its input.
type Args struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Stdin   string   `json:"stdin,omitempty"`
}

// Kind returns "exec.run".
func (Args) Kind() string { return "exec.run" }

// Check returns a [workers.FieldError] for the first field that is not allowed. It does not
// know the commands of the worker.
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

// Result is the result of exec.run, as JSON. If there was more output than is kept, a
// line in the middle has the number of bytes that are left out.
type Result struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// Runner runs the commands of jobs. It is safe for concurrent use.
type Runner struct {
	commands map[string]Command
	grace    time.Duration

	mu     sync.Mutex
	groups map[int]struct{} // process groups that run
	killed bool             // no command is started any more
}

// New returns a Runner. An error wraps [queue.ErrInvalid] and names the command and
// the field that is not allowed; on systems other than Unix, which have no process
// groups, every configuration is an error.
func New(config Config) (*Runner, error) {
	if err := supported(); err != nil {
		return nil, fmt.Errorf("%w: exec.run: %w", queue.ErrInvalid, err)
	}
	if config.Grace < 0 {
		return nil, fmt.Errorf("%w: exec.run: Grace is %s: it must not be negative", queue.ErrInvalid, config.Grace)
	}
	e := &Runner{commands: map[string]Command{}, grace: cmp.Or(config.Grace, DefaultGrace), groups: map[int]struct{}{}}
	for name, command := range config.Commands {
		if problem := command.problem(); problem != "" {
			return nil, fmt.Errorf("%w: exec.run: command %q: %s", queue.ErrInvalid, name, problem)
		}
		command.Output = cmp.Or(command.Output, DefaultOutput)
		if command.DeadCodes == nil {
			command.DeadCodes = []int{64, 65, 77, 78}
		}
		e.commands[name] = command
	}
	return e, nil
}

// problem returns what is wrong with a command, "" if nothing is.
func (c Command) problem() string {
	switch {
	case !filepath.IsAbs(c.Path):
		return fmt.Sprintf("Path is %q: want an absolute path", c.Path)
	case c.Dir != "" && !filepath.IsAbs(c.Dir):
		return fmt.Sprintf("Dir is %q: want an absolute path", c.Dir)
	case c.MaxArgs < 0:
		return fmt.Sprintf("MaxArgs is %d: it must not be negative", c.MaxArgs)
	case c.Timeout < 0:
		return fmt.Sprintf("Timeout is %s: it must not be negative", c.Timeout)
	case c.Output < 0 || c.Output > DefaultOutput:
		return fmt.Sprintf("Output is %d: want 0 to %d", c.Output, DefaultOutput)
	}
	texts := slices.Concat(c.Args, []string{c.Path, c.Dir})
	for _, name := range slices.Concat(c.Inherit, slices.Sorted(maps.Keys(c.Env))) {
		if name == "" || strings.Contains(name, "=") {
			return fmt.Sprintf("Env: %q is not the name of a variable", name)
		}
		texts = append(texts, name, c.Env[name])
	}
	if strings.ContainsRune(strings.Join(texts, ""), 0) {
		return "there is a zero byte in its Path, Dir, Args, Env or Inherit"
	}
	return ""
}

// environment returns the whole environment. Later variables win.
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

// Run is the handler of exec.run: it starts the command of a job and blocks until its
// end. The result is a [Result]. The lines of output are also logged with the job
// while the command runs. When ctx or the command's Timeout ends, its process group
// receives SIGTERM and, after the grace, SIGKILL; no process of that group outlives
// the attempt. If the worker itself is killed, Linux ends the command, but not the
// processes that the command has started.
//
// The job is dead if the command is not listed, has too many args, or exits with a
// code of [Command.DeadCodes]. After another code, an end by a signal, or if the
// command cannot be started, the job is retried; the error contains the end of
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

// Kill sends SIGKILL to the process groups of all running commands, and no command is
// started any more. It is for a process that exits at once: the killed jobs have not
// failed, so their calls of [Runner.Run] block until their ctx is done.
func (e *Runner) Kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.killed = true
	for group := range e.groups {
		killGroup(group)
	}
}

func (e *Runner) isKilled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.killed
}
