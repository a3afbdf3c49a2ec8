package stream

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// UnknownSize is the size of a [Pipe] and of its Source.
const UnknownSize = -1

// A Pipe is an [Object] whose bytes can be read once, from the first to the last, and whose
// size is not known: standard input or a FIFO. [Sources] returns one source for it, a stream.
type Pipe struct {
	open   func() (io.ReadCloser, error)
	begin  sync.Once
	reader *io.PipeReader
	writer *io.PipeWriter
	closed chan struct{}

	mu   sync.Mutex
	file io.Closer // nil: not opened yet
}

// NewPipe returns a Pipe with the bytes that open opens. open is called when the first of
// them is read: to open a FIFO blocks until another process writes to it.
func NewPipe(open func() (io.ReadCloser, error)) *Pipe {
	p := &Pipe{open: open, closed: make(chan struct{})}
	p.reader, p.writer = io.Pipe()
	return p
}

// Open opens a file of the file system or a FIFO. The error does not name the path.
func Open(path string) (Object, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return NewPipe(func() (io.ReadCloser, error) { return os.Open(path) }), nil
	}
	return OpenFile(path)
}

// Read implements [io.Reader].
func (p *Pipe) Read(b []byte) (int, error) {
	p.begin.Do(func() { go p.pass() })
	return p.reader.Read(b)
}

// pass reads the bytes in a goroutine of its own, so that Interrupt ends a Read that waits
// for another process. The goroutine then ends with its current system call.
func (p *Pipe) pass() {
	file, err := p.open()
	if err == nil && p.keep(file) {
		_, err = io.CopyBuffer(p.writer, struct{ io.Reader }{file}, make([]byte, 64<<10))
	}
	_ = p.writer.CloseWithError(PlainError(err))
}

// keep leaves the file to Close. It closes the file and returns false if the Pipe is closed.
func (p *Pipe) keep(file io.ReadCloser) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		_ = file.Close()
		return false
	default:
		p.file = file
		return true
	}
}

// Interrupt makes Read return an error from now on. It may be called at any time.
func (p *Pipe) Interrupt(err error) { _ = p.writer.CloseWithError(err) }

// Closed returns a channel that is closed by Close.
func (p *Pipe) Closed() <-chan struct{} { return p.closed }

// Close implements [io.Closer]. It must not be called twice.
func (p *Pipe) Close() error {
	p.Interrupt(os.ErrClosed)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.closed)
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// ReadAt returns an error.
func (p *Pipe) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// Stat returns [UnknownSize].
func (p *Pipe) Stat() (int64, time.Time, error) { return UnknownSize, time.Unix(0, 0), nil }

// errPipedArchive is the error for an archive in a pipe.
var errPipedArchive = errors.New("an archive can't be read from a pipe: name its file, or send the content of its members")

// passStream passes on the stream of a Pipe, as [Sources] does.
func passStream(path string, pipe *Pipe, options Decoding, yield func(*Source, error) bool) {
	s := &Source{Path: path, Size: UnknownSize, pipe: pipe, modified: time.Unix(0, 0), options: options}
	defer s.Close()
	err := s.readMember(pipe)
	if errors.Is(err, ErrArchive) {
		err = errPipedArchive
	}
	if err != nil {
		yield(&Source{Path: path, Size: UnknownSize}, err)
		return
	}
	s.rest = bufio.NewReaderSize(s.content, MaxLine)
	yield(s, nil)
}

// IsStream reports whether the content can be read only once: the source is a [Pipe]. Plain
// content is uploaded as it is, that of any codec is converted to zstd frames as it comes.
func (s *Source) IsStream() bool { return s.pipe != nil }

// keeps reports whether a part of the content that was read before an error is uploaded: that
// of a stream can't be read again. Pieces then returns the error.
func (s *Source) keeps(part []byte) bool { return s.IsStream() && len(part) > 0 }

// Passed returns the number of bytes of a stream's content that Pass and Pieces have read.
func (s *Source) Passed() int64 { return s.passed }

// Pass reads the content of a stream up to offset base, unless more of it was read before. It
// returns the length of the content, up to any damage; end+1 if that is more than end, or if
// end is too far away to know. The error is a SourceError.
func (s *Source) Pass(base, end int64) (length int64, err error) {
	if base > s.passed {
		if _, err = io.CopyN(io.Discard, passingReader{s}, base-s.passed); err == io.EOF || IsDamage(err) {
			return s.passed, nil
		}
	}
	var ahead []byte
	if err == nil {
		ahead, err = s.rest.Peek(int(min(max(end+1-s.passed, 1), MaxLine)))
	}
	switch {
	case err == nil:
		return end + 1, nil
	case err == io.EOF || IsDamage(err):
		return s.passed + int64(len(ahead)), nil
	}
	return 0, sourceError(PlainError(err))
}

// peekAt returns n bytes of the content of a stream from start on, at most MaxLine, and leaves them there. It reads
// what comes before. It returns fewer bytes if the content ends, and none if more of it was read.
func (s *Source) peekAt(start int64, n int) ([]byte, error) {
	if start < s.passed {
		return nil, nil
	}
	if _, err := s.Pass(start, start); err != nil || s.passed < start {
		return nil, err
	}
	found, err := s.rest.Peek(n)
	if err == io.EOF || IsDamage(err) {
		err = nil
	}
	return found, err
}

// upload returns the bytes to upload from an offset on. A reader of a stream in segments can
// go on at each checkpoint that is due.
func (s *Source) upload(base, segment int64) io.Reader {
	switch {
	case !s.IsStream():
		return s.raw(base)
	case s.Codec == Plain:
		return passingReader{s}
	}
	return newFramePacker(passingReader{s}, checkpointInterval(segment))
}

// A passingReader reads the content of a stream and counts it.
type passingReader struct{ *Source }

func (p passingReader) Read(b []byte) (int, error) {
	n, err := p.rest.Read(b)
	p.passed += int64(n)
	return n, err
}
