package stream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"skidway/distribute/stream/inflate"
)

// A Codec is how a file is compressed. It is detected by the file's first
// bytes, never by its name.
type Codec string

// The codecs.
const (
	Plain Codec = "plain"
	Gzip  Codec = "gzip" // RFC 1952
	Zstd  Codec = "zstd" // RFC 8878
)

// maxZstdWindow is the largest window that a zstd file may ask for, so that a
// worker's memory is bounded: what the zstd command uses up to --ultra -20.
const maxZstdWindow = 32 << 20

// UnsupportedCompressionError names a compression that Skidway does not read.
type UnsupportedCompressionError struct{ Compression string }

func (e *UnsupportedCompressionError) Error() string {
	return e.Compression + " is not supported: decompress it, or compress it with gzip or zstd"
}

var foreign = []struct{ magic, name string }{
	{"BZh91AY&SY", "bzip2 compression"},
	{"\xfd7zXZ\x00", "xz compression"},
	{"PK\x03\x04", "a zip archive"},
	{"\x04\x22\x4d\x18", "lz4 compression"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x1f\x9d", "compress (.Z) compression"},
}

// Sniff returns the codec of a file by its first bytes.
func Sniff(start []byte) (Codec, error) {
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return Gzip, nil
	case bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		return Zstd, nil
	case len(start) >= 4 && start[0]&0xf0 == 0x50 && bytes.Equal(start[1:4], []byte("\x2a\x4d\x18")):
		return Zstd, nil // a skippable frame, which some writers put first
	}
	for _, f := range foreign {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return "", &UnsupportedCompressionError{f.name}
		}
	}
	return Plain, nil
}

// CorruptError is the error for compressed data that can't be read further.
type CorruptError struct {
	Codec string
	Err   error
}

func (e *CorruptError) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return e.Codec + " data ends too early: the file is cut off"
	}
	if errors.Is(e.Err, inflate.ErrChecksum) {
		return "gzip data is corrupt: its checksum is wrong, so lines before this place may be damaged too"
	}
	return fmt.Sprintf("%s data is corrupt: %v", e.Codec, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// IsDamage reports whether an error concerns the compressed data, and not the
// reader that it comes from.
func IsDamage(err error) bool {
	var corrupt *CorruptError
	var unsupported *UnsupportedCompressionError
	return errors.As(err, &corrupt) || errors.As(err, &unsupported)
}

// An UnknownCodecError is the error for a codec of a newer version.
type UnknownCodecError struct{ Codec Codec }

func (e *UnknownCodecError) Error() string {
	return fmt.Sprintf("a newer version wrote this: unknown compression %q", string(e.Codec))
}

// Check returns an UnknownCodecError if this version can't inflate the codec.
func (c Codec) Check() error {
	if c != Plain && c != Gzip && c != Zstd {
		return &UnknownCodecError{c}
	}
	return nil
}

// Inflate reads the uncompressed content of r. Damage in the data is a
// CorruptError; other errors of r come through as they are.
func (c Codec) Inflate(r io.Reader) (io.ReadCloser, error) { return c.inflate(r, Checkpoint{}, nil) }

// inflate reads the content from a checkpoint on; r begins with the byte at its Raw. It
// passes checkpoints of compressed data to save, unless save is nil.
func (c Codec) inflate(r io.Reader, from Checkpoint, save func(Checkpoint)) (io.ReadCloser, error) {
	source := &sourceReader{r: r}
	var content io.ReadCloser
	var err error
	switch c {
	case Plain:
		return io.NopCloser(r), nil
	case Gzip:
		var reader *inflate.Reader
		if from.gzip == nil {
			reader, err = inflate.NewReader(source)
		} else {
			reader, err = inflate.Resume(source, from.gzip)
		}
		if err == nil && save != nil {
			reader.SetCheckpoints(CheckpointInterval, func(c *inflate.Checkpoint) { save(gzipCheckpoint(c)) })
		}
		content = io.NopCloser(reader)
	case Zstd:
		content, err = newZstdReader(source, from, save)
	default:
		return nil, c.Check()
	}
	if err != nil {
		return nil, source.blame(string(c), err)
	}
	return &inflater{content, source, string(c)}, nil
}

// CopyContent writes the uncompressed content that follows a checkpoint to w; r begins with
// the byte at its Raw. It adds the checkpoints of compressed data to checkpoints, unless
// that is nil.
func (c Codec) CopyContent(w io.Writer, r io.Reader, from Checkpoint, checkpoints *Checkpoints) error {
	var save func(Checkpoint)
	if checkpoints != nil {
		save = checkpoints.Save
	}
	content, err := c.inflate(r, from, save)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return errors.Join(err, content.Close())
}

// An inflater distinguishes damaged data from errors of the source.
type inflater struct {
	io.ReadCloser
	source *sourceReader
	codec  string
}

func (i *inflater) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = i.source.blame(i.codec, err)
	}
	return n, err
}

// WriteTo spares a copy: the decompressors write out of their own windows.
func (i *inflater) WriteTo(w io.Writer) (int64, error) {
	sink := &sinkWriter{w: w}
	n, err := io.Copy(sink, i.ReadCloser)
	if err != nil {
		err = cmp.Or(sink.err, i.source.blame(i.codec, err))
	}
	return n, err
}

// A sinkWriter keeps the error of its writer.
type sinkWriter struct {
	w   io.Writer
	err error
}

func (s *sinkWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// A sourceReader keeps the error of its reader.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (s *sourceReader) blame(codec string, err error) error {
	if s.err != nil {
		return s.err
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return &UnsupportedCompressionError{"zstd compression with a window of more than 32 MiB (--long, --ultra -21 and up)"}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &CorruptError{codec, err}
}
