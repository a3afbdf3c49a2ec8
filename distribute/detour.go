package distribute

import (
	"context"
	"math"
	"sync"
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

// detour counts small files that are complete and have no worker, and what is new of uploads that
// were set aside. The caller reads a file of this size, 0 if that is not known, and goes on with
// it afterwards. Before the first small file is counted, commit is called. detour does nothing
// while another slot is idle or in a detour. An error ends the worker.
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
		if err := w.process(ctx, claims, true); err != nil {
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

// asideFiles are the files that a worker has set aside for a subscriber:
//
//   - It had no room for the window of a file. The file is not claimed until there is room. One
//     that was admitted later than it, if no other worker has it, is counted meanwhile only if
//     it is small and complete.
//   - It has counted all of an upload that goes on, and another file waits. The file is not
//     claimed until there is news.
type asideFiles struct {
	windows *stream.Windows
	mu      sync.Mutex // guards files
	files   map[asideName]asideFile
}

type asideName struct{ subscriber, shipment string }

// An asideFile is why a file is set aside.
type asideFile struct {
	need  int64 // bytes of the window; 0: there was nothing more to count
	raw   int64 // bytes of the upload that were counted
	lines int64 // that were counted since the worker first claimed the shipment
	over  bool  // it is not set aside any more
}

// set sets a file aside, and forgets those for whose windows there is room.
func (a *asideFiles) set(subscriber, id string, shipment int64, why asideFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files == nil {
		a.files = map[asideName]asideFile{}
	}
	for name, why := range a.files {
		if why.need > 0 && a.windows.Room(why.need) {
			delete(a.files, name)
		}
	}
	a.files[asideName{subscriber, shipmentName(id, shipment)}] = why
}

// end makes a file one that is not set aside any more.
func (a *asideFiles) end(subscriber string, file announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := asideName{subscriber, shipmentName(file.File, file.Shipment)}
	why := a.files[name]
	why.over = true
	a.files[name] = why
}

// take removes a file, and returns why it was set aside.
func (a *asideFiles) take(subscriber, id string, shipment int64) asideFile {
	if a == nil {
		return asideFile{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name := asideName{subscriber, shipmentName(id, shipment)}
	defer delete(a.files, name)
	return a.files[name]
}

// get returns why a file is set aside, and whether it is.
func (a *asideFiles) get(subscriber string, file announcement) (why asideFile, found bool) {
	if a == nil {
		return why, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	why, found = a.files[asideName{subscriber, shipmentName(file.File, file.Shipment)}]
	return why, found && !why.over && (why.need == 0 || !a.windows.Room(why.need))
}

// waits reports whether a file is set aside, and there is no news.
func (a *asideFiles) waits(subscriber string, file openShipment) bool {
	why, found := a.get(subscriber, file.announcement)
	return found && (why.need > 0 || !file.complete && !file.full && file.raw == why.raw)
}

// news returns the number of bytes that came since all of an upload was counted; 0 if it was
// not set aside for that.
func (a *asideFiles) news(subscriber string, file openShipment) int64 {
	why, found := a.get(subscriber, file.announcement)
	if !found || why.need > 0 {
		return 0
	}
	return max(0, file.raw-why.raw)
}

// sometimes returns a function that calls look, at most once in the interval between two looks
// for small files, and not before one has passed.
func (w *Worker) sometimes(look func() (bool, error)) func() (bool, error) {
	last := time.Now()
	return func() (bool, error) {
		if time.Since(last) < w.lookInterval {
			return false, nil
		}
		last = time.Now()
		return look()
	}
}

// othersWait reports whether another file than the one with an id has no worker, and something
// to count. If a slot is idle, that one takes it.
func (w *Worker) othersWait(ctx context.Context, id string) (bool, error) {
	if !w.queueMu.TryLock() {
		return false, nil
	}
	defer w.queueMu.Unlock()
	for _, subscriber := range w.queues.subscribers() {
		found, err := w.channel.files.unclaimed(ctx, subscriber, math.MaxInt64, func(a openShipment) bool {
			return a.File != id && (a.complete || a.raw > 0) && !w.aside.waits(subscriber, a)
		})
		if err != nil || found {
			return found && !w.stop.isStopped(), err
		}
	}
	return false, nil
}
