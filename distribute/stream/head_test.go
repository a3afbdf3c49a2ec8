package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// headOf is the Head of a file with this content.
func headOf(content []byte) Head { return Head(content[:min(len(content), HeadSize)]) }

// drawLog draws the content of a log: header lines and others, short and long
// ones, up to somewhat more than a head, with or without a last newline.
func drawLog(t *rapid.T, label string) []byte {
	line := rapid.Custom(func(t *rapid.T) []byte {
		start := rapid.SampledFrom([]string{"#", "", "8.8.8.8 ", "x"}).Draw(t, "start")
		length := rapid.SampledFrom([]int{0, 1, 10, 100, 1000, 10_000}).Draw(t, "length")
		filler := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "filler")
		return []byte(start + strings.Repeat(filler, length) + "\n")
	})
	log := bytes.Join(rapid.SliceOfN(line, 0, 30).Draw(t, label), nil)
	if times := rapid.SampledFrom([]int{1, 1, 1, 3, 20}).Draw(t, label+" times"); times > 1 {
		log = bytes.Repeat(log, times)
	}
	if len(log) > 0 && rapid.Bool().Draw(t, label+" unfinished") {
		log = log[:len(log)-1]
	}
	return log
}

// found reports whether the index leads from a file to the record of an earlier
// state of it: by its own key, or by the one for files without a whole line.
func found(recorded, now Head) bool {
	key := recorded.IndexKey()
	return key == now.IndexKey() || key == UnfinishedLine
}

func TestGrownFileIsRecognised(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := drawLog(t, "content")
		if len(content) == 0 {
			content = []byte("x")
		}
		before, now := headOf(content), headOf(slices.Concat(content, drawLog(t, "continuation")))
		if !found(before, now) {
			t.Fatalf("%.100q is recorded under %s and looked for under %s", before, before.IndexKey(), now.IndexKey())
		}
		if !before.Fingerprint().SameFile(now) {
			t.Fatalf("%d bytes of %.100q are another file than %d", len(before), before, len(now))
		}
	})
}

func TestFileThatGrowsFromAnyBeginningIsRecognised(t *testing.T) {
	t.Parallel()
	whole := []byte("#Version: 1.0\n#Fields: date\n8.8.8.8 2026-11-01 a\n8.8.4.4 2026-11-01 b\n")
	for n := 1; n < len(whole); n++ {
		before, now := headOf(whole[:n]), headOf(whole)
		if !found(before, now) || !before.Fingerprint().SameFile(now) {
			t.Errorf("%q is not recognised when it has grown", before)
		}
	}
}

func TestHeadWithoutAWholeLineIsIndexedByItself(t *testing.T) {
	t.Parallel()
	full := headOf(bytes.Repeat([]byte("x"), 2*HeadSize))
	headers := headOf(bytes.Repeat([]byte("# header\n"), HeadSize))
	for _, h := range []Head{full, headers} {
		if h.IndexKey() != h.ID() {
			t.Errorf("%.20q… is indexed under %s", h, h.IndexKey())
		}
		if key := h[:HeadSize-1].IndexKey(); key != UnfinishedLine {
			t.Errorf("%.20q…, a byte shorter, is indexed under %s", h, key)
		}
	}
}

func TestFileCutWithinALineIsRecognised(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"long lines": "8.8.8.8 - - [2026-11-01:10:00:00 +0000] \"GET /%d HTTP/1.1\" 200 512 \"-\" \"a browser\"\n", "short lines": "8.8.8.8 2026-11-01 %d\n",
	} {
		var content []byte
		for i := 0; len(content) < 2*HeadSize; i++ {
			content = fmt.Appendf(content, line, i)
		}
		p := headOf(content).Fingerprint()
		for n := bytes.IndexByte(content, '\n') + 1; n <= HeadSize; n += 97 {
			if !p.SameFile(headOf(content[:n])) {
				t.Fatalf("%s: a copy of %d bytes is another file", name, n)
			}
		}
		other := slices.Concat(content[:HeadSize/2], bytes.ReplaceAll(content[HeadSize/2:HeadSize*3/4], []byte("11-01"), []byte("11-02")))
		if p.SameFile(headOf(other)) {
			t.Errorf("%s: another file is taken for this one", name)
		}
	}
}

