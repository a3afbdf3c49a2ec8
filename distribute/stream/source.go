package stream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// ErrEmpty is the error for a file without content.
var ErrEmpty = errors.New("empty, nothing to count")

// A ChangedError is the error for a file that changed while it was shipped.
type ChangedError struct {
	Change  string // as a clause, such as "it was written to without growing"
	Counted bool   // lines from before the change were counted
}

func (e *ChangedError) Error() string {
	counted := "nothing of it was counted"
	if e.Counted {
		counted = "only lines from before that were counted"
	}
	return "changed while it was shipped (" + e.Change + "); " + counted + ": ship it again when it is at rest"
}

// A SourceError is an error of the local file. Errors of the functions that store
// its bytes are not SourceErrors.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// sourceError returns err, if there is one, as a SourceError.
func sourceError(err error) error {
	if err == nil {
		return nil
	}
	return &SourceError{err}
}

// A Source is a local log file that is about to be shipped.
type Source struct {
	Path  string
	Codec Codec
	Size  int64 // in bytes, when it was opened; what is appended later is for a later shipment
	Hole  int64 // NUL bytes before the head, as copytruncate leaves them where a server does not append
	Head  Head

	file  *os.File
	mtime time.Time
}

// OpenSource opens a file and reads its head. The caller closes it. The error
// does not name the path.
func OpenSource(path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, PlainError(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", describeMode(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, PlainError(err)
	}
	s := &Source{Path: path, file: file, Size: info.Size(), mtime: info.ModTime()}
	if err := s.readHead(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the file.
func (s *Source) Close() { _ = s.file.Close() }

// Modified returns the time of the file's last change when it was opened.
func (s *Source) Modified() time.Time { return s.mtime }

// raw reads the file's bytes from offset up to Size.
func (s *Source) raw(offset int64) *io.SectionReader {
	return io.NewSectionReader(s.file, offset, s.Size-offset)
}

func (s *Source) readHead() error {
	if s.Size == 0 {
		return ErrEmpty
	}
	start := make([]byte, 16)
	n, err := io.ReadFull(s.raw(0), start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return PlainError(err)
	}
	if s.Codec, err = Sniff(start[:n]); err != nil {
		return err
	}
	s.Hole, s.Head, err = s.start()
	switch {
	case len(s.Head) > 0 && (err == nil || IsDamage(err)):
		return nil // the reader that counts the file finds and reports the damage
	case err != nil:
		return err
	}
	return ErrEmpty
}

// start reads the head of the uncompressed content, and returns the number of NUL
// bytes before it. The head is empty if there are only NULs.
func (s *Source) start() (hole int64, head []byte, err error) {
	inflated, err := s.Codec.Inflate(s.raw(0))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = inflated.Close() }()
	content := bufio.NewReaderSize(inflated, HeadSize)
	for {
		block, err := content.Peek(HeadSize)
		nuls := len(block) - len(bytes.TrimLeft(block, "\x00"))
		hole += int64(nuls)
		_, _ = content.Discard(nuls) // they are buffered
		if nuls < len(block) {
			break
		}
		if err != nil {
			return hole, nil, withoutEOF(err)
		}
	}
	head = make([]byte, HeadSize)
	n, err := io.ReadFull(content, head)
	return hole, head[:n:n], withoutEOF(err)
}

func withoutEOF(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// ID is the id under which the file is recorded when it is first seen.
func (s *Source) ID() string {
	if s.Hole == 0 {
		return s.Head.ID()
	}
	return s.Head.ID() + "-" + strconv.FormatInt(s.Hole, 36)
}

// Length returns the length of the uncompressed content, up to any damage. It
// reads all of a compressed file. The error is a SourceError.
func (s *Source) Length() (int64, error) {
	if s.Codec == Plain {
		return s.Size, nil
	}
	content, err := s.Codec.Inflate(s.raw(0))
	if err != nil {
		return 0, sourceError(err)
	}
	defer func() { _ = content.Close() }()
	n, err := io.Copy(io.Discard, content)
	if IsDamage(err) {
		err = nil
	}
	return n, sourceError(err)
}

// CutToWholeLines moves the end of a plain source behind its last newline. A
// source without a newline is ErrEmpty.
func (s *Source) CutToWholeLines() error {
	if s.Codec != Plain {
		return nil
	}
	block := make([]byte, 64<<10)
	for end := s.Size; end > 0; {
		start := max(end-int64(len(block)), 0)
		part := block[:end-start]
		if _, err := s.file.ReadAt(part, start); err != nil {
			return PlainError(err)
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			s.Size = start + int64(i) + 1
			s.Head = s.Head[:min(int64(len(s.Head)), s.Size-s.Hole)]
			return nil
		}
		end = start
	}
	return ErrEmpty
}

// Pieces reads the file's bytes from base on and passes them to store, in pieces
// of at most two blocks that lie in one segment each. A piece must not be kept. An
// error of store comes through as it is; that of the file is a SourceError.
func (s *Source) Pieces(base, segment int64, store func(piece []byte) error) error {
	content, buffer, uploaded := s.raw(base), make([]byte, 2*BlockSize), int64(0)
	for {
		n, err := io.ReadFull(content, buffer[:min(int64(len(buffer)), segment-uploaded%segment)])
		if n == 0 && err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return sourceError(PlainError(err))
		}
		if err := store(buffer[:n]); err != nil {
			return err
		}
		uploaded += int64(n)
	}
	if missing := s.Size - base - uploaded; missing != 0 {
		return sourceError(&ChangedError{Change: fmt.Sprintf("it ended %d bytes early", missing)})
	}
	return nil
}

// CheckUnchanged checks, after some or all of the file was read, that the bytes read
// are of one state of the file. It accepts a log that only grew; for any other change it returns a
// ChangedError in a SourceError.
func (s *Source) CheckUnchanged() error { return sourceError(s.change()) }

func (s *Source) change() error {
	info, err := s.file.Stat()
	if err != nil {
		return PlainError(err)
	}
	switch {
	case info.Size() < s.Size:
		return &ChangedError{Change: fmt.Sprintf("it shrank from %d to %d bytes", s.Size, info.Size())}
	case info.Size() == s.Size && info.ModTime().Equal(s.mtime):
		return nil
	case info.Size() == s.Size:
		return &ChangedError{Change: "it was written to without growing"}
	case s.Codec != Plain:
		return &ChangedError{Change: fmt.Sprintf("it grew from %d to %d bytes although it is compressed", s.Size, info.Size())}
	}
	head := make([]byte, len(s.Head))
	n, err := s.file.ReadAt(head, s.Hole)
	if withoutEOF(err) != nil {
		return PlainError(err)
	}
	if !bytes.Equal(head[:n], s.Head) {
		return &ChangedError{Change: "its beginning is another now"}
	}
	return nil
}

// Grown returns the number of bytes by which the file is longer than Size.
func (s *Source) Grown() int64 {
	info, err := s.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size() - s.Size
}

// PlainError returns an error of package os without operation and path, for a
// caller that names the file itself.
func PlainError(err error) error {
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
