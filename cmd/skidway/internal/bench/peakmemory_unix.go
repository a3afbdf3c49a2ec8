//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory is the most memory that a process which has ended had, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return usage.Maxrss // bytes there, KiB elsewhere
	}
	return int64(usage.Maxrss) << 10
}
