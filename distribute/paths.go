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

// ErrNoFiles is the error for a directory without files.
var ErrNoFiles = errors.New("no files in this directory")

// A FileError is an error with the file or directory that it concerns.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// ListFiles returns the files of a list of files and directories, sorted by name,
// each once. Of a directory it returns every regular file at any depth, except
// those whose name, or whose folder's name, starts with a dot. A link to a file
// counts as the file; a link to a folder, inside a directory, is not followed. A
// path that can't be read has an error, and the others are listed.
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
	// A path that is a link to a folder is followed: it often is, for logs.
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

// Bytes returns the sum of the sizes of files, for a progress bar. Files that
// can't be read count as empty.
func Bytes(files []string) int64 {
	var sum int64
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
