package logs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"skidway"
	"skidway/distribute"
	"skidway/workers"
	"skidway/workers/kinds/logs"
	"skidway/workers/workerstest"
)

// setUp writes the access log of a day, and opens handlers that may read it, on the
// Redis inside this process. path is that of the logs of all days.
func setUp() (db *skidway.DB, handlers *logs.Handlers, path string, end func()) {
	folder, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	lines := `8.8.8.8 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "-"
8.8.4.4 - - [20/Nov/2026:10:00:01 +0000] "GET /a HTTP/1.1" 200 12 "-" "-"
not a line of a log
`
	if err := os.WriteFile(filepath.Join(folder, "access.log-20261120"), []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}
	if db, err = skidway.Open(context.Background(), "embedded:", nil); err != nil {
		log.Fatal(err)
	}
	if handlers, err = logs.New(db, logs.Config{Folders: []string{folder}}); err != nil {
		log.Fatal(err)
	}
	return db, handlers, filepath.Join(folder, "access.log-%Y%m%d"), func() {
		if err := errors.Join(db.Close(), os.RemoveAll(folder)); err != nil {
			log.Fatal(err)
		}
	}
}

// countAll counts the files of a channel as "skidway logs work --until-done" does.
// wait blocks until it has counted all.
func countAll(db *skidway.DB, channelName, subscriber string) (wait func()) {
	channel, err := distribute.Open(context.Background(), db, channelName)
	if err != nil {
		log.Fatal(err)
	}
	aggregation, err := distribute.NewCounting(nil)
	if err != nil {
		log.Fatal(err)
	}
	worker, err := distribute.NewWorker(context.Background(), channel, subscriber, aggregation, &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := worker.Work(context.Background())
		done <- err
	}()
	return func() {
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
}

// A job of logs.count counts the requests of one day's files, without Redis.
func ExampleHandlers_Count() {
	t := &testing.T{} // your test's own

	_, handlers, path, end := setUp()
	defer end()
	args := logs.CountArgs{Paths: []string{path}, Day: logs.Day{Day: "2026-11-20"}}
	outcome := workerstest.Run(t, workers.Typed(handlers.Count), workerstest.Job{Args: args})
	var result logs.Result
	if err := json.Unmarshal(outcome.Result, &result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome)
	fmt.Println(result.Lines, "lines,", result.Unparsable, "unparsable")
	fmt.Print(result.CSV)
	// Output:
	// logs.count: succeeded
	// 3 lines, 1 unparsable
	// day,country,requests
	// 2026-11-20,US,2
}

// A job of logs.ship uploads one day's files to a channel, and ends when all subscribers
// of the channel have counted them.
func ExampleHandlers_Ship() {
	t := &testing.T{} // your test's own

	db, handlers, path, end := setUp()
	defer end()
	wait := countAll(db, "web", "countries")
	args := logs.ShipArgs{Channel: "web", Paths: []string{path}, Day: logs.Day{Day: "2026-11-20"}}
	outcome := workerstest.Run(t, workers.Typed(handlers.Ship), workerstest.Job{Args: args})
	wait()
	var result logs.ShipResult
	if err := json.Unmarshal(outcome.Result, &result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome)
	fmt.Println(result.Shipped, "of", result.Files, "files shipped, lines counted:", result.Lines)
	// Output:
	// logs.ship: succeeded
	// 1 of 1 files shipped, lines counted: map[countries:3]
}

// A job of logs.report has the counts of a subscriber as its result.
func ExampleHandlers_Report() {
	t := &testing.T{} // your test's own

	db, handlers, path, end := setUp()
	defer end()
	wait := countAll(db, "web", "countries")
	ship := logs.ShipArgs{Channel: "web", Paths: []string{path}, Day: logs.Day{Day: "2026-11-20"}}
	workerstest.Run(t, workers.Typed(handlers.Ship), workerstest.Job{Args: ship})
	wait()

	args := logs.ReportArgs{Channel: "web", Subscriber: "countries", Day: logs.Day{Day: "2026-11-20"}}
	outcome := workerstest.Run(t, workers.Typed(handlers.Report), workerstest.Job{Args: args})
	var result logs.Result
	if err := json.Unmarshal(outcome.Result, &result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome)
	fmt.Print(result.CSV)
	// Output:
	// logs.report: succeeded
	// day,country,requests
	// 2026-11-20,US,2
}

// A missing channel is known before the job is enqueued.
func ExampleShipArgs_Check() {
	fmt.Println(logs.ShipArgs{Paths: []string{"/var/log/nginx/*.log"}}.Check())
	// Output: field channel: it is missing: want the name of a channel
}
