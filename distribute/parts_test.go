package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/distribute/stream"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// partSize is the content between two commits of these tests.
const partSize = 512 << 10

// partNames are the names of files of many parts, one of each codec.
var partNames = []string{"a.log", "b.log.gz", "c.log.zst"}

// partContent has 16,000 lines, some 2.4 MB, and ends in mid-line.
func partContent(seed uint64) []byte { return bytes.TrimSuffix(longLines(seed, 16_000), []byte("\n")) }

// longLines makes lines of some 150 bytes.
func longLines(seed uint64, lines int) []byte {
	return bytes.ReplaceAll(content(seed, lines), []byte("\n"), []byte(" "+strings.Repeat("x", 110)+"\n"))
}

// A watchedCount is a Counting that counts the bytes of the lines that it is given, and
// calls stop at a line.
type watchedCount struct {
	*distribute.Counting
	bytes, lines atomic.Int64
	stopAt       int64 // 0: never
	stop         func()
}

func (w *watchedCount) Begin(sample []byte, state string) (distribute.Counter, error) {
	counter, err := w.Counting.Begin(sample, state)
	return watchedCounter{counter, w}, err
}

type watchedCounter struct {
	distribute.Counter
	*watchedCount
}

func (w watchedCounter) Line(line []byte) distribute.Verdict {
	w.bytes.Add(int64(len(line)) + 1)
	if w.lines.Add(1) == w.stopAt {
		w.stop()
	}
	return w.Counter.Line(line)
}

// workParts counts with a worker that is stopped at a line, 0 for never, and returns the
// bytes that it has counted, committed or not.
func workParts(t testing.TB, db *rdb.DB, stopAt int64) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watched := &watchedCount{Counting: countryDay(t), stopAt: stopAt, stop: cancel}
	worker, err := distribute.NewWorker(t.Context(), open(t, db), "s", watched,
		&distribute.WorkerConfig{UntilDone: true, Workers: 1, CommitBytes: partSize})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return watched.bytes.Load()
}

func TestAnotherWorkerGoesOnFromTheLastCommit(t *testing.T) {
	t.Parallel()
	for _, name := range partNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
				content := partContent(1)
				ship(t, open(t, db), write(t, t.TempDir(), name, content))
				var sum int64
				for _, stopAt := range []int64{7_500, 6_000, 0} {
					sum += workParts(t, db, stopAt)
				}
				same(t, counted(t, open(t, db), "s"), reference(t, content))
				onlySmallRecordsAreLeft(t, db)
				// Each of the two stops costs at most what is between two commits, which
				// follow a block that is counted as a whole, and a line.
				const most = 2 * (partSize + 512<<10 + 200)
				if twice := sum - int64(len(content)) - 1; twice < 0 || twice > most {
					t.Errorf("%d bytes were counted again, want at most %d", twice, most)
				} else {
					t.Logf("%d bytes were counted again", twice)
				}
			})
		})
	}
}

// A rangeHook adds up the lengths of the parts of segments that are fetched.
type rangeHook struct{ fetched atomic.Int64 }

func (h *rangeHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *rangeHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *rangeHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		for _, command := range commands {
			if part, ok := command.(*redis.ZeroCopyStringCmd); ok {
				h.fetched.Add(int64(len(part.Bytes())))
			}
		}
		return err
	}
}

func TestCompressedFileIsNotFetchedAgainFromItsStart(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	db := redistest.Open(t, url)
	// Noise, so that the compressed file is about as long as its content.
	var lines bytes.Buffer
	noise, random := make([]byte, 50_000), rand.NewChaCha8([32]byte{})
	for range 400 {
		_, _ = random.Read(noise)
		fmt.Fprintf(&lines, "8.8.8.8 2026-11-01 %s\n", bytes.ReplaceAll(noise, []byte("\n"), nil))
	}
	path := write(t, t.TempDir(), "a.log.gz", lines.Bytes())
	ship(t, open(t, db), path)
	workParts(t, db, 350)
	hook := &rangeHook{}
	again := redistest.Open(t, url)
	again.AddHook(hook)
	workParts(t, again, 0)
	if report, err := open(t, db).Report(t.Context(), "s", nil); err != nil || report.Subscriber.Tally.Lines != 400 {
		t.Errorf("%+v, %v", report.Subscriber.Tally, err)
	}
	if n := hook.fetched.Load(); n == 0 || n > 8<<20 {
		t.Errorf("%d bytes of 20 MB were fetched for the last 2.5 MB", n)
	}
}

