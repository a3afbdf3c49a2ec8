//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit blocks until the command has exited. Here it reaps it, too, so that until
// the group receives SIGKILL another process may get the id of the command.
func awaitExit(cmd *exec.Cmd) { cmd.ProcessState, _ = cmd.Process.Wait() }
