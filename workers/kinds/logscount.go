package kinds

import (
	"context"
	"errors"
	"fmt"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// LogsCountArgs are the args of logs.count: files to count inside the worker.
type LogsCountArgs struct {
	Paths  []string `json:"paths"`            // as those of [LogsShipArgs]
	By     []string `json:"by,omitempty"`     // day, country; empty: both
	Format string   `json:"format,omitempty"` // empty: auto
	Top    int      `json:"top,omitempty"`    // only the highest of each day; zero: all

	// With a TZ the days that are counted are that zone's; without, they are
	// those that the lines are written with.
	Day
}

// Kind is logs.count.
func (LogsCountArgs) Kind() string { return "logs.count" }

// Check gives a [FieldError] for the first field that can't be right.
func (a LogsCountArgs) Check() error {
	if err := checkPaths(a.Paths); err != nil {
		return err
	}
	if a.Top < 0 {
		return wrong("top", "%d: it can't be below zero", a.Top)
	}
	for _, what := range a.By {
		if what != "day" && what != "country" {
			return wrong("by", "%q: want day, country, or both", what)
		}
	}
	if a.Format != "" && a.Format != "auto" {
		if _, err := accesslog.ByName(a.Format); err != nil {
			return wrong("format", "%v", err)
		}
	}
	return a.Day.check()
}

func (l *Logs) counting(a LogsCountArgs) distribute.CountryDayConfig {
	c := distribute.CountryDayConfig{By: a.By, Format: a.Format, Countries: l.config.Countries}
	if a.TZ != "" {
		c.Zone, _ = a.zone() // check has refused others
	}
	return c
}

// Count counts files in this process, without Redis. Nothing is kept but the
// result, a [LogsResult].
func (l *Logs) Count(ctx context.Context, job *queue.Job, args LogsCountArgs) (err error) {
	if err := args.Check(); err != nil {
		return workers.Dead(err)
	}
	files, err := l.files(args.Paths, args.of(job, args.Day.Day))
	if err != nil {
		return err
	}
	aggregation, err := distribute.NewCountryDay(l.counting(args))
	if err != nil {
		return workers.Dead(err)
	}
	db, err := rdb.Open(ctx, "embedded:", rdb.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batch, err := distribute.NewBatch(db, aggregation, distribute.BatchConfig{Workers: 1, Notify: tellJob(ctx)}).Run(ctx, files)
	if err != nil {
		return err
	}
	for _, file := range batch.Files {
		if file.Outcome == distribute.Failed {
			return fmt.Errorf("nothing is counted: %w", file.Err)
		}
	}
	return setResult(ctx, resultOf(batch.Report, distribute.Columns(aggregation.Settings()), args.Top))
}