func TestReportIsExactAfterEachCommit(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	content := partContent(2)
	lines := bytes.SplitAfter(content, []byte("\n"))
	ship(t, open(t, redistest.Open(t, url)), write(t, t.TempDir(), "a.log.gz", content))
	reader := open(t, redistest.Open(t, url))
	if err := reader.Subscribe(t.Context(), "s", countryDay(t).Settings()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // the heartbeat calls scripts too
	var seen []int64
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		report, err := reader.Report(t.Context(), "s", nil)
		if err != nil {
			t.Error(err)
		}
		n := report.Subscriber.Tally.Lines
		if report.Moving || len(seen) > 0 && seen[len(seen)-1] == n {
			return
		}
		seen = append(seen, n)
		same(t, countsOf(report), reference(t, bytes.Join(lines[:n], nil)))
	}
	db := redistest.Open(t, url)
	db.AddHook(afterScripts{look})
	workParts(t, db, 0)
	if len(seen) < 4 || seen[len(seen)-1] != int64(len(lines)) {
		t.Errorf("the report was at %d lines of %d", seen, len(lines))
	}
}

// afterScripts calls look after each script.
type afterScripts struct{ look func() }

func (h afterScripts) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h afterScripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		err := next(ctx, command)
		if err == nil && strings.HasPrefix(command.Name(), "eval") && ctx.Err() == nil {
			h.look()
		}
		return err
	}
}
func (h afterScripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// killAt kills a process before or after its nth command.
func killAt(n int, random *rand.Rand) processtest.CommandSignal {
	return processtest.CommandSignal{At: n, After: random.IntN(2) == 0, Signal: syscall.SIGKILL}
}

// A worker process that serves one subscriber, or a second one with a filter, is killed at random
// commands. It inflates members of a gzip file in parallel.
func TestWorkerKilledBetweenPartsAndStartedAgain(t *testing.T) {
	t.Parallel()
	random := redistest.Random(t)
	contents := [][]byte{partContent(3), partContent(4), bytes.TrimSuffix(content(5, 500), []byte("\n"))}
	for i := range redistest.Rounds(t, 2) {
		served := []string{"s", filteredName}[:1+i%2]
		t.Run(fmt.Sprint("run ", i), func(t *testing.T) {
			url, folder := redistest.URL(t), t.TempDir()
			var files []string
			for i, name := range []string{partNames[0], "b.members.gz", partNames[2]} {
				files = append(files, write(t, folder, name, contents[i]))
			}
			run(t, url, "ship", files...)
			for i := range served {
				start(t, processPlan{"work in parts", url, served[i:], killAt(20+random.IntN(70), random)}).Check()
			}
			run(t, url, "work in parts", served...)
			exact(t, url, "s", contents...)
			if len(served) > 1 {
				same(t, counted(t, open(t, redistest.Open(t, url)), filteredName), referenceOf(t, selected, contents...))
			}
		})
	}
}

func TestShipperAndWorkerKilledBetweenPartsAndStartedAgain(t *testing.T) {
	t.Parallel()
	random, content := redistest.Random(t), partContent(6)
	first := random.IntN(len(partNames))
	for i := range redistest.Rounds(t, 1) {
		name := partNames[(first+i)%len(partNames)]
		t.Run(fmt.Sprint("run ", i, " ", name), func(t *testing.T) {
			url := redistest.URL(t)
			path := write(t, t.TempDir(), name, content)
			worker := start(t, processPlan{"work in parts", url, []string{"s"}, killAt(20+random.IntN(70), random)})
			shipper := start(t, processPlan{"ship", url, []string{path}, killAt(13+random.IntN(40), random)})
			shipper.Check()
			run(t, url, "ship", path)
			worker.ExitCode() // it may have ended when the upload was abandoned
			run(t, url, "work in parts", "s")
			exact(t, url, "s", content)
			report, err := open(t, redistest.Open(t, url)).Report(t.Context(), "s", nil)
			if tally := report.Subscriber.Tally; err != nil || tally.Files != 1 || tally.Bytes != int64(len(content)) || len(report.Abandoned) > 0 {
				t.Errorf("%+v, %v, abandoned: %v", tally, err, report.Abandoned)
			}
		})
	}
}

func TestGrownFileIsCountedInParts(t *testing.T) {
	t.Parallel()
	for _, name := range partNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, folder, content := redistest.DB(t), t.TempDir(), partContent(7)
			channel := open(t, db)
			short := content[:len(content)/3] // in mid-line
			ship(t, channel, write(t, folder, name, short))
			workParts(t, db, 0)
			same(t, counted(t, channel, "s"), reference(t, short))
			ship(t, channel, write(t, folder, name, content))
			workParts(t, db, 7_500)
			workParts(t, db, 0)
			same(t, counted(t, channel, "s"), reference(t, content))
			report, err := channel.Report(t.Context(), "s", nil)
			if tally := report.Subscriber.Tally; err != nil || tally.Files != 1 || tally.Bytes != int64(len(content)) {
				t.Errorf("%+v, %v", tally, err)
			}
			onlySmallRecordsAreLeft(t, db)
		})
	}
}

