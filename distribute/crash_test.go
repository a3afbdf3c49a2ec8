package distribute_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"skidway/internal/processtest"
	"skidway/internal/redistest"
)

// strikeAt calls a function with the numbers of commands at which it is to strike, more and more of
// them, until there are fewer commands. They are drawn, on average as far apart as the gap.
func strikeAt(t *testing.T, gap int, strike func(n int, random *rand.Rand) (struck bool)) {
	random := redistest.Random(t)
	for range redistest.Rounds(t, 1) {
		for n, struck := 1+random.IntN(gap), true; struck && !t.Failed(); n += 1 + random.IntN(2*gap) {
			struck = strike(n, random)
		}
	}
}

// manyCommands is the gap of strikes at processes of hundreds of commands.
const manyCommands = 40

// killEverywhere kills a process before or after its nth Redis command, for more and more n,
// until it ends before it comes so far; then starts it again with all others
// that are needed, and compares the counts.
func killEverywhere(t *testing.T, scenario func(t *testing.T, url, folder string, signal processtest.CommandSignal) (killed bool)) {
	strikeAt(t, manyCommands, func(n int, random *rand.Rand) (killed bool) {
		signal := killAt(n, random)
		t.Run(fmt.Sprintf("command %d after=%t", n, signal.After), func(t *testing.T) {
			killed = scenario(t, redistest.URL(t), t.TempDir(), signal)
		})
		return killed
	})
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
		run(t, url, "ship beside workers", crashFiles(t, folder)...)
		killed := victim.Check()
		other.Check()
		exact(t, url, "s", crashContents...)
		return killed
	})
}

func TestStoppedWorkerChangesNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	random := redistest.Random(t)
	for range redistest.Rounds(t, 1) {
		n := 1 + random.IntN(manyCommands)
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
	random := redistest.Random(t)
	for range redistest.Rounds(t, 1) {
		n := 1 + random.IntN(manyCommands)
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
	run(t, url, "ship beside workers", files...)
	for _, worker := range workers {
		worker.Check()
	}
	run(t, url, "work", "one")
	run(t, url, "work", "two")
	exact(t, url, "one", contents...)
	exact(t, url, "two", contents...)
}
