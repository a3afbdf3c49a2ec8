package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Errors of [ListFiles].
var (
	ErrNoFiles = errors.New("no files in this directory")
	ErrNoMatch = errors.New("no file matches this pattern")
)

// errOnlySpecial is ErrNoMatch for a pattern that matches something else.
var errOnlySpecial = fmt.Errorf("%w, only pipes, sockets or devices: a pipe is read if it is named itself", ErrNoMatch)

// errAnyDepth is ErrNoMatch for a pattern with **, which filepath.Match would take for *.
var errAnyDepth = fmt.Errorf("%w: ** is not known; all files of a folder are taken at any depth if it is named", ErrNoMatch)

// PatternBytes are in patterns.
const PatternBytes = "*?["

// A FileError is an error with the file or directory that it concerns.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// ListOptions has options of [ListFiles]. The zero value is ready to use.
type ListOptions struct {
	Members          // files of directories are chosen as members of archives are
	Names   []string // further paths, none of which is a pattern
}

// A FileList is what [ListFiles] found.
type FileList struct {
	Files      []string      // sorted by name
	Problems   []*FileError  // paths that can't be read
	Duplicates []Duplicate   // paths of files that are listed under another path, or twice
	Vanished   []string      // files and folders that were deleted during the listing
	Skipped    []SkippedFile // files of directories that [Members] leaves out
	Special    int           // number of pipes, sockets and devices in directories or that a pattern matches: they are not listed
}

// A Duplicate is a path that leads to a file that is listed as Listed.
type Duplicate struct{ Path, Listed string }

// A SkippedFile is a file that is left out, with the reason.
type SkippedFile struct{ Path, Reason string }

// ListFiles returns the files of a list of files, patterns (as of [filepath.Match], unless a
// file has that name) and directories, each file once: also if several paths, links or names
// lead to it. Of a directory it returns every regular file at any depth, of a pattern every
// regular file and directory, except those whose name, or whose folder's name, starts with a
// dot, and those that [Members] leaves out. A link to a file counts as the file; a link to a
// folder, inside a directory, is not followed. A path that can't be read is a problem, and the
// others are listed.
func ListFiles(paths []string, options ListOptions) FileList {
	l := lister{ListOptions: options}
	for _, path := range paths {
		l.add(path)
	}
	for _, name := range options.Names {
		l.addPath(name)
	}
	l.unite()
	return l.FileList
}

// A lister lists files.
type lister struct {
	ListOptions
	FileList
	found []foundFile
}

// A foundFile is a path that leads to a file.
type foundFile struct {
	path string
	info fs.FileInfo
	link bool
}

// add lists a path that may be a pattern.
func (l *lister) add(path string) {
	if _, err := os.Lstat(path); err == nil || !strings.ContainsAny(path, PatternBytes) {
		l.addPath(path)
		return
	}
	if strings.Contains(path, "**/") {
		l.problem(path, errAnyDepth)
		return
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		l.problem(path, fmt.Errorf("%w: %w", ErrNoMatch, err))
		return
	}
	matches = slices.DeleteFunc(matches, func(match string) bool { return l.isLeftOut(path, match) })
	before, special := l.entries(), l.Special
	for _, match := range matches {
		l.addMatch(match)
	}
	switch {
	case l.entries() > before:
	case l.Special > special:
		l.problem(path, errOnlySpecial)
	default:
		l.problem(path, ErrNoMatch)
	}
}

// isLeftOut reports whether a part of a pattern matches a hidden name, or a link to a folder in which
// the rest of the pattern matches.
func (l *lister) isLeftOut(pattern, match string) bool {
	parts := strings.Split(filepath.Clean(pattern), string(filepath.Separator))
	names := strings.Split(filepath.Clean(match), string(filepath.Separator))
	for i := range min(len(parts), len(names)) {
		if !strings.ContainsAny(parts[i], PatternBytes) {
			continue
		}
		if !l.Hidden && strings.HasPrefix(names[i], ".") && !strings.HasPrefix(parts[i], ".") {
			return true
		}
		info, err := os.Lstat(strings.Join(names[:i+1], string(filepath.Separator)))
		if i < len(names)-1 && err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// addMatch lists a path that a pattern matches. To open a pipe blocks until another process
// opens it, so a pipe has to be named itself.
func (l *lister) addMatch(path string) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		l.Special++
		return
	}
	l.addPath(path)
}

func (l *lister) addPath(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.problem(path, PlainError(err))
	case info.IsDir():
		before := l.entries()
		l.addFolder(path)
		if l.entries() == before {
			l.problem(path, ErrNoFiles)
		}
	default:
		link, _ := os.Lstat(path)
		l.found = append(l.found, foundFile{filepath.Clean(path), info, link != nil && link.Mode()&fs.ModeSymlink != 0})
	}
}

// entries returns the number of files that were found, and that could not be listed.
func (l *lister) entries() int {
	return len(l.found) + len(l.Problems) + len(l.Vanished) + len(l.Skipped)
}

func (l *lister) problem(path string, err error) {
	l.Problems = append(l.Problems, &FileError{path, err})
}

// addFolder lists the files of a folder.
func (l *lister) addFolder(root string) {
	// A path that is a link to a folder is followed: it often is, for logs.
	walked := root
	if target, err := filepath.EvalSymlinks(root); err == nil {
		walked = target
	}
	_ = filepath.WalkDir(walked, func(path string, entry fs.DirEntry, err error) error {
		shown := root
		if below, err := filepath.Rel(walked, path); err == nil {
			shown = filepath.Join(root, below)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.Vanished = append(l.Vanished, shown)
			return nil
		case err != nil:
			l.problem(shown, PlainError(err))
			return nil
		case path == walked:
			return nil
		case !l.Hidden && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.IsDir():
			l.addEntry(path, shown, entry)
		}
		return nil
	})
}

// addEntry lists an entry of a folder that is no folder itself.
func (l *lister) addEntry(path, shown string, entry fs.DirEntry) {
	if l.Skip != nil {
		if reason := l.Skip(entry.Name()); reason != "" {
			l.Skipped = append(l.Skipped, SkippedFile{shown, reason})
			return
		}
	}
	info, err := os.Stat(path)
	link := entry.Type()&fs.ModeSymlink != 0
	switch {
	case errors.Is(err, fs.ErrNotExist) && !link:
		l.Vanished = append(l.Vanished, shown)
	case err != nil:
		l.problem(shown, PlainError(err))
	case info.Mode().IsRegular():
		l.found = append(l.found, foundFile{shown, info, link})
	case !info.IsDir():
		l.Special++
	}
}

// unite lists each file once: by the first of its names that is no link, if there is one.
func (l *lister) unite() {
	slices.SortStableFunc(l.found, func(a, b foundFile) int {
		if a.link != b.link {
			if b.link {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	listed := map[fileID]string{}
	for _, file := range l.found {
		id, known := idOf(file.info)
		if name, again := listed[id]; known && again {
			l.Duplicates = append(l.Duplicates, Duplicate{file.path, name})
			continue
		}
		listed[id] = file.path
		l.Files = append(l.Files, file.path)
	}
	slices.Sort(l.Files)
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
