package distribute_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"

	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// xzOf compresses content.
func xzOf(t testing.TB, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// tarGz makes an archive of members m1, m2 …
func tarGz(t testing.TB, members ...[]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for i, member := range members {
		err := w.WriteHeader(&tar.Header{Name: "m" + string(rune('1'+i)), Size: int64(len(member)), Mode: 0o600})
		_, written := w.Write(member)
		if err := errors.Join(err, written); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// outcomesOf lists the outcomes of files by their paths in a folder.
func outcomesOf(files []distribute.ShippedFile, folder string) (list []string) {
	for _, f := range files {
		list = append(list, strings.TrimPrefix(f.Path, folder+"/")+" "+f.Outcome.String())
	}
	return list
}

func TestConvertedFilesAndMembersAreCountedOnce(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		folder := t.TempDir()
		contents := [][]byte{content(1, 3000), content(2, 2000), content(3, 1000)}
		paths := []string{
			write(t, folder, "a.xz", xzOf(t, contents[0])),
			write(t, folder, "b.tgz", tarGz(t, contents[1], contents[0], xzOf(t, contents[2]))),
			write(t, folder, "c", contents[2]),
		}
		result, err := distribute.NewBatch(handle.New(db), countryDay(t), nil).Run(t.Context(), paths)
		if err != nil {
			t.Fatal(err)
		}
		same(t, countsOf(result.Report), reference(t, contents...))
		want := []string{"a.xz shipped", "b.tgz!m1 shipped", "b.tgz!m2 already counted", "b.tgz!m3 shipped", "c already counted"}
		if got := outcomesOf(result.Files, folder); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestOnlyNewMembersOfAnArchiveAreShippedAgain(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	members := [][]byte{content(1, 300), content(2, 200), content(3, 100)}
	path := write(t, folder, "a.tgz", tarGz(t, members[:2]...))
	ship(t, channel, path)
	work(t, channel, "s")
	write(t, folder, "a.tgz", tarGz(t, members...))
	want := []string{"a.tgz!m1 already counted", "a.tgz!m2 already counted", "a.tgz!m3 shipped"}
	if got := outcomesOf(ship(t, channel, path), folder); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, members...))
}

func TestConvertedFileIsCountedUpToItsDamage(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	lines := content(1, 50_000)
	packed := xzOf(t, lines)
	ship(t, channel, write(t, folder, "a.xz", packed[:len(packed)-len(packed)/3]))
	result := work(t, channel, "s")
	if tally := result.Tally; tally.Partial != 1 || tally.Lines == 0 || tally.Lines >= 50_000 {
		t.Errorf("%+v", tally)
	}
	if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Error(), "xz data ends too early: the file is cut off") {
		t.Errorf("%v", result.Problems)
	}
}

// A folder for temporary files that does not exist is no file that vanished.
func TestConversionWithoutATemporaryFolderFails(t *testing.T) {
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(folder, "gone"))
	results, err := distribute.NewShipper(channel, nil).Ship(t.Context(), []string{write(t, folder, "a.xz", xzOf(t, content(1, 10)))})
	if err != nil || len(results) != 1 || results[0].Outcome != distribute.Failed || results[0].Err == nil {
		t.Errorf("%+v, %v", results, err)
	}
}
