//go:build !unix

package main

import "os"

// peakMemory can't be had here.
func peakMemory(*os.ProcessState) int64 { return 0 }
