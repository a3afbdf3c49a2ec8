// Package logs ships and counts log files and reports the counts: jobs of the
// kinds logs.ship, logs.count and logs.report.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-strftime"

	"skidway/distribute"
	"skidway/distribute/geo"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// A Config says what jobs may do with log files.
type Config struct {
	// Folders that files may be read from, absolute or from where the worker
	// runs. Empty: none may.
	Folders []string

	// Countries is the database by which logs.count counts; nil means the
	// embedded one.
	Countries *geo.DB
}

// Handlers runs jobs of the kinds logs.ship, logs.report and logs.count. Its methods
// may be called by many goroutines at once.
type Handlers struct {
	db      *rdb.DB
	config  Config
	folders []string // without links
}

// New makes Handlers for the channels of db, which stays the caller's to close.
// Errors match [queue.ErrInvalid].
func New(db *rdb.DB, config Config) (*Handlers, error) {
	l := &Handlers{db: db, config: config}
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
func (l *Handlers) files(paths []string, day logDay) ([]string, error) {
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
				return nil, workers.Dead(fields.Wrong("paths", "%q: %v", pattern, err))
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
func (l *Handlers) allow(path string) error {
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
func (l *Handlers) within(real string) bool {
	return slices.ContainsFunc(l.folders, func(folder string) bool {
		below := strings.TrimSuffix(folder, string(os.PathSeparator)) + string(os.PathSeparator)
		return real == folder || strings.HasPrefix(real, below)
	})
}

// checkPaths wants some paths.
func checkPaths(paths []string) error {
	if len(paths) == 0 {
		return fields.Wrong("paths", "it is missing: want a list of files or folders")
	}
	for i, path := range paths {
		if path == "" {
			return fields.Wrong(fmt.Sprintf("paths[%d]", i), "it is empty")
		}
		if _, err := filepath.Match(path, ""); err != nil {
			return fields.Wrong(fmt.Sprintf("paths[%d]", i), "%q: %v", path, err)
		}
	}
	return nil
}

// checkLogName wants a name that a channel or subscriber can have.
func checkLogName(field, what, name string) error {
	if name == "" {
		return fields.Wrong(field, "it is missing: want the name of a %s", what)
	}
	if err := distribute.CheckName(what, name); err != nil {
		return fields.Wrong(field, "%v", err)
	}
	return nil
}

// channel opens an existing channel.
func (l *Handlers) channel(ctx context.Context, name string) (*distribute.Channel, error) {
	return distribute.OpenExisting(ctx, l.db, name)
}

// A Day says which day a job about logs is for, and in whose time zone.
type Day struct {
	// Day is "yesterday" (also where it is empty), "today", or a day such as
	// 2026-11-30. The first two are seen from when the job was due by its
	// schedule, or else was enqueued; so a repeat means the same day.
	// A job that follows another one has the due time of that one's schedule.
	Day string `json:"day,omitempty"`

	// TZ is the time zone of the days, as Europe/Berlin; empty means UTC.
	TZ string `json:"tz,omitempty"`
}

func (d Day) check() error {
	if _, err := d.zone(); err != nil {
		return err
	}
	return checkDay("day", d.Day)
}

func checkDay(field, text string) error {
	switch text {
	case "", "yesterday", "today":
		return nil
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return fields.Wrong(field, "%q: want yesterday, today, or a day such as 2026-11-30", text)
	}
	return nil
}

func (d Day) zone() (*time.Location, error) {
	zone, err := time.LoadLocation(d.TZ)
	if err != nil || d.TZ == "Local" {
		return nil, fields.Wrong("tz", "%q: want the name of a time zone such as Europe/Berlin", d.TZ)
	}
	return zone, nil
}

// A logDay is a day as a job has it, written down as UTC: there are zones where
// some days have no midnight, and a time that isn't there would be one of
// another day.
type logDay struct{ time.Time }

// of gives the day for a job. text is Day's, or another one of the same args.
func (d Day) of(job *queue.Job, text string) logDay {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return logDay{day}
	}
	zone, err := d.zone()
	if err != nil {
		zone = time.UTC // check has refused it
	}
	seen := job.Enqueued
	if due, err := time.Parse(time.RFC3339, job.Headers[queue.HeaderDue]); err == nil {
		seen = due
	}
	seen = seen.In(zone)
	seen = time.Date(seen.Year(), seen.Month(), seen.Day(), seen.Hour(), seen.Minute(), seen.Second(), 0, time.UTC)
	if text == "today" {
		return logDay{seen}
	}
	return logDay{seen.AddDate(0, 0, -1)}
}

// expand puts the day into a path: %Y, %m, %d and what else strftime knows.
func (d logDay) expand(path string) string { return strftime.Format(path, d.Time) }

func (d logDay) String() string { return d.Format(time.DateOnly) }
