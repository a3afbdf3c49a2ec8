package redistest

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes the kernel end the process when the test binary dies,
// however it dies.
func EndWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
