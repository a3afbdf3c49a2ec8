package stream

import (
	"bufio"
	"cmp"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/pierrec/lz4/v4"

	"skidway/distribute/stream/inflate"
)

// Decoding has options of decompression. The zero value is ready to use.
type Decoding struct {
	// MaxWindow is the largest window that the data may need, in bytes; zero means
	// DefaultMaxWindow. The decompressor uses that much memory.
	MaxWindow int64

	// Windows, if not nil, bounds the windows of all decompressors that have it. If there is
	// no room, the error is a WindowsInUseError.
	Windows *Windows

	// Idle reports whether a processor has nothing else to do: then several members of gzip data
	// are inflated at the same time. If it is nil, they never are. See [inflate.Reader.SetIdle].
	Idle func() bool

	// Checkpoints receive the checkpoints of compressed data. All have the same interval.
	Checkpoints []*Checkpoints
}

// save adds a checkpoint.
func (d Decoding) save(c Checkpoint) {
	for _, checkpoints := range d.Checkpoints {
		checkpoints.Save(c)
	}
}

// Inflate reads the uncompressed content of r. Damage in the data is a
// CorruptError; other errors of r come through as they are.
func (c Codec) Inflate(r io.Reader, options Decoding) (io.ReadCloser, error) {
	return c.inflate(r, Checkpoint{}, options)
}

// inflate reads the content from a checkpoint on; r begins with the byte at its Raw.
func (c Codec) inflate(r io.Reader, from Checkpoint, options Decoding) (io.ReadCloser, error) {
	options.MaxWindow = cmp.Or(options.MaxWindow, DefaultMaxWindow)
	source := &sourceReader{r: r, read: from.Raw}
	window := &windowLease{codec: c, max: options.MaxWindow, all: options.Windows}
	content, err := c.decompressor(source, from, window, options)
	if err != nil {
		window.release()
		return nil, source.blame(c, err)
	}
	if c == Plain {
		return content, nil
	}
	return &inflater{ReadCloser: content, source: source, codec: c, content: from.Content, window: window}, nil
}

func (c Codec) decompressor(source io.Reader, from Checkpoint, window *windowLease, options Decoding) (io.ReadCloser, error) {
	switch c {
	case Plain:
		return io.NopCloser(source.(*sourceReader).r), nil
	case Gzip:
		return newGzipReader(source, from, options)
	case Zstd:
		return newZstdReader(source, from, window, options)
	case XZ:
		return newXZReader(source, window)
	case Bzip2:
		return io.NopCloser(bzip2.NewReader(source)), window.need(bzip2Window)
	case LZ4:
		return io.NopCloser(lz4.NewReader(&lz4Source{bufio.NewReader(source), window})), nil
	case Brotli:
		input := bufio.NewReader(source)
		need, err := brotliWindow(input)
		return io.NopCloser(brotli.NewReader(input)), errors.Join(err, window.need(need))
	}
	return nil, c.Check()
}

func newGzipReader(source io.Reader, from Checkpoint, options Decoding) (io.ReadCloser, error) {
	var reader *inflate.Reader
	var err error
	if from.gzip == nil {
		reader, err = inflate.NewReader(source)
	} else {
		reader, err = inflate.Resume(source, from.gzip)
	}
	if err != nil {
		return nil, err
	}
	reader.SetIdle(options.Idle)
	if len(options.Checkpoints) > 0 {
		reader.SetCheckpoints(options.Checkpoints[0].interval, func(c *inflate.Checkpoint) { options.save(gzipCheckpoint(c)) })
	}
	return io.NopCloser(reader), nil
}

// CopyContent writes the uncompressed content that follows a checkpoint to w; r begins with
// the byte at its Raw.
func (c Codec) CopyContent(w io.Writer, r io.Reader, from Checkpoint, options Decoding) error {
	content, err := c.inflate(r, from, options)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return errors.Join(err, content.Close())
}

// Bounds on the content of compressed data.
const (
	maxRatio    = 100_000
	freeContent = 10 << 30 // bytes that are read whatever the ratio is
)

// ErrRatio is the error for compressed data whose content is too large to be that of a log.
var ErrRatio = errors.New("it expands to more than 10 GiB and 100,000 times its size")

// checkRatio returns ErrRatio if raw bytes of compressed data have too much content.
func checkRatio(raw, content int64) error {
	if content > freeContent && content/maxRatio > raw {
		return ErrRatio
	}
	return nil
}

// An inflater distinguishes damaged data from errors of the source.
type inflater struct {
	io.ReadCloser
	source  *sourceReader
	codec   Codec
	content int64 // bytes before what comes next
	window  *windowLease
	ended   error // what Read returned: some decompressors go on behind an error
}

func (i *inflater) Read(p []byte) (int, error) {
	if i.ended != nil {
		return 0, i.ended
	}
	n, err := i.ReadCloser.Read(p)
	i.content += int64(n)
	if err == nil {
		err = checkRatio(i.source.read, i.content)
	}
	if err != nil && err != io.EOF {
		err = i.source.blame(i.codec, err)
	}
	i.ended = err
	return n, err
}

// Close implements [io.Closer].
func (i *inflater) Close() error {
	defer i.window.release()
	return i.ReadCloser.Close()
}

// WriteTo spares a copy: the decompressors write out of their own windows.
func (i *inflater) WriteTo(w io.Writer) (int64, error) {
	sink := &sinkWriter{w: w, i: i}
	n, err := io.Copy(sink, i.ReadCloser)
	if err != nil {
		err = cmp.Or(sink.err, i.source.blame(i.codec, err))
	}
	return n, err
}

// A sinkWriter keeps the error of its writer, and bounds what is written.
type sinkWriter struct {
	w   io.Writer
	i   *inflater
	err error // of w
}

func (s *sinkWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	return n, s.written(n, err)
}

// Lend implements [inflate.Borrower].
func (s *sinkWriter) Lend(content []byte, release func()) (err error) {
	if borrower, lends := s.w.(inflate.Borrower); lends {
		err = borrower.Lend(content, release)
	} else {
		_, err = s.w.Write(content)
		if release != nil {
			release()
		}
	}
	return s.written(len(content), err)
}

func (s *sinkWriter) written(n int, err error) error {
	s.i.content += int64(n)
	if s.err = err; err == nil {
		err = checkRatio(s.i.source.read, s.i.content)
	}
	return err
}

// A sourceReader keeps the error of its reader, and counts its bytes.
type sourceReader struct {
	r    io.Reader
	read int64
	err  error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.read += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (s *sourceReader) blame(codec Codec, err error) error {
	var unknown *UnknownCodecError
	var inUse *WindowsInUseError
	switch {
	case s.err != nil:
		return s.err
	case IsDamage(err), errors.As(err, &unknown), errors.As(err, &inUse):
		return err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return &CorruptError{string(codec), err}
}
