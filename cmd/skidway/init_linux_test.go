package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skidway/cmd/skidway/internal/cli"
)

// initSetting in its environment makes the program inherit orphans and run as
// process 1 does.
const initSetting = "SKIDWAY_TEST_INIT"

func init() {
	if os.Getenv(initSetting) == "" {
		return
	}
	_ = os.Unsetenv(initSetting) // the child runs the command itself
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	os.Exit(runAsInit())
}

func TestProcess1ReapsOrphansOfCommands(t *testing.T) {
	t.Setenv(initSetting, "1")
	s := newWorkerFixture(t, "kinds: {exec.run: {commands: {leaves: {path: /bin/sh, args: [-c, 'sleep 60 & exit 0'], dir: /}}}}\nqueues: [{name: mail}]\n")
	for range 5 {
		s.must("enqueue", "mail", "exec.run", `{"command":"leaves"}`, "--wait")
	}
	for deadline := time.Now().Add(waitLimit); ; {
		n := childProcesses(t, s.worker.PID())
		if n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d child processes, want only the worker", n)
		}
	}
	s.worker.Signal(syscall.SIGTERM)
	if text, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, text)
	}
	if o := s.run("jobs", "show", "mail:0:d9"); o.code != cli.ExitFailed {
		t.Errorf("exit code %d of a command that fails, want %d", o.code, cli.ExitFailed)
	}
}

// childProcesses counts the children of a process, those that have ended and
// were not reaped too.
func childProcesses(t *testing.T, pid int) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		_, fields, _ := strings.Cut(string(stat), ") ") // behind the name, which may hold blanks
		if f := strings.Fields(fields); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			n++
		}
	}
	return n
}
