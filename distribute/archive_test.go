package distribute_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"

	"skidway/distribute"
	"skidway/distribute/stream"
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

// shipTwice ships an archive of two members, and again with more lines before it is counted. opening is called with
// the number of times that the shipper has opened the archive.
func shipTwice(t *testing.T, opening func(channel *distribute.Channel, n int) error) (outcomes []string, opened int) {
	t.Helper()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	path := write(t, folder, "a.tgz", tarGz(t, content(1, 300), content(2, 200)))
	ship(t, channel, path)
	write(t, folder, "a.tgz", tarGz(t, append(content(1, 300), content(3, 10)...), append(content(2, 200), content(4, 10)...)))
	results, err := distribute.NewShipper(channel, &distribute.ShipperConfig{Open: func(_ context.Context, path string) (stream.Object, error) {
		opened++
		if err := opening(channel, opened); err != nil {
			return nil, err
		}
		return stream.OpenFile(path)
	}}).Ship(t.Context(), []string{path})
	if err != nil {
		t.Fatal(err)
	}
	return outcomesOf(results, folder), opened
}

func TestArchiveIsReadOnceMoreForAllItsBusyMembers(t *testing.T) {
	t.Parallel()
	var working sync.WaitGroup
	outcomes, opened := shipTwice(t, func(channel *distribute.Channel, n int) error {
		if n == 2 {
			working.Go(func() { work(t, channel, "s") }) // until the shipper ends
		}
		return nil
	})
	working.Wait()
	if want := []string{"a.tgz!m1 shipped", "a.tgz!m2 shipped"}; !slices.Equal(outcomes, want) || opened != 2 {
		t.Errorf("opened %d times, %q, want %q", opened, outcomes, want)
	}
}

func TestBusyMembersOfAnArchiveThatCannotBeReadAgainFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{{fs.ErrPermission, "failed"}, {fs.ErrNotExist, "deleted meanwhile"}} {
		outcomes, _ := shipTwice(t, func(_ *distribute.Channel, n int) error {
			if n == 2 {
				return c.err
			}
			return nil
		})
		if want := []string{"a.tgz!m1 " + c.want, "a.tgz!m2 " + c.want}; !slices.Equal(outcomes, want) {
			t.Errorf("%v: %q, want %q", c.err, outcomes, want)
		}
	}
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
