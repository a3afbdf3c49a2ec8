package stream

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// writeFile writes a file that was last written a while ago.
func writeFile(t rapid.TB, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	return path
}

// opened opens a source with this content.
func opened(t testing.TB, content []byte) *Source {
	t.Helper()
	src, err := OpenSource(writeFile(t, filepath.Join(t.TempDir(), "log"), content), Decoding{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.Close)
	return src
}

func TestSourceIsReadWhateverItsCodec(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 5000)
	for name, packed := range map[Codec][]byte{Plain: content, Gzip: member(t, content), Zstd: frame(t, content)} {
		src := opened(t, packed)
		if src.Codec != name || src.Size != int64(len(packed)) || !bytes.Equal(src.Head, content[:HeadSize]) {
			t.Errorf("%s: codec %s, %d bytes, a head of %d", name, src.Codec, src.Size, len(src.Head))
		}
		if n, err := src.Length(t.Context()); n != int64(len(content)) || err != nil {
			t.Errorf("%s: length %d, %v, want %d", name, n, err, len(content))
		}
		if raw, err := io.ReadAll(src.raw(10)); !bytes.Equal(raw, packed[10:]) || err != nil {
			t.Errorf("%s: what goes up from byte 10 on is %d bytes, %v", name, len(raw), err)
		}
	}
}

func TestFileHasOneHeadHoweverItIsCompressedAndNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		content := drawLog(t, "content")
		if len(content) == 0 {
			t.Skip("empty")
		}
		want := headOf(content)
		for name, packed := range map[string][]byte{
			"access.log": content, "access.log.1": content, "access.log.2.gz": member(t, content),
			"old.gz": append(member(t, content[:1]), member(t, content[1:])...), "access.log.zst": frame(t, content),
		} {
			src, err := OpenSource(writeFile(t, filepath.Join(folder, name), packed), Decoding{})
			if err != nil {
				t.Fatal(err)
			}
			src.Close()
			if src.Head.ID() != want.ID() || src.Head.IndexKey() != want.IndexKey() || !want.Fingerprint().SameFile(src.Head) {
				t.Fatalf("%s is another file", name)
			}
		}
	})
}

func TestHeadBeginsBehindNULs(t *testing.T) {
	t.Parallel()
	content := []byte("8.8.8.8 2026-11-01\n8.8.8.8 2026-11-02 \x00\n")
	for _, hole := range []int{0, 1, HeadSize - 1, HeadSize, HeadSize + 1, 3 * HeadSize} {
		whole := append(make([]byte, hole), content...)
		for name, packed := range map[string][]byte{"a.log": append(whole, "8.8"...), "a.gz": member(t, whole), "a.zst": frame(t, whole)} {
			src, err := OpenSource(writeFile(t, filepath.Join(t.TempDir(), name), packed), Decoding{})
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(src.CutToWholeLines(), src.CheckUnchanged())
			src.Close()
			if err != nil || src.Hole != int64(hole) || !bytes.Equal(src.Head, content) {
				t.Errorf("%s: hole of %d bytes, want %d; head %q; %v", name, src.Hole, hole, src.Head, err)
			}
			if same := src.ID() == headOf(content).ID(); same != (hole == 0) {
				t.Errorf("%s: a hole of %d bytes makes another file: %v", name, hole, !same)
			}
		}
	}
}

