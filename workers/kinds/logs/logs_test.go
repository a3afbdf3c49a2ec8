package logs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/logs"
	"skidway/workers/workerstest"
)

// A fixture has log files of some days, and Handlers that may read them.
type fixture struct {
	testing.TB
	folder string
	db     *rdb.DB
	logs   *logs.Handlers
	now    time.Time
}

const logLine = `8.8.8.8 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "-"` + "\n"

func newFixture(t testing.TB) *fixture {
	t.Helper()
	y := &fixture{TB: t, folder: t.TempDir(), db: redistest.DB(t), now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)}
	var err error
	if y.logs, err = logs.New(handle.New(y.db), logs.Config{Folders: []string{y.folder}}); err != nil {
		t.Fatal(err)
	}
	y.write("access.log-20261120", strings.Repeat(logLine, 7))
	y.write("access.log-20261119", strings.Repeat(logLine, 3))
	return y
}

func (y *fixture) write(name, text string) {
	y.Helper()
	if err := os.WriteFile(filepath.Join(y.folder, name), []byte(text), 0o600); err != nil {
		y.Fatal(err)
	}
}

func TestFoldersOfOthersAreNotSearched(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	elsewhere := t.TempDir()
	for _, path := range []string{"none", "none-*", "none/none", "*/none"} {
		path = filepath.Join(elsewhere, path)
		outcome := do(y, y.logs.Count, logs.CountArgs{Paths: []string{path}})
		if outcome.Disposition != queue.AttemptDead || !strings.Contains(outcome.Reason, "in none of the folders") {
			t.Errorf("%s: it is %s: %v", path, outcome.Disposition, outcome.Err)
		}
	}
}

// do runs one job as a worker does, due at the time of the fixture.
func do[A queue.Args](y *fixture, handler func(context.Context, *workers.Job[A]) error, args A) workerstest.Outcome {
	y.Helper()
	due := map[string]string{queue.HeaderDue: y.now.Format(time.RFC3339)}
	return workerstest.Run(y, workers.Typed(handler), workerstest.Job{Args: args, Options: queue.Options{Headers: due}})
}

// result returns the result of a job that must have succeeded.
func result[R any](y *fixture, outcome workerstest.Outcome) (r R) {
	y.Helper()
	if outcome.Disposition != queue.AttemptSucceeded {
		y.Fatalf("it is %s: %v", outcome.Disposition, outcome.Err)
	}
	if err := json.Unmarshal(outcome.Result, &r); err != nil {
		y.Fatal(err)
	}
	return r
}

