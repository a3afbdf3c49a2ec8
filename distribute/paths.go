package distribute

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"skidway/distribute/stream"
)

// ErrNoFiles says that a directory holds nothing to read.
var ErrNoFiles = errors.New("no files in this directory")

// A FileError says which file or directory an error is about.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// ListFiles turns files and directories into a list of files in name order,
// each once. Of a directory it takes every regular file, at any depth, but
// those and the folders whose name starts with a dot. A link in it is taken for
// the file it leads to; one that leads to a folder is not followed. What can't be
// read, or leads nowhere, is an error of its own and keeps nothing else from
// being listed.
func ListFiles(paths []string) ([]string, []*FileError) {
	var files []string
	var problems []*FileError
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			problems = append(problems, &FileError{path, stream.PlainError(err)})
		case info.IsDir():
			found, bad := listFolder(path)
			if len(found) == 0 && len(bad) == 0 {
				bad = []*FileError{{path, ErrNoFiles}}
			}
			files, problems = append(files, found...), append(problems, bad...)
		default:
			files = append(files, filepath.Clean(path))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), problems
}

func listFolder(root string) (files []string, problems []*FileError) {
	// A link to a folder is walked as its target: logs often lie behind one.
	walked := root
	if target, err := filepath.EvalSymlinks(root); err == nil {
		walked = target
	}
	_ = filepath.WalkDir(walked, func(path string, entry fs.DirEntry, err error) error {
		shown := filepath.Join(root, strings.TrimPrefix(path, walked))
		if err != nil {
			problems = append(problems, &FileError{shown, stream.PlainError(err)})
			return nil
		}
		if path != walked && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		mode := entry.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			if err != nil {
				problems = append(problems, &FileError{shown, stream.PlainError(err)})
				return nil
			}
			mode = info.Mode()
		}
		if mode.IsRegular() {
			files = append(files, shown)
		}
		return nil
	})
	return files, problems
}

// Bytes adds up the sizes of files, for showing progress; what can't be looked
// at counts nothing.
func Bytes(files []string) int64 {
	var sum int64
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
