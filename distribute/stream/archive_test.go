package stream

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// An entry is a member of an archive that a test writes.
type entry struct {
	name    string
	content []byte
	kind    byte // of a tar archive; zero: a file
}

func tarOf(t rapid.TB, entries ...entry) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o600, Typeflag: e.kind, ModTime: time.Unix(1_790_000_000, 0)}
		if e.kind == tar.TypeSymlink || e.kind == tar.TypeLink {
			header.Linkname = "a.log"
		}
		err := w.WriteHeader(header)
		_, written := w.Write(e.content)
		if err := errors.Join(err, written); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func zipOf(t rapid.TB, method uint16, entries ...entry) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, e := range entries {
		member, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		if err == nil {
			_, err = member.Write(e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// A memoryFile is an Object in memory.
type memoryFile struct{ *bytes.Reader }

func (m memoryFile) Stat() (int64, time.Time, error) { return m.Size(), time.Time{}, nil }
func (memoryFile) Close() error                      { return nil }

// sourcesIn lists the sources of a file as text: the path, and the uploaded content or the
// error.
func sourcesIn(t testing.TB, name string, file []byte) (list []string) {
	t.Helper()
	sourcesOf(name, memoryFile{bytes.NewReader(file)}, false, Decoding{}, func(src *Source, err error) bool {
		if err != nil {
			list = append(list, src.Path+": "+err.Error())
			return true
		}
		content, err := uploaded(t, src)
		text := fmt.Sprintf("%s = %s", src.Path, content)
		if err != nil {
			text += "; " + err.Error()
		}
		list = append(list, text)
		return true
	})
	return list
}

var (
	lineA = []byte("8.8.8.8 2026-11-01 a\n")
	lineB = []byte("8.8.4.4 2026-11-01 b\n")
)

func TestMembersOfArchivesAreSources(t *testing.T) {
	t.Parallel()
	entries := []entry{{"logs/a.log", lineA, 0}, {"b.log.gz", member(t, lineB), 0}, {"c.br", converted[Brotli](t, lineB), 0}}
	plain := tarOf(t, entries...)
	want := []string{"x!logs/a.log = " + string(lineA), "x!b.log.gz = " + string(lineB), "x!c.br = " + string(lineB)}
	for name, archive := range map[string][]byte{
		"tar": plain, "tar.gz": member(t, plain), "tar.zst": frame(t, plain), "tar.xz": converted[XZ](t, plain), "tar.lz4": converted[LZ4](t, plain),
		"zip, stored": zipOf(t, zip.Store, entries...), "zip, deflated": zipOf(t, zip.Deflate, entries...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sourcesIn(t, "x", archive); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestFileThatIsNoArchiveIsOneSource(t *testing.T) {
	t.Parallel()
	if got := sourcesIn(t, "a.log", lineA); !slices.Equal(got, []string{"a.log = " + string(lineA)}) {
		t.Errorf("%q", got)
	}
	if got := sourcesIn(t, "a.7z", []byte("7z\xbc\xaf\x27\x1c")); len(got) != 1 || !strings.Contains(got[0], "a.7z: a 7z archive is not supported") {
		t.Errorf("%q", got)
	}
}

func TestMemberIsTheSameFileAsOutsideOfItsArchive(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat(lineA, HeadSize/10)
	outside := opened(t, content)
	sourcesOf("x", memoryFile{bytes.NewReader(tarOf(t, entry{"a", content, 0}))}, false, Decoding{}, func(src *Source, err error) bool {
		if err != nil || src.ID() != outside.ID() || src.Size != int64(len(content)) || src.Modified().Unix() != 1_790_000_000 {
			t.Errorf("%s, %d bytes of %s, %v", src.ID(), src.Size, src.Modified(), err)
		}
		return true
	})
}

func TestWhatIsNoLogFileInAnArchiveIsLeftOut(t *testing.T) {
	t.Parallel()
	archive := tarOf(t, entry{"logs/", nil, tar.TypeDir}, entry{"./logs/a.log", lineA, 0}, entry{"logs/link", nil, tar.TypeSymlink},
		entry{"hard", nil, tar.TypeLink}, entry{"pipe", nil, tar.TypeFifo}, entry{"logs/.hidden", lineB, 0}, entry{".git/b.log", lineB, 0}, entry{"__MACOSX/._a.log", lineB, 0})
	if got, want := sourcesIn(t, "x", archive), []string{"x!./logs/a.log = " + string(lineA)}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	found := 0
	sourcesOf("x", memoryFile{bytes.NewReader(archive)}, true, Decoding{}, func(*Source, error) bool {
		found++
		return true
	})
	if found != 4 {
		t.Errorf("%d members with those that are hidden", found)
	}
}

func TestMemberThatCannotBeReadLeavesTheOthers(t *testing.T) {
	t.Parallel()
	encrypted := zipOf(t, zip.Store, entry{"a", lineA, 0}, entry{"b", lineB, 0})
	for at := 0; at < len(encrypted)-8; at++ { // the flags of the first member
		if string(encrypted[at:at+4]) == "PK\x01\x02" {
			encrypted[at+8] |= 1
			break
		}
	}
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"empty":          {tarOf(t, entry{"a", nil, 0}, entry{"b", lineB, 0}), "empty"},
		"rar":            {tarOf(t, entry{"a", []byte("Rar!\x1a\x07\x00"), 0}, entry{"b", lineB, 0}), "a rar archive is not supported"},
		"tar in tar":     {tarOf(t, entry{"a", tarOf(t, entry{"c", lineA, 0}), 0}, entry{"b", lineB, 0}), "an archive in an archive is not supported"},
		"tar.gz in zip":  {zipOf(t, zip.Store, entry{"a", member(t, tarOf(t, entry{"c", lineA, 0})), 0}, entry{"b", lineB, 0}), "an archive in an archive is not supported"},
		"zip in tar":     {tarOf(t, entry{"a", zipOf(t, zip.Store), 0}, entry{"b", lineB, 0}), "an archive in an archive is not supported"},
		"encrypted":      {encrypted, "encryption is not supported"},
		"a name of 5 kB": {tarOf(t, entry{"a", lineA, 0}, entry{strings.Repeat("n", 5000), lineA, 0}, entry{"b", lineB, 0}), "longer than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sourcesIn(t, "x", c.archive)
			if len(got) < 2 || !strings.Contains(strings.Join(got, "\n"), c.want) || got[len(got)-1] != "x!b = "+string(lineB) {
				t.Errorf("%q, want an error: %s", got, c.want)
			}
		})
	}
}

func TestDamagedArchiveIsReadUpToThere(t *testing.T) {
	t.Parallel()
	plain := tarOf(t, entry{"a", lineA, 0}, entry{"b", bytes.Repeat(lineB, 100), 0}, entry{"c", lineA, 0})
	inB := 3*512 + 100
	for name, archive := range map[string][]byte{"tar": plain[:inB], "tar.gz": member(t, plain)[:150]} {
		got := sourcesIn(t, "x", archive)
		if len(got) < 2 || got[0] != "x!a = "+string(lineA) || !strings.Contains(got[len(got)-1], "ends too early: the file is cut off") {
			t.Errorf("%s: %q", name, got)
		}
	}
	packed := member(t, plain)
	packed[len(packed)-8] ^= 1 // of the check sum
	if got := sourcesIn(t, "x", packed); len(got) != 4 || !strings.Contains(got[3], "x: gzip data is corrupt") {
		t.Errorf("tar.gz with a wrong check sum: %q", got)
	}
	zipped := zipOf(t, zip.Store, entry{"a", lineA, 0}, entry{"b", lineB, 0})
	zipped[bytes.Index(zipped, lineB)] = 'x'
	if got := sourcesIn(t, "x", zipped); len(got) != 2 || !strings.Contains(got[1], "zip data is corrupt: zip: checksum error") {
		t.Errorf("zip with a wrong checksum: %q", got)
	}
	if got := sourcesIn(t, "x", zipped[:len(zipped)-10]); len(got) != 1 || !strings.Contains(got[0], "x: zip data is corrupt") {
		t.Errorf("zip without its end: %q", got)
	}
}

func TestArchivesAreBounded(t *testing.T) {
	t.Parallel()
	file := tarOf(t, entry{"a", lineA, 0}, entry{"b", lineB, 0})
	bounded := func(members int, content int64) (list []string, err error) {
		watched := &watchedObject{Object: memoryFile{bytes.NewReader(file)}, left: -1}
		src, err := newSource("x", watched, Decoding{})
		if err == nil {
			err = src.readHead()
		}
		if !errors.Is(err, ErrArchive) {
			t.Fatal(err)
		}
		a := archive{Source: src, file: watched, members: members, content: content, yield: func(s *Source, err error) bool {
			list = append(list, s.Path)
			return true
		}}
		return list, a.each()
	}
	if list, err := bounded(maxMembers-1, 0); len(list) != 1 || err == nil || !strings.Contains(err.Error(), "100000 members") {
		t.Errorf("one member too many: %q, %v", list, err)
	}
	if list, err := bounded(0, freeContent*2); len(list) != 1 || !errors.Is(err, ErrRatio) {
		t.Errorf("members that are too large together: %q, %v", list, err)
	}
	directory := zipOf(t, zip.Store, entry{strings.Repeat("n", 60_000), nil, 0})
	at := bytes.Index(directory, []byte("PK\x01\x02"))
	record, end := directory[at:len(directory)-22], directory[len(directory)-22:]
	many := bytes.Repeat(record, maxDirectory/len(record)+1)
	binary.LittleEndian.PutUint16(end[8:], uint16(maxDirectory/len(record)+1))
	binary.LittleEndian.PutUint16(end[10:], uint16(maxDirectory/len(record)+1))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(many)))
	if got := sourcesIn(t, "x", slices.Concat(directory[:at], many, end)); len(got) != 1 || !strings.Contains(got[0], "directory is larger than") {
		t.Errorf("directory of %d bytes: %.300q", len(many), got)
	}
}

func TestErrorOfTheFileIsNoDamageOfTheArchive(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "x.tar"), tarOf(t, entry{"a", bytes.Repeat(lineA, 10_000), 0}))
	disk := errors.New("the disk fails")
	file, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sourcesOf(path, failingFile{file, disk}, false, Decoding{}, func(src *Source, err error) bool {
		if err == nil {
			err = src.Prepare(t.Context())
		}
		if !errors.Is(err, disk) || IsDamage(err) {
			t.Errorf("%s: %v", src.Path, err)
		}
		return true
	})
}

