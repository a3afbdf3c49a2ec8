package distribute

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A lineLog is a Counter that remembers what it was shown. A line says by its
// first byte how it counts.
type lineLog struct{ lines [][]byte }

func (l *lineLog) Line(line []byte) Verdict {
	l.lines = append(l.lines, slices.Clone(line))
	return verdictOf(line)
}

func (l *lineLog) Cells(func(Cell)) {}
func (l *lineLog) State() string    { return "" }

func verdictOf(line []byte) Verdict {
	switch {
	case bytes.HasPrefix(line, []byte("c")):
		return Counted
	case bytes.HasPrefix(line, []byte("u")):
		return Unknown
	case bytes.HasPrefix(line, []byte("#")):
		return NoLine
	}
	return Unparsable
}

// feed hands text to a lineCounter in blocks that it draws. All blocks share
// one buffer that is overwritten, as blocks are only lent.
func feed(t *rapid.T, l *lineCounter, text []byte, sizes *rapid.Generator[int]) {
	var buffer []byte
	for len(text) > 0 {
		n := min(sizes.Draw(t, "block"), len(text))
		buffer = append(buffer[:0], text[:n]...)
		l.block(buffer)
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
		l := newLineCounter(&log, offset)
		feed(t, l, text, rapid.IntRange(1, 8))

		want := bytes.Split(text, []byte("\n"))
		last := want[len(want)-1]
		want = want[:len(want)-1]
		if !slices.EqualFunc(log.lines, want, bytes.Equal) {
			t.Fatalf("%q, want %q", log.lines, want)
		}
		if tail, size := l.tail(); !bytes.Equal(tail, last) || size != int64(len(last)) {
			t.Fatalf("last line %q of %d bytes, want %q", tail, size, last)
		}
		if l.offset != offset+int64(len(text)) || l.resume != l.offset-int64(len(last)) {
			t.Fatalf("at %d, to go on at %d, after %d bytes from %d", l.offset, l.resume, len(text), offset)
		}
		var tally Tally
		for _, line := range want {
			switch verdictOf(line) {
			case Counted:
				tally.Counted++
			case Unknown:
				tally.Unknown++
			case Unparsable:
				tally.Unparsable++
			}
		}
		tally.Lines = tally.Counted + tally.Unknown + tally.Unparsable
		if l.tally() != tally {
			t.Fatalf("%+v, want %+v", l.tally(), tally)
		}
		if l.note() != "" {
			t.Fatal(l.note())
		}
	})
}

func TestLineThatIsTooLongIsUnparsableHoweverItIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 20, MaxLine - 1, MaxLine, MaxLine + 1, 2*MaxLine + 1}), 1, 3).Draw(t, "lengths")
		finished := rapid.Bool().Draw(t, "finished")
		var text []byte
		var seen []int // lengths of the lines that are looked at
		var tooLong []int
		for i, n := range lengths {
			text = append(append(text, bytes.Repeat([]byte("c"), n)...), '\n')
			if n > MaxLine {
				tooLong = append(tooLong, i+1)
			} else {
				seen = append(seen, n)
			}
		}
		last := lengths[len(lengths)-1]
		if !finished {
			text = text[:len(text)-1]
			if last <= MaxLine {
				seen = seen[:len(seen)-1]
			}
		}
		var log lineLog
		l := newLineCounter(&log, 0)
		feed(t, l, text, rapid.SampledFrom([]int{chunkSize, MaxLine - 1, MaxLine, sampleSize + chunkSize, len(text)}))

		if got := lengthsOf(log.lines); !slices.Equal(got, seen) {
			t.Fatalf("lines of %v bytes were looked at, want %v", got, seen)
		}
		refused := int64(len(tooLong))
		if tail, size := l.tail(); !finished {
			if size != int64(last) || (len(tail) == 0) != (last > MaxLine || last == 0) {
				t.Fatalf("the last line, of %d bytes, is %d bytes of %d", last, len(tail), size)
			}
			if last > MaxLine {
				refused-- // countTail counts it
			}
		}
		blank := int64(0)
		for _, n := range seen {
			if n == 0 {
				blank++
			}
		}
		if l.tally().Unparsable != refused+blank {
			t.Fatalf("%d lines are unparsable, want %d", l.tally().Unparsable, refused+blank)
		}
		if want := noteOf(tooLong); l.note() != want {
			t.Fatalf("note %q, want %q", l.note(), want)
		}
	})
}

func lengthsOf(lines [][]byte) (lengths []int) {
	for _, line := range lines {
		lengths = append(lengths, len(line))
	}
	return lengths
}

func noteOf(lines []int) string {
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("line %d is longer than 1 MiB: counted as unparsable", lines[0])
	}
	return fmt.Sprintf("line %d is longer than 1 MiB, and %d more: counted as unparsable", lines[0], len(lines)-1)
}

func TestLineThatIsTooLongIsNamedByItsPlaceWhereLinesHaveNoNumber(t *testing.T) {
	t.Parallel()
	l := newLineCounter(&lineLog{}, 1000)
	l.block([]byte("c 1\n" + strings.Repeat("c", MaxLine+1) + "\nc 3\n"))
	if want := "the line at byte 1004 of the uncompressed content is longer than 1 MiB: counted as unparsable"; l.note() != want {
		t.Errorf("note %q, want %q", l.note(), want)
	}
}

func TestLineNumberOfANoteCountsHeaders(t *testing.T) {
	t.Parallel()
	l := newLineCounter(&lineLog{}, 0)
	l.block([]byte("#Version\n#Fields\n" + strings.Repeat("c", MaxLine+1) + "\n"))
	if want := noteOf([]int{3}); l.note() != want {
		t.Errorf("note %q, want %q", l.note(), want)
	}
}

// countAll is a Counter that does nothing.
type countAll struct{}

func (countAll) Line([]byte) Verdict { return Counted }
func (countAll) Cells(func(Cell))    {}
func (countAll) State() string       { return "" }

func TestLinesAreCountedWithoutAllocation(t *testing.T) {
	block := bytes.Repeat([]byte("8.8.8.8 2026-11-01 GET /\n"), 1000)
	block = block[:len(block)-10] // so that each block but the first begins within a line
	l := newLineCounter(countAll{}, 0)
	l.block(block)
	if n := testing.AllocsPerRun(100, func() { l.block(block) }); n != 0 {
		t.Errorf("%v allocations for a block of 1000 lines", n)
	}
}

func BenchmarkLineCounter(b *testing.B) {
	block := bytes.Repeat([]byte("203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 23\n"), chunkSize/70)
	block = block[:len(block)-10]
	l := newLineCounter(countAll{}, 0)
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		l.block(block)
	}
}
