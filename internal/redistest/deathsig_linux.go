package redistest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end the process when the test binary dies,
// however it dies.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
