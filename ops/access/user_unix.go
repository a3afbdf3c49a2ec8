//go:build unix

package access

import (
	"os"
	"syscall"
)

// keepOwner sets the owner and group of a file to those of another one, if that exists: the root
// user may edit the file of a service.
func keepOwner(path string, file *os.File) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it is new
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return file.Chown(int(owner.Uid), int(owner.Gid))
}
