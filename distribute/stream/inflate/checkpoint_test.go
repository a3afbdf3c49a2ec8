package inflate_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"skidway/distribute/stream/inflate"
)

// logLines returns n bytes of lines, some of which can hardly be compressed.
func logLines(n int) []byte {
	random := rand.New(rand.NewPCG(7, 7))
	var lines bytes.Buffer
	for lines.Len() < n {
		lines.WriteString("8.8.8.8 2026-11-01 GET /")
		for range random.IntN(40) {
			lines.WriteByte(byte('!' + random.IntN(90)))
		}
		lines.WriteString(" 200 the same end of each line\n")
	}
	return lines.Bytes()[:n]
}

// packed returns content compressed in members of some bytes, with a flush after each piece.
func packed(t testing.TB, level int, content []byte, memberSize, flushEvery int) []byte {
	t.Helper()
	var all bytes.Buffer
	for part := range slices.Chunk(content, memberSize) {
		w, err := gzip.NewWriterLevel(&all, level)
		if err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(part, flushEvery) {
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
	}
	return all.Bytes()
}

// gzipFiles returns gzip files of many kinds, by name. Those of gzip 1.12 are in testdata.
func gzipFiles(t testing.TB) map[string][]byte {
	t.Helper()
	content := logLines(300_000)
	files := map[string][]byte{
		"stored":           packed(t, gzip.NoCompression, content, len(content), len(content)),
		"stored, flushed":  packed(t, gzip.NoCompression, content, len(content), 7_001),
		"fixed codes":      packed(t, gzip.BestSpeed, content[:9000], 9000, 30),
		"Huffman only":     packed(t, gzip.HuffmanOnly, content, len(content), len(content)),
		"flushed":          packed(t, gzip.DefaultCompression, content, len(content), 20_000),
		"several members":  packed(t, gzip.DefaultCompression, content, 90_000, 40_000),
		"small members":    packed(t, gzip.DefaultCompression, content[:40_000], 999, 999),
		"members and NULs": slices.Concat(packed(t, 1, content[:50_000], 20_000, 9_000), make([]byte, 3000)),
		"runs":             packed(t, gzip.BestCompression, bytes.Repeat([]byte("ab"), 500_000), 1_000_000, 300_000),
	}
	names, err := filepath.Glob("testdata/*.gz")
	if err != nil || len(names) != 4 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// checkpoints returns the content of a file, and a checkpoint before each of its blocks.
func checkpoints(t testing.TB, file []byte) (content []byte, all []*inflate.Checkpoint) {
	t.Helper()
	r, err := inflate.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var read bytes.Buffer
	r.SetCheckpoints(0, func(c *inflate.Checkpoint) {
		if c.Content != int64(read.Len()) {
			t.Errorf("a checkpoint at byte %d after %d bytes", c.Content, read.Len())
		}
		all = append(all, c)
	})
	if _, err := r.WriteTo(&read); err != nil {
		t.Fatal(err)
	}
	return read.Bytes(), all
}

// resumed returns the content from a checkpoint on, which is encoded and parsed before.
func resumed(t testing.TB, file []byte, c *inflate.Checkpoint, source func(io.Reader) io.Reader) (string, error) {
	t.Helper()
	parsed, err := inflate.ParseCheckpoint(c.Encode())
	if err != nil {
		t.Fatal(err)
	}
	r, err := inflate.Resume(source(bytes.NewReader(file[parsed.Offset:])), parsed)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return string(content), err
}

func asItIs(r io.Reader) io.Reader { return r }

func TestContentGoesOnFromEachBlock(t *testing.T) {
	for name, file := range gzipFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reference, err := gzip.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			want, err := io.ReadAll(reference)
			if err != nil && !strings.Contains(name, "NULs") { // which compress/gzip refuses
				t.Fatal(err)
			}
			content, all := checkpoints(t, file)
			if !bytes.Equal(content, want) {
				t.Fatalf("%d bytes of content, want %d", len(content), len(want))
			}
			if len(all) < 3 {
				t.Fatalf("%d checkpoints", len(all))
			}
			for i, c := range all {
				source := []func(io.Reader) io.Reader{asItIs, iotest.OneByteReader, iotest.DataErrReader}[i%3]
				got, err := resumed(t, file, c, source)
				if err != nil || got != string(want[c.Content:]) {
					t.Fatalf("from byte %d of the file and %d of the content: %d bytes, %v; want %d", c.Offset, c.Content, len(got), err, len(want[c.Content:]))
				}
			}
		})
	}
}

func TestCheckpointsOfAResumedReaderAreThoseOfAWholeRead(t *testing.T) {
	t.Parallel()
	file := gzipFiles(t)["several members"]
	_, all := checkpoints(t, file)
	from := len(all) / 2
	r, err := inflate.Resume(bytes.NewReader(file[all[from].Offset:]), all[from])
	if err != nil {
		t.Fatal(err)
	}
	next := from
	r.SetCheckpoints(0, func(c *inflate.Checkpoint) {
		if next >= len(all) || !bytes.Equal(c.Encode(), all[next].Encode()) {
			t.Errorf("checkpoint %d differs", next)
		}
		next++
	})
	if _, err := io.Copy(io.Discard, r); err != nil || next != len(all) {
		t.Errorf("%d checkpoints of %d, %v", next, len(all), err)
	}
}

