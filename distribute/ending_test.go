package distribute_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/redistest"
)

// inserted returns content with lines inserted in the middle of it.
func inserted(content []byte, lines ...[]byte) []byte {
	middle := bytes.LastIndexByte(content[:len(content)/2], '\n') + 1
	return slices.Concat(content[:middle], bytes.Join(lines, nil), content[middle:])
}

func TestFileThatGoesOnDifferentlyIsAnotherOne(t *testing.T) {
	t.Parallel()
	first, late, more := content(1, 5000), content(2, 20), content(3, 300)
	grown := slices.Concat(first, more)
	second := inserted(first, late)
	third := inserted(first, late, more)
	for name, extension := range map[string]string{"plain": "", "gzip": ".gz", "zstd": ".zst", "xz": ".xz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel, folder := open(t, redistest.DB(t)), t.TempDir()
			var want [][]byte
			add := func(file string, whole []byte, outcome distribute.Outcome, counts ...[]byte) {
				t.Helper()
				got := ship(t, channel, write(t, folder, file+extension, whole))[0]
				if got.Outcome != outcome {
					t.Errorf("%s: %v, want %v", file, got.Outcome, outcome)
				}
				work(t, channel, "s")
				want = append(want, counts...)
				same(t, counted(t, channel, "s"), reference(t, want...))
			}
			add("first", first, distribute.Shipped, first)
			add("second", second, distribute.Shipped, second)
			add("second-again", second, distribute.AlreadyCounted)
			add("first-again", first, distribute.AlreadyCounted)
			add("third", third, distribute.Shipped, third)
			add("first-grown", grown, distribute.Shipped, more)
			add("second-grown", slices.Concat(second, late), distribute.Shipped, late)
			add("third-grown", slices.Concat(third, more), distribute.Shipped, more)
			add("second-cut", second[:len(second)-1000], distribute.AlreadyCounted)
			if add("first-again", grown, distribute.AlreadyCounted); t.Failed() {
				t.Log("counted", counted(t, channel, "s"))
			}
		})
	}
}

// A log that is shipped line by line has an ending of 4 KiB at each of them.
func TestEndingOfAFileThatGrowsLineByLineIsWhole(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	first := content(1, 3000)
	lines := bytes.SplitAfter(content(2, 12), []byte("\n"))
	for i := range 11 {
		ship(t, channel, write(t, folder, "a.log", slices.Concat(first, bytes.Join(lines[:i], nil))))
		work(t, channel, "s")
	}
	grown := slices.Concat(first, bytes.Join(lines, nil))
	// One digit of a line that comes before all of them, and within 4 KiB.
	at := len(first) - 1000 + bytes.IndexByte(first[len(first)-1000:], '\n') - 1
	other := bytes.Clone(grown)
	other[at] ^= 1
	ship(t, channel, write(t, folder, "b.log", other), write(t, folder, "a.log", grown))
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, grown, other))
}

// A shipper and a worker are killed at random commands, while a file goes on and another one with its head
// comes.
func TestFilesThatGoOnAreDistinguishedWhenProcessesAreKilled(t *testing.T) {
	t.Parallel()
	random := redistest.Random(t)
	first, late, more := partContent(1), longLines(2, 20), longLines(3, 2000)
	first = append(first, '\n')
	second, grown := inserted(first, late), slices.Concat(first, more)
	for i := range redistest.Rounds(t, 1) {
		name := partNames[i%len(partNames)]
		t.Run(fmt.Sprint("run ", i, " ", name), func(t *testing.T) {
			url, folder := redistest.URL(t), t.TempDir()
			for _, files := range [][]string{
				{write(t, folder, "first-"+name, first)},
				{write(t, folder, "second-"+name, second), write(t, folder, "grown-"+name, grown)},
			} {
				worker := start(t, processPlan{"work in parts", url, []string{"s"}, killAt(20+random.IntN(70), random)})
				start(t, processPlan{"ship", url, files, killAt(13+random.IntN(60), random)}).Check()
				run(t, url, "ship", files...)
				worker.ExitCode() // it may have ended when the upload was abandoned
				run(t, url, "work in parts", "s")
			}
			exact(t, url, "s", grown, second)
		})
	}
}

