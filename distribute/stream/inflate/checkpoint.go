package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// A Checkpoint is a place between two blocks of a gzip file, from which its content can be
// read on without what comes before. It must not be changed.
type Checkpoint struct {
	Offset  int64 // of the first byte of the file that is read, of which some bits may be skipped
	Content int64 // bytes of the content before

	member  int64  // offset of the header of the member that the place is in
	skipped uint8  // bits of the first byte that belong to what comes before
	crc     uint32 // of the member's content so far
	size    uint32 // of the member's content so far, modulo 2^32
	window  []byte // the end of the member's content so far, at most maxDistance bytes
}

// ErrCheckpoint is the error for an encoded checkpoint that is malformed, or of another
// format version.
var ErrCheckpoint = errors.New("the checkpoint is malformed")

// checkpointVersion is the first byte of an encoded checkpoint.
const checkpointVersion = 1

// Encode returns the checkpoint as text for [ParseCheckpoint]: some 4 KB for logs, at most
// 33 KB.
func (c *Checkpoint) Encode() []byte {
	out := []byte{checkpointVersion, c.skipped}
	for _, n := range []int64{c.Offset, c.Content, c.member} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	out = binary.LittleEndian.AppendUint32(out, c.crc)
	out = binary.LittleEndian.AppendUint32(out, c.size)
	packed := bytes.NewBuffer(out)
	w, _ := flate.NewWriter(packed, flate.DefaultCompression) // fails for invalid levels only
	_, _ = w.Write(c.window)                                  // a Buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// ParseCheckpoint returns the checkpoint that Encode has encoded.
func ParseCheckpoint(encoded []byte) (*Checkpoint, error) {
	if len(encoded) < 2 || encoded[0] != checkpointVersion || encoded[1] > 7 {
		return nil, ErrCheckpoint
	}
	c := &Checkpoint{skipped: encoded[1]}
	encoded = encoded[2:]
	for _, field := range []*int64{&c.Offset, &c.Content, &c.member} {
		value, n := binary.Uvarint(encoded)
		if n <= 0 || value > 1<<62 {
			return nil, ErrCheckpoint
		}
		*field, encoded = int64(value), encoded[n:]
	}
	if c.member > c.Offset || len(encoded) < 8 {
		return nil, ErrCheckpoint
	}
	c.crc, c.size = binary.LittleEndian.Uint32(encoded), binary.LittleEndian.Uint32(encoded[4:])
	window, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(encoded[8:])), maxDistance+1))
	if err != nil || len(window) > maxDistance {
		return nil, ErrCheckpoint
	}
	c.window = window
	return c, nil
}

// Resume returns a Reader of the content that follows a checkpoint. source begins with the
// byte at its Offset. Damage of the file is found as if it were read from its start; that
// the checkpoint is one of another file is found at the end of the member, as ErrChecksum.
func Resume(source io.Reader, c *Checkpoint) (*Reader, error) {
	d := newDecoder(source)
	d.before = c.Offset
	d.begin()
	d.end = copy(d.window[:], c.window) // from the start of the stream
	r := &Reader{decoder: d, member: c.member, crc: c.crc, size: c.size, offset: c.Content}
	if c.skipped > 0 {
		if err := d.need(uint(c.skipped)); err != nil {
			return nil, err
		}
		d.take(uint(c.skipped))
	}
	return r, nil
}

// SetCheckpoints makes Read and WriteTo call save with checkpoints: with the first one that
// comes after each interval bytes of content, or more if a block is longer. When save is
// called, all content before the checkpoint, and nothing behind it, has been read or written.
// It must be called before the first content is read.
func (r *Reader) SetCheckpoints(interval int64, save func(*Checkpoint)) {
	r.interval, r.save, r.nextCheckpoint = interval, save, r.offset+interval
}

// checkpoint saves a checkpoint if one is due, and makes the decoder stop before the next
// block as long as one is due.
func (r *Reader) checkpoint() {
	d := r.decoder
	if r.save != nil && d.atBlock && r.offset >= r.nextCheckpoint {
		bits := (d.before+int64(d.pos))*8 - int64(d.nbits)
		r.save(&Checkpoint{
			Offset: bits / 8, Content: r.offset, member: r.member, skipped: uint8(bits % 8), crc: r.crc, size: r.size,
			window: bytes.Clone(d.history()),
		})
		r.nextCheckpoint = r.offset + r.interval
	}
	d.stopAtBlock = r.save != nil && r.offset >= r.nextCheckpoint
}
