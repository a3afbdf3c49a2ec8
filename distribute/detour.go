package distribute

import (
	"context"
	"errors"
	"time"

	"skidway/distribute/stream"
)

// Files are counted in the order of their admission. But a small file whose upload is
// complete does not wait until a large one is counted: a worker whose slots are all busy
// counts it in between, and keeps its claim on the large file meanwhile. That takes a short
// time, because the reader of a complete file never waits for a block, so the oldest file
// still goes on.

const (
	// maxDetour bounds the bytes of a file that is counted in between.
	maxDetour = 16 << 20

	// detourShare is how many times as large the other file is, at least.
	detourShare = 4

	// lookInterval is the time between two looks for such files, at least. The time between
	// them is also that for which files were counted after the first one, so that at most half
	// of it is spent on them, whatever they expand to.
	lookInterval = time.Second
)

// detour counts small files that are complete and have no worker. The caller reads a file of
// a size, 0 if that is not known, and goes on with it afterwards. Before the first one, commit
// is called. Another slot that is idle, or in a detour, is enough: then detour does nothing.
// An error ends the worker.
func (w *Worker) detour(ctx context.Context, size int64, commit func()) error {
	pause := max(w.lookInterval, time.Duration(w.detourTook.Load()))
	if time.Since(time.UnixMilli(w.detoured.Load())) < pause || !w.detourMu.TryLock() {
		return nil
	}
	defer w.detourMu.Unlock()
	began := time.Now()
	defer func() {
		w.detourTook.Store(int64(time.Since(began)))
		w.detoured.Store(time.Now().UnixMilli())
	}()
	limit := int64(maxDetour)
	if size > 0 {
		limit = min(limit, size/detourShare)
	}
	for {
		claims, err := w.claimSmall(ctx, limit)
		if err != nil || len(claims) == 0 {
			return err
		}
		if commit != nil {
			commit()
			commit = nil
		}
		err = w.process(ctx, claims)
		if errors.Is(err, stream.ErrWindowsInUse) {
			return nil // the caller may have them
		}
		if err != nil {
			return err
		}
		if time.Since(began) > w.lookInterval/2 {
			return nil
		}
	}
}

// claimSmall claims a small file, unless another slot looks for files.
func (w *Worker) claimSmall(ctx context.Context, limit int64) ([]*claim, error) {
	if !w.queueMu.TryLock() {
		return nil, nil
	}
	defer w.queueMu.Unlock()
	if w.stop.isStopped() {
		return nil, nil
	}
	return w.queues.nextSmall(ctx, limit)
}
