package command

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes returns attributes that create a process group, and make the
// kernel kill the command when this process dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit blocks until the command has exited, and does not reap it.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return // no other error is possible: the process is a child of this one
		}
	}
}
