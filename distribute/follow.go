package distribute

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"skidway/distribute/stream"
)

// followInterval is the time between two looks for new content. Follow polls because
// network file systems do not report changes.
const followInterval = time.Second

// Follow ships files as they appear and grow, of uncompressed files whole lines
// only. It returns the cause when ctx is done, and nil after Stop. Paths
// are files, patterns and directories, as for [stream.ListFiles], and so are [ShipperConfig.Names],
// without patterns; a missing one may appear later.
// Workers with UntilDone do not wait for a shipper that follows.
//
// A rotated file is recognised by its content, and not shipped again under its new name.
// A file that is named itself, also by a pattern or a link, is kept open: what its writer still adds
// after the path has become another file is shipped, too. If such a file is copied and
// truncated, lines that were written since the last look are only in the copy: follow its
// directory.
func (s *Shipper) Follow(ctx context.Context, paths []string) error {
	s.registration.mode = modeFollow
	f := &follower{Shipper: s, paths: paths, files: map[string]*followed{}, failing: map[string]bool{}}
	defer f.close()
	return s.register(ctx, func() error {
		for !s.stop.isStopped() {
			if err := f.look(ctx); err != nil {
				return err
			}
			if err := f.pauseLook(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// A follower has the state of Follow.
type follower struct {
	*Shipper
	paths   []string
	files   map[string]*followed // by path
	rotated []*followed          // whose path is another file now, or none
	failing map[string]bool      // paths whose problem was reported
	skipped map[string]bool      // files that were reported as left out
}

// followed is the state of a file.
type followed struct {
	path string
	id   fs.FileInfo // for os.SameFile
	file *os.File    // kept open; nil: the file was found in a directory
	info fs.FileInfo // when it was last shipped, or its shipping failed; nil: not yet
	busy bool        // an earlier shipment of it was in Redis
	seen time.Time   // of its last change or rotation, by the clock of this process

	pause   time.Duration // until a failed file is tried again; zero if it is shipped
	retryAt time.Time
}

// Bounds of the pause, which doubles with each failure of a file.
const (
	minRetryPause = time.Second
	maxRetryPause = time.Minute
)

// rotatedFor is the time without a change after which a file whose path is another file
// now is no longer followed: its writer has opened the new one.
const rotatedFor = time.Minute

// giveUpAfter is rotatedFor if what is new in the file could not be shipped.
const giveUpAfter = time.Hour

// look ships what is new in all files.
func (f *follower) look(ctx context.Context) error {
	list := stream.ListFiles(f.paths, stream.ListOptions{Members: f.config.Members, Names: f.config.Names})
	f.report(list.Problems)
	f.reportSkipped(list.Skipped)
	for _, path := range list.Files {
		if err := f.visit(ctx, path); err != nil {
			return err
		}
	}
	for path, file := range f.files {
		if _, listed := slices.BinarySearch(list.Files, path); !listed {
			f.rotate(file)
		}
	}
	for _, file := range f.rotated {
		if info, err := file.file.Stat(); err == nil {
			if err := f.shipNew(ctx, file, info); err != nil {
				return err
			}
		}
	}
	f.rotated = slices.DeleteFunc(f.rotated, func(file *followed) bool {
		quiet := time.Since(file.seen)
		over := !file.busy && quiet >= rotatedFor && (file.pause == 0 || quiet >= giveUpAfter)
		if over {
			_ = file.file.Close()
		}
		return over
	})
	return nil
}

// report reports each problem of a path once, and when it is over.
func (f *follower) report(problems []*stream.FileError) {
	now := map[string]bool{}
	for _, problem := range problems {
		if errors.Is(problem, stream.ErrNoFiles) {
			continue
		}
		now[problem.Path] = true
		if !f.failing[problem.Path] {
			f.config.Notify.send(Event{Kind: EventFailed, File: problem.Path, Err: problem.Err})
		}
	}
	for path := range f.failing {
		if !now[path] {
			f.config.Notify.send(Event{Kind: EventRecovered, File: path})
		}
	}
	f.failing = now
}

// reportSkipped reports each file that is left out once.
func (f *follower) reportSkipped(files []stream.SkippedFile) {
	now := map[string]bool{}
	for _, file := range files {
		if now[file.Path] = true; !f.skipped[file.Path] {
			shipped := ShippedFile{Path: file.Path, Outcome: Skipped, Reason: file.Reason}
			f.config.Notify.send(Event{Kind: EventShipped, File: file.Path, Shipped: shipped})
		}
	}
	f.skipped = now
}

// visit ships new content of the file that a path is now.
func (f *follower) visit(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it was moved since it was listed
	}
	file := f.files[path]
	var pause time.Duration
	if file != nil && !os.SameFile(file.id, info) {
		pause = file.pause // what failed by this path has recovered when its new file is shipped
		f.rotate(file)
		file = nil
	}
	if file == nil {
		file = &followed{path: path, id: info, pause: pause}
		f.files[path] = file
	}
	named := slices.ContainsFunc(f.paths, func(named string) bool {
		matches, _ := filepath.Match(filepath.Clean(named), path)
		return matches
	}) || slices.ContainsFunc(slices.Concat(f.paths, f.config.Names), func(named string) bool { return filepath.Clean(named) == path })
	if named && file.file == nil && info.Mode().IsRegular() {
		if opened, err := os.Open(path); err == nil {
			if info, err = opened.Stat(); err != nil {
				_ = opened.Close()
				return nil
			}
			file.file, file.id = opened, info
		} // else opening it as a source reports the error
	}
	return f.shipNew(ctx, file, info)
}

// shipNew ships new content of a file. A file that can't be shipped yet is tried again at
// the next look, one that failed after a growing pause.
func (f *follower) shipNew(ctx context.Context, file *followed, info fs.FileInfo) error {
	changed := file.info == nil || file.info.Size() != info.Size() || !file.info.ModTime().Equal(info.ModTime())
	if !changed && file.pause == 0 || time.Now().Before(file.retryAt) || f.stop.isStopped() {
		return nil
	}
	if changed {
		file.seen = time.Now()
	}
	open := f.opener(ctx, file.path)
	if file.file != nil {
		open = func() (stream.Object, error) { return stream.LendFile(file.file), nil }
	}
	notReached, failed := false, false
	file.busy = false
	err := f.shipFile(ctx, file.path, open, func(result ShippedFile, busy bool) {
		file.busy = file.busy || busy
		notReached = notReached || result.Outcome == NotReached
		failed = failed || result.Outcome == Failed
	})
	if err != nil || notReached || file.busy {
		return err
	}
	file.info = info
	if failed {
		file.pause = min(max(2*file.pause, minRetryPause), maxRetryPause)
		file.retryAt = time.Now().Add(file.pause)
		return nil
	}
	if file.pause > 0 {
		file.pause = 0
		f.config.Notify.send(Event{Kind: EventRecovered, File: file.path})
	}
	return nil
}

// rotate goes on with a file whose path is another file now, if it is open.
func (f *follower) rotate(file *followed) {
	delete(f.files, file.path)
	if file.file != nil {
		file.seen = time.Now()
		f.rotated = append(f.rotated, file)
	}
}

func (f *follower) close() {
	for _, file := range slices.Concat(f.rotated, slices.Collect(maps.Values(f.files))) {
		if file.file != nil {
			_ = file.file.Close()
		}
	}
}

// pauseLook blocks until the next look, or until Stop is called.
func (f *follower) pauseLook(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.stop.stopped:
	case <-time.After(f.interval):
	}
	return nil
}
