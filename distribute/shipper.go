package distribute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"skidway/distribute/stream"
)

// ShipperConfig says how to ship. The zero value is ready to use.
type ShipperConfig struct {
	// Lease is how long the shipper is believed to live after its last sign
	// of life; zero means DefaultLease. When it ends, the upload in hand is
	// abandoned and its space given back.
	Lease time.Duration

	// Force ships files that were counted before as if they were new: they
	// are counted again.
	Force bool

	// Wait makes Ship return only when every subscriber has counted what it
	// shipped, or found in Redis from an earlier shipment.
	Wait bool

	// Quit, when closed, makes Ship finish the file in hand and return.
	Quit <-chan struct{}

	Notify Notify
}

// An Outcome is what became of a file that was to be shipped.
type Outcome int

// Outcomes. The zero value is Failed.
const (
	Failed         Outcome = iota // see the error
	Shipped                       // it is in Redis and announced
	AlreadyCounted                // every subscriber has counted all of it before
	AlreadyShipped                // it is in Redis since an earlier shipment, waiting to be counted
	Empty                         // it has no content
	NotReached                    // Ship was told to quit before its turn
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
	}
	return "failed"
}

// A ShippedFile is the outcome for one file.
type ShippedFile struct {
	Path    string
	Outcome Outcome
	Bytes   int64  // uploaded, compressed or not
	Note    string // for people: how much was new, what a reader found wrong before
	Err     error  // why it failed

	// Lines of the file that each subscriber has counted, now and before.
	// Known only where Ship has waited for that.
	Lines map[string]int64

	id       string
	shipment int64
}

// A Shipper uploads log files to a channel. It is made by [NewShipper] and used
// by one goroutine at a time; Progress is safe to call meanwhile.
type Shipper struct {
	channel *Channel
	config  ShipperConfig
	token   string // names this shipper; never used again
	mode    string
	bytes   atomic.Int64

	mu      sync.Mutex // guards what the heartbeat renews
	current *ShippedFile
}

// Modes of a shipper: one says "done" some time, the other never does.
const (
	modeBatch  = "batch"
	modeFollow = "follow"
)

// NewShipper makes a shipper for a channel.
func NewShipper(channel *Channel, config ShipperConfig) *Shipper {
	if config.Lease <= 0 {
		config.Lease = DefaultLease
	}
	return &Shipper{channel: channel, config: config, token: rand.Text(), mode: modeBatch}
}

// Progress is how many bytes of files are dealt with, for a progress bar.
func (s *Shipper) Progress() int64 { return s.bytes.Load() }

// Ship uploads files in the order given and announces each when its upload
// starts. It blocks while the window is full. What can't be shipped is told in
// its ShippedFile and keeps nothing else from being shipped; the error is for
// what ends all: Redis away for too long, or ctx done (then the upload in hand
// is abandoned). What was shipped before can be shipped again: only what is new
// in it goes up.
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

// register runs f while the shipper is registered and its heart beats.
func (s *Shipper) register(ctx context.Context, f func() error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	stop := heartbeat(ctx, s.config.Lease/3, s.beat)
	err := f()
	stop()
	return errors.Join(err, s.end(ctx))
}

// shipAll ships file by file. What is in another shipper's hands, or waits to
// be counted before more of it can follow, comes last, when that may be over.
func (s *Shipper) shipAll(ctx context.Context, files []string) ([]ShippedFile, error) {
	results := make([]ShippedFile, len(files))
	var later []int
	for i, path := range files {
		results[i] = ShippedFile{Path: path, Outcome: NotReached}
		if closed(s.config.Quit) {
			continue
		}
		busy, err := s.ship(ctx, &results[i], false)
		if err != nil {
			return results, err
		}
		if busy {
			later = append(later, i)
		}
	}
	for _, i := range later {
		if _, err := s.ship(ctx, &results[i], true); err != nil {
			return results, err
		}
	}
	return results, nil
}

// ship deals with one file. Its error ends everything; what concerns the file
// alone is in the result. busy tells that the file can't be shipped yet; with
// patient it waits until it can.
func (s *Shipper) ship(ctx context.Context, result *ShippedFile, patient bool) (busy bool, err error) {
	before := s.bytes.Load()
	defer func() {
		if !busy { // whatever became of it, the file is dealt with
			if info, err := os.Stat(result.Path); err == nil {
				s.bytes.Store(before + info.Size())
			}
		}
	}()
	src, err := stream.OpenSource(result.Path)
	if err == nil && s.mode == modeFollow {
		if err = src.CutToWholeLines(); err != nil {
			src.Close()
		}
	}
	switch {
	case errors.Is(err, stream.ErrEmpty):
		result.Outcome = Empty
		return false, nil
	case err != nil:
		s.failed(result, err)
		return false, nil
	}
	defer src.Close()
	for tries := 0; ; tries++ {
		err = s.shipOnce(ctx, src, result, patient)
		if !errors.Is(err, errLeaseLost) || tries == 3 {
			break
		}
		s.config.Notify.tell(Event{File: result.Path, Text: "this process was taken for dead and its upload given up: starting it again"})
		if err := s.begin(ctx); err != nil {
			return false, err
		}
	}
	switch {
	case errors.Is(err, errBusy):
		return true, nil
	case fileProblem(err):
		s.failed(result, err)
		return false, nil
	}
	return false, err
}

func (s *Shipper) failed(result *ShippedFile, err error) {
	result.Outcome, result.Err = Failed, &FileError{result.Path, err}
	s.config.Notify.tell(Event{File: result.Path, Err: err})
}

var (
	errBusy      = errors.New("the file is in Redis already")
	errLeaseLost = errors.New("the shipper's lease has run out")
)

// fileProblem reports whether an error concerns one file and not the way to
// Redis.
func fileProblem(err error) bool {
	var local *stream.SourceError
	var tooLarge *TooLargeError
	return errors.As(err, &local) || errors.As(err, &tooLarge) || errors.Is(err, errForeign) || errors.Is(err, errLeaseLost)
}

// begin registers the shipper; while it is registered and alive, workers that
// work until all is done wait for it.
func (s *Shipper) begin(ctx context.Context) error {
	host, _ := os.Hostname()
	_, err := s.channel.call(ctx, beginScript, subject{}, s.token, s.config.Lease.Milliseconds(), s.mode, fmt.Sprintf("%s:%d", host, os.Getpid()))
	if err != nil {
		return fmt.Errorf("ship to channel %q: %w", s.channel.name, err)
	}
	return s.channel.forgetOld(ctx)
}

// end says "done", even when ctx is.
func (s *Shipper) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := s.channel.call(ctx, endScript, subject{}, s.token, 0)
	return err
}

// beat is the shipper's heartbeat: it renews its lease and that of the upload in
// hand, and registers it anew if it was taken for dead.
func (s *Shipper) beat(ctx context.Context) {
	id, shipment := "", int64(0)
	s.mu.Lock()
	if s.current != nil {
		id, shipment = s.current.id, s.current.shipment
	}
	s.mu.Unlock()
	alive, err := s.channel.call(ctx, beatScript, subject{file: id}, s.token, s.config.Lease.Milliseconds(), shipment, id)
	if err == nil && alive.Int(0) == 0 {
		_ = s.begin(ctx)
	}
}

func (s *Shipper) inHand(result *ShippedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = result
}

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
