//go:build !unix

package bench

import "os"

// peakMemory can't be had here.
func peakMemory(*os.ProcessState) int64 { return 0 }
