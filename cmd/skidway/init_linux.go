package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/term"

	"skidway/cmd/skidway/internal/cli"
)

// runAsInit runs this program again in a child process, passes signals on to it,
// reaps every process that ends, and returns the child's exit code. Process 1 of
// a container is the parent of all processes whose own parent has ended, and a
// program that waits for its commands cannot reap those beside them.
func runAsInit() int {
	runtime.LockOSThread() // Pdeathsig acts when the thread ends that started the child
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if term.IsTerminal(0) {
		attributes.Foreground = true // else Ctrl-C would reach the child twice
	}
	child, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   attributes,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "skidway: start as a child of process 1:", err)
		return cli.ExitFailed
	}
	for s := range signals {
		switch s {
		case syscall.SIGCHLD:
			if code, ended := reap(child.Pid); ended {
				return code
			}
		case syscall.SIGURG: // the Go runtime's own
		default:
			_ = syscall.Kill(child.Pid, s.(syscall.Signal)) // it may just have ended
		}
	}
	panic("unreachable: signals is never closed")
}

// reap takes the exit statuses of all processes that have ended. If child is
// among them it returns its exit code, 128 + N if signal N ended it.
func reap(child int) (code int, ended bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err != nil || pid == 0:
			return code, ended
		case pid == child && status.Signaled():
			code, ended = 128+int(status.Signal()), true
		case pid == child:
			code, ended = status.ExitStatus(), true
		}
	}
}
