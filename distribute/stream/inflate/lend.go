package inflate

import "io"

// A Borrower is a writer that can read content later, in place.
type Borrower interface {
	io.Writer

	// Lend is like Write, but the content, of at least one byte, stays as it is until the borrower
	// has called release, which it does once, after an error too. If release is nil, the content
	// stays until that of a later call is released.
	Lend(content []byte, release func()) error
}

// maxWindows is the number of windows that a Reader makes for a Borrower: two are handed
// over, one is read, and one is decompressed into.
const maxWindows = 4

// A lending has the windows of a decoder whose content is lent.
type lending struct {
	free chan *window
	made int
}

func newLending() *lending { return &lending{free: make(chan *window, maxWindows), made: 1} }

// take returns a window that is not lent. It blocks until there is one.
func (l *lending) take() *window {
	if len(l.free) == 0 && l.made < maxWindows {
		l.made++
		return new(window)
	}
	return <-l.free
}

// lend passes on the content of the last step. The window is released with the last content
// that is put into it.
func (r *Reader) lend(to Borrower) (n int64, err error) {
	content, window, free := r.content, r.decoder.window, r.decoder.lending.free
	r.content = nil
	var release func()
	if r.decoder.isFull() {
		release = func() { free <- window }
	}
	return int64(len(content)), to.Lend(content, release)
}