// shipStream ships the content of a pipe.
func shipStream(t testing.TB, channel *distribute.Channel, config *distribute.ShipperConfig, content []byte) distribute.ShippedFile {
	t.Helper()
	if config == nil {
		config = &distribute.ShipperConfig{}
	}
	config.Open = func(context.Context, string) (stream.Object, error) {
		return stream.NewPipe(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }), nil
	}
	results, err := distribute.NewShipper(channel, config).Ship(t.Context(), []string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

func TestStreamThatGoesOnDifferentlyIsRefused(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	first := content(1, 5000)
	second := inserted(first, content(2, 20))
	ship(t, channel, write(t, folder, "a.log", first))
	work(t, channel, "s")
	for _, force := range []bool{false, true} {
		result := shipStream(t, channel, &distribute.ShipperConfig{Force: force}, second)
		refused := result.Outcome == distribute.Failed && strings.Contains(fmt.Sprint(result.Err), "force")
		if refused == force || force && result.Outcome != distribute.Shipped {
			t.Errorf("force %t: %v, %v", force, result.Outcome, result.Err)
		}
		work(t, channel, "s")
	}
	same(t, counted(t, channel, "s"), reference(t, first, second))
}

// The writer has made room for lines that come later.
func TestFileThatEndsInNULsGoesOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.log", "a.log.gz", "a.log.zst"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel, folder := open(t, redistest.DB(t)), t.TempDir()
			first, more := slices.Concat(content(1, 5000), make([]byte, 3<<20)), content(2, 300)
			for _, state := range [][]byte{first, slices.Concat(first, more)} {
				ship(t, channel, write(t, folder, name, state))
				work(t, channel, "s")
			}
			if n := counted(t, channel, "s").lines; n != 5300 {
				t.Errorf("%d lines are counted, want 5300", n)
			}
		})
	}
}

// A network file system shows lines that are not written yet as NULs, and then others behind them.
func TestLinesThatWereReadAsNULsDoNotMakeAnotherFile(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	first, late, behind, more := content(1, 5000), content(2, 30), content(3, 10), content(4, 300)
	early := slices.Concat(first, make([]byte, len(late)), behind)
	for _, state := range [][]byte{early, slices.Concat(first, late, behind, more)} {
		ship(t, channel, write(t, folder, "a.log", state))
		work(t, channel, "s")
	}
	if n := counted(t, channel, "s").lines; n != 5310 {
		t.Errorf("%d lines are counted, want 5310", n)
	}
}

// The stream goes on behind one counted file, and another one with its head was counted further.
func TestStreamIsComparedWithTheShorterFileFirst(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	head, other, more := content(1, 7000), content(3, 5000), content(4, 5000)
	long, short := slices.Concat(head, content(5, 40_000)), slices.Concat(head[:bytes.LastIndexByte(head[:len(head)/2], '\n')+1], other)
	for i, state := range [][]byte{head, short, long} {
		ship(t, channel, write(t, folder, fmt.Sprint(i, ".log"), state))
		work(t, channel, "s")
	}
	if result := shipStream(t, channel, nil, slices.Concat(short, more)); result.Outcome != distribute.Shipped {
		t.Errorf("%v, %v", result.Outcome, result.Err)
	}
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, long, short, more))
}

// A worker of a release that records no endings has counted the last part.
func TestEndingOfAnEarlierPlaceIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	first, more, last := content(1, 5000), content(2, 300), content(3, 300)
	ship(t, channel, write(t, folder, "a.log", first))
	work(t, channel, "s")
	old := recordField(t, db, "ending:s")
	ship(t, channel, write(t, folder, "a.log", slices.Concat(first, more)))
	work(t, channel, "s")
	if err := db.HSet(t.Context(), recordKey(t, db), "ending:s", old).Err(); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, write(t, folder, "a.log", slices.Concat(first, more, last)))
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, first, more, last))
}

// What was read of a damaged file may differ from it in its last bytes.
func TestDamagedFileThatIsMendedIsCountedOn(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	var lines int64
	for i, fromEnd := range []int{100, 300, 1000, 3000} {
		whole, more, file := content(uint64(i), 5000), content(9, 500), fmt.Sprintf("%d.log.gz", i)
		path := write(t, folder, file, whole)
		damaged, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged[len(damaged)-fromEnd] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		ship(t, channel, path)
		work(t, channel, "s")
		ship(t, channel, write(t, folder, file, slices.Concat(whole, more)))
		work(t, channel, "s")
		lines += reference(t, whole, more).lines
		// A newline may have been damaged, too.
		if got := counted(t, channel, "s").lines; max(got-lines, lines-got) > 100 {
			t.Errorf("damaged %d bytes before its end: %d lines are counted, want %d", fromEnd, got, lines)
		}
	}
}
