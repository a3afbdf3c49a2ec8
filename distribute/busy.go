package distribute

import (
	"context"
	"io/fs"
	"maps"
	"slices"

	"skidway/distribute/stream"
)

// A busyMode is what ship does with a busy file: one that is in Redis already.
type busyMode int

const (
	skipBusy busyMode = iota // report it as busy
	waitBusy                 // wait until it is counted
)

// A busyFile is a file with sources that were busy.
type busyFile struct {
	file    string
	sources map[occurrence]int // the places of their results
}

// An occurrence is the n-th source with a path: an archive may have several members of one
// name.
type occurrence struct {
	path string
	n    int
}

// occurrences counts the sources with each path.
type occurrences map[string]int

func (o occurrences) next(path string) occurrence {
	o[path]++
	return occurrence{path, o[path]}
}

// shipBusy ships the sources of a file that were busy, and replaces their results. It reads
// an archive once for all of them.
func (s *Shipper) shipBusy(ctx context.Context, busy busyFile, results []ShippedFile) error {
	failure, seen, key := fs.ErrNotExist, occurrences{}, occurrence{}
	chosen := func(path string, err error) bool {
		key = seen.next(path)
		_, again := busy.sources[key]
		if !again && err != nil && path == busy.file { // members behind this error are not found
			failure = err
		}
		return again
	}
	err := s.shipSources(ctx, busy.file, s.opener(ctx, busy.file), waitBusy, chosen, func(result ShippedFile, _ bool) {
		results[busy.sources[key]] = result
		delete(busy.sources, key)
	})
	for _, i := range slices.Sorted(maps.Values(busy.sources)) {
		if err == nil && s.stop.isStopped() {
			results[i].Outcome = NotReached
		} else if err == nil {
			s.unreadable(&results[i], failure)
		}
	}
	return err
}

// awaitNotInRedis returns when an earlier shipment of the file may have been freed.
// With skipBusy it does not wait, and returns errInRedis if the shipment is still
// in Redis. Stop does not end the wait for a stream, whose beginning was read.
func (s *Shipper) awaitNotInRedis(ctx context.Context, since wakeCursor, src *stream.Source, mode busyMode, limit *throttle) error {
	if mode == waitBusy {
		stopped := s.stop.stopped
		if src.IsStream() {
			stopped = nil
		} else if s.stop.isStopped() {
			return errStopped
		}
		return s.await(ctx, since, EventFileBusy, src.Path, limit, stopped)
	}
	if err := s.channel.files.sweep(ctx); err != nil {
		return err
	}
	_, known, err := s.channel.files.lookup(ctx, src, s.sketches)
	if err == nil && (known == nil || known.inRedis()) {
		return errInRedis
	}
	return err
}