func TestDamageBehindTheFirstPartsIsReportedOnce(t *testing.T) {
	t.Parallel()
	db, folder, content := redistest.DB(t), t.TempDir(), partContent(8)
	channel := open(t, db)
	path := write(t, folder, "a.log.gz", content)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()*9/10); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, path)
	workParts(t, db, 7_500)
	workParts(t, db, 0)
	report, err := channel.Report(t.Context(), "s", nil)
	if tally := report.Subscriber.Tally; err != nil || tally.Partial != 1 || tally.Files != 1 || len(report.Problems) != 1 || report.Problems[0].Kind != distribute.CountedInPart {
		t.Fatalf("%+v, %+v, %v", tally, report.Problems, err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	same(t, countsOf(report), reference(t, bytes.Join(lines[:report.Subscriber.Tally.Lines], nil)))
	ship(t, channel, write(t, folder, "a.log.gz", content))
	workParts(t, db, 2_500)
	workParts(t, db, 0)
	same(t, counted(t, channel, "s"), reference(t, content))
	if report, err = channel.Report(t.Context(), "s", nil); err != nil || report.Subscriber.Tally.Partial != 0 || report.Subscriber.Tally.Files != 1 || len(report.Problems) != 0 {
		t.Errorf("%+v, %+v, %v", report.Subscriber.Tally, report.Problems, err)
	}
}

func TestLongLineOfAnEarlierPartIsReported(t *testing.T) {
	t.Parallel()
	db, content := redistest.DB(t), partContent(9)
	long := slices.Concat(content[:bytes.IndexByte(content[1<<20:], '\n')+1<<20+1], bytes.Repeat([]byte("x"), stream.MaxLine+1), []byte("\n"), content)
	channel := open(t, db)
	ship(t, channel, write(t, t.TempDir(), "a.log.zst", long))
	workParts(t, db, 12_000)
	workParts(t, db, 0)
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Kind != distribute.LinesTooLong {
		t.Fatalf("%+v, %v", report.Problems, err)
	}
	same(t, countsOf(report), reference(t, long))
}

// Its shipper dies when a part is counted, and the file is truncated before it is shipped
// again.
func TestUnfinishedFileThatIsShorterNowIsReported(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.log", "a.log.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, folder, content := redistest.DB(t), t.TempDir(), partContent(12)
			channel := open(t, db)
			ship(t, channel, write(t, folder, name, content))
			workParts(t, db, 7_500)
			abandonUploads(t, db)
			lines := counted(t, channel, "s").lines
			if lines == 0 {
				t.Fatal("no part is counted")
			}
			ship(t, channel, write(t, folder, name, content[:100_000]))
			workParts(t, db, 0)
			report, err := channel.Report(t.Context(), "s", nil)
			if err != nil || report.Subscriber.Tally.Lines != lines || report.Subscriber.Tally.Partial != 1 ||
				len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Detail, "shorter") {
				t.Fatalf("%+v, %+v, %v; want %d lines and a problem", report.Subscriber.Tally, report.Problems, err, lines)
			}
			ship(t, channel, write(t, folder, name, content))
			workParts(t, db, 0)
			same(t, counted(t, channel, "s"), reference(t, content))
			if report, err = channel.Report(t.Context(), "s", nil); err != nil || len(report.Problems) > 0 {
				t.Errorf("%+v, %v", report.Problems, err)
			}
		})
	}
}

