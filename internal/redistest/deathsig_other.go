//go:build !linux

package redistest

import "os/exec"

// EndWithParent can't be had here: a test binary that is killed leaves its
// server behind.
func EndWithParent(*exec.Cmd) {}
