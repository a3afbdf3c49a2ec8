package stream

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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
	if errors.Is(e.Err, gzip.ErrChecksum) {
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

// Inflate reads the uncompressed content of r. Damage in the data is a
// CorruptError; other errors of r come through as they are.
func (c Codec) Inflate(r io.Reader) (io.ReadCloser, error) {
	source := &sourceReader{r: r}
	var content io.ReadCloser
	var err error
	switch c {
	case Plain:
		return io.NopCloser(r), nil
	case Gzip:
		content, err = newGzipReader(source)
	case Zstd:
		var decoder *zstd.Decoder
		decoder, err = zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err == nil {
			content = decoder.IOReadCloser()
		}
	default:
		return nil, fmt.Errorf("a newer version wrote this: unknown compression %q", string(c))
	}
	if err != nil {
		return nil, source.blame(string(c), err)
	}
	return &inflater{content, source, string(c)}, nil
}

// CopyContent writes the uncompressed content of r to w.
func (c Codec) CopyContent(w io.Writer, r io.Reader) error {
	content, err := c.Inflate(r)
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

// inflateBuffer is the size of one read of compressed data.
const inflateBuffer = 64 << 10

// A gzipReader reads all members of a gzip file and the zeros that tape
// writers pad it with, as gzip itself does.
type gzipReader struct {
	buffer *bufio.Reader
	member *gzip.Reader
}

func newGzipReader(r io.Reader) (*gzipReader, error) {
	buffer := bufio.NewReaderSize(r, inflateBuffer)
	member, err := gzip.NewReader(buffer)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{buffer, member}, nil
}

func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.member.Read(p)
		if n > 0 && err == io.EOF {
			err = nil
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		if err := g.nextMember(); err != nil {
			return 0, err
		}
	}
}

func (g *gzipReader) WriteTo(w io.Writer) (int64, error) {
	var sum int64
	for {
		n, err := g.member.WriteTo(w)
		sum += n
		if err == nil {
			err = g.nextMember()
		}
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
	}
}

// nextMember moves to the next member; io.EOF is the regular end.
func (g *gzipReader) nextMember() error {
	padded := false
	for {
		next, err := g.buffer.ReadByte()
		if err != nil {
			return err
		}
		if next == 0 {
			padded = true
			continue
		}
		if padded {
			return errors.New("something follows after the padding")
		}
		if err := g.buffer.UnreadByte(); err != nil {
			return err
		}
		break
	}
	if err := g.member.Reset(g.buffer); err != nil {
		if errors.Is(err, gzip.ErrHeader) {
			return errors.New("what follows the last member is not gzip")
		}
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	g.member.Multistream(false)
	return nil
}

func (g *gzipReader) Close() error { return g.member.Close() }
