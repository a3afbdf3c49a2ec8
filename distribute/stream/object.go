package stream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// An Object is an opened file: its bytes as they were when it was opened.
type Object interface {
	io.ReaderAt
	io.Closer

	// Stat returns the size in bytes and the time of the last change, as they are now.
	Stat() (size int64, modified time.Time, err error)
}

// A localFile is an Object of the file system.
type localFile struct {
	*os.File
	lent bool // the caller closes it
}

// LendFile returns an open file as an Object, whose Close leaves it open.
func LendFile(file *os.File) Object { return localFile{file, true} }

func (f localFile) Close() error {
	if f.lent {
		return nil
	}
	return f.File.Close()
}

// OpenFile opens a file of the file system. The error does not name the path.
func OpenFile(path string) (Object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, PlainError(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", describeMode(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, PlainError(err)
	}
	return localFile{file, false}, nil
}

func (f localFile) Stat() (int64, time.Time, error) {
	info, err := f.File.Stat()
	if err != nil {
		return 0, time.Time{}, PlainError(err)
	}
	return info.Size(), info.ModTime(), nil
}

// PlainError returns an error of package os without operation and path, for a
// caller that names the file itself.
func PlainError(err error) error {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err
	}
	return err
}

func describeMode(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	}
	return mode.Type().String()
}
