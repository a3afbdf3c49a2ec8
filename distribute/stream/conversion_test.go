package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/andybalholm/brotli"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"pgregory.net/rapid"
)

// pack compresses content with a writer.
func pack(t rapid.TB, content []byte, open func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := open(&packed)
	_, err := w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// converted has the codecs whose content is converted, but for bzip2, of which there is no
// writer.
var converted = map[Codec]func(rapid.TB, []byte) []byte{
	XZ: func(t rapid.TB, content []byte) []byte {
		return pack(t, content, func(w io.Writer) io.WriteCloser {
			x, err := xz.WriterConfig{DictCap: 1 << 16, BlockSize: 1 << 17}.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return x
		})
	},
	LZ4: func(t rapid.TB, content []byte) []byte {
		return pack(t, content, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) })
	},
	Brotli: func(t rapid.TB, content []byte) []byte {
		return pack(t, content, func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) })
	},
}

// openedAs opens a source with this content and name.
func openedAs(t testing.TB, name string, content []byte) *Source {
	t.Helper()
	src, err := OpenSource(writeFile(t, filepath.Join(t.TempDir(), name), content), Decoding{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.Close)
	return src
}

// uploaded returns the content that a reader of the source's upload sees.
func uploaded(t testing.TB, src *Source) ([]byte, error) {
	t.Helper()
	if err := src.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var raw []byte
	err := src.Pieces(0, SegmentSize, func(piece []byte) error {
		raw = append(raw, piece...)
		return nil
	})
	if err != nil || int64(len(raw)) != src.UploadSize() {
		t.Fatalf("%d bytes of %d were uploaded, %v", len(raw), src.UploadSize(), err)
	}
	return inflated(src.Codec, bytes.NewReader(raw))
}

func TestContentOfOtherCodecsIsUploadedAsZstdFrames(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 2*frameContent/20)
	for codec, pack := range converted {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			packed := pack(t, content)
			src := openedAs(t, "log.br", packed)
			if src.Packed != codec || src.Codec != Zstd || src.Size != int64(len(packed)) || !bytes.Equal(src.Head, content[:HeadSize]) {
				t.Errorf("%s as %s, %d bytes, a head of %d", src.Packed, src.Codec, src.Size, len(src.Head))
			}
			got, err := uploaded(t, src)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
			}
			if n, err := src.Length(t.Context()); n != int64(len(content)) || err != nil {
				t.Errorf("length %d, %v", n, err)
			}
			frames := 0
			for f := newFrameReader(src.raw(0), &windowLease{max: frameContent}); ; frames++ {
				if _, err := io.Copy(io.Discard, f); err != nil {
					t.Fatal(err)
				}
				if more, err := f.next(); err != nil || !more {
					break
				}
			}
			if frames < 2 {
				t.Errorf("%d frame", frames)
			}
		})
	}
}

func TestBzip2IsRead(t *testing.T) {
	t.Parallel()
	// printf '8.8.8.8 2026-11-01 a\n8.8.4.4 2026-11-01 b\n' | bzip2 -9, twice
	stream, err := hex.DecodeString(bzip2Fixture)
	if err != nil {
		t.Fatal(err)
	}
	content := []byte("8.8.8.8 2026-11-01 a\n8.8.4.4 2026-11-01 b\n")
	got, err := uploaded(t, openedAs(t, "log", append(stream, stream...)))
	if want := append(content, content...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

const bzip2Fixture = "425a68393141592653594cc795bf000013d9000010400375403000200021289a037aa10340d0b5bf0262a0e889b28b284d130cce4f8bb9229c28482663cadf80"

func TestConvertedFileThatIsCutOffIsUploadedUpToThere(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 200)
	for codec, pack := range converted {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			packed := pack(t, content)
			path := filepath.Join(t.TempDir(), "log.br")
			for n := 1; n < len(packed); n++ {
				src, err := OpenSource(writeFile(t, path, packed[:n]), Decoding{})
				if err != nil {
					if !IsDamage(err) && !errors.Is(err, ErrEmpty) && codec != Brotli {
						t.Errorf("cut after %d of %d bytes: %v", n, len(packed), err)
					}
					continue
				}
				if src.Packed != codec { // its first bytes are those of no codec
					src.Close()
					continue
				}
				got, err := uploaded(t, src)
				src.Close()
				var damage *CorruptError
				if !bytes.HasPrefix(content, got) || !errors.As(err, &damage) || damage.Codec != string(codec) || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut after %d of %d bytes: %d bytes of content, %v", n, len(packed), len(got), err)
				}
			}
		})
	}
}

