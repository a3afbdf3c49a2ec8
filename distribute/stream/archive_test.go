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
	"runtime"
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
	sourcesOf(name, memoryFile{bytes.NewReader(file)}, Members{}, Decoding{}, func(src *Source, err error) bool {
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
	sourcesOf("x", memoryFile{bytes.NewReader(tarOf(t, entry{"a", content, 0}))}, Members{}, Decoding{}, func(src *Source, err error) bool {
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
	sourcesOf("x", memoryFile{bytes.NewReader(archive)}, Members{Hidden: true}, Decoding{}, func(*Source, error) bool {
		found++
		return true
	})
	if found != 4 {
		t.Errorf("%d members with those that are hidden", found)
	}
}

func TestSkippedMembersAreNamed(t *testing.T) {
	t.Parallel()
	skip := func(name string) string {
		if strings.HasSuffix(name, "error.log") {
			return "an error log"
		}
		return ""
	}
	entries := []entry{{"logs/error.log", lineB, 0}, {"a.log", lineA, 0}}
	for _, archive := range [][]byte{tarOf(t, entries...), zipOf(t, zip.Store, entries...), tarOf(t, entries[:1]...)} {
		var got []string
		sourcesOf("x", memoryFile{bytes.NewReader(archive)}, Members{Skip: skip}, Decoding{}, func(src *Source, err error) bool {
			got = append(got, fmt.Sprint(src.Path, " ", err))
			return true
		})
		want := []string{"x!logs/error.log left out: an error log", "x!a.log <nil>"}
		if !slices.Equal(got, want[:len(got)]) || len(got) == 0 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// sparseTarOf returns a tar archive whose first member has a hole of that size, as GNU tar
// writes it, and its last byte.
func sparseTarOf(t testing.TB, name string, hole int64, others ...entry) []byte {
	t.Helper()
	archive := tarOf(t, append([]entry{{name, []byte("x"), 0}}, others...)...)
	header := archive[:tarHeader]
	header[156] = tar.TypeGNUSparse
	copy(header[257:], "ustar  \x00")
	clear(header[345:500])
	for at, value := range map[int]int64{386: hole, 398: 1, 483: hole + 1} { // the map, and the size
		copy(header[at:], fmt.Sprintf("%011o\x00", value))
	}
	sum := 8 * int(' ')
	for i, b := range header {
		if i < 148 || i >= 156 {
			sum += int(b)
		}
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return archive
}

func TestMembersThatAreNotReadDoNotCountTowardTheBounds(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	behind := entry{"a", lineA, 0}
	for name, c := range map[string]struct {
		archive []byte
		chosen  Members
	}{
		"a hidden one with a hole": {sparseTarOf(t, ".core", size, behind), Members{}},
		"a hidden one":             {tarOf(t, entry{".core", make([]byte, size), 0}, behind), Members{}},
		"a skipped one with a hole": {sparseTarOf(t, "core", size, behind), Members{Skip: func(name string) string {
			return strings.TrimPrefix(name, "a")
		}}},
	} {
		list, err := boundedSources(t, member(t, c.archive), 0, freeContent-size/2, c.chosen)
		if err != nil || len(list) == 0 || list[len(list)-1] != "x!a" {
			t.Errorf("%s: %q, %v", name, list, err)
		}
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
	ended := tarOf(t, entry{"a", append(bytes.Clone(lineA), make([]byte, 2000)...), 0})
	for name, archive := range map[string][]byte{
		"between two members": plain[:2*512], "behind a member that ends with NULs": ended[:5*512], "before its end": plain[:len(plain)-1024],
	} {
		got := sourcesIn(t, "x", archive)
		if !strings.Contains(got[len(got)-1], "x: tar data ends too early: the file is cut off") {
			t.Errorf("tar that is cut off %s: %q", name, got)
		}
	}
	if got := sourcesIn(t, "x", plain[:len(plain)-512]); len(got) != 3 {
		t.Errorf("tar with one block of NULs at its end: %q", got)
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

// boundedSources lists the sources of an archive of which so many members, with so much content,
// were read.
func boundedSources(t testing.TB, file []byte, members int, content int64, chosen Members) (list []string, err error) {
	t.Helper()
	watched := &watchedObject{Object: memoryFile{bytes.NewReader(file)}, left: -1}
	src, err := newSource("x", watched, Decoding{})
	if err == nil {
		err = src.readHead()
	}
	if !errors.Is(err, ErrArchive) {
		t.Fatal(err)
	}
	a := archive{Source: src, file: watched, chosen: chosen, members: members, content: content, yield: func(s *Source, err error) bool {
		list = append(list, s.Path)
		return true
	}}
	err = a.each()
	return list, err
}

func TestArchivesAreBounded(t *testing.T) {
	t.Parallel()
	file := tarOf(t, entry{"a", lineA, 0}, entry{"b", lineB, 0})
	if list, err := boundedSources(t, file, maxMembers-1, 0, Members{}); len(list) != 1 || err == nil || !strings.Contains(err.Error(), "100000 members") {
		t.Errorf("one member too many: %q, %v", list, err)
	}
	if list, err := boundedSources(t, file, 0, freeContent*2, Members{}); len(list) != 1 || !errors.Is(err, ErrRatio) {
		t.Errorf("members that are too large together: %q, %v", list, err)
	}
	skip := Members{Skip: func(string) string { return "of no use" }}
	if list, err := boundedSources(t, file, maxMembers-1, 0, skip); len(list) != 1 || err == nil || !strings.Contains(err.Error(), "100000 members") {
		t.Errorf("one skipped member too many: %q, %v", list, err)
	}
	long := tarOf(t, entry{strings.Repeat("n", 5000), lineA, 0})
	sourcesOf("x", memoryFile{bytes.NewReader(long)}, skip, Decoding{}, func(src *Source, err error) bool {
		if len(src.Path) > 200 || err == nil || !strings.Contains(err.Error(), "longer than 4096 bytes") {
			t.Errorf("skipped member with a long name: %.200q, %v", src.Path, err)
		}
		return true
	})
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

// A sparseFile is an Object that begins and ends with some bytes, and has NULs between.
type sparseFile struct {
	memoryFile
	end  []byte
	size int64
}

func (f sparseFile) Stat() (int64, time.Time, error) { return f.size, time.Time{}, nil }

func (f sparseFile) ReadAt(p []byte, offset int64) (int, error) {
	clear(p)
	for from, part := range map[int64][]byte{0: []byte("PK\x03\x04"), f.size - int64(len(f.end)): f.end} {
		if at := from - offset; at >= 0 && at < int64(len(p)) {
			copy(p[at:], part)
		} else if at < 0 && -at < int64(len(part)) {
			copy(p, part[-at:])
		}
	}
	return len(p), nil
}

// The number of members, at the end of an archive, is not verified by its reader.
func TestZipWithATooLargeNumberOfMembersIsRefusedWithoutMemoryForThem(t *testing.T) {
	const size, records = 4 << 30, 100 << 20
	end := make([]byte, 56+20+22)
	copy(end, "PK\x06\x06")
	binary.LittleEndian.PutUint64(end[32:], records)
	copy(end[56:], "PK\x06\x07")
	binary.LittleEndian.PutUint64(end[56+8:], size-uint64(len(end)))
	end[56+16] = 1 // disk
	copy(end[76:], "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[76+10:], 0xffff)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got error
	sourcesOf("x", sparseFile{end: end, size: size}, Members{}, Decoding{}, func(_ *Source, err error) bool {
		got = err
		return true
	})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 || got == nil || !strings.Contains(got.Error(), "directory is larger than") {
		t.Errorf("%d bytes of memory, %v", used, got)
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
	sourcesOf(path, failingFile{file, disk}, Members{}, Decoding{}, func(src *Source, err error) bool {
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
		sourcesOf(name, memoryFile{bytes.NewReader(file)}, Members{}, Decoding{MaxWindow: 8 << 20}, func(src *Source, err error) bool {
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
