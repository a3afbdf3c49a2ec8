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

// readHeader reads the header of a block.
func (d *decoder) readHeader() error {
	d.atBlock = false
	if err := d.need(3); err != nil {
		return err
	}
	d.final = d.take(1) == 1
	switch d.take(2) {
	case 0:
		return d.readStoredHeader()
	case 1:
		d.setFixedCodes()
		d.state = (*decoder).readBlock
		return nil
	case 2:
		if err := d.readCodes(); err != nil {
			return err
		}
		d.state = (*decoder).readBlock
		return nil
	}
	return d.corrupt()
}

func (d *decoder) endBlock() {
	d.state, d.atBlock = (*decoder).readHeader, true
	if d.final {
		d.alignToByte()
		d.state, d.atBlock = nil, false
	}
}

func (d *decoder) readStoredHeader() error {
	d.alignToByte()
	if err := d.need(32); err != nil {
		return err
	}
	size, complement := d.take(16), d.take(16)
	d.alignToByte()
	if size^complement != 0xffff {
		return d.corrupt()
	}
	d.stored, d.state = size, (*decoder).copyStored
	return nil
}

// copyStored copies content of a stored block.
func (d *decoder) copyStored() error {
	if d.stored == 0 {
		d.endBlock()
		return nil
	}
	if d.pos == len(d.in) {
		if d.fill(); d.pos == len(d.in) {
			return unexpected(d.sourceErr)
		}
	}
	n := copy(d.window[d.end:min(d.end+d.stored, windowLimit)], d.in[d.pos:])
	d.pos, d.end, d.stored = d.pos+n, d.end+n, d.stored-n
	return nil
}

// setFixedCodes makes the tables of a block with fixed codes.
func (d *decoder) setFixedCodes() {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	d.literals.build(lengths[:], literalSymbols[:])
	for i := range 32 {
		lengths[i] = 5
	}
	d.distances.build(lengths[:32], distanceSymbols[:])
	d.literals.makePairs(&d.pairs)
}

// headerOrder is the order in which the header of a block has the lengths of its codes.
var headerOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes reads the codes of a block with dynamic codes.
func (d *decoder) readCodes() error {
	if err := d.need(14); err != nil {
		return err
	}
	literals, distances, headers := d.take(5)+257, d.take(5)+1, d.take(4)+4
	if literals > literalCodes || distances > distanceCodes {
		return d.corrupt()
	}
	var lengths [literalCodes + distanceCodes]uint8
	for _, symbol := range headerOrder[:headers] {
		if err := d.need(3); err != nil {
			return err
		}
		lengths[symbol] = uint8(d.take(3))
	}
	if !d.header.build(lengths[:len(headerSymbols)], headerSymbols[:]) {
		return d.corrupt()
	}
	lengths = [len(lengths)]uint8{}
	all := lengths[:literals+distances]
	if err := d.readLengths(all); err != nil {
		return err
	}
	if !d.literals.build(all[:literals], literalSymbols[:]) || !d.distances.build(all[literals:], distanceSymbols[:]) {
		return d.corrupt()
	}
	// Each block has an end: before it there are at least the bits of its code.
	d.literals.minBits = max(d.literals.minBits, uint(all[endOfBlock]))
	d.literals.makePairs(&d.pairs)
	return nil
}

// readLengths reads the number of bits of each code.
func (d *decoder) readLengths(lengths []uint8) error {
	for i := 0; i < len(lengths); {
		e, err := d.symbol(&d.header)
		if err != nil {
			return err
		}
		if e.value() < 16 {
			lengths[i] = uint8(e.value())
			i++
			continue
		}
		value, repeat, extra := uint8(0), 3, uint(3)
		switch e.value() {
		case 16:
			if i == 0 {
				return d.corrupt()
			}
			value, extra = lengths[i-1], 2
		case 18:
			repeat, extra = 11, 7
		}
		if err := d.need(extra); err != nil {
			return err
		}
		repeat += d.take(extra)
		if i+repeat > len(lengths) {
			return d.corrupt()
		}
		for range repeat {
			lengths[i] = value
			i++
		}
	}
	return nil
}

// symbol reads a code and returns its entry.
func (d *decoder) symbol(t *codeTable) (entry, error) {
	for n := t.minBits; ; {
		if err := d.need(n); err != nil {
			return 0, err
		}
		e := t.find(d.bits)
		if e.kind() == kindNone {
			return 0, d.corrupt()
		}
		if n = e.codeBits(); n <= d.nbits {
			d.take(n)
			return e, nil
		}
	}
}

// readBlock reads a part of a block that has codes.
func (d *decoder) readBlock() error {
	d.fast()
	return d.careful()
}

// careful reads codes as long as the fast loop cannot, at least one.
func (d *decoder) careful() error {
	for d.end < windowLimit {
		e, err := d.symbol(&d.literals)
		if err != nil {
			return err
		}
		switch e.kind() {
		case kindLiteral:
			d.window[d.end] = byte(e.value())
			d.end++
		case kindBase:
			if err := d.copyMatch(e); err != nil {
				return err
			}
		case kindEnd:
			d.endBlock()
			return nil
		default:
			return d.corrupt()
		}
		if len(d.in)-d.pos < fastInput {
			d.fill()
		}
		if len(d.in)-d.pos >= fastInput {
			return nil
		}
	}
	return nil
}

// copyMatch reads the rest of a match whose length has the entry, and copies it.
func (d *decoder) copyMatch(e entry) error {
	if err := d.need(e.extraBits()); err != nil {
		return err
	}
	length := e.length() + d.take(e.extraBits())
	e, err := d.symbol(&d.distances)
	if err != nil {
		return err
	}
	if e.kind() != kindBase {
		return d.corrupt()
	}
	if err := d.need(e.extraBits()); err != nil {
		return err
	}
	distance := e.value() + d.take(e.extraBits())
	if distance > d.end-d.start {
		return d.corrupt()
	}
	for range length {
		d.window[d.end] = d.window[d.end-distance]
		d.end++
	}
	return nil
}
