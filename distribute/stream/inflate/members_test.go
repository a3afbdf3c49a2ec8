package inflate_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"skidway/distribute/stream/inflate"
)

// An idleWriter keeps what is written, and the most that was between two calls of idle, of which
// one comes before each member that is inflated alone.
type idleWriter struct {
	bytes.Buffer
	at, most int
}

func (w *idleWriter) idle() bool {
	w.at = w.Len()
	return true
}

func (w *idleWriter) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	w.most = max(w.most, w.Len()-w.at)
	return n, err
}

// blocks returns content in members of a size, as bgzip writes it.
func blocks(t testing.TB, content []byte, size int) []byte {
	t.Helper()
	return members(t, gzip.BestSpeed, slices.Collect(slices.Chunk(content, size)))
}

// stored returns a member with content that is not compressed.
func stored(t testing.TB, content []byte) []byte {
	t.Helper()
	return members(t, gzip.NoCompression, [][]byte{content})
}

func members(t testing.TB, level int, contents [][]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, level)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range contents {
		w.Reset(&packed)
		w.Extra = []byte("BC\x02\x00xx")
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return packed.Bytes()
}

// written returns what WriteTo writes to w, if idle says whether a processor is.
func written(source io.Reader, w *idleWriter, idle func() bool) error {
	r, err := inflate.NewReader(source)
	if err != nil {
		return err
	}
	r.SetIdle(idle)
	n, err := r.WriteTo(w)
	if n != int64(w.Len()) {
		err = errors.Join(err, fmt.Errorf("WriteTo returns %d for %d bytes", n, w.Len()))
	}
	return err
}

// sameWritten compares members inflated in parallel with one after the other.
func sameWritten(t testing.TB, packed []byte) {
	t.Helper()
	want, wantErr := inflated(bytes.NewReader(packed))
	calls := 0
	sometimes := func() bool { calls++; return calls%3 > 0 }
	for name, c := range map[string]struct {
		source io.Reader
		idle   func(*idleWriter) func() bool
	}{
		"always idle":    {bytes.NewReader(packed), func(w *idleWriter) func() bool { return w.idle }},
		"sometimes idle": {bytes.NewReader(packed), func(*idleWriter) func() bool { return sometimes }},
		"read by halves": {iotest.HalfReader(bytes.NewReader(packed)), func(w *idleWriter) func() bool { return w.idle }},
	} {
		var w idleWriter
		if err := written(c.source, &w, c.idle(&w)); w.String() != want || !sameError(err, wantErr) {
			t.Fatalf("%s: %d bytes and %v; want %d bytes and %v", name, w.Len(), err, len(want), wantErr)
		}
	}
}

func TestMembersInParallelHaveTheSameContent(t *testing.T) {
	t.Parallel()
	lines := logLines(3 << 19)
	some := lines[:1<<19]
	for name, c := range map[string]struct {
		packed   []byte
		longest  int // member, or less
		parallel bool
	}{
		"blocks of 64 KiB":       {blocks(t, lines, 64<<10), 64 << 10, true},
		"blocks of 300 bytes":    {blocks(t, lines[:1<<16], 300), 300, true},
		"members of 300 KiB":     {blocks(t, lines, 300<<10), 300 << 10, true},
		"members that are long":  {blocks(t, lines, 5<<18), 5 << 18, false},
		"long and short ones":    {slices.Concat(blocks(t, lines, 3<<19), blocks(t, lines[:1<<18], 2000)), 0, true},
		"no content":             {slices.Repeat(members(t, gzip.BestSpeed, [][]byte{nil}), 1000), 0, false},
		"padding at the end":     {append(blocks(t, some, 32<<10), make([]byte, 5000)...), 32 << 10, true},
		"padding in the middle":  {slices.Concat(blocks(t, some, 32<<10), make([]byte, 30), blocks(t, some, 32<<10)), 32 << 10, true},
		"rubbish in the middle":  {slices.Concat(blocks(t, some, 32<<10), []byte("rubbish"), blocks(t, some, 32<<10)), 32 << 10, true},
		"gzip files in stored":   {slices.Repeat(stored(t, blocks(t, some, 64<<10)), 5), 1 << 19, false},
		"a stored one in blocks": {slices.Concat(blocks(t, some, 32<<10), stored(t, blocks(t, some, 64<<10)), blocks(t, some, 32<<10)), 0, true},
	} {
		sameWritten(t, c.packed)
		var w idleWriter
		if _ = written(bytes.NewReader(c.packed), &w, w.idle); c.parallel != (w.most > c.longest) {
			t.Errorf("%s: %d bytes were written in one go; in parallel: %v", name, w.most, c.parallel)
		}
	}
}