// abandonUploads makes the one file of the channel an upload whose shipper died.
func abandonUploads(t *testing.T, db *rdb.DB) {
	t.Helper()
	ctx := t.Context()
	ids, err := db.ZRange(ctx, "skidway:logs:{web}:open", 0, -1).Result()
	if err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	if err := db.HSet(ctx, "skidway:logs:{web}:file:"+ids[0], "state", "abandoned").Err(); err != nil {
		t.Fatal(err)
	}
	if err := db.SAdd(ctx, "skidway:logs:{web}:spent", ids[0]).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestPlainFileHasNoCheckpoint(t *testing.T) {
	t.Parallel()
	db, content := redistest.DB(t), partContent(13)
	ship(t, open(t, db), write(t, t.TempDir(), "a.log", content))
	workParts(t, db, 12_000)
	if keys, err := db.Keys(t.Context(), "*:checkpoint:*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("checkpoints %v, %v", keys, err)
	}
	if commits := recordField(t, db, "commit:s"); commits == "" {
		t.Error("no part is counted")
	}
}

// recordKey returns the key of the record of the one file.
func recordKey(t *testing.T, db *rdb.DB) string {
	t.Helper()
	ids, err := db.ZRange(t.Context(), "skidway:logs:{web}:files", 0, -1).Result()
	if err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	return "skidway:logs:{web}:file:" + ids[0]
}

// recordField returns a field of the record of the one file.
func recordField(t *testing.T, db *rdb.DB, field string) string {
	t.Helper()
	return db.HGet(t.Context(), recordKey(t, db), field).Val()
}

func TestMalformedNumberOfCommitsEndsTheFileAndItCanBeShippedAgain(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"many", "1.5", "-1", "+2", "99999999999999999999"} {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			db, folder, content := redistest.DB(t), t.TempDir(), partContent(14)
			channel := open(t, db)
			path := write(t, folder, "a.log", content)
			ship(t, channel, path)
			workParts(t, db, 7_500)
			ids := db.ZRange(t.Context(), "skidway:logs:{web}:files", 0, -1).Val()
			if err := db.HSet(t.Context(), "skidway:logs:{web}:file:"+ids[0], "commit:s", number).Err(); err != nil {
				t.Fatal(err)
			}
			workParts(t, db, 0)
			report, err := channel.Report(t.Context(), "s", nil)
			if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Detail, "malformed") {
				t.Fatalf("%+v, %v", report.Problems, err)
			}
			ship(t, channel, path)
			workParts(t, db, 0)
			same(t, counted(t, channel, "s"), reference(t, content))
		})
	}
}

func TestProgressOfAWorkerNeverDecreases(t *testing.T) {
	t.Parallel()
	db, content := redistest.DB(t), partContent(15)
	ship(t, open(t, db), write(t, t.TempDir(), "a.log", content))
	worker, err := distribute.NewWorker(t.Context(), open(t, db), "s", countryDay(t), &distribute.WorkerConfig{UntilDone: true, Workers: 1, CommitBytes: partSize})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := worker.Work(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for last := int64(0); ; {
		now := worker.Progress()
		if now < last || now > 16_000 {
			t.Fatalf("from %d to %d lines", last, now)
		}
		last = now
		select {
		case <-done:
			if now := worker.Progress(); now != 16_000 {
				t.Errorf("%d lines in the end", now)
			}
			return
		default:
		}
	}
}

func TestMalformedCheckpointCostsOnlyTime(t *testing.T) {
	t.Parallel()
	db, content := redistest.DB(t), longLines(10, 32_000)
	ship(t, open(t, db), write(t, t.TempDir(), "a.log.gz", content))
	workParts(t, db, 25_000)
	checkpoints, err := db.Keys(t.Context(), "*:checkpoint:*").Result()
	if err != nil || len(checkpoints) != 1 {
		t.Fatalf("checkpoints %v, %v", checkpoints, err)
	}
	if err := db.Set(t.Context(), checkpoints[0], "1 nonsense", 0).Err(); err != nil {
		t.Fatal(err)
	}
	workParts(t, db, 0)
	same(t, counted(t, open(t, db), "s"), reference(t, content))
	onlySmallRecordsAreLeft(t, db)
}

func TestRemovedSubscriberLeavesNoCheckpoint(t *testing.T) {
	t.Parallel()
	db, content := redistest.DB(t), longLines(11, 32_000)
	channel := open(t, db)
	ship(t, channel, write(t, t.TempDir(), "a.log.gz", content))
	workParts(t, db, 25_000)
	if err := channel.Unsubscribe(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if left, err := db.Keys(t.Context(), "*:subscriber:s*").Result(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	workParts(t, db, 0)
	same(t, counted(t, channel, "s"), reference(t, content))
}