func TestTextInUTF16IsUploadedAsUTF8(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("8.8.8.8 2026-11-01 ä 𝄞\r\n", 5000)
	units := append([]uint16{0xfeff}, utf16.Encode([]rune(text))...)
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var content []byte
		for _, u := range units {
			content = order.AppendUint16(content, u)
		}
		for _, packed := range [][]byte{content, member(t, content)} {
			src := openedAs(t, "log", packed)
			got, err := uploaded(t, src)
			if err != nil || string(got) != text || !bytes.HasPrefix(got, src.Head) {
				t.Errorf("%s endian in %s: %d bytes of %d, %v", name, src.Packed, len(got), len(text), err)
			}
		}
	}
}

func TestTextWithReturnsAloneHasLines(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("8.8.8.8 2026-11-01\n", 5000)
	content := []byte(strings.ReplaceAll(text, "\n", "\r"))
	for _, packed := range [][]byte{content, member(t, content)} {
		src := openedAs(t, "log", packed)
		got, err := uploaded(t, src)
		if err != nil || string(got) != text || !bytes.HasPrefix(got, src.Head) {
			t.Errorf("in %s: %d bytes of %d, %v", src.Packed, len(got), len(text), err)
		}
	}
	for _, other := range []string{"8.8.8.8 2026-11-01\r\n8.8.8.8 2026-11-01\r", "8.8.8.8 2026-11-01\r", "8.8.8.8 2026-11-01\r\r", "8.8.8.8"} {
		if src := openedAs(t, "log", []byte(other)); src.Codec != Plain || string(src.Head) != other {
			t.Errorf("%q is read as %q, %s", other, src.Head, src.Codec)
		}
	}
}

func TestHoleBeforeConvertedContentIsUploaded(t *testing.T) {
	t.Parallel()
	content := append(make([]byte, HeadSize+7), "8.8.8.8 2026-11-01\n"...)
	src := openedAs(t, "log", converted[XZ](t, content))
	if got, err := uploaded(t, src); err != nil || !bytes.Equal(got, content) || src.Hole != HeadSize+7 {
		t.Errorf("%d bytes of %d with a hole of %d, %v", len(got), len(content), src.Hole, err)
	}
}

