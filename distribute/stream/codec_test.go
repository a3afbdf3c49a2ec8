package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// member is one gzip member that holds content.
func member(t rapid.TB, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// frame is one zstd frame, with a checksum, that holds content.
func frame(t rapid.TB, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	return w.EncodeAll(content, nil)
}

// skippable is a zstd frame without content, as RFC 8878 section 3.1.2 has it.
func skippable(length byte) []byte {
	return append([]byte{0x5a, 0x2a, 0x4d, 0x18, length, 0, 0, 0}, make([]byte, length)...)
}

// inflated reads everything that a codec makes of packed data.
func inflated(c Codec, packed io.Reader) ([]byte, error) {
	content, err := c.Inflate(packed, Decoding{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	return io.ReadAll(content)
}

func isCorrupt(err error) bool {
	var damage *CorruptError
	return errors.As(err, &damage)
}

// packers make one compressed piece; a file may have several.
var packers = map[Codec]func(rapid.TB, []byte) []byte{Gzip: member, Zstd: frame}

func TestCodecIsDetectedByTheFirstBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		start string
		want  Codec
		wrong string
	}{
		{"nothing", "", Plain, ""},
		{"text", "8.8.8.8 2026-11-01", Plain, ""},
		{"NUL bytes", "\x00\x00\x00\x00", Plain, ""},
		{"gzip", "\x1f\x8b\x08\x00", Gzip, ""},
		{"gzip, cut off", "\x1f\x8b", Gzip, ""},
		{"half of the magic", "\x1f", Plain, ""},
		{"zstd", "\x28\xb5\x2f\xfd\x04", Zstd, ""},
		{"zstd, skippable frame first", "\x50\x2a\x4d\x18", Zstd, ""},
		{"zstd, last kind of skippable frame", "\x5f\x2a\x4d\x18", Zstd, ""},
		{"not quite a skippable frame", "\x60\x2a\x4d\x18", Plain, ""},
		{"bzip2", "BZh91AY&SY", Bzip2, ""},
		{"bzip2 of nothing", "BZh9\x17rE8P\x90", Bzip2, ""},
		{"text that begins as bzip2", "BZhang 2026-11-01", Plain, ""},
		{"xz", "\xfd7zXZ\x00\x00", XZ, ""},
		{"lz4", "\x04\x22\x4d\x18\x64", LZ4, ""},
		{"lz4, legacy frame", "\x02\x21\x4c\x18", LZ4, ""},
		{"lz4, skippable frame first", "\x50\x2a\x4d\x18\x01\x00\x00\x00x\x04\x22\x4d\x18", LZ4, ""},
		{"brotli.br", "\x1b\x0f\x00\xf8", Brotli, ""},
		{"example.com.br", "8.8.8.8 2026-11-01 caf\xe9\n", Plain, ""},
		{"example.co.sz", "8.8.8.8 2026-11-01\r\n8.8.8.8 2026-11-01 a\x1b" + strings.Repeat("b", 100), Plain, ""},
		{"binary with a newline.br", "\x1b\x0f\n\xf8", Brotli, ""},
		{"text without a newline.br", "8.8.8.8 2026-11-01", Brotli, ""},
		{"gzip that is called.br", "\x1f\x8b\x08\x00", Gzip, ""},
		{"7z", "7z\xbc\xaf\x27\x1c", "", "7z"},
		{"rar", "Rar!\x1a\x07\x01", "", "rar"},
		{"snappy", "\xff\x06\x00\x00sNaPpY", "", "snappy"},
		{"a file.snappy", "x", "", "snappy"},
		{"parquet", "PAR1\x15\x04", "", "Parquet"},
		{"a file.lzma", "\x5d\x00\x00", "", "lzma"},
		{"compress", "\x1f\x9d\x90", "", ".Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Sniff([]byte(c.start), c.name)
			var unsupported *UnsupportedCompressionError
			if c.wrong != "" {
				if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("%v, want an UnsupportedCompressionError that names %s", err, c.wrong)
				}
				return
			}
			if err != nil || got != c.want {
				t.Fatalf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAllPiecesOfACompressedFileAreRead(t *testing.T) {
	t.Parallel()
	for codec, pack := range packers {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var content, packed []byte
				for _, piece := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 5).Draw(t, "pieces") {
					content = append(content, piece...)
					packed = append(packed, pack(t, piece)...)
				}
				if codec == Gzip {
					packed = append(packed, make([]byte, rapid.IntRange(0, 1024).Draw(t, "padding"))...)
				} else if rapid.Bool().Draw(t, "skippable") {
					packed = slices.Concat(skippable(7), packed, skippable(0))
				}
				if got, err := Sniff(packed, ""); got != codec || err != nil {
					t.Fatalf("taken for %q, %v", got, err)
				}
				reader := io.Reader(bytes.NewReader(packed))
				if rapid.Bool().Draw(t, "byte by byte") {
					reader = iotest.OneByteReader(reader)
				}
				got, err := inflated(codec, reader)
				if err != nil || !bytes.Equal(got, content) {
					t.Fatalf("%d bytes became %d, %v", len(content), len(got), err)
				}
			})
		})
	}
}

