package stream

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// piped passes on the stream of a pipe with these bytes.
func piped(t testing.TB, packed []byte, do func(*Source)) {
	t.Helper()
	pipe := NewPipe(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
	for src, err := range Sources("pipe", func() (Object, error) { return pipe, nil }, Members{}, Decoding{}) {
		if err != nil {
			t.Fatal(err)
		}
		do(src)
	}
}

// piecesOf returns the content that a reader of a stream's upload sees.
func piecesOf(t testing.TB, src *Source) ([]byte, error) {
	t.Helper()
	var raw bytes.Buffer
	err := src.Pieces(src.Passed(), smallSegmentSize, func(piece []byte) error { raw.Write(piece); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return inflated(src.Codec, &raw)
}

func TestStreamIsTheFileThatItIsMadeOf(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 3*frameContent/20)
	hole := append(make([]byte, 3*HeadSize), content...)
	for name, c := range map[string]struct {
		packed, content []byte
		codec           Codec
	}{
		"plain": {content, content, Plain}, "gzip": {member(t, content), content, Zstd}, "zstd": {frame(t, content), content, Zstd},
		"xz":   {converted[XZ](t, content), content, Zstd},
		"hole": {hole, hole, Plain}, "hole in gzip": {member(t, hole), hole, Zstd},
		"short": {content[:10], content[:10], Plain}, "UTF-16": {append([]byte{0xff, 0xfe}, utf16Of(content)...), content, Zstd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			piped(t, c.packed, func(src *Source) {
				if src.Codec != c.codec || src.Size != UnknownSize || !src.IsStream() || src.Packed == Plain != (c.codec == Plain || name == "UTF-16") {
					t.Errorf("%s as %s, %d bytes", src.Packed, src.Codec, src.Size)
				}
				if file := opened(t, c.content); src.ID() != file.ID() || src.Hole != file.Hole {
					t.Errorf("it is another file")
				}
				got, err := piecesOf(t, src)
				if err != nil || !bytes.Equal(got, c.content) || src.Passed() != int64(len(c.content)) {
					t.Errorf("%d bytes of %d, %v", len(got), len(c.content), err)
				}
			})
		})
	}
}

func utf16Of(content []byte) []byte {
	out := make([]byte, 0, 2*len(content))
	for _, b := range content {
		out = append(out, b, 0)
	}
	return out
}

func TestStreamReadsOverWhatIsCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), rapid.IntRange(1, 10_000).Draw(t, "lines"))
		size := int64(len(content))
		base, beyond := rapid.Int64Range(0, size+10).Draw(t, "base"), rapid.Int64Range(0, size+10).Draw(t, "beyond")
		end := base + beyond
		packed := content
		if rapid.Bool().Draw(t, "gzip") {
			packed = member(t, content)
		}
		var pieces []byte
		pipe := NewPipe(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
		for src, err := range Sources("pipe", func() (Object, error) { return pipe, nil }, Members{}, Decoding{}) {
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second call reads no more
				if length, err := src.Pass(base, end); err != nil || length != min(size, end+1) || src.Passed() != min(base, size) {
					t.Fatalf("a length of %d, %d bytes passed, %v", length, src.Passed(), err)
				}
			}
			err = src.Pieces(src.Passed(), smallSegmentSize, func(piece []byte) error { pieces = append(pieces, piece...); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if pieces, err = inflated(src.Codec, bytes.NewReader(pieces)); len(pieces) > 0 && err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(pieces, content[min(base, size):]) {
			t.Fatalf("%d bytes of %d behind %d", len(pieces), size, base)
		}
	})
}

func TestDamageOfAStreamIsLeftToTheReader(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 20_000)
	packed := member(t, content)
	piped(t, packed[:len(packed)-100], func(src *Source) {
		if got, err := piecesOf(t, src); !IsDamage(err) || len(got) == 0 || !bytes.HasPrefix(content, got) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

func TestArchiveInAPipeIsRefused(t *testing.T) {
	t.Parallel()
	for name, packed := range map[string][]byte{"zip": []byte("PK\x03\x04rest"), "tar": tarOf(t, entry{name: "a.log", content: []byte("8.8.8.8 2026-11-01\n")})} {
		pipe := NewPipe(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
		for _, err := range Sources("pipe", func() (Object, error) { return pipe, nil }, Members{}, Decoding{}) {
			if !errors.Is(err, errPipedArchive) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What was read before is passed on.
func TestInterruptEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	path, stop := filepath.Join(t.TempDir(), "fifo"), errors.New("stop")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 10_000)
	object, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan *os.File, 1)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Error(err)
		}
		written <- w
	}()
	var got []byte
	for src, err := range Sources(path, func() (Object, error) { return object, nil }, Members{}, Decoding{}) {
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			w := <-written
			object.(*Pipe).Interrupt(stop)
			_ = w.Close()
		}()
		err = src.Pieces(0, SegmentSize, func(piece []byte) error { got = append(got, piece...); return nil })
		if !errors.Is(err, stop) || !errors.As(err, new(*SourceError)) {
			t.Errorf("%v", err)
		}
	}
	if len(got) < HeadSize || !bytes.HasPrefix(content, got) {
		t.Errorf("%d bytes of %d", len(got), len(content))
	}
}

func TestFIFOIsOpenedWhenItIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	object, err := Open(path) // nothing writes to it: to open it would block
	if err != nil {
		t.Fatal(err)
	}
	if err := object.Close(); err != nil {
		t.Error(err)
	}
	if _, err := object.(*Pipe).Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := Open(os.DevNull); err == nil || !strings.Contains(err.Error(), "a device") {
		t.Errorf("a device: %v", err)
	}
}
