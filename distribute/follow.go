package distribute

import (
	"context"
	"errors"
	"os"
	"time"
)

// followEvery is how often Follow looks for what is new. File systems that are
// mounted from elsewhere tell nobody of changes, so it looks.
const followEvery = time.Second

// Follow ships files as they appear and grow, of plain files whole lines only,
// until ctx is done (the error) or Quit is closed (nil). Paths are files and
// directories, as for ListFiles; one that is missing may appear later. Workers
// that work until all is done don't wait for a shipper that follows. A rotated
// file is known by its content: its new name ships nothing again.
func (s *Shipper) Follow(ctx context.Context, paths []string) error {
	s.mode = modeFollow
	return s.register(ctx, func() error {
		seen := map[string]stamp{}
		told := map[string]bool{}
		for !closed(s.config.Quit) {
			files, problems := ListFiles(paths)
			for _, problem := range problems {
				if !told[problem.Path] && !errors.Is(problem, ErrNoFiles) {
					told[problem.Path] = true
					s.config.Notify.tell(Event{File: problem.Path, Err: problem.Err})
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

// A stamp tells whether a file may have changed.
type stamp struct {
	size  int64
	mtime time.Time
}

// followFile ships what is new in a file. One that can't be shipped yet is
// looked at again the next time.
func (s *Shipper) followFile(ctx context.Context, path string, seen map[string]stamp) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it was moved since it was listed
	}
	now := stamp{info.Size(), info.ModTime()}
	if seen[path] == now || closed(s.config.Quit) {
		return nil
	}
	result := ShippedFile{Path: path}
	busy, err := s.ship(ctx, &result, false)
	if err != nil {
		return err
	}
	if !busy && result.Outcome != NotReached {
		seen[path] = now
	}
	return nil
}

func (s *Shipper) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.config.Quit:
	case <-time.After(followEvery):
	}
	return nil
}