func TestGarbageAfterTheContentIsDamageThatTakesNothingAway(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 10_000)
	zeros := make([]byte, 512)
	for _, c := range []struct {
		name   string
		codec  Codec
		packed []byte
	}{
		{"text after gzip", Gzip, slices.Concat(member(t, content), []byte("garbage"))},
		{"one byte after gzip", Gzip, slices.Concat(member(t, content), []byte("g"))},
		{"half a header after gzip", Gzip, slices.Concat(member(t, content), []byte("\x1f\x8b\x08"))},
		{"garbage after padding", Gzip, slices.Concat(member(t, content), zeros, []byte("garbage"))},
		{"a member after padding", Gzip, slices.Concat(member(t, content), zeros, member(t, content))},
		{"text after zstd", Zstd, slices.Concat(frame(t, content), []byte("garbage"))},
		{"one byte after zstd", Zstd, slices.Concat(frame(t, content), []byte("g"))},
		{"zeros after zstd", Zstd, slices.Concat(frame(t, content), zeros)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := inflated(c.codec, bytes.NewReader(c.packed))
			if !isCorrupt(err) {
				t.Errorf("%v, want a CorruptError", err)
			}
			if !bytes.Equal(got, content) {
				t.Errorf("%d bytes of %d were read", len(got), len(content))
			}
		})
	}
}

func TestFileCutOffAnywhereIsReadUpToThere(t *testing.T) {
	t.Parallel()
	first, second := []byte("8.8.8.8 2026-11-01 a\n8.8.4.4 2026-11-01 b\n"), []byte("1.1.1.1 2026-11-02 c\n")
	content := slices.Concat(first, second)
	for codec, pack := range packers {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			packed := pack(t, first)
			whole := len(packed) // here nothing is missing but the second piece
			packed = append(packed, pack(t, second)...)
			for n := 1; n < len(packed); n++ {
				got, err := inflated(codec, bytes.NewReader(packed[:n]))
				if !bytes.HasPrefix(content, got) || n >= whole && len(got) < len(first) {
					t.Errorf("cut after %d of %d bytes: %q", n, len(packed), got)
				}
				if n == whole && err != nil || n != whole && !isCorrupt(err) {
					t.Errorf("cut after %d of %d bytes: %v", n, len(packed), err)
				}
				if n != whole && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut after %d of %d bytes: %v does not say that it is cut off", n, len(packed), err)
				}
			}
		})
	}
}

func TestNothingCompressedIsNoContent(t *testing.T) {
	t.Parallel()
	for codec, pack := range packers {
		if got, err := inflated(codec, bytes.NewReader(pack(t, nil))); len(got) > 0 || err != nil {
			t.Errorf("%s: %q, %v", codec, got, err)
		}
	}
}

func TestUnknownCodecIsANewerVersions(t *testing.T) {
	t.Parallel()
	if _, err := Codec("new").Inflate(strings.NewReader(""), Decoding{}); err == nil || isCorrupt(err) || !strings.Contains(err.Error(), "newer") {
		t.Error(err)
	}
}

func TestSourceThatFailsIsNotTakenForDamage(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 10_000)
	lost := errors.New("lost the connection")
	for _, codec := range []Codec{Plain, Gzip, Zstd} {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			packed := content
			if pack := packers[codec]; pack != nil {
				packed = pack(t, content)
			}
			for _, n := range []int{0, 1, 5, len(packed) / 2, len(packed) - 1} {
				source := io.MultiReader(bytes.NewReader(packed[:n]), iotest.ErrReader(lost))
				if _, err := inflated(codec, source); !errors.Is(err, lost) || isCorrupt(err) {
					t.Errorf("after %d bytes: %v", n, err)
				}
			}
		})
	}
}

// A connection that breaks in the middle of an answer is an error that wraps
// io.ErrUnexpectedEOF. It must not end a file as if that were all of it.
func TestBrokenConnectionIsNotTheEndOfTheContent(t *testing.T) {
	t.Parallel()
	content := []byte("8.8.8.8 2026-11-01\n")
	lost := fmt.Errorf("redis: %w", io.ErrUnexpectedEOF)
	for _, codec := range []Codec{Plain, Gzip, Zstd} {
		packed := content
		if pack := packers[codec]; pack != nil {
			packed = pack(t, content)
		}
		source := func() io.Reader { return io.MultiReader(bytes.NewReader(packed), iotest.ErrReader(lost)) }
		if err := codec.CopyContent(io.Discard, source(), Checkpoint{}, Decoding{}); !errors.Is(err, lost) {
			t.Errorf("%s: %v", codec, err)
		}
		if _, err := inflated(codec, source()); !errors.Is(err, lost) {
			t.Errorf("%s, read: %v", codec, err)
		}
	}
}

func FuzzInflate(f *testing.F) {
	content := []byte("8.8.8.8 2026-11-01 a\n8.8.4.4 2026-11-01 b\n8.8.4.4 2026-11-01 b\n")
	for codec, pack := range packers {
		packed := pack(f, content)
		f.Add(string(codec), packed)
		f.Add(string(codec), slices.Concat(packed, packed))
		for i := range packed {
			flipped := slices.Clone(packed)
			flipped[i] ^= 0xff
			f.Add(string(codec), flipped)
		}
	}
	f.Fuzz(func(t *testing.T, name string, packed []byte) {
		c := Codec(name)
		if c != Gzip && c != Zstd {
			c, _ = Sniff(packed, "")
		}
		content, err := c.Inflate(bytes.NewReader(packed), Decoding{})
		if err == nil {
			// A few bytes may well hold gigabytes: a part will do.
			_, err = io.CopyN(io.Discard, content, 1<<20)
			_ = content.Close()
		}
		if err != nil && err != io.EOF && !IsDamage(err) && (c == Gzip || c == Zstd) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