func TestFileThatChangesDuringItsConversionIsRefused(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 5000)
	path := filepath.Join(t.TempDir(), "log")
	src, err := OpenSource(writeFile(t, path, converted[XZ](t, content)), Decoding{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if err := src.Prepare(t.Context()); !errors.As(err, &changed) {
		t.Error(err)
	}
}

func TestTooLargeWindowsAreRefusedWithWhatTheyNeed(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	zstdOf := func(descriptor byte, window ...byte) []byte { // with one raw block of a byte
		return append(append([]byte("\x28\xb5\x2f\xfd"), append([]byte{descriptor}, window...)...), 9, 0, 0, 'x')
	}
	header := func(dictionary byte) []byte { // of an xz block
		b := []byte{2, 0, 0x21, 1, dictionary, 0, 0, 0}
		return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	}
	xzOf := func(dictionary byte) []byte {
		return append([]byte("\xfd7zXZ\x00\x00\x01\x69\x22\xde\x36"), header(dictionary)...)
	}
	lz4Of := func(index int) []byte { // of the size of its blocks
		return pack(t, []byte("x"), func(w io.Writer) io.WriteCloser {
			z := lz4.NewWriter(w)
			if err := z.Apply(lz4.BlockSizeOption(lz4.BlockSize(1 << (8 + 2*index)))); err != nil {
				t.Fatal(err)
			}
			return z
		})
	}
	blocks := converted[XZ](t, bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 1<<14))
	second := bytes.LastIndex(blocks, header(8))
	if first := bytes.Index(blocks, header(8)); first < 0 || first == second {
		t.Fatal("the xz data has one block")
	}
	copy(blocks[second:], header(30))
	for name, c := range map[string]struct {
		codec     Codec
		packed    []byte
		max, need int64 // 0: it is allowed
	}{
		"zstd of 128 MiB":                  {Zstd, zstdOf(0, 17<<3), 0, 128 * mib},
		"zstd of 64 MiB":                   {Zstd, zstdOf(0, 16<<3), 0, 0},
		"zstd of 128 MiB, allowed":         {Zstd, zstdOf(0, 17<<3), 128 * mib, 0},
		"zstd of one segment of 256 MiB":   {Zstd, zstdOf(0xa0, 0, 0, 0, 16), 0, 256 * mib},
		"zstd of 8 MiB, not allowed":       {Zstd, zstdOf(0, 13<<3), 4 * mib, 8 * mib},
		"xz with a dictionary of 128 MiB":  {XZ, xzOf(30), 0, 128 * mib},
		"xz with a dictionary of 96 MiB":   {XZ, xzOf(29), 0, 96 * mib},
		"xz with a dictionary of 1536 MiB": {XZ, xzOf(37), 1024 * mib, 1536 * mib},
		"xz, of a later block":             {XZ, blocks, 0, 128 * mib},
		"bzip2, not allowed":               {Bzip2, []byte("BZh9\x17rE8P\x90"), mib, 4 * mib},
		"lz4 of 4 MiB, not allowed":        {LZ4, lz4Of(7), mib, 4 * mib},
		"lz4 of 64 KiB":                    {LZ4, lz4Of(4), 64 << 10, 0},
		"lz4 of 64 KiB, not allowed":       {LZ4, lz4Of(4), 1 << 10, 64 << 10},
		"lz4, of a later frame":            {LZ4, append(lz4Of(4), lz4Of(6)...), 64 << 10, mib},
		"lz4 behind a skippable frame":     {LZ4, append([]byte("\x50\x2a\x4d\x18\x01\x00\x00\x00x"), lz4Of(5)...), 64 << 10, 256 << 10},
		"lz4, legacy, not allowed":         {LZ4, []byte("\x02\x21\x4c\x18"), mib, 8 * mib},
		"brotli of 16 MiB, not allowed":    {Brotli, []byte{0x0f}, mib, 16 * mib},
		"brotli of 4 MiB, not allowed":     {Brotli, []byte{0x0b}, mib, 4 * mib},
		"brotli of 2 KiB, not allowed":     {Brotli, []byte{0x31}, 1 << 10, 2 << 10},
		"brotli of 64 KiB, not allowed":    {Brotli, []byte{0x06}, 1 << 10, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.codec.CopyContent(io.Discard, bytes.NewReader(c.packed), Checkpoint{}, Decoding{MaxWindow: c.max})
			var window *WindowError
			if refused := errors.As(err, &window); refused != (c.need > 0) || refused && (window.Need != c.need || !IsDamage(err)) {
				t.Errorf("%v, want %d bytes to be needed", err, c.need)
			}
		})
	}
}

func TestContentThatIsTooLargeForItsDataEndsTheReading(t *testing.T) {
	t.Parallel()
	packed := frame(t, make([]byte, 1<<20))
	for _, c := range []struct {
		raw, content int64
		want         error
	}{
		{0, freeContent - 1<<20, nil},
		{0, freeContent, ErrRatio},
		{freeContent/maxRatio + 100, freeContent, nil},
		{freeContent/maxRatio - 5000, freeContent, ErrRatio},
	} {
		// as if the reading went on from a checkpoint
		err := Zstd.CopyContent(io.Discard, bytes.NewReader(packed), Checkpoint{Raw: c.raw, Content: c.content}, Decoding{})
		if !errors.Is(err, c.want) || c.want != nil && !IsDamage(err) || c.want == nil && err != nil {
			t.Errorf("from byte %d of content %d on: %v, want %v", c.raw, c.content, err, c.want)
		}
	}
}
