package stream

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// EndingSize is the number of bytes of which an Ending is made, less at the beginning of the content.
const EndingSize = 4 << 10

// An Ending identifies the content before an offset, behind the head, by its last bytes. The zero
// value is that of content that is not known.
type Ending struct {
	End  int64 // the offset
	Size int   // number of the bytes, up to EndingSize
	sum  digest
}

// EndingOf returns the ending of content before an offset whose last bytes are given. It is the
// zero one if there are none, or if one is NUL: the file may not have been written there yet.
func EndingOf(end int64, last []byte) Ending {
	if len(last) == 0 || bytes.IndexByte(last, 0) >= 0 {
		return Ending{}
	}
	return Ending{end, len(last), digestOf(last)}
}

// Encode returns an Ending as it is kept in the record of a file; empty for the zero one.
func (e Ending) Encode() string {
	if e.Size == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d %x", e.End, e.Size, e.sum)
}

// DecodeEnding reads what Encode returned. Malformed text is the zero Ending.
func DecodeEnding(text string) (e Ending) {
	var sum []byte
	_, err := fmt.Sscanf(text, "%d %d %x", &e.End, &e.Size, &sum)
	if err != nil || len(sum) != len(digest{}) || e.Size <= 0 || e.Size > EndingSize || e.End < int64(e.Size) {
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

// Drop removes the last n bytes, or all if there are fewer; none if n is negative.
func (r *Recent) Drop(n int64) { r.content = r.content[:max(0, int64(len(r.content))-max(0, n))] }

// Ending returns the ending of what was added, up to an offset.
func (r *Recent) Ending(end int64) Ending { return EndingOf(end, r.content) }

// Endings returns the endings that the content has where others end, of as many bytes. One is zero if the content
// is shorter, or a stream of which more was read. It reads all of a compressed file once, and of a stream
// what comes before the endings; what was returned is not read again. The error is a SourceError,
// unless ctx is done.
func (s *Source) Endings(ctx context.Context, others ...Ending) ([]Ending, error) {
	var missing []Ending
	for _, e := range others {
		if _, found := s.endings[e]; !found && !slices.Contains(missing, e) {
			missing = append(missing, e)
		}
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, func(a, b Ending) int { return cmp.Compare(a.start(), b.start()) })
		if err := s.readEndings(ctx, missing); err != nil {
			return nil, err
		}
	}
	found := make([]Ending, len(others))
	for i, e := range others {
		found[i] = s.endings[e]
	}
	return found, nil
}

func (e Ending) start() int64 { return e.End - int64(e.Size) }

// readEndings reads the endings where others end, which are in the order of their starts.
func (s *Source) readEndings(ctx context.Context, others []Ending) error {
	if err := s.Prepare(ctx); err != nil {
		return err
	}
	if s.Codec != Plain && !s.IsStream() {
		return s.inflateAll(others)
	}
	for _, e := range others {
		last, err := s.last(e)
		if err != nil {
			return sourceError(PlainError(err))
		}
		s.setEnding(e, last)
	}
	return nil
}

// setEnding records the ending that the content has where another one ends.
func (s *Source) setEnding(other Ending, last []byte) {
	if s.endings == nil {
		s.endings = map[Ending]Ending{}
	}
	s.endings[other] = Ending{}
	if len(last) == other.Size {
		s.endings[other] = EndingOf(other.End, last)
	}
}

// last reads the bytes where an ending is, fewer if there are not so many, of plain content or a stream.
func (s *Source) last(e Ending) ([]byte, error) {
	if s.IsStream() {
		return s.peekAt(e.start(), e.Size)
	}
	last := make([]byte, e.Size)
	n, err := s.raw(e.start()).ReadAt(last, 0)
	return last[:n], withoutEOF(err)
}

// inflateAll reads the content of a file that is not plain, or its conversion, up to any damage. It sets the
// length, and the endings where others end, which are in the order of their starts.
func (s *Source) inflateAll(others []Ending) error {
	content, err := s.Codec.Inflate(s.raw(0), s.options)
	if err != nil {
		return sourceError(err)
	}
	defer func() { _ = content.Close() }()
	found := stretches{places: others, bytes: make([][]byte, len(others))}
	s.length, err = io.Copy(&found, content)
	if err != nil && !IsDamage(err) {
		return sourceError(err)
	}
	for i, e := range others {
		s.setEnding(e, found.bytes[i])
	}
	return nil
}

// stretches keeps the bytes at the places of endings of the content that is written to it.
type stretches struct {
	places []Ending // in the order of their starts
	bytes  [][]byte // of each
	first  int      // the first one of which bytes may follow
	offset int64
}

func (w *stretches) Write(block []byte) (int, error) {
	end := w.offset + int64(len(block))
	for i := w.first; i < len(w.places) && w.places[i].start() < end; i++ {
		e := w.places[i]
		if e.End > w.offset {
			w.bytes[i] = append(w.bytes[i], block[max(0, e.start()-w.offset):min(int64(len(block)), e.End-w.offset)]...)
		} else if i == w.first {
			w.first++
		}
	}
	w.offset = end
	return len(block), nil
}
