package stream

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A lineLog remembers the lines that it was shown.
type lineLog struct {
	lines   [][]byte
	tooLong int
}

func (l *lineLog) line(line []byte) {
	if line == nil {
		l.tooLong++
		return
	}
	l.lines = append(l.lines, slices.Clone(line))
}

func (l *lineLog) whole(block []byte) (n int64) {
	for line := range bytes.Lines(block) {
		l.line(bytes.TrimSuffix(line, []byte("\n")))
		n++
	}
	return n
}

// feed hands text to a Splitter in blocks that it draws. All blocks share
// one buffer that is overwritten, as blocks are only lent.
func feed(t *rapid.T, s *Splitter, text []byte, sizes *rapid.Generator[int]) {
	var buffer []byte
	for len(text) > 0 {
		n := min(sizes.Draw(t, "block"), len(text))
		buffer = append(buffer[:0], text[:n]...)
		s.Split(buffer)
		copy(buffer, bytes.Repeat([]byte("\n"), n))
		text = text[n:]
	}
}

func TestLinesAreThoseOfTheTextHoweverItIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune("cu#x\r\n\n\n"))).Draw(t, "text"))
		offset := rapid.Int64Range(0, 1<<40).Draw(t, "offset")
		var log lineLog
		s := NewSplitter(offset, log.line)
		if rapid.Bool().Draw(t, "whole") {
			s.PassWhole(log.whole)
		}
		feed(t, s, text, rapid.IntRange(1, 8))

		want := bytes.Split(text, []byte("\n"))
		last := want[len(want)-1]
		want = want[:len(want)-1]
		if !slices.EqualFunc(log.lines, want, bytes.Equal) {
			t.Fatalf("%q, want %q", log.lines, want)
		}
		if tail, size, _ := s.Tail(); !bytes.Equal(tail, last) || size != int64(len(last)) {
			t.Fatalf("last line %q of %d bytes, want %q", tail, size, last)
		}
		if s.Start() != offset || s.Offset() != offset+int64(len(text)) || s.Resume() != s.Offset()-int64(len(last)) {
			t.Fatalf("at %d, to go on at %d, after %d bytes from %d", s.Offset(), s.Resume(), len(text), offset)
		}
		if log.tooLong != 0 || s.LongLines() != (LongLines{}) {
			t.Fatal(log.tooLong, s.LongLines())
		}
	})
}

func TestLineThatIsTooLongIsSkippedHoweverItIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 20, MaxLine - 1, MaxLine, MaxLine + 1, 2*MaxLine + 1}), 1, 3).Draw(t, "lengths")
		finished := rapid.Bool().Draw(t, "finished")
		var text []byte
		var seen []int // lengths of the lines that are looked at
		var want LongLines
		for i, n := range lengths {
			if n > MaxLine {
				if want.Count++; want.Count == 1 {
					want.Line, want.Offset = int64(i+1), int64(len(text))
				}
			} else {
				seen = append(seen, n)
			}
			text = append(append(text, bytes.Repeat([]byte("c"), n)...), '\n')
		}
		last := lengths[len(lengths)-1]
		if !finished {
			text = text[:len(text)-1]
			if last <= MaxLine {
				seen = seen[:len(seen)-1]
			}
		}
		var log lineLog
		s := NewSplitter(0, log.line)
		if rapid.Bool().Draw(t, "whole") {
			s.PassWhole(log.whole)
		}
		feed(t, s, text, rapid.SampledFrom([]int{chunkSize, MaxLine - 1, MaxLine, 1<<20 + chunkSize, len(text)}))

		if got := lengthsOf(log.lines); !slices.Equal(got, seen) {
			t.Fatalf("lines of %v bytes were looked at, want %v", got, seen)
		}
		skipped := int(want.Count)
		if tail, size, _ := s.Tail(); !finished {
			if size != int64(last) || (len(tail) == 0) != (last > MaxLine || last == 0) {
				t.Fatalf("the last line, of %d bytes, is %d bytes of %d", last, len(tail), size)
			}
			if last > MaxLine {
				skipped-- // Tail returns it
			}
		}
		if log.tooLong != skipped {
			t.Fatalf("%d lines were skipped, want %d", log.tooLong, skipped)
		}
		if got := s.LongLines(); got != want {
			t.Fatalf("long lines %+v, want %+v", got, want)
		}
	})
}