func TestFewLinesAreComparedExactly(t *testing.T) {
	t.Parallel()
	line := []byte("8.8.8.8 2026-11-01 x\n")
	p := headOf(bytes.Repeat(line, 2*denseMarks)).Fingerprint()
	for _, n := range []int{1, 2, denseMarks - 1} {
		same, other := bytes.Repeat(line, n), append(bytes.Repeat(line, n-1), "1.1.1.1\n"...)
		if !p.SameFile(same) || p.SameFile(other) {
			t.Errorf("%d lines: recognised %v, taken for another file %v", n, p.SameFile(same), p.SameFile(other))
		}
	}
}

func TestFileTruncatedAtALineEndIsRecognised(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := drawLog(t, "content")
		var ends []int
		for i, c := range content {
			if c == '\n' {
				ends = append(ends, i+1)
			}
		}
		if len(ends) == 0 {
			t.Skip("no line to keep")
		}
		kept := content[:rapid.SampledFrom(ends).Draw(t, "kept")]
		if len(kept) <= HeadSize && bytes.IndexByte(content[:min(len(content), HeadSize)], '\n') < 0 {
			t.Skip("no line in the head")
		}
		if !headOf(content).Fingerprint().SameFile(headOf(kept)) {
			t.Fatalf("%d bytes of %d are another file", len(kept), len(content))
		}
	})
}

func TestOtherContentIsAnotherFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := drawLog(t, "content")
		h := headOf(content)
		if len(h) == 0 {
			t.Skip("empty")
		}
		other := slices.Clone(h)
		at := rapid.IntRange(0, len(h)-1).Draw(t, "at")
		other[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if h.Fingerprint().SameFile(other) {
			t.Fatalf("a change of byte %d of %d goes unnoticed", at, len(h))
		}
		if h.ID() == other.ID() {
			t.Fatal("two files have one id")
		}
		// In a shorter file, what lies before the last mark within it counts.
		kept := other[:rapid.IntRange(at+1, len(other)).Draw(t, "kept")]
		p := h.Fingerprint()
		if slices.ContainsFunc(p.marks, func(m mark) bool { return m.offset > at && m.offset <= len(kept) }) && p.SameFile(kept) {
			t.Fatalf("a change of byte %d of %d goes unnoticed in the first %d", at, len(h), len(kept))
		}
	})
}

func TestFingerprintSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := headOf(drawLog(t, "content")).Fingerprint()
		back, err := DecodeFingerprint(p.Encode())
		if err != nil || back.Length != p.Length || back.sum != p.sum || !slices.Equal(back.marks, p.marks) {
			t.Fatalf("%+v came back as %+v, %v", p, back, err)
		}
	})
}

func TestFingerprintIsSmall(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 2, 20, 100, 500, 5000} {
		t.Run(fmt.Sprintf("lines of %d bytes", length), func(t *testing.T) {
			t.Parallel()
			line := append(bytes.Repeat([]byte("x"), length-1), '\n')
			p := headOf(bytes.Repeat(line, HeadSize/length+1)).Fingerprint()
			const most = 4*maxMarks + 32
			if n := len(p.Encode()); n > most || length == 100 && n > 2700 {
				t.Errorf("%d bytes", n)
			}
		})
	}
}

func FuzzDecodeFingerprint(f *testing.F) {
	f.Add("")
	f.Add(headOf([]byte("8.8.8.8 2026-11-01\n8.8.4.4 2026-11-01\n")).Fingerprint().Encode())
	f.Add(headOf(bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 5000)).Fingerprint().Encode())
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + strings.Repeat("x", 20))
	f.Add("\x10" + strings.Repeat("x", 12) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xxxx")
	f.Add("\x10" + strings.Repeat("x", 12) + strings.Repeat("\x00xxxx", 9)) // marks at one place
	h := headOf(bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 5000))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := DecodeFingerprint(text)
		if err != nil {
			return
		}
		if p.Length > HeadSize || len(p.marks)*4 > len(text) {
			t.Fatalf("%d bytes became a Head of %d bytes with %d marks", len(text), p.Length, len(p.marks))
		}
		last := 0
		for _, m := range p.marks {
			if m.offset <= last || m.offset > p.Length {
				t.Fatalf("marks out of order: %v", p.marks)
			}
			last = m.offset
		}
		for _, n := range []int{0, 1, 100, len(h)} {
			p.SameFile(h[:n])
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	h := headOf(bytes.Repeat([]byte("8.8.8.8 2026-11-01 GET /a/page/of/some/length\n"), 5000))
	b.SetBytes(int64(len(h)))
	b.ReportAllocs()
	for b.Loop() {
		h.Fingerprint()
	}
}