// A failingFile fails behind its first 100 kB.
type failingFile struct {
	Object
	err error
}

func (f failingFile) ReadAt(p []byte, offset int64) (int, error) {
	if offset+int64(len(p)) > 100_000 {
		return 0, f.err
	}
	return f.Object.ReadAt(p, offset)
}

func FuzzSources(f *testing.F) {
	for _, file := range [][]byte{
		tarOf(f, entry{"a", lineA, 0}, entry{"b.gz", member(f, lineB), 0}), member(f, tarOf(f, entry{"a", lineA, 0})),
		zipOf(f, zip.Deflate, entry{"a", lineA, 0}, entry{"b", lineB, 0}), zipOf(f, zip.Store, entry{"a", lineA, 0}),
		converted[XZ](f, lineA), converted[LZ4](f, lineA), converted[Brotli](f, lineA), []byte("\xff\xfe8\x00.\x00"), appendDamage(frame(f, lineA), io.ErrUnexpectedEOF),
	} {
		f.Add("a.br", file)
	}
	f.Fuzz(func(t *testing.T, name string, file []byte) {
		sources := 0
		sourcesOf(name, memoryFile{bytes.NewReader(file)}, false, Decoding{MaxWindow: 8 << 20}, func(src *Source, err error) bool {
			if err != nil {
				return true
			}
			content := src.content
			if content == nil { // it is uploaded as it is
				inflated, err := src.Codec.Inflate(src.raw(0), src.options)
				if err != nil {
					t.Fatalf("%s has a head of %d bytes: %v", src.Packed, len(src.Head), err)
				}
				defer func() { _ = inflated.Close() }()
				content = inflated
			}
			// A few bytes may well hold gigabytes: a part will do.
			start := make([]byte, min(src.Hole, 1<<20)+int64(len(src.Head)))
			if n, err := io.ReadFull(content, start); err != nil && !IsDamage(err) {
				t.Fatalf("%s ends after %d of %d bytes: %v", src.Packed, n, len(start), err)
			}
			if src.Hole <= 1<<20 && !bytes.Equal(start[src.Hole:], src.Head) {
				t.Fatalf("%s begins otherwise than its head", src.Packed)
			}
			sources++
			return sources < 100
		})
	})
}
