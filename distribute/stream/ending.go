package stream

import (
	"context"
	"fmt"
	"io"
)

// EndingSize is the number of bytes of which an Ending is made, less at the begin of the content.
const EndingSize = 4 << 10

// An Ending identifies the last bytes of the content up to some offset. Two files with one head
// are one file, of which the one goes on, if they have the same ending there. The zero value is
// that of no bytes.
type Ending struct {
	Size int // in bytes, up to EndingSize
	sum  digest
}

// EndingOf returns the ending of content whose last bytes are given.
func EndingOf(last []byte) Ending {
	if len(last) == 0 {
		return Ending{}
	}
	return Ending{len(last), digestOf(last)}
}

// Encode returns an Ending as it is kept in the record of a file; empty for the zero one.
func (e Ending) Encode() string {
	if e.Size == 0 {
		return ""
	}
	return fmt.Sprintf("%d %x", e.Size, e.sum)
}

// DecodeEnding reads what Encode returned. Malformed text is the zero Ending.
func DecodeEnding(text string) (e Ending) {
	var sum []byte
	if _, err := fmt.Sscanf(text, "%d %x", &e.Size, &sum); err != nil || len(sum) != len(digest{}) || e.Size <= 0 || e.Size > EndingSize {
		return Ending{}
	}
	copy(e.sum[:], sum)
	return e
}

// Recent keeps the last EndingSize bytes that were added. The zero value is empty.
type Recent struct{ content []byte }

// Add adds a block, and keeps no reference to it.
func (r *Recent) Add(block []byte) {
	if n := len(r.content) + len(block) - EndingSize; n > 0 {
		r.content = append(r.content[:0], r.content[min(n, len(r.content)):]...)
	}
	r.content = append(r.content, block[max(0, len(block)-EndingSize):]...)
}

// Set makes r a copy of another one.
func (r *Recent) Set(other Recent) { r.content = append(r.content[:0], other.content...) }

// Reset removes all bytes.
func (r *Recent) Reset() { r.content = r.content[:0] }

// Ending returns the ending of what was added.
func (r *Recent) Ending() Ending { return EndingOf(r.content) }

// Ending returns the ending of size bytes of the content up to offset end. It is the zero one if
// the content is shorter, or, of a stream, if more of it was read. It reads all of a compressed
// file, and of a stream what comes before the ending. The error is a SourceError, unless ctx is
// done.
func (s *Source) Ending(ctx context.Context, end int64, size int) (Ending, error) {
	start, last := end-int64(size), make([]byte, size)
	if s.IsStream() {
		return s.passToEnding(start, size)
	}
	if err := s.Prepare(ctx); err != nil || start < 0 {
		return Ending{}, err
	}
	if s.Codec == Plain {
		if end > s.Size {
			return Ending{}, nil
		}
		_, err := io.ReadFull(s.raw(start), last)
		return EndingOf(last), sourceError(PlainError(err))
	}
	content, err := s.Codec.Inflate(s.raw(0), s.options)
	if err != nil {
		return Ending{}, sourceError(err)
	}
	defer func() { _ = content.Close() }()
	passed, err := io.CopyN(io.Discard, content, start)
	if err == nil {
		var n int
		n, err = io.ReadFull(content, last)
		last, passed = last[:n], passed+int64(n)
	}
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF || IsDamage(err):
		s.length = passed
		return Ending{}, nil
	case err != nil:
		return Ending{}, sourceError(err)
	}
	rest, err := io.Copy(io.Discard, content)
	if IsDamage(err) {
		err = nil
	}
	s.length = passed + rest
	return EndingOf(last), sourceError(err)
}
