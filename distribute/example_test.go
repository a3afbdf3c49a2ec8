package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skidway"
	"skidway/distribute"
	"skidway/distribute/cuts"
)

// begin writes a small access log, and opens a Redis inside this process.
func begin() (ctx context.Context, db *skidway.DB, path string, end func()) {
	ctx = context.Background()
	folder, err := os.MkdirTemp("", "example")
	must(err)
	path = filepath.Join(folder, "access.log")
	must(os.WriteFile(path, []byte(`8.8.8.8 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 23
8.8.4.4 - - [01/Nov/2026:10:00:01 +0000] "GET /favicon.ico HTTP/1.1" 404 9
193.0.6.139 - - [02/Nov/2026:00:00:07 +0000] "GET / HTTP/1.1" 200 23
10.0.0.7 - - [02/Nov/2026:08:30:00 +0000] "GET /health HTTP/1.1" 200 2
who is this?
`), 0o600))
	db, err = skidway.Open(ctx, "embedded:", nil)
	must(err)
	return ctx, db, path, func() { must(errors.Join(db.Close(), os.RemoveAll(folder))) }
}

// A batch counts files in one process, here without a Redis server.
func Example() {
	ctx, db, path, end := begin()
	defer end()
	aggregation, err := distribute.NewCounting(nil)
	must(err)
	result, err := distribute.NewBatch(db, aggregation, nil).Run(ctx, []string{path})
	must(err)
	for _, row := range result.Report.Tables[0].Rows {
		fmt.Println(row.Values, row.Requests)
	}
	tally := result.Report.Subscriber.Tally
	fmt.Printf("%d lines: %d counted, %d of an unknown country, %d unparsable\n", tally.Lines, tally.Counted, tally.Unknown, tally.Unparsable)
	// Output:
	// [2026-11-01 US] 2
	// [2026-11-02 NL] 1
	// [2026-11-02 ZZ] 1
	// 5 lines: 3 counted, 1 of an unknown country, 1 unparsable
}

// A channel connects shippers and workers, which are usually processes on several
// machines. Here they take turns.
func Example_channel() {
	channel, path, end := openExample()
	defer end()
	ctx := context.Background()

	// One side ships. To ship again what was shipped does nothing.
	for range 2 {
		must(shipOne(ctx, channel, path))
	}

	// The other side subscribes and counts what there is, then ends.
	aggregation, err := distribute.NewCounting(nil)
	must(err)
	worker, err := distribute.NewWorker(ctx, channel, "countries", aggregation, &distribute.WorkerConfig{UntilDone: true})
	must(err)
	result, err := worker.Work(ctx)
	must(err)
	fmt.Println("counted", result.Tally.Lines, "lines")
	report, err := channel.Report(ctx, "countries", &cuts.Query{To: "2026-11-01"})
	must(err)
	for _, row := range report.Tables[0].Top(1) {
		fmt.Println(row.Values, row.Requests)
	}
	must(shipOne(ctx, channel, path))
	// Output:
	// shipped
	// already shipped
	// counted 5 lines
	// [2026-11-01 US] 2
	// already counted
}

func shipOne(ctx context.Context, channel *distribute.Channel, path string) error {
	results, err := distribute.NewShipper(channel, nil).Ship(ctx, []string{path})
	for _, file := range results {
		fmt.Println(file.Outcome)
		err = errors.Join(err, file.Err)
	}
	return err
}

// statusCount is an Aggregation of requests by HTTP status.
type statusCount struct{}

func (statusCount) Settings() string { return "status" }
func (statusCount) Build() string    { return "" }

func (statusCount) Begin([]byte, string) (distribute.Counter, error) {
	return statusCounter{}, nil
}

// A statusCounter counts the lines of one file.
type statusCounter map[string]int64

func (c statusCounter) Line(line []byte) distribute.Verdict {
	_, after, ok := bytes.Cut(line, []byte(`" `)) // the request's closing quote
	if !ok || len(after) < 3 {
		return distribute.Unparsable
	}
	c[string(after[:3])]++
	return distribute.Counted
}

func (c statusCounter) Cells(yield func(distribute.Cell)) {
	for status, n := range c {
		yield(distribute.Cell{Group: cuts.Any, Member: status, N: n})
	}
}

func (statusCounter) State() string { return "" }

// A custom Aggregation counts something else than requests by country and day.
func ExampleAggregation() {
	ctx, db, path, end := begin()
	defer end()
	result, err := distribute.NewBatch(db, statusCount{}, nil).Run(ctx, []string{path})
	must(err)
	for _, row := range result.Report.Tables[0].Rows {
		fmt.Println(row.Values[1], row.Requests)
	}
	// Output:
	// 200 3
	// 404 1
}