func TestCheckpointsComeAfterAnInterval(t *testing.T) {
	t.Parallel()
	file := gzipFiles(t)["flushed"]
	r, err := inflate.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var places []int64
	r.SetCheckpoints(50_000, func(c *inflate.Checkpoint) { places = append(places, c.Content) })
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for _, place := range places {
		if distance := place - last; distance < 50_000 {
			t.Errorf("a checkpoint after %d bytes", distance)
		}
		last = place
	}
	if len(places) == 0 {
		t.Error("no checkpoint")
	}
}

func TestTrailerIsCheckedAfterAResume(t *testing.T) {
	t.Parallel()
	file := gzipFiles(t)["gzip-6.gz"]
	_, all := checkpoints(t, file)
	for _, at := range []int{len(file) - 8, len(file) - 1} {
		damaged := slices.Clone(file)
		damaged[at] ^= 1
		for _, c := range all {
			if _, err := resumed(t, damaged, c, asItIs); !errors.Is(err, inflate.ErrChecksum) {
				t.Errorf("byte %d is wrong, from byte %d on: %v", at, c.Offset, err)
			}
		}
	}
	for _, c := range all {
		if _, err := resumed(t, file[:len(file)-1], c, asItIs); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut, from byte %d on: %v", c.Offset, err)
		}
		if _, err := resumed(t, file[:c.Offset], c, asItIs); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("nothing after byte %d: %v", c.Offset, err)
		}
	}
	another := all[len(all)/2].Encode()
	another[len(another)-1] ^= 0xff // the window ends another way, or the checkpoint is malformed
	if c, err := inflate.ParseCheckpoint(another); err == nil {
		if _, err := resumed(t, file, c, asItIs); err == nil {
			t.Error("a checkpoint with another window went unnoticed")
		}
	}
}

func TestMalformedCheckpointIsRefused(t *testing.T) {
	t.Parallel()
	_, all := checkpoints(t, gzipFiles(t)["gzip-1.gz"])
	good := all[1].Encode()
	newer := slices.Clone(good)
	newer[0]++
	bits := slices.Clone(good)
	bits[1] = 8
	cases := map[string][]byte{"newer": newer, "eight bits": bits, "nothing": nil}
	for n := 0; n < len(good); n += 1 + n/20 {
		cases[fmt.Sprintf("cut off after %d bytes", n)] = good[:n]
	}
	for name, encoded := range cases {
		if _, err := inflate.ParseCheckpoint(encoded); err != inflate.ErrCheckpoint {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzResume(f *testing.F) {
	content := logLines(3000)
	f.Add(packed(f, gzip.DefaultCompression, content, 1000, 300), uint16(3))
	f.Add(packed(f, gzip.NoCompression, content, 2000, 500), uint16(1))
	f.Add(packed(f, gzip.HuffmanOnly, content, 3000, 3000), uint16(0))
	f.Fuzz(func(t *testing.T, file []byte, pick uint16) {
		r, err := inflate.NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		var all []*inflate.Checkpoint
		r.SetCheckpoints(0, func(c *inflate.Checkpoint) {
			if len(all) < 1000 {
				all = append(all, c)
			}
		})
		want, wantErr := io.ReadAll(io.LimitReader(r, 4<<20))
		if len(all) == 0 || len(want) == 4<<20 {
			return
		}
		plain, plainErr := inflated(bytes.NewReader(file))
		if plain != string(want) || !sameError(plainErr, wantErr) {
			t.Fatalf("with checkpoints %d bytes, %v; without %d, %v", len(want), wantErr, len(plain), plainErr)
		}
		c := all[int(pick)%len(all)]
		got, err := resumed(t, file, c, asItIs)
		if got != string(want[c.Content:]) || !sameError(err, wantErr) {
			t.Fatalf("from byte %d on %d bytes, %v; want %d, %v", c.Offset, len(got), err, len(want[c.Content:]), wantErr)
		}
	})
}

// sameError reports whether two errors have the same text, which has the place of damage.
func sameError(a, b error) bool {
	return a == b || a != nil && b != nil && a.Error() == b.Error()
}

func FuzzParseCheckpoint(f *testing.F) {
	_, all := checkpoints(f, packed(f, gzip.DefaultCompression, logLines(3000), 1000, 300))
	for _, c := range all {
		f.Add(c.Encode())
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		c, err := inflate.ParseCheckpoint(encoded)
		if err != nil {
			return
		}
		again, err := inflate.ParseCheckpoint(c.Encode())
		if err != nil || again.Offset != c.Offset || again.Content != c.Content {
			t.Fatalf("%+v, %v, want %+v", again, err, c)
		}
	})
}
