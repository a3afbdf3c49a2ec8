package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/stream"
)

// ShipperConfig configures a [Shipper]. The zero value is ready to use.
type ShipperConfig struct {
	// Lease is how long the shipper counts as alive after its last heartbeat;
	// zero means DefaultLease. When it expires, the current upload is
	// abandoned and its space returned to the window. While the shipper uploads a
	// stream, which can't be read again, it counts as alive four times as long.
	Lease time.Duration

	// Force ships files that were counted before as if they were new, so that
	// they are counted again.
	Force bool

	// Wait makes Ship return only when every subscriber has counted the files
	// that it shipped, or that were in Redis from an earlier shipment.
	Wait bool

	// Members chooses members of archives and, for Follow, files of directories.
	Members stream.Members

	// Names are further paths for Follow, none of which is a pattern.
	Names []string

	// Open opens the files by their paths; nil means [stream.Open]. Follow finds files
	// of the file system only. It may return a [stream.Pipe].
	Open func(ctx context.Context, path string) (stream.Object, error)

	// MaxWindow is the largest window that compressed files may need, in bytes; zero
	// means [stream.DefaultMaxWindow].
	MaxWindow int64

	Notify Notify
}

func (c *ShipperConfig) withDefaults() ShipperConfig {
	var config ShipperConfig
	if c != nil {
		config = *c
	}
	config.Lease = cmp.Or(config.Lease, DefaultLease)
	return config
}

func (c ShipperConfig) validate() error {
	return errors.Join(checkNotNegative("Lease", c.Lease), checkNotNegative("MaxWindow", c.MaxWindow))
}

// A Shipper uploads log files to a channel. It is made by [NewShipper]. One
// goroutine at a time may call Ship or Follow; Progress is safe for concurrent use.
type Shipper struct {
	channel      *Channel
	config       ShipperConfig
	registration registration
	stop         *stopSignal
	interval     time.Duration // between two looks of Follow
	sketches     sketches
	leftOut      map[string]bool
	sampled      map[string]bool // ids of plain files that Follow has uploaded from their start, and which had more than maxSample then
	forced       string          // end of the id of the current file if shipping is forced; the same at each try
	bytes        atomic.Int64    // of files that are finished, and of the current one as far as it is uploaded
}

// AccessLogs chooses the files that can be access logs by their names and by their content, as
// [accesslog.OtherLog] knows the others, and those whose name starts with a dot only if
// hidden is true. Files among the paths, which may be patterns, are not left out by their content.
func AccessLogs(hidden bool, paths ...string) stream.Members {
	named := map[string]bool{}
	var patterns []string
	for _, path := range paths {
		named[filepath.Clean(path)] = true
		if strings.ContainsAny(path, stream.PatternBytes) {
			patterns = append(patterns, path)
		}
	}
	return stream.Members{
		Hidden: hidden,
		Skip:   func(name string) string { return accesslog.OtherLog(name, nil) },
		SkipContent: func(path string, head []byte) string {
			kind := otherContent(head)
			matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, path); return ok }
			if kind == "" || named[filepath.Clean(path)] || slices.ContainsFunc(patterns, matches) {
				return ""
			}
			return kind
		},
	}
}

// otherContent returns the kind of a file that is no access log, by what its content begins with;
// empty if it may be one.
func otherContent(head []byte) string {
	lines, _ := stream.FirstLines(head, accesslog.DetectLines)
	kind := accesslog.OtherLog("", lines)
	if kind == "" {
		return ""
	}
	if _, err := accesslog.Detect(lines); err == nil { // lines of both may be in one file
		return ""
	}
	return kind
}

// NewShipper returns a shipper for a channel. A nil config is the zero one; for an
// invalid one Ship and Follow return a ConfigError.
func NewShipper(channel *Channel, config *ShipperConfig) *Shipper {
	c := config.withDefaults()
	return &Shipper{
		channel: channel, config: c, registration: registration{channel: channel, token: rand.Text(), mode: modeBatch, lease: c.Lease},
		stop: newStopSignal(), sketches: sketches{}, leftOut: map[string]bool{}, sampled: map[string]bool{}, interval: followInterval,
	}
}

// Stop makes Ship or Follow return after the current file. It may be called at
// any time, by any goroutine, and more than once.
func (s *Shipper) Stop() { s.stop.stop() }

