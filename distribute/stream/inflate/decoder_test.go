package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	fastflate "github.com/klauspost/compress/flate"
)

// text returns n bytes of lines that look like a log.
func text(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	var lines bytes.Buffer
	for lines.Len() < n {
		fmt.Fprintf(&lines, "%d.%d.%d.7 - - [12/Nov/2026:10:%02d:%02d +0000] \"GET /%s/%d HTTP/1.1\" 200 %d\n", random.IntN(200)+1,
			random.IntN(256), random.IntN(4), random.IntN(60), random.IntN(60),
			[]string{"static/app.js", "api/v1/orders", "ü", ""}[random.IntN(4)], random.IntN(90), random.IntN(100000))
	}
	return lines.Bytes()[:n]
}

// noise returns n random bytes.
func noise(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 2))
	bytes := make([]byte, n)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	return bytes
}

// contents are what the tests compress, by name.
var contents = map[string][]byte{
	"nothing": nil,
	"a byte":  []byte("a"),
	"a run":   bytes.Repeat([]byte("a"), 100_000),
	"periods": slices.Concat(bytes.Repeat([]byte("ab"), 300), bytes.Repeat([]byte("abc"), 300), bytes.Repeat([]byte("abcdefg"), 300), bytes.Repeat([]byte("0123456789abcdef"), 99)),
	"a log":   text(1, 400_000),
	"noise":   noise(1, 100_000),
	"far":     slices.Concat(noise(2, 32<<10), noise(2, 32<<10), noise(3, 32<<10-1), noise(3, 40_000)),
	"mixed":   slices.Concat(text(2, 50_000), noise(4, 70_000), bytes.Repeat([]byte{0}, 150_000), text(2, 50_000)),
}

// A writer compresses.
type writer interface {
	io.WriteCloser
	Flush() error
}

// writers returns functions that compress, by name.
func writers() map[string]func(io.Writer) (writer, error) {
	all := map[string]func(io.Writer) (writer, error){}
	for _, level := range []int{flate.HuffmanOnly, flate.DefaultCompression, flate.NoCompression, 1, 4, flate.BestCompression} {
		all[fmt.Sprintf("flate %d", level)] = func(w io.Writer) (writer, error) { return flate.NewWriter(w, level) }
		all[fmt.Sprintf("klauspost %d", level)] = func(w io.Writer) (writer, error) { return fastflate.NewWriter(w, level) }
	}
	return all
}

// deflated returns content compressed, with a flush after each piece of some bytes.
func deflated(t testing.TB, open func(io.Writer) (writer, error), content []byte, flushEvery int) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := open(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for piece := range slices.Chunk(content, flushEvery) {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Decoders are used again: a new one takes longer than most streams of the tests.
var (
	decoders   = sync.Pool{New: func() any { return newDecoder(nil) }}
	references = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

// decoded returns what a decoder makes of a stream, and its error, nil at its end.
func decoded(source io.Reader) ([]byte, error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.source, d.sourceErr, d.in, d.pos, d.before, d.bits, d.nbits = source, nil, nil, 0, 0, 0, 0
	d.begin()
	var all []byte
	for {
		content, err := d.next()
		all = append(all, content...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// compare reports where a decoder and compress/flate differ: in their content, or in the
// kind of their errors.
func compare(t testing.TB, packed []byte, source io.Reader) {
	t.Helper()
	reference := references.Get().(io.Reader)
	defer references.Put(reference)
	_ = reference.(flate.Resetter).Reset(bytes.NewReader(packed), nil)
	want, wantErr := io.ReadAll(reference)
	got, err := decoded(source)
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes of content (%v), want %d (%v)", len(got), err, len(want), wantErr)
	}
	var wantCorrupt flate.CorruptInputError
	var corrupt *CorruptError
	if errors.As(err, &corrupt) != errors.As(wantErr, &wantCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) != errors.Is(wantErr, io.ErrUnexpectedEOF) || (err == nil) != (wantErr == nil) {
		t.Fatalf("after %d bytes of content the error is %v, want %v", len(got), err, wantErr)
	}
	if corrupt != nil && (corrupt.Offset < 0 || corrupt.Offset > int64(len(packed))) {
		t.Fatalf("byte %d of %d is corrupt", corrupt.Offset, len(packed))
	}
}

func TestContentIsThatOfCompressFlate(t *testing.T) {
	for writerName, open := range writers() {
		for contentName, content := range contents {
			t.Run(writerName+"/"+contentName, func(t *testing.T) {
				t.Parallel()
				packed := deflated(t, open, content, 1<<20)
				compare(t, packed, bytes.NewReader(packed))
				if strings.HasPrefix(writerName, "flate") {
					packed = deflated(t, open, content, 4000)
					compare(t, packed, iotest.HalfReader(bytes.NewReader(packed)))
				}
			})
		}
	}
}

func TestInputMayComeInPiecesOfAnySize(t *testing.T) {
	packed := deflated(t, writers()["flate 4"], contents["mixed"], 20_000)
	compare(t, packed, iotest.OneByteReader(bytes.NewReader(packed)))
	compare(t, packed, iotest.DataErrReader(bytes.NewReader(packed)))
	compare(t, packed, iotest.HalfReader(bytes.NewReader(packed)))
}

// damagedStreams are small streams of all sorts of blocks.
func damagedStreams(t testing.TB) (streams [][]byte) {
	for _, level := range []string{"flate -2", "flate 9"} {
		for _, content := range [][]byte{text(5, 400), noise(5, 60), slices.Concat(noise(6, 50), bytes.Repeat([]byte("ab"), 150))} {
			streams = append(streams, deflated(t, writers()[level], content, 300))
		}
	}
	return streams
}

func TestCutStreamGivesWhatComesBefore(t *testing.T) {
	for _, packed := range damagedStreams(t) {
		for n := range packed {
			compare(t, packed[:n], bytes.NewReader(packed[:n]))
		}
	}
}

func TestStreamWithAWrongBitGivesWhatComesBefore(t *testing.T) {
	for _, packed := range damagedStreams(t) {
		for i := range 8 * len(packed) {
			packed[i/8] ^= 1 << (i % 8)
			compare(t, packed, bytes.NewReader(packed))
			packed[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestRandomBytesGiveTheSameErrors(t *testing.T) {
	for seed := range uint64(3_000) {
		packed := noise(seed, 100)
		packed[0] = packed[0]&^7 | []byte{2, 4, 5}[seed%3] // fixed or dynamic codes, mostly
		compare(t, packed, bytes.NewReader(packed))
	}
}

func TestErrorOfTheSourceComesAfterTheContentBeforeIt(t *testing.T) {
	lost := errors.New("connection lost")
	packed := deflated(t, writers()["flate 4"], contents["a log"], 1<<20)
	half := packed[:len(packed)/2]
	got, err := decoded(io.MultiReader(bytes.NewReader(half), iotest.ErrReader(lost)))
	want, _ := io.ReadAll(flate.NewReader(bytes.NewReader(half)))
	if err != lost || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want %d, %v", len(got), err, len(want), lost)
	}
	if _, err := decoded(stuckReader{}); err != io.ErrNoProgress {
		t.Errorf("a source that returns neither bytes nor an error: %v", err)
	}
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func FuzzDecoder(f *testing.F) {
	for _, packed := range damagedStreams(f) {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		compare(t, packed, bytes.NewReader(packed))
		compare(t, packed, iotest.OneByteReader(bytes.NewReader(packed)))
	})
}
