package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/distribute"
)

// counter is the command "logs count".
type counter struct {
	*app
	counting
	window size
	top    number
	output *choice
}

func (a *app) count() *cobra.Command {
	k := &counter{app: a}
	c := &cobra.Command{
		Use:   "count PATH...",
		Short: "Counts files in this process: ships, counts and prints",
		Long: `Counts the requests in log files per country and day, and prints the counts.

A PATH is a file or a directory; of a directory every file is taken, at any
depth. Plain text, gzip and zstd are told by their content. What is wrong with
one file keeps no other from being counted; the exit code is then 1.

No Redis is needed: by default everything happens inside this process, and
nothing is kept. Only an explicit --redis makes it use a server, not the
environment; there, too, files and counts are gone afterwards.

A line on standard error sums up:
lines = counted + unknown_country + unparsable.`,
		Example: `  skidway logs count /var/log/nginx
  skidway logs count access.log access.log.2.gz --top 5
  skidway logs count --by day --tz Europe/Berlin -o csv logs/ > days.csv
  skidway logs count --geoip GeoLite2-Country.mmdb -o json logs/`,
		Args: oneOrMore("PATH: name the files or directories to count"),
	}
	k.addFlags(c)
	c.Flags().Var(&k.window, "window", "bytes that files may take up in Redis at once")
	c.Flags().Var(&k.top, "top", "only the N highest countries of each day; 0: all")
	k.output = outputFlag(c)
	c.RunE = action(func(c *cobra.Command, paths []string) error { return k.run(c.Context(), paths) })
	return c
}

func (k *counter) run(ctx context.Context, paths []string) error {
	aggregation, err := k.aggregation(k.console)
	if err != nil {
		return err
	}
	files, missing := listFiles(k.console, paths)
	started := time.Now()
	var batch distribute.BatchResult
	if len(files) > 0 {
		if batch, err = k.batch(ctx, aggregation, files); err != nil {
			return err
		}
	}
	r := resultOf(batch.Report)
	r.columns, r.rows, r.took = distribute.Columns(aggregation.Settings()), distribute.TopRows(r.rows, int(k.top)), time.Since(started)
	for _, bad := range append(missing, shippingErrors(batch.Files)...) {
		r.problems = append(r.problems, distribute.Problem{File: bad.Path, Note: bad.Err.Error(), Missing: true})
		r.tally.Failed++
	}
	if err := k.printResult(k.output.word, r); err != nil {
		return err
	}
	return verdict(tellOutcomes(k.console, batch.Files), r.tally)
}

func (k *counter) batch(ctx context.Context, aggregation distribute.Aggregation, files []string) (result distribute.BatchResult, err error) {
	db, err := k.open(ctx, cmp.Or(k.redis, embeddedURL))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, stop, end := k.console.listen(ctx)
	defer end()
	batch := distribute.NewBatch(db, aggregation, distribute.BatchConfig{
		Window: int64(k.window), Workers: int(k.workers), Quit: stop.quit,
		Notify: func(e distribute.Event) {
			if e.Text != distribute.Shipped.String() { // that it is counted says enough
				k.console.event(e)
			}
		},
	})
	defer k.console.showBytes(distribute.Bytes(files),
		func() int64 { bytes, _ := batch.Progress(); return bytes },
		func() int64 { _, lines := batch.Progress(); return lines })()
	result, err = batch.Run(ctx, files)
	return result, valueError(err)
}

// listFiles lists files and tells what can't be listed.
func listFiles(console *console, paths []string) ([]string, []*distribute.FileError) {
	files, missing := distribute.ListFiles(paths)
	for _, bad := range missing {
		console.problem(bad.Path, bad.Err)
	}
	return files, missing
}

func shippingErrors(files []distribute.ShippedFile) []*distribute.FileError {
	var list []*distribute.FileError
	for _, f := range files {
		var bad *distribute.FileError
		if errors.As(f.Err, &bad) {
			list = append(list, bad)
		}
	}
	return list
}

// outcomes counts files by what became of them.
type outcomes map[distribute.Outcome]int

// tellOutcomes tells of empty files and gives the number of all.
func tellOutcomes(console *console, files []distribute.ShippedFile) outcomes {
	count := outcomes{}
	for _, f := range files {
		count[f.Outcome]++
		if f.Outcome == distribute.Empty {
			console.notice("%s: empty, nothing to count", f.Path)
		}
	}
	return count
}

// verdict is the error of a run over files whose single errors have been told:
// nil if all of them were dealt with.
func verdict(files outcomes, tally distribute.Tally) error {
	var parts []string
	if tally.Failed > 0 {
		parts = append(parts, fmt.Sprintf("failed: %d", tally.Failed))
	}
	if tally.Partial > 0 {
		parts = append(parts, fmt.Sprintf("counted in part: %d", tally.Partial))
	}
	if n := files[distribute.NotReached]; n > 0 {
		return fmt.Errorf("%w; files not reached: %s", errStoppedEarly, strings.Join(append([]string{fmt.Sprint(n)}, parts...), ", "))
	}
	if len(parts) > 0 {
		return errors.New("some files went wrong; " + strings.Join(parts, ", "))
	}
	if len(files) == 0 || len(files) == 1 && files[distribute.Empty] > 0 {
		return errors.New("nothing to count: every file is empty")
	}
	return nil
}
