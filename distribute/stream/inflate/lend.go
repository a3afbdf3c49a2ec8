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
	free        chan *window
	made, limit int
}

func newLending(limit int) *lending {
	return &lending{free: make(chan *window, maxWindows), made: 1, limit: limit}
}

// take returns a window that is not lent. It blocks until there is one, or makes one.
func (l *lending) take() *window {
	if len(l.free) == 0 && l.made < l.limit {
		l.made++
		return new(window)
	}
	return <-l.free
}

// give takes back a window.
func (l *lending) give(w *window) {
	select {
	case l.free <- w:
	default: // there are more than are kept
	}
}

// piece returns the content of the last step. The window is released with the last content
// that is put into it.
func (r *Reader) piece() piece {
	p := piece{content: r.content}
	r.content = nil
	if r.decoder.isFull() {
		p.release = r.decoder.releaser()
	}
	return p
}

// releaser returns a function that releases the window.
func (d *decoder) releaser() func() {
	window, lending := d.window, d.lending
	return func() { lending.give(window) }
}

// lend passes on the content of the last step.
func (r *Reader) lend(to Borrower) (n int64, err error) {
	p := r.piece()
	return int64(len(p.content)), to.Lend(p.content, p.release)
}
