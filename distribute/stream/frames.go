package stream

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// A frameReader reads zstd data (RFC 8878) and ends after each frame, so that the decoder
// can be stopped between two frames. Data that is not zstd it passes on as it is: the
// decoder finds the damage.
type frameReader struct {
	source *bufio.Reader
	raw    int64 // bytes of the data that were read
	left   int64 // bytes until the place where look is needed

	checksum bool // the frame has one
	step     frameStep
	window   *windowLease
	refused  error // that of the window, or the damage that a frame describes
}

// A frameStep is what comes when no bytes are left.
type frameStep int

const (
	atFrame frameStep = iota // the header of a frame
	atBlock                  // the header of a block
	atEnd                    // the end of the frame
)

func newFrameReader(source io.Reader, window *windowLease) *frameReader {
	return &frameReader{source: bufio.NewReaderSize(source, 64<<10), window: window}
}

// Read returns io.EOF at the end of each frame, until next is called.
func (f *frameReader) Read(p []byte) (int, error) {
	for f.left == 0 {
		if f.step == atEnd {
			return 0, io.EOF
		}
		if f.look(); f.refused != nil {
			return 0, f.refused
		}
	}
	n, err := f.source.Read(p[:min(int64(len(p)), f.left)])
	f.raw += int64(n)
	f.left -= int64(n)
	return n, err
}

// next begins the next frame, and reports whether there is one.
func (f *frameReader) next() (bool, error) {
	if f.step != atEnd || f.left > 0 {
		return false, nil
	}
	f.step = atFrame
	_, err := f.source.Peek(1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// look finds out how many bytes may be read until the following step.
func (f *frameReader) look() {
	f.left = math.MaxInt64 // if the data is not zstd, or ends
	if f.step == atFrame {
		f.lookAtFrame()
		return
	}
	header, err := f.source.Peek(3)
	if err != nil {
		return
	}
	block := int64(header[0]) | int64(header[1])<<8 | int64(header[2])<<16
	last, kind, size := block&1 == 1, block>>1&3, block>>3
	if kind == 1 { // one byte, repeated
		size = 1
	}
	f.left = 3 + size
	if last {
		f.step = atEnd
		if f.checksum {
			f.left += 4
		}
	}
}

func (f *frameReader) lookAtFrame() {
	start, err := f.source.Peek(8)
	if len(start) < 5 {
		return
	}
	switch magic := binary.LittleEndian.Uint32(start); {
	case magic&^15 == 0x184d2a50: // a skippable frame
		if err == nil {
			f.left, f.step = 8+int64(binary.LittleEndian.Uint32(start[4:])), atEnd
		}
		if magic == damageMagic && f.left <= 8+maxDamageFrame {
			frame, _ := f.source.Peek(int(f.left))
			f.refused = parseDamage(frame[min(8, len(frame)):])
		}
	case magic == 0xfd2fb528:
		descriptor := start[4]
		sizeBytes, single := descriptor>>6, descriptor>>5&1 == 1
		f.left = 5 + [...]int64{0, 1, 2, 4}[descriptor&3] + [...]int64{0, 2, 4, 8}[sizeBytes]
		if !single || sizeBytes == 0 {
			f.left++ // the window; of a single segment, the content's size in one byte
		}
		f.checksum, f.step = descriptor>>2&1 == 1, atBlock
		var header zstd.Header
		if start, _ = f.source.Peek(zstd.HeaderMaxSize); header.Decode(start) != nil {
			return // the decoder finds the damage
		}
		window := header.WindowSize
		if single {
			window = header.FrameContentSize
		}
		f.refused = f.window.need(int64(min(window, math.MaxInt64)))
	}
}

// hugeFrame is the size of a zstd frame, in bytes, from which on its content is uploaded in
// smaller frames: a reader cannot begin within a frame.
const hugeFrame = 64 << 20

// isHugeFrame reports whether the first frame of a zstd file is huge.
func (s *Source) isHugeFrame() bool {
	if s.Packed != Zstd || s.Size <= hugeFrame {
		return false
	}
	n, _ := io.CopyN(io.Discard, newFrameReader(s.raw(0), &windowLease{max: math.MaxInt64}), hugeFrame)
	return n == hugeFrame
}

// A zstdReader reads the content of all frames, and saves checkpoints between them.
type zstdReader struct {
	*zstd.Decoder
	frames  *frameReader
	content int64 // bytes read
	saved   int64 // of content at the last checkpoint
	options Decoding
}

func newZstdReader(source io.Reader, from Checkpoint, window *windowLease, options Decoding) (*zstdReader, error) {
	frames := newFrameReader(source, window)
	frames.raw = from.Raw
	decoder, err := zstd.NewReader(frames, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(uint64(options.MaxWindow)))
	if err != nil {
		return nil, err
	}
	return &zstdReader{decoder, frames, from.Content, from.Content, options}, nil
}

// Read implements [io.Reader].
func (z *zstdReader) Read(p []byte) (int, error) {
	for {
		n, err := z.Decoder.Read(p)
		z.content += int64(n)
		if err == io.EOF {
			err = z.next()
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// WriteTo implements [io.WriterTo].
func (z *zstdReader) WriteTo(w io.Writer) (sum int64, err error) {
	for {
		n, err := z.Decoder.WriteTo(w)
		sum += n
		z.content += n
		if err == nil {
			err = z.next()
		}
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
	}
}

// next goes on to the next frame. It returns io.EOF if there is none.
func (z *zstdReader) next() error {
	more, err := z.frames.next()
	if err != nil {
		return err
	}
	if !more {
		return io.EOF
	}
	if places := z.options.Checkpoints; len(places) > 0 && z.content-z.saved >= places[0].interval {
		z.options.save(Checkpoint{Raw: z.frames.raw, Content: z.content})
		z.saved = z.content
	}
	return z.Reset(z.frames)
}

// Close implements [io.Closer].
func (z *zstdReader) Close() error {
	z.Decoder.Close()
	return nil
}