func TestShipReportAndCountAreOfYesterdaysFiles(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	channel, err := distribute.Open(t.Context(), handle.New(y.db), "web")
	if err != nil {
		t.Fatal(err)
	}
	aggregation, err := distribute.NewCounting(nil)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := distribute.NewWorker(t.Context(), channel, "countries", aggregation, &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := worker.Work(t.Context()); done <- err }()
	paths := []string{filepath.Join(y.folder, "access.log-%Y%m%d")}
	ship := logs.ShipArgs{Channel: "web", Paths: paths}
	shipped := result[logs.ShipResult](y, do(y, y.logs.Ship, ship))
	if shipped.Day != "2026-11-20" || shipped.Files != 1 || shipped.Shipped != 1 || shipped.Lines["countries"] != 7 {
		t.Errorf("shipped %+v", shipped)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// As after a worker that was killed before it wrote the outcome: no file is shipped
	// or counted twice.
	again := result[logs.ShipResult](y, do(y, y.logs.Ship, ship))
	if again.Shipped != 0 || again.Lines["countries"] != 7 {
		t.Errorf("again: %+v", again)
	}
	const csv = "day,country,requests\n2026-11-20,US,7\n"
	report := result[logs.Result](y, do(y, y.logs.Report, logs.ReportArgs{Channel: "web", Subscriber: "countries", Day: logs.Day{Day: "yesterday"}}))
	if report.CSV != csv || report.Lines != 7 || report.From != "2026-11-20" || !strings.Contains(report.Table, "2026-11-20  US       7") {
		t.Errorf("reported %+v", report)
	}
	if report.People != nil || report.PeopleBy != "day,country,crawler" || report.Visitors != nil || report.All != 7 {
		t.Errorf("without crawlers and visitors: %+v", report)
	}
	counted := result[logs.Result](y, do(y, y.logs.Count, logs.CountArgs{Paths: paths}))
	if counted.CSV != csv || counted.Lines != 7 || counted.Files != 1 {
		t.Errorf("counted %+v", counted)
	}
	counted = result[logs.Result](y, do(y, y.logs.Count, logs.CountArgs{Paths: paths, By: []string{"crawler"}}))
	if counted.People == nil || *counted.People != 7 || counted.Crawlers == nil || *counted.Crawlers != 0 || counted.PeopleBy != "" {
		t.Errorf("counted by crawlers: %+v", counted)
	}
}

// All numbers that are counted are in the rows, and the visitors of all of them beside.
func TestReportHasWhatIsMeasuredAndTheVisitors(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	channel, err := distribute.Open(t.Context(), handle.New(y.db), "web")
	if err != nil {
		t.Fatal(err)
	}
	aggregation, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day"}}, Measures: []string{"requests", "bytes"}, Visitors: []string{"day"}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "access.log")
	const line = `8.8.8.8 - - [20/Nov/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 40 "-" "Mozilla/5.0"` + "\n"
	if err := os.WriteFile(path, []byte(line+line+strings.Replace(line, "8.8.8.8", "8.8.4.4", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	worker, err := distribute.NewWorker(t.Context(), channel, "s", aggregation, &distribute.WorkerConfig{UntilDone: true})
	if err == nil {
		_, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{path})
	}
	if err == nil {
		_, err = worker.Work(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	report := result[logs.Result](y, do(y, y.logs.Report, logs.ReportArgs{Channel: "web", Subscriber: "s"}))
	if report.Visitors == nil || *report.Visitors != 2 || report.CSV != "day,requests,bytes,visitors\n2026-11-20,3,120,2\n" {
		t.Errorf("%+v", report)
	}
}

func TestDaysAreRelativeToTheDueTimeInTheZoneOfTheJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		day   logs.Day
		now   string
		lines int64 // 7 on 20 November, 1 on 8 March
	}{
		"yesterday":             {logs.Day{}, "2026-11-21T03:00:00Z", 7},
		"today":                 {logs.Day{Day: "today"}, "2026-11-20T03:00:00Z", 7},
		"a day":                 {logs.Day{Day: "2026-11-20"}, "2027-01-01T00:00:00Z", 7},
		"yesterday to the east": {logs.Day{TZ: "Asia/Tokyo"}, "2026-11-20T20:00:00Z", 7},
		"today to the west":     {logs.Day{Day: "today", TZ: "America/New_York"}, "2026-11-21T03:00:00Z", 7},
		// A day may have no midnight, or no hour that the next one has.
		"without midnight":           {logs.Day{Day: "2026-03-08", TZ: "America/Havana"}, "2026-11-21T03:00:00Z", 1},
		"yesterday without midnight": {logs.Day{TZ: "America/Havana"}, "2026-03-09T04:15:00Z", 1}, // 00:15 there
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newFixture(t)
			y.write("access.log-20260308", logLine)
			var err error
			if y.now, err = time.Parse(time.RFC3339, c.now); err != nil {
				t.Fatal(err)
			}
			args := logs.CountArgs{Paths: []string{filepath.Join(y.folder, "access.log-%Y%m%d")}, Day: c.day}
			if got := result[logs.Result](y, do(y, y.logs.Count, args)); got.Lines != c.lines {
				t.Errorf("counted %d lines, want %d", got.Lines, c.lines)
			}
		})
	}
}

func TestTimesWithoutAZoneAreOfTheOneOfTheLog(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	y.write("iis.log", "8.8.8.8, -, 11/20/26, 22:55:20, W3SVC2, S, 192.0.2.1, 4502, 163, 3223, 200, 0, GET, /, -,\n")
	args := logs.CountArgs{Paths: []string{filepath.Join(y.folder, "iis.log")}, LogTZ: "America/New_York", Day: logs.Day{TZ: "UTC"}}
	if got := result[logs.Result](y, do(y, y.logs.Count, args)); got.CSV != "day,country,requests\n2026-11-21,US,1\n" {
		t.Errorf("counted %+v", got)
	}
	args.LogTZ = "Mars/Base"
	if wrong, ok := errors.AsType[*workers.FieldError](args.Check()); !ok || wrong.Field != "log_tz" {
		t.Errorf("%v", args.Check())
	}
}

func TestFilesOutsideOfTheFoldersCannotBeRead(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "secret"), []byte(logLine), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(y.folder, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(elsewhere, "secret"), filepath.Join(y.folder, "..", filepath.Base(elsewhere), "secret"),
		filepath.Join(y.folder, "link", "secret"), filepath.Join(y.folder, "link"), y.folder + "/../*/secret", y.folder + "-more",
	} {
		outcome := do(y, y.logs.Count, logs.CountArgs{Paths: []string{path}})
		if outcome.Disposition != queue.AttemptDead && !errors.Is(outcome.Err, os.ErrNotExist) || outcome.Disposition == queue.AttemptSucceeded {
			t.Errorf("%s: it is %s: %v", path, outcome.Disposition, outcome.Err)
		}
	}
}

// A retry could not read it again.
func TestFIFOIsNoFileOfAJob(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	path := filepath.Join(y.folder, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	outcome := do(y, y.logs.Count, logs.CountArgs{Paths: []string{path}})
	if outcome.Disposition != queue.AttemptDead || !strings.Contains(outcome.Reason, "not a regular file") {
		t.Errorf("it is %s: %v", outcome.Disposition, outcome.Err)
	}
}

func TestMissingFileIsRetried(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	for _, path := range []string{"none", "none-*"} {
		outcome := do(y, y.logs.Count, logs.CountArgs{Paths: []string{filepath.Join(y.folder, path)}})
		if outcome.Disposition != queue.AttemptRetry || !strings.Contains(outcome.Err.Error(), "none") {
			t.Errorf("it is %s: %v", outcome.Disposition, outcome.Err)
		}
	}
}

func TestShipWithoutSubscriberIsRetried(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	outcome := do(y, y.logs.Ship, logs.ShipArgs{Channel: "web", Paths: []string{filepath.Join(y.folder, "access.log-%Y%m%d")}})
	if outcome.Disposition != queue.AttemptRetry || !strings.Contains(outcome.Err.Error(), "no subscriber") {
		t.Errorf("it is %s: %v", outcome.Disposition, outcome.Err)
	}
}

func TestMain(m *testing.M) { redistest.Main(m) }