// Progress returns the number of bytes processed: the sizes of finished files plus
// the uploaded bytes of the current one.
func (s *Shipper) Progress() int64 { return s.bytes.Load() }

// Ship uploads the files in the given order, except that busy files come last:
// those of which an earlier shipment is in Redis. It announces each file when its
// upload starts, and blocks while the window is full. An error that concerns one
// file is stored in its ShippedFile. Any other error ends Ship and abandons the
// current upload. A file may be shipped again: without Force, only its new lines
// are counted. A FIFO, or another [stream.Pipe], is read once, to its end or until Stop is
// called: it then fails, and what was read of it is counted.
func (s *Shipper) Ship(ctx context.Context, files []string) ([]ShippedFile, error) {
	var results []ShippedFile
	err := s.register(ctx, func() (err error) {
		results, err = s.shipAll(ctx, files)
		if err == nil && s.config.Wait {
			err = s.awaitCounted(ctx, results)
		}
		return err
	})
	return results, err
}

// register runs f while the shipper is registered, with its heartbeat.
func (s *Shipper) register(ctx context.Context, f func() error) error {
	if err := s.config.validate(); err != nil {
		return err
	}
	if err := s.registration.begin(ctx); err != nil {
		return err
	}
	stop := heartbeat(ctx, s.config.Lease/3, s.registration.beat)
	err := f()
	if err == nil { // by now it is known which of the old files still exist
		err = s.channel.files.forgetOld(ctx, RememberFiles, RememberFor)
	}
	stop()
	return errors.Join(err, s.registration.end(ctx))
}

// shipAll ships file by file. Busy files come last: another shipper uploads them,
// or an earlier shipment of them is not counted yet.
func (s *Shipper) shipAll(ctx context.Context, files []string) ([]ShippedFile, error) {
	var results []ShippedFile
	var later []busyFile
	for _, file := range files {
		busy, seen := busyFile{file, map[occurrence]int{}}, occurrences{}
		err := s.shipFile(ctx, file, s.opener(ctx, file), func(result ShippedFile, isBusy bool) {
			if key := seen.next(result.Path); isBusy {
				busy.sources[key] = len(results)
			}
			results = append(results, result)
		})
		if err != nil {
			return results, err
		}
		if len(busy.sources) > 0 {
			later = append(later, busy)
		}
	}
	for _, busy := range later {
		if err := s.shipBusy(ctx, busy, results); err != nil {
			return results, err
		}
	}
	return results, nil
}

// shipFile ships a file that open opens, or the members of an archive, and passes on each
// result. If the shipper is stopped, it ships nothing. It does not wait for busy files.
func (s *Shipper) shipFile(ctx context.Context, file string, open func() (stream.Object, error), done func(result ShippedFile, busy bool)) error {
	if s.stop.isStopped() {
		done(ShippedFile{Path: file, Outcome: NotReached}, false)
		return nil
	}
	before := s.bytes.Load()
	someBusy := false
	err := s.shipSources(ctx, file, open, skipBusy, func(string, error) bool { return true }, func(result ShippedFile, busy bool) {
		someBusy = someBusy || busy
		done(result, busy)
	})
	if info, statErr := os.Stat(file); statErr == nil && info.Mode().IsRegular() && !someBusy { // the file is finished, also if it failed
		s.bytes.Store(before + info.Size())
	}
	return err
}

// shipSources ships the chosen sources of a file, and passes on each result. chosen is called with
// the path of each source, and the error for which it can't be opened. busy reports that a source
// can't be shipped yet. An error that concerns one source is stored in its result. Any other error
// is returned and ends the shipper.
func (s *Shipper) shipSources(ctx context.Context, file string, open func() (stream.Object, error), mode busyMode, chosen func(path string, err error) bool, done func(result ShippedFile, busy bool)) error {
	for src, err := range stream.Sources(file, open, s.config.Members, stream.Decoding{MaxWindow: s.config.MaxWindow}) {
		if !chosen(src.Path, err) {
			continue
		}
		if s.stop.isStopped() && !src.IsStream() { // what was read of a stream can't be read again
			done(ShippedFile{Path: src.Path, Outcome: NotReached}, false)
			return nil
		}
		result := ShippedFile{Path: src.Path}
		busy := false
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s.unreadable(&result, err)
		} else if busy, err = s.ship(ctx, src, &result, mode); err != nil {
			return err
		}
		done(result, busy)
	}
	return nil
}

