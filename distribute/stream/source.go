package stream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// A Source is a log file, or a member of an archive, that is about to be shipped.
//
// Plain, gzip and zstd files are uploaded as they are. The content of others is converted
// to zstd frames.
type Source struct {
	Path   string
	Packed Codec // of the file
	Codec  Codec // of the upload
	Size   int64 // in bytes, when it was opened; what is appended later is for a later shipment; of a stream UnknownSize
	Hole   int64 // NUL bytes before the head, as copytruncate leaves them where a server does not append
	Head   Head

	options  Decoding
	file     Object // nil: a member of an archive
	modified time.Time
	length   int64             // of the uncompressed content; 0: not known yet
	endings  map[Ending]Ending // of the content, by those that were passed to Endings

	// Of a source that is converted:
	content   io.Reader // nil: the file's own bytes are uploaded
	converted *conversion

	// Of a stream:
	pipe   *Pipe         // nil: it is no stream
	rest   *bufio.Reader // of its content
	passed int64         // bytes of the content that were read
}

// OpenSource opens a file and reads its head. The caller closes it. The error
// does not name the path. It is ErrArchive if the file is an archive, see [Sources].
func OpenSource(path string, options Decoding) (*Source, error) {
	file, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	s, err := newSource(path, file, options)
	if err == nil {
		if err = s.readHead(); err == nil {
			return s, nil
		}
	}
	_ = file.Close()
	return nil, err
}

func newSource(path string, file Object, options Decoding) (s *Source, err error) {
	s = &Source{Path: path, file: file, options: options}
	s.Size, s.modified, err = file.Stat()
	return s, err
}

// Close closes the file.
func (s *Source) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.converted != nil {
		s.converted.close()
	}
	if s.pipe != nil {
		_ = s.pipe.Close()
	}
}

// Modified returns the time of the file's last change when it was opened.
func (s *Source) Modified() time.Time { return s.modified }

// raw reads the bytes that are uploaded, from offset up to UploadSize.
func (s *Source) raw(offset int64) *io.SectionReader {
	if s.converted != nil {
		return io.NewSectionReader(s.converted.file, offset, s.converted.size-offset)
	}
	return io.NewSectionReader(s.file, offset, s.Size-offset)
}

// UploadSize returns the number of bytes to upload, which is not known of a stream. Prepare
// must have been called.
func (s *Source) UploadSize() int64 {
	if s.converted != nil {
		return s.converted.size
	}
	return s.Size
}

// Prepare converts the content of a source that is not uploaded as it is; for others, and
// for streams, it does nothing. An error of the source is a SourceError.
func (s *Source) Prepare(ctx context.Context) error {
	if s.content == nil || s.converted != nil || s.IsStream() {
		return nil
	}
	converted, err := convert(ctx, s.content)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return sourceError(err)
	}
	if err := s.CheckUnchanged(); err != nil {
		converted.close()
		return err
	}
	s.converted = converted
	return nil
}

// IsWhole reports whether the upload may be readable from its start only: a zstd file, whose
// frames may be of any length.
func (s *Source) IsWhole() bool { return s.Codec == Zstd && s.content == nil }

// Convert makes the source one that is not uploaded as it is, and converts its content.
func (s *Source) Convert(ctx context.Context) error {
	content, err := s.Packed.Inflate(s.raw(0), s.options)
	if err != nil {
		return sourceError(err)
	}
	defer func() { _ = content.Close() }()
	s.content = content
	return s.Prepare(ctx)
}

// readHead finds out how the file is compressed, and reads its head.
func (s *Source) readHead() error {
	if s.Size == 0 {
		return ErrEmpty
	}
	start := make([]byte, 4<<10)
	n, err := io.ReadFull(s.raw(0), start)
	if withoutEOF(err) != nil {
		return PlainError(err)
	}
	start = start[:n]
	if s.Packed, err = Sniff(start, s.Path); err != nil {
		return err
	}
	if isZip(start) {
		return ErrArchive
	}
	s.Codec = s.Packed
	content, err := s.Packed.Inflate(s.raw(0), s.options)
	if err != nil {
		return err
	}
	err = s.begin(content)
	if s.content == nil {
		_ = content.Close()
	}
	return err
}

