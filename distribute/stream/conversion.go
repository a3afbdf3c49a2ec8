package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"skidway/distribute/stream/inflate"
)

// A conversion is the content of a source as zstd frames, in a temporary file.
type conversion struct {
	file   *os.File
	size   int64 // bytes of the frames
	length int64 // bytes of the content
}

// frameContent is the number of bytes of content in each frame of a conversion: a reader
// can begin at each frame, and needs a window of that size.
const frameContent = 1 << 20

var frameEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithLowerEncoderMem(true))
})

// convert writes content as zstd frames to a temporary file, which the caller closes.
func convert(ctx context.Context, content io.Reader) (*conversion, error) {
	file, err := os.CreateTemp("", "skidway-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // where that is possible: then nothing is left of it if this process is killed
	c := &conversion{file: file}
	if err := c.fill(ctx, newFramePacker(content, frameContent)); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conversion) fill(ctx context.Context, frames *framePacker) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := frames.next()
		if err == io.EOF {
			c.length = frames.length
			return nil
		}
		if err == nil {
			_, err = c.file.Write(frames.packed)
		}
		if err != nil {
			return err
		}
		c.size += int64(len(frames.packed))
	}
}

// A framePacker reads content as zstd frames. A frame at the end describes damage that ended
// the content.
type framePacker struct {
	content io.Reader
	block   []byte
	frame   []byte // the buffer of packed
	packed  []byte // what was not read yet of the last frame
	length  int64  // of the content that is packed
	ended   error  // what next returns: io.EOF at the end
}

// newFramePacker returns a packer of frames with size bytes of content each.
func newFramePacker(content io.Reader, size int64) *framePacker {
	return &framePacker{content: content, block: make([]byte, size)}
}

// next packs the next frame. It returns io.EOF at the end.
func (f *framePacker) next() error {
	if f.ended != nil {
		return f.ended
	}
	encoder, err := frameEncoder()
	if err != nil {
		return err
	}
	n, err := io.ReadFull(f.content, f.block)
	f.frame = f.frame[:0]
	if n > 0 {
		f.frame = encoder.EncodeAll(f.block[:n], f.frame)
	}
	switch {
	case IsDamage(err):
		f.frame, f.ended = appendDamage(f.frame, err), io.EOF
	case err == io.ErrUnexpectedEOF:
		f.ended = io.EOF
	default:
		f.ended = err
	}
	f.packed, f.length = f.frame, f.length+int64(n)
	if len(f.packed) == 0 {
		return f.ended
	}
	return nil
}

// Read implements [io.Reader].
func (f *framePacker) Read(p []byte) (int, error) {
	if len(f.packed) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.packed)
	f.packed = f.packed[n:]
	return n, nil
}

func (c *conversion) close() {
	_ = c.file.Close()
	_ = os.Remove(c.file.Name())
}

// A damage frame is a skippable frame: other readers pass over it.
const (
	damageMagic   = 0x184d2a5d
	damagePrefix  = "skidway: damage\x00"
	maxDamageText = 500

	maxDamageFrame = 1 << 10 // bytes of its content
)

// knownDamage are the errors that are found again by their texts.
var knownDamage = []error{io.ErrUnexpectedEOF, ErrRatio, inflate.ErrChecksum}

// appendDamage appends a frame that describes damage, for parseDamage.
func appendDamage(frames []byte, err error) []byte {
	codec, text := "", err.Error()
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		codec, text = corrupt.Codec, corrupt.Err.Error()
		for _, known := range knownDamage {
			if errors.Is(corrupt.Err, known) {
				text = known.Error()
			}
		}
	}
	codec = codec[:min(len(codec), 100)]
	content := damagePrefix + codec + "\x00" + text[:min(len(text), maxDamageText)]
	frames = binary.LittleEndian.AppendUint32(frames, damageMagic)
	frames = binary.LittleEndian.AppendUint32(frames, uint32(len(content)))
	return append(frames, content...)
}

// parseDamage returns the error that a frame describes, nil if it is no damage frame.
func parseDamage(content []byte) error {
	rest, found := bytes.CutPrefix(content, []byte(damagePrefix))
	codec, text, separated := bytes.Cut(rest, []byte{0})
	if !found || !separated {
		return nil
	}
	cause := errors.New(string(text))
	for _, known := range knownDamage {
		if known.Error() == cause.Error() {
			cause = known
		}
	}
	return &CorruptError{string(codec), cause}
}