// unreadable stores and reports the error for which a source can't be opened.
func (s *Shipper) unreadable(result *ShippedFile, err error) {
	switch result.setFailure(err); result.Outcome {
	case Failed:
		s.config.Notify.send(Event{Kind: EventFailed, File: result.Path, Err: err})
	case Skipped:
		if s.leftOut[result.Path] && s.registration.mode == modeFollow { // it was reported
			return
		}
		s.leftOut[result.Path] = true
		fallthrough
	case Vanished:
		s.config.Notify.send(Event{Kind: EventShipped, File: result.Path, Shipped: *result})
	}
}

// ship ships one source. An error that concerns only this source is stored in the
// result. Any other error is returned and ends the shipper. busy reports whether
// the source can't be shipped yet.
func (s *Shipper) ship(ctx context.Context, src *stream.Source, result *ShippedFile, mode busyMode) (busy bool, err error) {
	s.forced = "-" + strings.ToLower(rand.Text()[:8])
	if s.registration.mode == modeFollow {
		if err := src.CutToWholeLines(); err != nil {
			s.unreadable(result, err)
			return false, nil
		}
	}
	if src.IsStream() {
		mode = waitBusy // it can't be opened again later
	}
	for tries := 0; ; tries++ {
		err = s.shipOnce(ctx, src, result, mode)
		if !errors.Is(err, errLeaseLost) || tries == 3 {
			break
		}
		s.config.Notify.send(Event{Kind: EventRestarted, File: result.Path})
		if err := s.registration.begin(ctx); err != nil {
			return false, err
		}
	}
	switch {
	case err != nil && src.IsStream() && ctx.Err() != nil:
		return false, context.Cause(ctx) // it has ended the reading
	case errors.Is(err, errInRedis):
		return true, nil
	case fileProblem(err):
		s.failed(result, err)
		return false, nil
	}
	return false, err
}

// shipOnce plans, admits, announces and uploads a file.
func (s *Shipper) shipOnce(ctx context.Context, src *stream.Source, result *ShippedFile, mode busyMode) error {
	var waits EventKind // what was waited for last
	for limit := (throttle{}); ; {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return err
		}
		p, err := s.plan(ctx, src)
		p.base = max(p.base, src.Passed())
		switch {
		case errors.Is(err, errInRedis):
			if p.busy != waits {
				limit, waits = throttle{}, p.busy
			}
			err := s.awaitNotInRedis(ctx, since, src, p, mode, &limit)
			if errors.Is(err, errStopped) {
				result.Outcome = NotReached
				return nil
			}
			if err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case p.known != nil:
			*result = *p.known
			result.Path, result.id, result.shipment = src.Path, p.id, p.shipment
			if err := s.channel.files.seen(ctx, p.id); err != nil {
				return err
			}
			if s.registration.mode == modeBatch {
				s.config.Notify.send(Event{Kind: EventShipped, File: src.Path, Shipped: *result})
			}
			return nil
		}
		admitted, err := s.admit(ctx, src, p)
		switch {
		case errors.Is(err, errChanged):
			continue
		case errors.Is(err, errStopped):
			result.Outcome = NotReached
			return nil
		case err != nil:
			return err
		}
		result.id, result.shipment, result.Bytes = p.id, admitted.Shipment, 0
		if s.registration.mode == modeFollow && p.base == 0 && src.Codec == stream.Plain && src.Size > maxSample {
			s.sampled[p.id] = true
		}
		return s.upload(ctx, src, p, &admitted, result)
	}
}

// failed stores and reports the error for which a source that was opened can't be shipped.
func (s *Shipper) failed(result *ShippedFile, err error) {
	if result.setFailure(err); result.Outcome == Vanished { // it was there: something that it needs was not
		result.Outcome, result.Err = Failed, &stream.FileError{Path: result.Path, Err: err}
	}
	s.config.Notify.send(Event{Kind: EventFailed, File: result.Path, Err: err})
}

var (
	errInRedis   = errors.New("the file is in Redis already")
	errLeaseLost = errors.New("the shipper's lease has run out")
)

// fileProblem reports whether an error concerns one file and not the connection
// to Redis.
func fileProblem(err error) bool {
	var local *stream.SourceError
	var tooLarge *TooLargeError
	return errors.As(err, &local) || errors.As(err, &tooLarge) || errors.Is(err, errForeign) || errors.Is(err, errLeaseLost)
}