// begin reads the head of the content, and keeps the content if it is to be converted.
func (s *Source) begin(content io.Reader) error {
	buffered := bufio.NewReaderSize(content, HeadSize)
	start, _ := buffered.Peek(tarHeader)
	if isTar(start) {
		return ErrArchive
	}
	if isUTF16(start) {
		buffered, s.Codec = bufio.NewReaderSize(utf16Reader(buffered), HeadSize), Zstd
	} else if start, _ = buffered.Peek(HeadSize); endsLinesWithReturns(start) {
		buffered, s.Codec = bufio.NewReaderSize(returnReader{buffered}, HeadSize), Zstd
	}
	var err error
	if s.Hole, s.Head, err = readStart(buffered); err == nil || IsDamage(err) || s.keeps(s.Head) {
		if s.Codec != s.Packed || s.file == nil || s.Codec.Check() != nil || s.isHugeFrame() {
			s.content = s.replay(buffered, err)
			if s.pipe == nil || s.Codec != Plain {
				s.Codec = Zstd
			}
		}
	}
	switch {
	case len(s.Head) > 0 && (err == nil || IsDamage(err) || s.keeps(s.Head)):
		return nil // the reader that counts the file finds and reports the damage
	case err != nil:
		return err
	}
	return ErrEmpty
}

// replay returns all of the content: what was read of it, and the rest or the error that
// ended it.
func (s *Source) replay(rest io.Reader, err error) io.Reader {
	if err != nil {
		rest = failedReader{err}
	}
	return io.MultiReader(io.LimitReader(zeroReader{}, s.Hole), bytes.NewReader(s.Head), rest)
}

// readStart reads the head of the content, and returns the number of NUL bytes before it. The
// head is empty if there are only NULs.
func readStart(content *bufio.Reader) (hole int64, head []byte, err error) {
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
// reads all of a compressed file. The error is a SourceError, unless ctx is done. Of a
// stream, Pass returns the length.
func (s *Source) Length(ctx context.Context) (int64, error) {
	if s.content != nil {
		if err := s.Prepare(ctx); err != nil {
			return 0, err
		}
		return s.converted.length, nil
	}
	if s.Codec == Plain {
		return s.Size, nil
	}
	if s.length == 0 {
		if err := s.inflateAll(nil); err != nil {
			return 0, err
		}
	}
	return s.length, nil
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
// error of store comes through as it is; that of the file is a SourceError, and what was
// read before is passed on. Of a stream, base is what Passed returns.
func (s *Source) Pieces(base, segment int64, store func(piece []byte) error) error {
	content, buffer, uploaded := s.upload(base, segment), make([]byte, 2*BlockSize), int64(0)
	for ended := error(nil); ended == nil; {
		var n int
		n, ended = io.ReadFull(content, buffer[:min(int64(len(buffer)), segment-uploaded%segment)])
		if n > 0 {
			if err := store(buffer[:n]); err != nil {
				return err
			}
		}
		if withoutEOF(ended) != nil {
			return sourceError(PlainError(ended))
		}
		uploaded += int64(n)
	}
	if missing := s.UploadSize() - base - uploaded; missing != 0 && !s.IsStream() {
		return sourceError(&ChangedError{Change: fmt.Sprintf("it ended %d bytes early", missing)})
	}
	return nil
}

// CheckUnchanged checks, after some or all of the file was read, that the bytes read
// are of one state of the file. It accepts a log that only grew; for any other change it returns a
// ChangedError in a SourceError.
func (s *Source) CheckUnchanged() error { return sourceError(s.change()) }

func (s *Source) change() error {
	if s.file == nil || s.converted != nil {
		return nil // the archive is checked; a conversion and a stream do not change
	}
	size, modified, err := s.file.Stat()
	if err != nil {
		return err
	}
	switch {
	case size < s.Size:
		return &ChangedError{Change: fmt.Sprintf("it shrank from %d to %d bytes", s.Size, size)}
	case size == s.Size && modified.Equal(s.modified):
		return nil
	case size == s.Size:
		return &ChangedError{Change: "it was written to without growing"}
	case s.Packed != Plain:
		return &ChangedError{Change: fmt.Sprintf("it grew from %d to %d bytes although it is compressed", s.Size, size)}
	case s.content != nil:
		return nil // converted plain text: what was read is a part of it
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
	if s.file == nil {
		return 0
	}
	size, _, err := s.file.Stat()
	if err != nil {
		return 0
	}
	return size - s.Size
}
