//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit blocks until the command has exited. Here it can't do so without
// reaping it: for a moment, until the group gets its SIGKILL, its id could become
// another's.
func awaitExit(cmd *exec.Cmd) { cmd.ProcessState, _ = cmd.Process.Wait() }
