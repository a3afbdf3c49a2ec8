package inflate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Errors of gzip files. All other damage is a [CorruptError], or io.ErrUnexpectedEOF if the
// file ends too early.
var (
	ErrHeader   = errors.New("this is no gzip file")
	ErrTrailing = errors.New("what follows the last member is not gzip")
	ErrChecksum = errors.New("the checksum of the content is wrong")
)

// A Reader reads the content of all members of a gzip file, one after the other, and skips
// the zeros that tape writers pad it with, as gzip itself does. It is not safe for concurrent
// use.
type Reader struct {
	decoder *decoder
	member  int64 // offset of its header in the file
	crc     uint32
	size    uint32 // of the member's content, modulo 2^32
	offset  int64  // of the content, in the file's content, after content
	content []byte // not read yet
	err     error  // after content
	between bool   // the next byte is that of a header
	padded  bool   // the last member was, to the end of the file

	idle   func() bool   // nil: members are read one after the other
	serial int           // number of members that are read so before others are tried in parallel
	ahead  *bufio.Reader // what the decoder reads, once there was a second member
	joined []byte        // memory of readAhead

	save           func(*Checkpoint) // nil: there are no checkpoints
	interval       int64
	nextCheckpoint int64 // offset of the content
}

// NewReader reads the header of a gzip file. It returns io.EOF if the file is empty. The
// Reader may read more of source than it needs.
func NewReader(source io.Reader) (*Reader, error) {
	r := &Reader{decoder: newDecoder(source)}
	err := r.readHeader()
	return r, err
}

// Read reads content, see [io.Reader]. Content before damage comes before the error.
func (r *Reader) Read(p []byte) (n int, err error) {
	for len(r.content) == 0 && r.err == nil {
		r.next()
	}
	n = copy(p, r.content)
	r.content = r.content[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, r.err
}

// WriteTo writes all content to w, in pieces of up to 256 KiB that are not copied before. If w
// is a Borrower, they are lent to it.
func (r *Reader) WriteTo(w io.Writer) (sum int64, err error) {
	borrower, lends := w.(Borrower)
	if lends && r.decoder.lending == nil {
		r.decoder.lending = newLending(maxWindows)
	}
	for {
		if len(r.content) > 0 {
			var n int64
			if lends {
				n, err = r.lend(borrower)
			} else {
				n, err = r.write(w)
			}
			if sum += n; err != nil {
				return sum, err
			}
		}
		if r.err == io.EOF {
			return sum, nil
		}
		if r.err != nil {
			return sum, r.err
		}
		if r.between && r.idle != nil && r.idle() && r.serial == 0 {
			n, err := r.writeMembers(w)
			if sum += n; err != nil {
				return sum, err
			}
		}
		r.next()
	}
}

func (r *Reader) write(w io.Writer) (int64, error) {
	n, err := w.Write(r.content)
	r.content = r.content[n:]
	return int64(n), err
}

// next decompresses content, or ends a member.
func (r *Reader) next() {
	if r.between {
		if r.err = r.readNextHeader(); r.err != nil {
			return
		}
	}
	r.checkpoint()
	content, err := r.decoder.next()
	r.content = content
	r.crc = crc32.Update(r.crc, crc32.IEEETable, content)
	r.size += uint32(len(content))
	r.offset += int64(len(content))
	if err == io.EOF {
		err = r.endMember()
	}
	r.err = err
}

// endMember checks the trailer of a member. It returns io.EOF if it is the last one.
func (r *Reader) endMember() error {
	var trailer [8]byte
	for i := range trailer {
		var err error
		if trailer[i], err = r.decoder.readByte(); err != nil {
			return unexpected(err)
		}
	}
	if binary.LittleEndian.Uint32(trailer[:]) != r.crc || binary.LittleEndian.Uint32(trailer[4:]) != r.size {
		return ErrChecksum
	}
	next, err := r.decoder.readByte()
	for ; err == nil && next == 0; next, err = r.decoder.readByte() {
		r.padded = true
	}
	switch {
	case err != nil:
		return err
	case r.padded:
		return ErrTrailing
	}
	r.decoder.pos-- // it is the first byte of a header
	r.between, r.serial = true, max(r.serial-1, 0)
	return nil
}

// readNextHeader reads the header of a member behind another one.
func (r *Reader) readNextHeader() error {
	r.between = false
	err := r.readHeader()
	if errors.Is(err, ErrHeader) {
		return ErrTrailing
	}
	return err
}

// Flags of a member's header.
const (
	flagCRC      = 1 << 1
	flagExtra    = 1 << 2
	flagName     = 1 << 3
	flagComment  = 1 << 4
	flagReserved = 7 << 5
)

// readHeader reads the header of a member. It returns io.EOF if there is not one byte of it.
func (r *Reader) readHeader() error {
	h := headerReader{decoder: r.decoder}
	r.member = r.decoder.before + int64(r.decoder.pos)
	first := h.byte()
	if h.err != nil {
		return h.err
	}
	if second := h.byte(); h.err == nil && (first != 0x1f || second != 0x8b) {
		return ErrHeader
	}
	method, flags := h.byte(), h.byte()
	if h.err == nil && (method != 8 || flags&flagReserved != 0) {
		return ErrHeader
	}
	h.skip(6) // modification time, extra flags, operating system
	if flags&flagExtra != 0 {
		size := int(h.byte())
		h.skip(size | int(h.byte())<<8)
	}
	for _, flag := range []byte{flagName, flagComment} {
		for flags&flag != 0 && h.err == nil && h.byte() != 0 {
		}
	}
	if flags&flagCRC != 0 {
		want := uint16(h.crc)
		if got := uint16(h.byte()) | uint16(h.byte())<<8; h.err == nil && got != want {
			return ErrHeader
		}
	}
	r.crc, r.size = 0, 0
	r.decoder.begin()
	return unexpected(h.err)
}

// A headerReader reads the bytes of a header and computes their checksum.
type headerReader struct {
	decoder *decoder
	crc     uint32
	err     error
}

// byte returns the next byte, 0 after an error.
func (h *headerReader) byte() byte {
	if h.err != nil {
		return 0
	}
	var next byte
	if next, h.err = h.decoder.readByte(); h.err == nil {
		h.crc = crc32.Update(h.crc, crc32.IEEETable, []byte{next})
	}
	return next
}

func (h *headerReader) skip(n int) {
	for range n {
		h.byte()
	}
}
