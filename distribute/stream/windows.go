package stream

import (
	"bufio"
	"io"
	"sync"
)

// Windows bounds the windows that several decompressors have together. A nil *Windows has no
// bound. It is safe for concurrent use.
type Windows struct {
	max int64

	mu    sync.Mutex // guards what follows
	used  int64
	freed chan struct{} // closed when a window is released
}

// NewWindows returns a bound of so many bytes.
func NewWindows(max int64) *Windows { return &Windows{max: max, freed: make(chan struct{})} }

// A WindowsInUseError is the error for compressed data whose window has no room beside those of
// other decompressors. The data is not damaged: it can be read when they have ended.
type WindowsInUseError struct {
	Need int64 // bytes of its window
}

func (*WindowsInUseError) Error() string { return "other files take up the memory for windows" }

// Room reports whether a decompressor could have a window of n bytes now.
func (w *Windows) Room(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room(n)
}

func (w *Windows) room(n int64) bool { return w.used == 0 || w.used+n <= w.max }

// Freed returns a channel that is closed when a decompressor next releases its windows, or is
// closed if none has any.
func (w *Windows) Freed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used == 0 {
		free := make(chan struct{})
		close(free)
		return free
	}
	return w.freed
}

// take takes n bytes, and reports whether there was room for them. The only
// decompressor may have as many as it needs.
func (w *Windows) take(n int64) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.room(n) {
		return false
	}
	w.used += n
	return true
}

func (w *Windows) give(n int64) {
	if w == nil || n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used -= n
	close(w.freed)
	w.freed = make(chan struct{})
}

// A windowLease is the window of one decompressor.
type windowLease struct {
	codec Codec
	max   int64 // bytes
	all   *Windows
	held  int64 // bytes
}

// need makes the window at least n bytes large. The error is a WindowError or a WindowsInUseError.
func (l *windowLease) need(n int64) error {
	switch {
	case n > l.max:
		return &WindowError{l.codec, n, l.max}
	case n <= l.held:
		return nil
	case !l.all.take(n - l.held):
		return &WindowsInUseError{n}
	}
	l.held = n
	return nil
}

// release returns the window to the budget.
func (l *windowLease) release() {
	l.all.give(l.held)
	l.held = 0
}

// The memory of decompressors whose data does not name it, in bytes: the largest blocks of bzip2,
// and those of a legacy frame of lz4.
const (
	bzip2Window     = 4 << 20
	lz4LegacyWindow = 8 << 20
)

// An lz4Source refuses frames whose blocks are too large (LZ4 Frame Format, version 1.6.4). The
// decompressor reads the magic number of a frame at once.
type lz4Source struct {
	r      *bufio.Reader
	window *windowLease
}

func (s *lz4Source) Read(p []byte) (n int, err error) {
	if len(p) != 4 {
		return s.r.Read(p)
	}
	if n, err = io.ReadFull(s.r, p); err != nil {
		return n, err
	}
	need := int64(0)
	switch string(p) {
	case "\x02\x21\x4c\x18":
		need = lz4LegacyWindow
	case "\x04\x22\x4d\x18":
		if descriptor, _ := s.r.Peek(2); len(descriptor) == 2 && descriptor[1]>>6&1 == 1 {
			need = 1 << (8 + 2*(descriptor[1]>>4&7))
		}
	}
	if err := s.window.need(need); err != nil {
		return 0, err // with its bytes, the frame would be begun
	}
	return n, nil
}

// brotliWindow returns the size of the window that the data needs (RFC 7932, section 9.1). It is
// 0 if the data is none: the decompressor finds the damage.
func brotliWindow(source *bufio.Reader) (int64, error) {
	start, err := source.Peek(1)
	if err == io.EOF {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	bits := 17
	switch c := int(start[0]); {
	case c&1 == 0:
		bits = 16
	case c>>1&7 > 0:
		bits = 17 + c>>1&7
	case c>>4&7 == 1:
		return 0, nil // a larger window, which the decompressor does not read
	case c>>4&7 > 0:
		bits = 8 + c>>4&7
	}
	return 1 << bits, nil
}
