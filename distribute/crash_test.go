package distribute_test

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"skidway/internal/processtest"
	"skidway/internal/redistest"
)

// thorough asks for every point of a crash or of a lost reply, instead of some (`make chaos`).
var thorough = os.Getenv("SKIDWAY_CHAOS") != ""

// points yields the numbers of the commands at which a test strikes: all of them in the long form.
// In the short form they are drawn, some forty commands apart, so that many runs come to all of
// them; the seed is printed.
func points(t testing.TB) iter.Seq[int] {
	const short = 40
	random := seeded(t)
	return func(yield func(int) bool) {
		for n, gap := 1, short; ; n, gap = n+1, 2*short {
			if !thorough {
				n += random.IntN(gap)
			}
			if !yield(n) {
				return
			}
		}
	}
}

// killEverywhere kills a process at its nth Redis command, for more and more n,
// until it ends before it comes so far; then starts it again with all others
// that are needed, and compares the counts. Whether before the command or once it is answered is
// drawn; the long form does both.
func killEverywhere(t *testing.T, scenario func(t *testing.T, url, folder string, signal processtest.CommandSignal) (killed bool)) {
	random := seeded(t)
	for n := range points(t) {
		signals := []processtest.CommandSignal{killAt(n, random)}
		if thorough {
			signals = append(signals, signals[0])
			signals[1].After = !signals[0].After
		}
		killed := false
		for _, signal := range signals {
			t.Run(fmt.Sprintf("command %d after=%t", n, signal.After), func(t *testing.T) {
				killed = scenario(t, redistest.URL(t), t.TempDir(), signal) || killed
			})
		}
		if !killed || t.Failed() {
			break
		}
	}
}

// The lines of the first file are of so many countries that their cells are staged in steps.
var crashContents = [][]byte{contentOf(nil, 1, 2000), content(2, 2000), bytes.TrimSuffix(content(3, 500), []byte("\n"))}

func crashFiles(t testing.TB, folder string) []string {
	return []string{
		write(t, folder, "a.log", crashContents[0]), write(t, folder, "b.log.gz", crashContents[1]), write(t, folder, "c.log.zst", crashContents[2]),
	}
}

// exact checks the counts after everything has ended.
func exact(t testing.TB, url, subscriber string, contents ...[]byte) {
	t.Helper()
	db := redistest.Open(t, url)
	want := reference(t, contents...)
	same(t, counted(t, open(t, db), subscriber), want)
	sameVisitors(t, open(t, db), subscriber, want)
	onlySmallRecordsAreLeft(t, db)
}

func TestShipperKilledAtAnyCommandAndStartedAgain(t *testing.T) {
	t.Parallel()
	killEverywhere(t, func(t *testing.T, url, folder string, signal processtest.CommandSignal) bool {
		files := crashFiles(t, folder)
		killed := start(t, processPlan{"ship", url, files, signal}).Check()
		run(t, url, "ship", files...)
		run(t, url, "work", "s")
		exact(t, url, "s", crashContents...)
		return killed
	})
}

func TestWorkerKilledAtAnyCommandAndStartedAgain(t *testing.T) {
	t.Parallel()
	killEverywhere(t, func(t *testing.T, url, folder string, signal processtest.CommandSignal) bool {
		run(t, url, "ship", crashFiles(t, folder)...)
		killed := start(t, processPlan{"work", url, []string{"s"}, signal}).Check()
		run(t, url, "work", "s")
		exact(t, url, "s", crashContents...)
		return killed
	})
}

func TestWorkerKilledWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	killEverywhere(t, func(t *testing.T, url, folder string, signal processtest.CommandSignal) bool {
		other := start(t, processPlan{Role: "work", URL: url, Args: []string{"s"}})
		victim := start(t, processPlan{"work", url, []string{"s"}, signal})
		run(t, url, "ship", crashFiles(t, folder)...)
		killed := victim.Check()
		other.Check()
		exact(t, url, "s", crashContents...)
		return killed
	})
}