func TestSourceThatCannotBeShippedIsRefused(t *testing.T) {
	t.Parallel()
	content := []byte("8.8.8.8 2026-11-01\n")
	var damage *CorruptError
	var unsupported *UnsupportedCompressionError
	for _, c := range []struct {
		name    string
		content []byte
		matches func(error) bool
	}{
		{"empty", nil, func(err error) bool { return errors.Is(err, ErrEmpty) }},
		{"NULs", make([]byte, 2*HeadSize), func(err error) bool { return errors.Is(err, ErrEmpty) }},
		{"gzip of nothing", member(t, nil), func(err error) bool { return errors.Is(err, ErrEmpty) }},
		{"zstd of nothing", frame(t, nil), func(err error) bool { return errors.Is(err, ErrEmpty) }},
		{"cut off before any content", member(t, content)[:12], func(err error) bool { return errors.As(err, &damage) }},
		{"rar", []byte("Rar!\x1a\x07\x00"), func(err error) bool { return errors.As(err, &unsupported) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := OpenSource(writeFile(t, filepath.Join(t.TempDir(), "log"), c.content), Decoding{})
			if err == nil {
				src.Close()
			}
			if !c.matches(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestErrorOfASourceLeavesItsPathToTheCaller(t *testing.T) {
	t.Parallel()
	_, err := OpenSource(filepath.Join(t.TempDir(), "missing"), Decoding{})
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

func TestOnlyRegularFilesAreSources(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	pipe, socket := filepath.Join(folder, "pipe"), filepath.Join(folder, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for path, what := range map[string]string{folder: "a directory", pipe: "a pipe", socket: "a socket", os.DevNull: "a device"} {
		if _, err := OpenSource(path, Decoding{}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestDamageBehindTheStartIsLeftToTheReader(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a\n"), 5)
	for _, packed := range [][]byte{member(t, content), frame(t, content)} {
		src := opened(t, append(packed, "garbage"...))
		if !bytes.Equal(src.Head, content) {
			t.Errorf("%s: the head is %q", src.Codec, src.Head)
		}
		if n, err := src.Length(t.Context()); n != int64(len(content)) || err != nil {
			t.Errorf("%s: length %d, %v", src.Codec, n, err)
		}
	}
}

func TestFileThatChangesWhileItIsShippedIsNoticed(t *testing.T) {
	t.Parallel()
	content := []byte("8.8.8.8 2026-11-01 a\n8.8.8.8 2026-11-01 b\n")
	packed := member(t, content)
	add := func(t *testing.T, path string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("8.8.8.8 2026-11-01 c\n")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	rewrite := func(content string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name    string
		content []byte
		change  func(t *testing.T, path string)
		want    string // of the ChangedError; empty: fine
		grown   int64
	}{
		{"nothing happens", content, func(*testing.T, string) {}, "", 0},
		{"grows", content, add, "", 21},
		{"is renamed", content, func(t *testing.T, path string) {
			if err := os.Rename(path, path+".1"); err != nil {
				t.Fatal(err)
			}
			rewrite("8.8.8.8 2026-11-02 new\n")(t, path)
		}, "", 0},
		{"is deleted", content, func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "", 0},
		{"shrinks", content, func(t *testing.T, path string) {
			if err := os.Truncate(path, 21); err != nil {
				t.Fatal(err)
			}
		}, "shrank from 42 to 21 bytes", -21},
		{"is emptied", content, rewrite(""), "shrank from 42 to 0 bytes", -42},
		{"is rewritten at the same length", content, rewrite(strings.Repeat("x", len(content))), "without growing", 0},
		{"is rewritten and longer", content, rewrite(strings.Repeat("x", 100)), "its beginning", 58},
		{"is compressed and grows", packed, add, "although it is compressed", 21},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src := opened(t, c.content)
			c.change(t, src.Path)
			err := src.CheckUnchanged()
			var changed *ChangedError
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &changed) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want a ChangedError: %s", err, c.want)
			}
			if n := src.Grown(); n != c.grown {
				t.Errorf("grew by %d bytes, want %d", n, c.grown)
			}
		})
	}
}

func TestWholeLinesAreCutBehindTheLastNewline(t *testing.T) {
	t.Parallel()
	line := "8.8.8.8 2026-11-01 a\n"
	for _, c := range []struct {
		name    string
		content string
		want    int // bytes; zero: ErrEmpty
	}{
		{"one line", line, len(line)},
		{"an unfinished line", line + "8.8.8.8", len(line)},
		{"a newline alone", "\n", 1},
		{"no whole line", "8.8.8.8", 0},
		{"an unfinished line of 64 KiB", line + strings.Repeat("x", 64<<10), len(line)},
		{"an unfinished line of 200 KiB", line + strings.Repeat("x", 200<<10), len(line)},
		{"200 KiB and no whole line", strings.Repeat("x", 200<<10), 0},
		{"lines of 200 KiB in all", strings.Repeat("x", 200<<10) + "\n" + line + "x", 200<<10 + 1 + len(line)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src := opened(t, []byte(c.content))
			err := src.CutToWholeLines()
			if c.want == 0 {
				if !errors.Is(err, ErrEmpty) {
					t.Errorf("%v, want ErrEmpty", err)
				}
				return
			}
			if err != nil || src.Size != int64(c.want) || !bytes.Equal(src.Head, headOf([]byte(c.content[:c.want]))) {
				t.Errorf("%v: %d bytes and a head of %d, want %d", err, src.Size, len(src.Head), c.want)
			}
			if err := src.CheckUnchanged(); err != nil {
				t.Errorf("cut source: %v", err)
			}
		})
	}
}

func TestCompressedSourceIsNotCutAtALine(t *testing.T) {
	t.Parallel()
	packed := member(t, []byte("8.8.8.8 2026-11-01 a\n8.8"))
	src := opened(t, packed)
	if err := src.CutToWholeLines(); err != nil || src.Size != int64(len(packed)) {
		t.Errorf("%d bytes of %d, %v", src.Size, len(packed), err)
	}
}

func TestPiecesLieInOneSegmentEach(t *testing.T) {
	t.Parallel()
	content := varied(5 * BlockSize)
	src := opened(t, append([]byte("8.8.8.8\n"), content...))
	content = append([]byte("8.8.8.8\n"), content...)
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Int64Range(0, src.Size).Draw(t, "base")
		segment := rapid.Int64Range(BlockSize/8, 6*BlockSize).Draw(t, "segment")
		var got []byte
		err := src.Pieces(base, segment, func(piece []byte) error {
			first, last := int64(len(got))/segment, int64(len(got)+len(piece)-1)/segment
			if len(piece) == 0 || len(piece) > 2*BlockSize || first != last {
				t.Fatalf("%d bytes from %d on, in segments of %d", len(piece), len(got), segment)
			}
			got = append(got, piece...)
			return nil
		})
		if err != nil || !bytes.Equal(got, content[base:]) {
			t.Fatalf("%v, %d bytes of %d", err, len(got), src.Size-base)
		}
	})
}

func TestErrorOfAStoreIsNoneOfTheFile(t *testing.T) {
	t.Parallel()
	src := opened(t, []byte("8.8.8.8 2026-11-01\n"))
	var local *SourceError
	if err := src.Pieces(0, BlockSize, func([]byte) error { return errFull }); !errors.Is(err, errFull) || errors.As(err, &local) {
		t.Errorf("of the store: %v", err)
	}
	if err := os.Truncate(src.Path, 3); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	err := src.Pieces(0, BlockSize, func([]byte) error { return nil })
	if !errors.As(err, &local) || !errors.As(err, &changed) {
		t.Errorf("of the file: %v", err)
	}
}
