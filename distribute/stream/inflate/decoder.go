package inflate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// CorruptError is the error of DEFLATE data that breaks the format.
type CorruptError struct {
	Offset int64 // number of bytes of the file before the one that breaks it
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("DEFLATE data breaks its format at byte %d", e.Offset)
}

const (
	inputSize = 64 << 10  // of one read, at most
	freshSize = 256 << 10 // content between two moves of the window

	// fastInput is the input, and fastOutput the room in the window, that the fast loop
	// needs for one round.
	fastInput  = 16
	fastOutput = minMatch + maxMatch + 64

	windowLimit = maxDistance + freshSize // nothing is begun behind it
)

// A window has the content that a decoder has decompressed last.
type window [windowLimit + fastOutput]byte

// A decoder decompresses a DEFLATE stream. It is made by newDecoder.
type decoder struct {
	source    io.Reader
	sourceErr error
	buffer    [inputSize]byte
	in        []byte // of buffer
	pos       int    // of the next byte in it
	before    int64  // bytes of the source before in

	bits  uint64 // the next bits, which were taken from in
	nbits uint

	window  *window
	lending *lending // nil: all content is in one window
	start   int      // of the stream's content in the window
	end     int      // of the content in it

	state       func(*decoder) error // the next step; nil after the last block
	final       bool                 // the block is the last one
	atBlock     bool                 // the next step is the header of a block
	stopAtBlock bool                 // next returns before the header of a block
	stored      int                  // bytes of a stored block that are left

	literals, distances, header codeTable
	pairs                       [1 << literalBits]entry // of literals, for the fast loop
}

func newDecoder(source io.Reader) *decoder {
	d := &decoder{source: source, window: new(window)}
	d.literals = codeTable{entries: make([]entry, literalEntries), indexBits: literalBits}
	d.distances = codeTable{entries: make([]entry, distanceEntries), indexBits: distanceBits}
	d.header = codeTable{entries: make([]entry, 1<<headerBits), indexBits: headerBits}
	return d
}

// begin begins a stream at the next byte of the source. Content of the one before stays in the
// window.
func (d *decoder) begin() { d.start, d.state, d.atBlock = d.end, (*decoder).readHeader, true }

// history returns the content to which what follows can refer.
func (d *decoder) history() []byte { return d.window[max(d.start, d.end-maxDistance):d.end] }

// isFull reports whether nothing more is added to the window.
func (d *decoder) isFull() bool { return d.end >= windowLimit }

// makeRoom goes on in another window if this one is lent, with the same history.
func (d *decoder) makeRoom() {
	history := d.history()
	if d.lending != nil {
		d.window = d.lending.take()
	}
	d.start, d.end = 0, copy(d.window[:], history)
}

// next returns the next content, which is valid until the following call. It returns io.EOF
// at the end of the stream, and io.ErrUnexpectedEOF if the source ends before.
func (d *decoder) next() (content []byte, err error) {
	if d.isFull() {
		d.makeRoom()
	}
	start := d.end
	for d.state != nil && d.end < windowLimit && err == nil {
		err = d.state(d)
		if d.stopAtBlock && d.atBlock {
			break
		}
	}
	if err == nil && d.state == nil {
		err = io.EOF
	}
	return d.window[start:d.end], err
}

// fill reads input until there is enough for the fast loop, or the source has no more.
func (d *decoder) fill() {
	if len(d.in)-d.pos >= fastInput || d.sourceErr != nil {
		return
	}
	keep := min(d.pos, 8) // alignToByte may go back
	d.before += int64(d.pos - keep)
	n := copy(d.buffer[:], d.in[d.pos-keep:])
	d.pos = keep
	for empty := 0; n-d.pos < fastInput && d.sourceErr == nil; empty++ {
		var more int
		more, d.sourceErr = d.source.Read(d.buffer[n:])
		n += more
		if more > 0 {
			empty = 0
		} else if empty > 100 && d.sourceErr == nil {
			d.sourceErr = io.ErrNoProgress
		}
	}
	d.in = d.buffer[:n]
}

// readByte returns the next byte. The bit buffer must be empty.
func (d *decoder) readByte() (byte, error) {
	if d.pos == len(d.in) {
		if d.fill(); d.pos == len(d.in) {
			return 0, d.sourceErr
		}
	}
	d.pos++
	return d.in[d.pos-1], nil
}

// need puts at least n bits into the bit buffer.
func (d *decoder) need(n uint) error {
	if d.nbits < n && len(d.in)-d.pos >= 8 {
		d.bits |= binary.LittleEndian.Uint64(d.in[d.pos:]) << d.nbits
		d.pos += int(63-d.nbits) >> 3
		d.nbits |= 56
		d.bits &= 1<<d.nbits - 1
	}
	for d.nbits < n {
		next, err := d.readByte()
		if err != nil {
			return unexpected(err)
		}
		d.bits |= uint64(next) << d.nbits
		d.nbits += 8
	}
	return nil
}

// take returns n bits of the bit buffer, which has them, and removes them.
func (d *decoder) take(n uint) int {
	value := d.bits & (1<<n - 1)
	d.bits >>= n
	d.nbits -= n
	return int(value)
}

// alignToByte drops the rest of the current byte, and returns whole bytes to the input: what
// follows is read byte by byte.
func (d *decoder) alignToByte() {
	d.pos -= int(d.nbits / 8)
	d.bits, d.nbits = 0, 0
}

// unexpected returns the error of a source that ended within a stream.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *decoder) corrupt() error {
	return &CorruptError{d.before + int64(d.pos) - int64(d.nbits/8)}
}
