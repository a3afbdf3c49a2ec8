package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/distribute/stream"
)

// ShipperConfig configures a [Shipper]. The zero value is ready to use.
type ShipperConfig struct {
	// Lease is how long the shipper counts as alive after its last heartbeat;
	// zero means DefaultLease. When it expires, the current upload is
	// abandoned and its space returned to the window.
	Lease time.Duration

	// Force ships files that were counted before as if they were new, so that
	// they are counted again.
	Force bool

	// Wait makes Ship return only when every subscriber has counted the files
	// that it shipped, or that were in Redis from an earlier shipment.
	Wait bool

	// Hidden includes members of archives whose name, or whose folder's name, begins
	// with a dot.
	Hidden bool

	// Open opens the files by their paths; nil means [stream.OpenFile]. Follow finds files
	// of the file system only.
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

// An Outcome is the result of shipping one file.
type Outcome int

// Outcomes. The zero value is Failed.
const (
	Failed         Outcome = iota // see the error
	Shipped                       // it is in Redis and announced
	AlreadyCounted                // every subscriber has counted all of it before
	AlreadyShipped                // an earlier shipment of it is in Redis and not counted yet
	Empty                         // it has no content
	NotReached                    // Ship was stopped before its turn
	Vanished                      // it does not exist: it was deleted after it was listed
)

func (o Outcome) String() string {
	switch o {
	case Shipped:
		return "shipped"
	case AlreadyCounted:
		return "already counted"
	case AlreadyShipped:
		return "already shipped"
	case Empty:
		return "empty"
	case NotReached:
		return "not reached"
	case Vanished:
		return "deleted meanwhile"
	}
	return "failed"
}

// A ShippedFile is the outcome for one file, or for one member of an archive.
type ShippedFile struct {
	Path    string
	Outcome Outcome
	Bytes   int64 // uploaded, compressed or not
	Err     error // of a file that failed

	// Base is the offset in the uncompressed content where the upload of a
	// shipped file began: everything before it was counted earlier.
	Base int64

	// Grown is the number of bytes that the file grew by during its upload. They were
	// not uploaded.
	Grown int64

	// Length and Counted are set if this copy of a counted file is shorter than
	// what was counted: the bytes of both, uncompressed.
	Length, Counted int64

	// Problem is what was wrong with a counted file; nil if nothing was.
	Problem *Problem

	// Lines is the number of lines of the file that each subscriber has counted.
	// It is set only with ShipperConfig.Wait.
	Lines map[string]int64

	id       string
	shipment int64
}

// A Shipper uploads log files to a channel. It is made by [NewShipper]. One
// goroutine at a time may call Ship or Follow; Progress is safe for concurrent use.
type Shipper struct {
	channel  *Channel
	config   ShipperConfig
	token    string // of this shipper; never used again
	mode     string
	stop     *stopSignal
	interval time.Duration // between two looks of Follow
	sketches sketches
	forced   string       // end of the id of the current file if shipping is forced; the same at each try
	bytes    atomic.Int64 // of files that are finished, and of the current one as far as it is uploaded

	mu      sync.Mutex   // guards current
	current *ShippedFile // its lease is renewed by the heartbeat
}

// Modes of a shipper.
const (
	modeBatch  = "batch"  // it ends when its files are shipped
	modeFollow = "follow" // it goes on until it is stopped
)

// NewShipper returns a shipper for a channel. A nil config is the zero one; for an
// invalid one Ship and Follow return a ConfigError.
func NewShipper(channel *Channel, config *ShipperConfig) *Shipper {
	return &Shipper{channel: channel, config: config.withDefaults(), token: rand.Text(), mode: modeBatch, stop: newStopSignal(), sketches: sketches{}, interval: followInterval}
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
// are counted.
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
	if err := s.begin(ctx); err != nil {
		return err
	}
	stop := heartbeat(ctx, s.config.Lease/3, s.beat)
	err := f()
	if err == nil { // by now it is known which of the old files still exist
		err = s.channel.files.forgetOld(ctx, RememberFiles, RememberFor)
	}
	stop()
	return errors.Join(err, s.end(ctx))
}

// shipAll ships file by file. Busy files come last: another shipper uploads them,
// or an earlier shipment of them is not counted yet.
func (s *Shipper) shipAll(ctx context.Context, files []string) ([]ShippedFile, error) {
	var results []ShippedFile
	type busyFile struct {
		file   string
		result int
	}
	var later []busyFile
	for _, file := range files {
		err := s.shipFile(ctx, file, s.opener(ctx, file), func(result ShippedFile, busy bool) {
			if busy {
				later = append(later, busyFile{file, len(results)})
			}
			results = append(results, result)
		})
		if err != nil {
			return results, err
		}
	}
	for _, busy := range later {
		result := &results[busy.result]
		err := s.shipSources(ctx, busy.file, s.opener(ctx, busy.file), waitBusy, func(path string) bool { return path == result.Path },
			func(again ShippedFile, _ bool) { *result = again })
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// opener returns the function that opens a file by its path.
func (s *Shipper) opener(ctx context.Context, path string) func() (stream.Object, error) {
	return func() (stream.Object, error) {
		if s.config.Open != nil {
			return s.config.Open(ctx, path)
		}
		return stream.OpenFile(path)
	}
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
	err := s.shipSources(ctx, file, open, skipBusy, func(string) bool { return true }, func(result ShippedFile, busy bool) {
		someBusy = someBusy || busy
		done(result, busy)
	})
	if info, statErr := os.Stat(file); statErr == nil && !someBusy { // the file is finished, also if it failed
		s.bytes.Store(before + info.Size())
	}
	return err
}

// A busyMode is what ship does with a busy file: one that is in Redis already.
type busyMode int

const (
	skipBusy busyMode = iota // report it as busy
	waitBusy                 // wait until it is counted
)

// shipSources ships those sources of a file whose paths are chosen, and passes on each
// result. busy reports that a source can't be shipped yet. An error that concerns one source
// is stored in its result. Any other error is returned and ends the shipper.
func (s *Shipper) shipSources(ctx context.Context, file string, open func() (stream.Object, error), mode busyMode, chosen func(path string) bool, done func(result ShippedFile, busy bool)) error {
	for src, err := range stream.Sources(file, open, s.config.Hidden, stream.Decoding{MaxWindow: s.config.MaxWindow}) {
		if !chosen(src.Path) {
			continue
		}
		if s.stop.isStopped() {
			done(ShippedFile{Path: src.Path, Outcome: NotReached}, false)
			return nil
		}
		result := ShippedFile{Path: src.Path}
		busy := false
		if err != nil {
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
	switch s.setFailure(result, err); result.Outcome {
	case Failed:
		s.config.Notify.send(Event{Kind: EventFailed, File: result.Path, Err: err})
	case Vanished:
		s.config.Notify.send(Event{Kind: EventShipped, File: result.Path, Shipped: *result})
	}
}

// setFailure stores the error for which a source can't be opened.
func (s *Shipper) setFailure(result *ShippedFile, err error) {
	switch {
	case errors.Is(err, stream.ErrEmpty):
		result.Outcome = Empty
	case errors.Is(err, fs.ErrNotExist):
		result.Outcome = Vanished
	default:
		result.Outcome, result.Err = Failed, &FileError{result.Path, err}
	}
}

// ship ships one source. An error that concerns only this source is stored in the
// result. Any other error is returned and ends the shipper. busy reports whether
// the source can't be shipped yet.
func (s *Shipper) ship(ctx context.Context, src *stream.Source, result *ShippedFile, mode busyMode) (busy bool, err error) {
	s.forced = "-" + strings.ToLower(rand.Text()[:8])
	if s.mode == modeFollow {
		if err := src.CutToWholeLines(); err != nil {
			s.unreadable(result, err)
			return false, nil
		}
	}
	for tries := 0; ; tries++ {
		err = s.shipOnce(ctx, src, result, mode)
		if !errors.Is(err, errLeaseLost) || tries == 3 {
			break
		}
		s.config.Notify.send(Event{Kind: EventRestarted, File: result.Path})
		if err := s.begin(ctx); err != nil {
			return false, err
		}
	}
	switch {
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
	for limit := (throttle{}); ; {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return err
		}
		p, err := s.plan(ctx, src)
		switch {
		case errors.Is(err, errInRedis):
			err := s.awaitNotInRedis(ctx, since, src, mode, &limit)
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
			if s.mode == modeBatch {
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
		return s.upload(ctx, src, p, &admitted, result)
	}
}

// failed stores and reports the error for which a source that was opened can't be shipped.
func (s *Shipper) failed(result *ShippedFile, err error) {
	if s.setFailure(result, err); result.Outcome == Vanished { // it was there: something that it needs was not
		result.Outcome, result.Err = Failed, &FileError{result.Path, err}
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

// begin registers the shipper. Workers with UntilDone
// wait until it ends, or is swept, unless it follows.
func (s *Shipper) begin(ctx context.Context) error {
	host, _ := os.Hostname()
	reply, err := s.channel.call(ctx, beginScript, target{}, s.token, s.config.Lease.Milliseconds(), s.mode, fmt.Sprintf("%s:%d", host, os.Getpid()))
	if err == nil && reply.Int(0) == 0 {
		err = ErrNoChannel
	}
	if err != nil {
		return fmt.Errorf("ship to channel %q: %w", s.channel.name, err)
	}
	return nil
}

// end removes the registration, even when ctx is done.
func (s *Shipper) end(ctx context.Context) error {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	_, err := s.channel.call(ctx, endScript, target{}, s.token, 0)
	return err
}

// beat is the shipper's heartbeat: it renews the leases of the shipper and of the
// current upload, and registers the shipper again if its lease had expired.
func (s *Shipper) beat(ctx context.Context) {
	id, shipment := "", int64(0)
	s.mu.Lock()
	if s.current != nil {
		id, shipment = s.current.id, s.current.shipment
	}
	s.mu.Unlock()
	alive, err := s.channel.call(ctx, beatScript, target{file: id}, s.token, s.config.Lease.Milliseconds(), shipment, id)
	if err == nil && alive.Int(0) == 0 {
		_ = s.begin(ctx)
	}
}

func (s *Shipper) setCurrent(result *ShippedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = result
}