// firstPoints yields the commands up to a last one: one that is drawn, and all in the long form.
func firstPoints(t testing.TB, last int) iter.Seq[int] {
	random := seeded(t)
	return func(yield func(int) bool) {
		if !thorough {
			yield(1 + random.IntN(last))
			return
		}
		for n := 1; n <= last && yield(n); n++ {
		}
	}
}

func TestStoppedWorkerChangesNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	for n := range firstPoints(t, 40) {
		t.Run(fmt.Sprintf("before command %d", n), func(t *testing.T) {
			url, folder := redistest.URL(t), t.TempDir()
			run(t, url, "ship", crashFiles(t, folder)...)
			zombie := start(t, processPlan{"work", url, []string{"s"}, processtest.CommandSignal{At: n, Signal: syscall.SIGSTOP}})
			if _, stopped := zombie.Word(processtest.Struck); !stopped {
				return // it came to its end before
			}
			run(t, url, "work", "s")
			exact(t, url, "s", crashContents...)
			zombie.Signal(syscall.SIGCONT)
			zombie.Check()
			exact(t, url, "s", crashContents...)
		})
	}
}

func TestStoppedShipperChangesNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	for n := range firstPoints(t, 40) {
		t.Run(fmt.Sprintf("before command %d", n), func(t *testing.T) {
			url, folder := redistest.URL(t), t.TempDir()
			files := crashFiles(t, folder)
			zombie := start(t, processPlan{"ship", url, files, processtest.CommandSignal{At: n, Signal: syscall.SIGSTOP}})
			if _, stopped := zombie.Word(processtest.Struck); !stopped {
				return
			}
			run(t, url, "ship", files...)
			run(t, url, "work", "s")
			exact(t, url, "s", crashContents...)
			zombie.Signal(syscall.SIGCONT)
			zombie.Check()
			run(t, url, "work", "s")
			exact(t, url, "s", crashContents...)
		})
	}
}

func TestShipperKilledAndNeverStartedAgain(t *testing.T) {
	t.Parallel()
	url, folder := redistest.URL(t), t.TempDir()
	files := crashFiles(t, folder)
	// It dies with an upload in hand: the first append was answered.
	if !start(t, processPlan{"ship", url, files, processtest.CommandSignal{At: 14, After: true, Signal: syscall.SIGKILL}}).Check() {
		t.Fatal("the shipper was not killed")
	}
	other := write(t, folder, "other.log", content(9, 1000))
	run(t, url, "ship", other)
	code := start(t, processPlan{Role: "work", URL: url, Args: []string{"s"}}).ExitCode()
	db := redistest.Open(t, url)
	got := counted(t, open(t, db), "s")
	if code == 0 {
		// All that the dead shipper had announced was complete.
		if got.lines < 1000 {
			t.Errorf("%d lines counted", got.lines)
		}
	}
	onlySmallRecordsAreLeft(t, db)
	run(t, url, "ship", files...)
	run(t, url, "work", "s")
	exact(t, url, "s", append([][]byte{content(9, 1000)}, crashContents...)...)
}

func TestOneShipperThreeWorkerProcessesTwoSubscribers(t *testing.T) {
	t.Parallel()
	url, folder := redistest.URL(t), t.TempDir()
	var contents [][]byte
	for i := range 12 {
		contents = append(contents, content(uint64(i), 3000))
		write(t, folder, fmt.Sprintf("%02d.log%s", i, []string{"", ".gz", ".zst"}[i%3]), contents[i])
	}
	files, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	// A subscriber gets what is shipped once it is there.
	channel := open(t, redistest.Open(t, url))
	for _, subscriber := range []string{"one", "two"} {
		if err := channel.Subscribe(t.Context(), subscriber, ""); err != nil {
			t.Fatal(err)
		}
	}
	var workers []*processtest.Process
	for _, subscriber := range []string{"one", "one", "one", "two", "two", "two"} {
		workers = append(workers, start(t, processPlan{Role: "work", URL: url, Args: []string{subscriber}}))
	}
	run(t, url, "ship", files...)
	for _, worker := range workers {
		worker.Check()
	}
	run(t, url, "work", "one")
	run(t, url, "work", "two")
	exact(t, url, "one", contents...)
	exact(t, url, "two", contents...)
}
