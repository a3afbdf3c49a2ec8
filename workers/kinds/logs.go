package kinds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"skidway/distribute"
	"skidway/distribute/geo"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// A LogsConfig says what jobs may do with log files.
type LogsConfig struct {
	// Folders that files may be read from, absolute or from where the worker
	// runs. Empty: none may.
	Folders []string

	// Countries is the database by which logs.count counts; nil means the
	// embedded one.
	Countries *geo.DB
}

// Logs runs jobs of the kinds logs.ship, logs.report and logs.count. Its methods
// may be called by many goroutines at once.
type Logs struct {
	db      *rdb.DB
	config  LogsConfig
	folders []string // without links
}

// NewLogs makes Logs for the channels of db, which stays the caller's to close.
// Errors match [queue.ErrInvalid].
func NewLogs(db *rdb.DB, config LogsConfig) (*Logs, error) {
	l := &Logs{db: db, config: config}
	for _, folder := range config.Folders {
		real, err := realPath(folder)
		if err != nil {
			return nil, fmt.Errorf("%w: folder for logs: %w", queue.ErrInvalid, err)
		}
		l.folders = append(l.folders, real)
	}
	return l, nil
}

// realPath makes a path absolute and follows its links.
func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// files gives the files that paths stand for: files and folders, with patterns
// as of path/filepath.Match, and the parts of a day as of strftime. What lies
// outside of the folders makes the job dead; a file that is not there is an error
// to be tried again: it may come.
func (l *Logs) files(paths []string, day logDay) ([]string, error) {
	var found []string
	for _, pattern := range paths {
		path := day.expand(pattern)
		matches := []string{path}
		if at := strings.IndexAny(path, "*?["); at >= 0 {
			// Others' folders are not even searched: that may take for ever,
			// and tells what is there.
			err := l.allow(filepath.Dir(path[:at] + "x"))
			if err != nil {
				return nil, err
			}
			if matches, err = filepath.Glob(path); err != nil {
				return nil, workers.Dead(wrong("paths", "%q: %v", pattern, err))
			}
			if len(matches) == 0 {
				return nil, fmt.Errorf("no file is like %s", path)
			}
		}
		for _, match := range matches {
			if err := l.allow(match); err != nil {
				return nil, err
			}
		}
		found = append(found, matches...)
	}
	files, missing := distribute.ListFiles(found)
	if len(missing) > 0 {
		return nil, missing[0]
	}
	for _, file := range files { // links in folders may lead anywhere
		if err := l.allow(file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// allow refuses what lies in none of the folders.
func (l *Logs) allow(path string) error {
	real, err := realPath(path)
	for above := path; errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above); {
		above = filepath.Dir(above) // what is not there yet is judged by where it would be
		if real, err = realPath(above); err == nil && l.within(real) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if l.within(real) {
		return nil
	}
	return workers.Dead(fmt.Errorf("%s is in none of the folders that this worker's configuration lists for logs: %s", path, strings.Join(l.folders, ", ")))
}

// within tells whether a path without links is in one of the folders.
func (l *Logs) within(real string) bool {
	return slices.ContainsFunc(l.folders, func(folder string) bool {
		below := strings.TrimSuffix(folder, string(os.PathSeparator)) + string(os.PathSeparator)
		return real == folder || strings.HasPrefix(real, below)
	})
}

// checkPaths wants some paths.
func checkPaths(paths []string) error {
	if len(paths) == 0 {
		return wrong("paths", "it is missing: want a list of files or folders")
	}
	for i, path := range paths {
		if path == "" {
			return wrong(fmt.Sprintf("paths[%d]", i), "it is empty")
		}
		if _, err := filepath.Match(path, ""); err != nil {
			return wrong(fmt.Sprintf("paths[%d]", i), "%q: %v", path, err)
		}
	}
	return nil
}

// checkLogName wants a name that a channel or subscriber can have.
func checkLogName(field, what, name string) error {
	if name == "" {
		return wrong(field, "it is missing: want the name of a %s", what)
	}
	if err := distribute.CheckName(what, name); err != nil {
		return wrong(field, "%v", err)
	}
	return nil
}

// channel opens an existing channel.
func (l *Logs) channel(ctx context.Context, name string) (*distribute.Channel, error) {
	return distribute.OpenExisting(ctx, l.db, name)
}