func lengthsOf(lines [][]byte) (lengths []int) {
	for _, line := range lines {
		lengths = append(lengths, len(line))
	}
	return lengths
}

func TestHoleBeforeALineIsNoContentHoweverItIsCut(t *testing.T) {
	t.Parallel()
	text := slices.Concat([]byte("one\n"), make([]byte, MaxLine+1), []byte("two\nthree\n"))
	for _, size := range []int{len(text), MaxLine, 1000} {
		var log lineLog
		s := NewSplitter(0, log.line)
		for block := range slices.Chunk(text, size) {
			s.Split(block)
		}
		for i, line := range log.lines {
			log.lines[i] = bytes.TrimLeft(line, "\x00") // as the parsers do
		}
		if got := bytes.Join(log.lines, []byte(" ")); string(got) != "one two three" || s.FinishedLongLines().Count != 0 {
			t.Errorf("in blocks of %d bytes: %d lines, %d of them too long", size, len(log.lines)+log.tooLong, log.tooLong)
		}
	}
}

func TestLongLineHasNoNumberIfTheContentDoesNotBeginWithTheFile(t *testing.T) {
	t.Parallel()
	s := NewSplitter(1000, new(lineLog).line)
	s.Split([]byte("c 1\n" + strings.Repeat("c", MaxLine+1) + "\nc 3\n"))
	if got, want := s.LongLines(), (LongLines{Count: 1, Offset: 1004}); got != want {
		t.Errorf("long lines %+v, want %+v", got, want)
	}
}

func TestNumberOfALongLineCountsHeaders(t *testing.T) {
	t.Parallel()
	s := NewSplitter(0, new(lineLog).line)
	s.Split([]byte("#Version\n#Fields\n" + strings.Repeat("c", MaxLine+1) + "\n"))
	if got, want := s.LongLines(), (LongLines{Count: 1, Line: 3, Offset: 17}); got != want {
		t.Errorf("long lines %+v, want %+v", got, want)
	}
}

func TestLinesAreCutWithoutAllocation(t *testing.T) {
	block := bytes.Repeat([]byte("8.8.8.8 2026-11-01 GET /\n"), 1000)
	block = block[:len(block)-10] // so that each block but the first begins within a line
	lines := 0
	s := NewSplitter(0, func([]byte) { lines++ })
	s.Split(block)
	if n := testing.AllocsPerRun(100, func() { s.Split(block) }); n != 0 {
		t.Errorf("%v allocations for a block of 1000 lines", n)
	}
}

func BenchmarkSplitter(b *testing.B) {
	block := bytes.Repeat([]byte("203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 23\n"), chunkSize/70)
	block = block[:len(block)-10]
	lines := 0
	s := NewSplitter(0, func([]byte) { lines++ })
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		s.Split(block)
	}
}

// A reader that goes on inside a line sees what one from the start sees.
func TestSplitterGoesOnInsideALine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start   string // of a line
		needed  int    // bytes of it
		line    string
		tooLong int64
	}{
		"hole":      {strings.Repeat("\x00", 3000), 0, "c", 0},
		"long line": {strings.Repeat("x", MaxLine+1), 0, "", 1},
		"line":      {"b", 1, "bc", 0},
	} {
		first := NewSplitter(0, func([]byte) {})
		first.Split([]byte("a\n" + c.start))
		n, tooLong := first.Inside()
		if n != int64(len(c.start)-c.needed) {
			t.Errorf("%s: %d bytes need not be read again", name, n)
		}
		var lines []string
		next := NewSplitter(first.Resume(), func(line []byte) { lines = append(lines, string(line)) })
		next.SetInside(n, tooLong)
		next.Split([]byte(c.start[n:] + "c\nd\n"))
		if !slices.Equal(lines, []string{c.line, "d"}) || next.Resume() != int64(len("a\n"+c.start+"c\nd\n")) || next.LongLines().Count != c.tooLong {
			t.Errorf("%s: lines %q up to %d, %+v", name, lines, next.Resume(), next.LongLines())
		}
	}
}
