//go:build unix

package stream

import (
	"io/fs"
	"syscall"
)

// A fileID identifies a file, whatever its name.
type fileID struct{ device, inode uint64 }

// idOf returns the id of a file; known is false if the system has none.
func idOf(info fs.FileInfo) (id fileID, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return fileID{}, false
	}
	return fileID{uint64(stat.Dev), uint64(stat.Ino)}, true
}
