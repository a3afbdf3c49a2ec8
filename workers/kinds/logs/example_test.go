package logs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"skidway"
	"skidway/workers"
	"skidway/workers/kinds/logs"
	"skidway/workers/workerstest"
)

// A job of logs.count counts the requests of one day's files, without Redis.
func ExampleHandlers_Count() {
	t := &testing.T{} // your test's own

	folder, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	lines := `8.8.8.8 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "-"
8.8.4.4 - - [20/Nov/2026:10:00:01 +0000] "GET /a HTTP/1.1" 200 12 "-" "-"
not a line of a log
`
	if err := os.WriteFile(filepath.Join(folder, "access.log-20261120"), []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}
	db, err := skidway.Open(context.Background(), "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	handlers, err := logs.New(db, logs.Config{Folders: []string{folder}})
	if err != nil {
		log.Fatal(err)
	}
	args := logs.CountArgs{
		Paths: []string{filepath.Join(folder, "access.log-%Y%m%d")},
		Day:   logs.Day{Day: "2026-11-20"},
	}
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

// A missing channel is known before the job is enqueued.
func ExampleShipArgs_Check() {
	fmt.Println(logs.ShipArgs{Paths: []string{"/var/log/nginx/*.log"}}.Check())
	// Output: field channel: it is missing: want the name of a channel
}