func TestDamageOfMembersInParallelIsTheSame(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	whole := blocks(t, logLines(200_000), 5000)
	for range 40 {
		packed := slices.Clone(whole)
		at := random.IntN(len(packed))
		switch random.IntN(4) {
		case 0:
			packed = packed[:at]
		case 1:
			packed[at] ^= 1 << random.IntN(8)
		case 2:
			packed = slices.Insert(packed, at, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")...)
		case 3: // the size in a trailer, or nothing
			if next := bytes.Index(packed[at:], []byte("\x1f\x8b\x08")); next > 0 {
				packed[at+next-1-random.IntN(8)]++
			}
		}
		sameWritten(t, packed)
	}
}

func TestContentOfMembersIsWrittenBeforeMoreIsRead(t *testing.T) {
	const block = 64 << 10
	lines := logLines(40 * block)
	packed := blocks(t, lines[:30*block], block)
	rest := blocks(t, lines[30*block:], block)
	var w idleWriter
	before := 0
	source := io.MultiReader(bytes.NewReader(packed), readerFunc(func(p []byte) (int, error) {
		if before == 0 {
			before = w.Len()
		}
		n := copy(p, rest)
		if rest = rest[n:]; n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}))
	r, err := inflate.NewReader(source)
	if err != nil {
		t.Fatal(err)
	}
	r.SetIdle(w.idle)
	if _, err := r.WriteTo(&w); err != nil || !bytes.Equal(w.Bytes(), lines) {
		t.Errorf("%d of %d bytes, %v", w.Len(), len(lines), err)
	}
	if before < 29*block || w.most <= 64<<10 { // that the 30th ends there shows what comes behind it
		t.Errorf("%d bytes of 30 members were written when more was read; %d in one go", before, w.most)
	}
}

func TestBeginOfAMemberIsWrittenBeforeMoreIsRead(t *testing.T) {
	lines := bytes.Repeat([]byte("a line of some length\n"), 100_000)
	long := blocks(t, lines, len(lines)) // some 10 KB
	packed := slices.Concat(blocks(t, lines[:1000], 1000), long[:len(long)/2])
	written := map[bool]int{}
	for _, idle := range []bool{false, true} {
		var w idleWriter
		r, err := inflate.NewReader(io.MultiReader(bytes.NewReader(packed), readerFunc(func([]byte) (int, error) {
			if written[idle] == 0 {
				written[idle] = w.Len()
			}
			return 0, io.ErrUnexpectedEOF
		})))
		if err != nil {
			t.Fatal(err)
		}
		r.SetIdle(func() bool { return idle })
		if _, err := r.WriteTo(&w); err != io.ErrUnexpectedEOF {
			t.Errorf("error %v", err)
		}
	}
	if written[true] < 1000+len(lines)/4 || written[true] != written[false] {
		t.Errorf("%d bytes were written when more was read, %d where members are inflated one after the other", written[true], written[false])
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestMembersInParallelGoOnAfterAnErrorOfTheWriter(t *testing.T) {
	lines := logLines(1 << 20)
	r, err := inflate.NewReader(bytes.NewReader(blocks(t, lines, 64<<10)))
	if err != nil {
		t.Fatal(err)
	}
	r.SetIdle(func() bool { return true })
	var all bytes.Buffer
	full := errors.New("full")
	failed := 0
	for range 10_000 {
		_, err = r.WriteTo(writerFunc(func(p []byte) (int, error) {
			n, err := all.Write(p[:len(p)/2+1])
			if n < len(p) {
				err = full
			}
			return n, err
		}))
		if err == nil {
			break
		}
		failed++
	}
	if err != nil || !bytes.Equal(all.Bytes(), lines) {
		t.Errorf("%d of %d bytes after %d errors, %v", all.Len(), len(lines), failed, err)
	}
}

func TestMembersInParallelHaveCheckpointsToGoOnFrom(t *testing.T) {
	lines := logLines(3 << 20)
	packed := blocks(t, lines, 64<<10)
	r, err := inflate.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var saved []*inflate.Checkpoint
	var w idleWriter
	r.SetIdle(w.idle)
	r.SetCheckpoints(100_000, func(c *inflate.Checkpoint) {
		if c.Content != int64(w.Len()) {
			t.Errorf("a checkpoint at %d when %d bytes were written", c.Content, w.Len())
		}
		saved = append(saved, c)
	})
	if _, err := r.WriteTo(&w); err != nil || w.most <= 64<<10 {
		t.Fatalf("%v; %d were written in one go", err, w.most)
	}
	if len(saved) < 2 {
		t.Fatalf("%d checkpoints", len(saved))
	}
	for _, c := range saved {
		if rest, err := resumed(t, packed, c, asItIs); err != nil || rest != string(lines[c.Content:]) {
			t.Errorf("from %d on: %d of %d bytes, %v", c.Content, len(rest), len(lines)-int(c.Content), err)
		}
	}
}

// The seed is for the lengths of members; other bytes are put in between.
func FuzzMembers(f *testing.F) {
	f.Add(uint64(1), 2000, 5, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	f.Add(uint64(2), 70_000, 100_000, []byte{})
	f.Add(uint64(3), 300_000, 2000, []byte{0})
	lines := logLines(300_000)
	f.Fuzz(func(t *testing.T, seed uint64, length, at int, inserted []byte) {
		if length < 1000 || length > len(lines) || at < 0 {
			t.Skip("out of range")
		}
		random := rand.New(rand.NewPCG(seed, 0))
		var contents [][]byte
		for rest := lines; len(rest) > 0; {
			n := min(1+random.IntN(length), len(rest))
			contents, rest = append(contents, rest[:n]), rest[n:]
		}
		packed := members(t, gzip.BestSpeed, contents)
		sameWritten(t, slices.Insert(packed, min(at, len(packed)), inserted...))
	})
}
