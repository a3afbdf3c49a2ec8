package distribute

import (
	"context"
	"errors"
	"os"
	"time"
)

// followInterval is the time between two looks for new content. Follow polls because
// network file systems do not report changes.
const followInterval = time.Second

// Follow ships files as they appear and grow, of uncompressed files whole lines
// only. It returns the cause when ctx is done, and nil after Stop. Paths
// are files and directories, as for [ListFiles]; a missing one may appear later.
// Workers with UntilDone do not wait for a shipper that follows. A rotated file is
// recognised by its content, and not shipped again under its new name.
func (s *Shipper) Follow(ctx context.Context, paths []string) error {
	s.mode = modeFollow
	return s.register(ctx, func() error {
		seen := map[string]followed{}
		reported := map[string]bool{}
		for !s.stop.isStopped() {
			files, problems := ListFiles(paths)
			for _, problem := range problems {
				if !reported[problem.Path] && !errors.Is(problem, ErrNoFiles) {
					reported[problem.Path] = true
					s.config.Notify.send(Event{Kind: EventFailed, File: problem.Path, Err: problem.Err})
				}
			}
			for _, path := range files {
				if err := s.followFile(ctx, path, seen); err != nil {
					return err
				}
			}
			if err := s.pause(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// followed is the state of a file when it was last shipped, or its shipping failed.
type followed struct {
	size  int64
	mtime time.Time

	pause   time.Duration // until a failed file is tried again; zero if it is shipped
	retryAt time.Time
}

// Bounds of the pause, which doubles with each failure of a file.
const (
	minRetryPause = time.Second
	maxRetryPause = time.Minute
)

// followFile ships new content of a file. A file that can't be shipped yet is
// tried again at the next look, one that failed after a growing pause.
func (s *Shipper) followFile(ctx context.Context, path string, seen map[string]followed) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it was moved since it was listed
	}
	last, now := seen[path], followed{size: info.Size(), mtime: info.ModTime()}
	if last == now || time.Now().Before(last.retryAt) || s.stop.isStopped() {
		return nil
	}
	unfinished, failed := false, false
	err = s.shipFile(ctx, path, opener(path), func(result ShippedFile, busy bool) {
		unfinished = unfinished || busy || result.Outcome == NotReached
		failed = failed || result.Outcome == Failed
	})
	if err != nil || unfinished {
		return err
	}
	if failed {
		now.pause = min(max(2*last.pause, minRetryPause), maxRetryPause)
		now.retryAt = time.Now().Add(now.pause)
	}
	seen[path] = now
	return nil
}

func (s *Shipper) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stop.stopped:
	case <-time.After(followInterval):
	}
	return nil
}
