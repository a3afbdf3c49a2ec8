//go:build !linux

package redistest

import "os/exec"

// endWithParent can't be had here: a test binary that is killed leaves its
// server behind.
func endWithParent(*exec.Cmd) {}
