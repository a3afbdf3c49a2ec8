// Package logs ships and counts log files and reports the counts: jobs of the kinds
// logs.ship, logs.count and logs.report.
//
//	handlers, err := logs.New(db, logs.Config{Folders: []string{"/var/log/nginx"}})
//	workers.Handle(pool, handlers.Count) // and Ship, and Report
//	yesterday := logs.CountArgs{Paths: []string{"/var/log/nginx/access.log-%Y%m%d"}}
//	client.Enqueue(ctx, yesterday, &queue.Options{Retain: time.Hour})
//
// Each attempt of a job has the files and counts of the same day, see [Day].
package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-strftime"

	"skidway"
	"skidway/distribute"
	"skidway/distribute/geo"
	"skidway/distribute/stream"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// Config configures [Handlers].
type Config struct {
	// Folders that files may be read from, absolute or relative to the working
	// directory.
	Folders []string

	// Countries is the database that logs.count uses; nil means the embedded
	// one.
	Countries *geo.DB

	// Networks is the database that logs.count uses for the dimension asn; nil: it is refused.
	Networks *geo.Networks
}

// Handlers has the handlers of logs.ship, logs.report and logs.count. It is safe for
// concurrent use.
type Handlers struct {
	db      *skidway.DB
	config  Config
	folders []string // without links
}

// New returns Handlers for the channels of db, which the caller closes. An error wraps
// [queue.ErrInvalid]: a folder does not exist.
func New(db *skidway.DB, config Config) (*Handlers, error) {
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

// realPath returns the absolute path without links.
func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// files returns the files of some paths: of files and folders, with patterns as of
// [filepath.Match], and parts of a day as of strftime. A path outside of the folders
// makes the job dead. A file that does not exist is an error that is retried: it may
// be created later.
func (l *Handlers) files(paths []string, day logDay) ([]string, error) {
	var found []string
	for _, pattern := range paths {
		path := day.expand(pattern)
		matches := []string{path}
		if at := strings.IndexAny(path, "*?["); at >= 0 {
			// Other folders are not searched: that may take long, and would
			// disclose their contents.
			err := l.allow(filepath.Dir(path[:at] + "x"))
			if err != nil {
				return nil, err
			}
			if matches, err = filepath.Glob(path); err != nil {
				return nil, workers.Dead(fields.Wrong("paths", "%q: %v", pattern, err))
			}
			if len(matches) == 0 {
				return nil, fmt.Errorf("no file matches %s", path)
			}
		}
		for _, match := range matches {
			if err := l.allow(match); err != nil {
				return nil, err
			}
		}
		found = append(found, matches...)
	}
	list := stream.ListFiles(found, stream.ListOptions{Members: distribute.AccessLogs(false)})
	if len(list.Problems) > 0 {
		return nil, list.Problems[0]
	}
	for _, file := range list.Files { // links in folders may lead out of them
		if err := l.allow(file); err != nil {
			return nil, err
		}
		if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { // a retry can't read it again
			return nil, workers.Dead(fmt.Errorf("%s is not a regular file", file))
		}
	}
	return list.Files, nil
}

// allow returns an error if a path is in none of the folders.
func (l *Handlers) allow(path string) error {
	real, err := realPath(path)
	for above := path; errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above); {
		above = filepath.Dir(above) // of a file that does not exist the folder decides
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

// within reports whether a path without links is in one of the folders.
func (l *Handlers) within(real string) bool {
	return slices.ContainsFunc(l.folders, func(folder string) bool {
		below := strings.TrimSuffix(folder, string(os.PathSeparator)) + string(os.PathSeparator)
		return real == folder || strings.HasPrefix(real, below)
	})
}

// checkPaths returns an error unless there are paths, and each is a valid pattern.
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

// checkName returns an error unless a channel or subscriber can have the name.
func checkName(field, what, name string) error {
	if name == "" {
		return fields.Wrong(field, "it is missing: want the name of a %s", what)
	}
	if err := distribute.CheckName(what, name); err != nil {
		return fields.Wrong(field, "%v", err)
	}
	return nil
}

// A Day is the day of a job about logs, and its time zone.
type Day struct {
	// Day is "yesterday", "today", or a day such as 2026-11-30; empty means
	// "yesterday". The first two are relative to the time at which the job was
	// due by its schedule, or else was enqueued, so that each attempt has the
	// same day. A job that follows another one has the due time of that one.
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

func (d Day) zone() (*time.Location, error) { return loadZone("tz", d.TZ) }

// loadZone returns the zone that a field names.
func loadZone(field, name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fields.Wrong(field, "%q: want the name of a time zone such as Europe/Berlin", name)
	}
	return zone, nil
}

// A logDay is a day of some time zone, stored as a time in UTC: in some zones a day
// has no midnight, and a time that does not exist would become one of another day.
type logDay struct{ time.Time }

// of returns the day of a job. text is Day, or another day of the same args.
func (d Day) of(job *queue.Job, text string) logDay {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return logDay{day}
	}
	zone, err := d.zone()
	if err != nil {
		zone = time.UTC // check has returned the error
	}
	now := job.Enqueued
	if due, err := time.Parse(time.RFC3339, job.Headers[queue.HeaderDue]); err == nil {
		now = due
	}
	now = now.In(zone)
	now = time.Date(now.Year(), now.Month(), now.Day(), now.Hour(), now.Minute(), now.Second(), 0, time.UTC)
	if text == "today" {
		return logDay{now}
	}
	return logDay{now.AddDate(0, 0, -1)}
}

// expand replaces the parts of a day in a path: %Y, %m, %d and the others of strftime.
func (d logDay) expand(path string) string { return strftime.Format(path, d.Time) }

func (d logDay) String() string { return d.Format(time.DateOnly) }
