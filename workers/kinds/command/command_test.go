//go:build unix

package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/command"
	"skidway/workers/workerstest"
)

// script returns a Runner whose only command, "script", is a shell script.
func script(t testing.TB, text string, c command.Command) *command.Runner {
	t.Helper()
	c.Path, c.Args = "/bin/sh", []string{"-c", text, "script"}
	return commands(t, command.Config{Commands: map[string]command.Command{"script": c}})
}

func commands(t testing.TB, config command.Config) *command.Runner {
	t.Helper()
	e, err := command.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run makes one attempt at the command "script".
func run(t testing.TB, e *command.Runner, args command.Args) workerstest.Outcome {
	t.Helper()
	args.Command = "script"
	return workerstest.Run(t, workers.Typed(e.Run), workerstest.Job{Args: args})
}

func outputOf(t testing.TB, outcome workerstest.Outcome) (result command.Result) {
	t.Helper()
	if outcome.Disposition != queue.AttemptSucceeded {
		t.Fatal(outcome)
	}
	if err := json.Unmarshal(outcome.Result, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestArgsAndStdinArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	e := script(t, `printf '%s|' "$@"; cat; echo oops >&2`, command.Command{MaxArgs: 4})
	outcome := run(t, e, command.Args{Args: []string{"$HOME; `id`", "", "a b", "*"}, Stdin: "from stdin\n"})
	result := outputOf(t, outcome)
	if want := "$HOME; `id`||a b|*|from stdin\n"; result.Stdout != want || result.Stderr != "oops\n" {
		t.Errorf("%+v", result)
	}
	if log := strings.Join(outcome.Log, "\n"); !strings.Contains(log, "from stdin") || !strings.Contains(log, "msg=oops stream=stderr") {
		t.Error(log)
	}
}

func TestEnvironmentIsThatOfTheCommand(t *testing.T) {
	t.Setenv("SKIDWAY_TEST_INHERITED", "yes")
	t.Setenv("SKIDWAY_TEST_OTHER", "no")
	e := commands(t, command.Config{Commands: map[string]command.Command{"script": {
		Path:    "/usr/bin/env",
		Env:     map[string]string{"A": "1", "SKIDWAY_ATTEMPT": "replaced"},
		Inherit: []string{"SKIDWAY_TEST_INHERITED", "SKIDWAY_TEST_MISSING"},
		Dir:     "/",
	}}})
	outcome := workerstest.Run(t, workers.Typed(e.Run), workerstest.Job{Args: command.Args{Command: "script"}, Attempt: 3})
	want := "SKIDWAY_TEST_INHERITED=yes\nA=1\nSKIDWAY_ATTEMPT=3\nSKIDWAY_JOB_ID=" + outcome.Job.ID + "\n"
	if got := outputOf(t, outcome).Stdout; !sameLines(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func sameLines(a, b string) bool {
	seen := map[string]int{}
	for line := range strings.Lines(a) {
		seen[line]++
	}
	for line := range strings.Lines(b) {
		seen[line]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestExitCodeDecidesTheOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		dead   []int
		as     queue.Disposition
		want   string
	}{
		"success":              {"exit 0", nil, queue.AttemptSucceeded, ""},
		"failure":              {"echo the reason >&2; exit 1", nil, queue.AttemptRetry, "command script: exit status 1: the reason"},
		"usage":                {"exit 64", nil, queue.AttemptDead, "exit status 64"},
		"configuration":        {"exit 78", nil, queue.AttemptDead, "exit status 78"},
		"temporary":            {"exit 75", nil, queue.AttemptRetry, "exit status 75"},
		"signal":               {"kill -USR1 $$", nil, queue.AttemptRetry, "signal: user defined signal 1"},
		"dead by choice":       {"exit 3", []int{3}, queue.AttemptDead, "exit status 3"},
		"not dead by choice":   {"exit 64", []int{3}, queue.AttemptRetry, "exit status 64"},
		"no dead codes at all": {"exit 64", []int{}, queue.AttemptRetry, "exit status 64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := run(t, script(t, c.script, command.Command{DeadCodes: c.dead}), command.Args{})
			if outcome.Disposition != c.as || !strings.Contains(outcome.Reason, c.want) {
				t.Error(outcome)
			}
		})
	}
}

func TestOnlyListedCommandsAreStarted(t *testing.T) {
	t.Parallel()
	e := commands(t, command.Config{Commands: map[string]command.Command{
		"report": {Path: "/bin/true"}, "backup": {Path: "/bin/true", MaxArgs: 1}, "missing": {Path: "/does/not/exist"},
	}})
	for name, c := range map[string]struct {
		args command.Args
		as   queue.Disposition
		want string
	}{
		"not listed": {command.Args{Command: "/bin/sh"}, queue.AttemptDead, "backup, missing, report"},
		"no args":    {command.Args{Command: "report", Args: []string{"-x"}}, queue.AttemptDead, "allows 0"},
		"too many":   {command.Args{Command: "backup", Args: []string{"a", "b"}}, queue.AttemptDead, "allows 1"},
		"too long":   {command.Args{Command: "backup", Args: []string{strings.Repeat("x", 500_000)}}, queue.AttemptDead, "too long"},
		"not there":  {command.Args{Command: "missing"}, queue.AttemptRetry, "/does/not/exist: no such file"},
		"unnamed":    {command.Args{}, queue.AttemptDead, "field command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := workerstest.Run(t, workers.Typed(e.Run), workerstest.Job{Args: c.args})
			if outcome.Disposition != c.as || !strings.Contains(outcome.Reason, c.want) {
				t.Errorf("%.300s", outcome)
			}
		})
	}
}

func TestWrongExecConfigIsRefusedByName(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]command.Command{
		`Path is "sh"`:    {Path: "sh"},
		`Dir is "tmp"`:    {Path: "/bin/sh", Dir: "tmp"},
		"MaxArgs is -1":   {Path: "/bin/sh", MaxArgs: -1},
		"Timeout is -1s":  {Path: "/bin/sh", Timeout: -time.Second},
		"Output is":       {Path: "/bin/sh", Output: 1 << 20},
		`Env: "A=B"`:      {Path: "/bin/sh", Env: map[string]string{"A=B": "c"}},
		`Env: ""`:         {Path: "/bin/sh", Inherit: []string{""}},
		"there is a zero": {Path: "/bin/sh", Args: []string{"\x00"}},
	} {
		_, err := command.New(command.Config{Commands: map[string]command.Command{"report": c}})
		if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), `command "report": `+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestCommandIsNotStartedWhenTheJobIsOver(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "started")
	e := script(t, `>`+file, command.Command{})
	outcome := workerstest.Run(t, workers.Typed(e.Run), workerstest.Job{Args: command.Args{Command: "script"}, Interrupted: workers.ErrShutdown})
	if _, err := os.Stat(file); err == nil || outcome.Disposition != queue.AttemptReturned {
		t.Error(outcome, err)
	}
}

func TestUnreadStdinIsNoError(t *testing.T) {
	t.Parallel()
	e := script(t, `echo ok`, command.Command{})
	if got := outputOf(t, run(t, e, command.Args{Stdin: strings.Repeat("x", 1<<18)})).Stdout; got != "ok\n" {
		t.Errorf("%q", got)
	}
}

func TestHugeOutputIsCutInTheMiddleAndDoesNotGrowMemory(t *testing.T) {
	e := script(t, `echo first; head -c 200000000 /dev/zero | tr '\0' 'x'; echo; echo last`, command.Command{
		Env: map[string]string{"PATH": "/bin:/usr/bin"}, Output: 1000,
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	outcome := run(t, e, command.Args{})
	runtime.ReadMemStats(&after)
	stdout := outputOf(t, outcome).Stdout
	if !strings.HasPrefix(stdout, "first\nxxx") || !strings.HasSuffix(stdout, "xxx\nlast\n") || !strings.Contains(stdout, "199999012 bytes left out") {
		t.Errorf("%d bytes: %.50q … %q", len(stdout), stdout, stdout[max(0, len(stdout)-50):])
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 50<<20 { // a Redis was started too
		t.Errorf("%d bytes were allocated", grown)
	}
	if log := strings.Join(outcome.Log, "\n"); !strings.Contains(log, "msg=first") || !strings.Contains(log, "msg=last") || len(log) > 20<<10 {
		t.Errorf("the log has %d bytes: %.2000s", len(log), log)
	}
}

func ExampleRunner() {
	t := &testing.T{} // your test's own

	e, err := command.New(command.Config{Commands: map[string]command.Command{
		"greet": {Path: "/bin/echo", Args: []string{"hello"}, MaxArgs: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []command.Args{
		{Command: "greet", Args: []string{"$USER"}},
		{Command: "rm", Args: []string{"-rf", "/"}},
	} {
		outcome := workerstest.Run(t, workers.Typed(e.Run), workerstest.Job{Args: args})
		fmt.Printf("%s %s\n", outcome, outcome.Result)
	}
	// Output:
	// exec.run: succeeded {"stdout":"hello $USER\n","stderr":""}
	// exec.run: dead: field command: this worker's configuration lists no "rm", it has: greet
}
