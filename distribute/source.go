package distribute

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// ErrEmpty says that a file has no content to count.
var ErrEmpty = errors.New("empty, nothing to count")

// A ChangedError says that a file did not stay as it was while it was shipped.
type ChangedError struct{ How string }

func (e *ChangedError) Error() string {
	return "changed while it was shipped (" + e.How + "); nothing of it was counted: ship it again when it is at rest"
}

// A source is a local log file that is about to be shipped.
type source struct {
	path  string
	file  *os.File
	codec codec
	size  int64 // in bytes, when it was opened; what is appended later is for a later shipment
	mtime time.Time
	head  head
}

// openSource opens a file and reads its head. The error does not name the
// path; the caller does.
func openSource(path string) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainError(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", describeMode(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, plainError(err)
	}
	s := &source{path: path, file: file, size: info.Size(), mtime: info.ModTime()}
	if err := s.readHead(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return s, nil
}

func (s *source) close() { _ = s.file.Close() }

// raw reads the file's bytes from offset up to the size it had when opened.
func (s *source) raw(offset int64) *io.SectionReader {
	return io.NewSectionReader(s.file, offset, s.size-offset)
}

func (s *source) readHead() error {
	if s.size == 0 {
		return ErrEmpty
	}
	start := make([]byte, 16)
	n, err := io.ReadFull(s.raw(0), start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return plainError(err)
	}
	if s.codec, err = sniff(start[:n]); err != nil {
		return err
	}
	s.head, err = s.content(HeadSize)
	switch {
	case len(s.head) > 0 && (err == nil || isDamage(err)):
		return nil // damage is found, placed and reported by whoever counts the file
	case err != nil:
		return err
	}
	return ErrEmpty
}

// content reads the first n bytes of the uncompressed content, fewer if there
// are no more.
func (s *source) content(n int64) ([]byte, error) {
	content, err := s.codec.inflate(s.raw(0))
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	var buffer bytes.Buffer
	_, err = io.Copy(&buffer, io.LimitReader(content, n))
	return buffer.Bytes(), err
}

// length is the length of the uncompressed content, up to any damage. For a
// compressed file it reads all of it.
func (s *source) length() (int64, error) {
	if s.codec == plain {
		return s.size, nil
	}
	content, err := s.codec.inflate(s.raw(0))
	if err != nil {
		return 0, err
	}
	defer func() { _ = content.Close() }()
	n, err := io.Copy(io.Discard, content)
	if isDamage(err) {
		err = nil
	}
	return n, err
}

// settled makes sure, after all was read, that what was read was one state of
// the file: a log that only grew is fine, anything else is a ChangedError.
func (s *source) settled() error {
	info, err := s.file.Stat()
	if err != nil {
		return plainError(err)
	}
	switch {
	case info.Size() < s.size:
		return &ChangedError{fmt.Sprintf("it shrank from %d to %d bytes", s.size, info.Size())}
	case info.Size() == s.size && info.ModTime().Equal(s.mtime):
		return nil
	case info.Size() == s.size:
		return &ChangedError{"it was written to without growing"}
	case s.codec != plain:
		return &ChangedError{fmt.Sprintf("it grew from %d to %d bytes although it is compressed", s.size, info.Size())}
	}
	again, err := s.content(HeadSize)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, s.head) {
		return &ChangedError{"its beginning is another now"}
	}
	return nil
}

// grown reports by how many bytes the file is longer than when it was opened.
func (s *source) grown() int64 {
	info, err := s.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size() - s.size
}

// plainError drops operation and path from an error of package os: the caller
// names the file.
func plainError(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

func describeMode(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	}
	return mode.Type().String()
}
