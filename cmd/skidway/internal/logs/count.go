package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/stream"
	"skidway/internal/handle"
)

// A counter is the command "logs count".
type counter struct {
	*cli.App
	counting
	inputs
	window cli.Size
	top    cli.Number
	force  bool
	dryRun bool
	page   pageFile
	output *cli.Choice
	live   *liveView // of "logs top"; nil: a bar shows the progress, and tables the counts

	formats formatCount
}

const countHelp = `Counts the requests in log files per country and day, or by the dimensions of
--by, and prints the counts. With several --by it prints a table for each one,
and as CSV the first one only.

A PATH is a file, a pattern such as 'logs/*.gz', or a directory, of which it
counts all files at any depth, but follows no links to other directories, or an
object or prefix of a bucket, s3://BUCKET/PREFIX, or -, which is standard input.
It detects plain text, gzip, zstd, xz, bzip2 and lz4 by their content, brotli by
the name, and reads tar and zip archives of such files, but no archive from
standard input or a FIFO. When a file has an error it counts the others, and the
exit code is 1.

` + sameFile + `

--visitors also counts the visitors of tables by day, week, month or country:
different pairs of address and agent that are no crawlers, each once in all days
of a row. Their numbers are estimates (≈) with a standard error of 0.81 %.

It needs no Redis: everything happens inside this process. It uses a server only
with --redis, not by the environment, and deletes files and counts there at the
end.

The last line on standard error is a summary:
lines = counted + unknown_country + filtered + expired + unparsable. filtered is
the lines that --where does not select, and only there; expired, of days beyond
4,096. Of the lines of an unknown country, those from addresses that are not
public are private; of those that are in the rows, crawlers are of crawlers, and
people are the others, where --by has crawler or crawler_class.`

func count(a *cli.App) *cobra.Command {
	k := &counter{App: a, formats: formatCount{}}
	c := &cobra.Command{
		Use:   "count PATH...",
		Short: "Counts files in this process and prints the counts",
		Long:  countHelp,
		Example: `  skidway logs count /var/log/nginx
  skidway logs count access.log access.log.2.gz --top 5
  zcat access.log.*.gz | skidway logs count -
  skidway logs count --by day,country,status --by hour,method logs/
  skidway logs count --where 'status >= 500 && country in ["DE", "FR"]' logs/
  skidway logs count --by day --tz Europe/Berlin -o csv logs/ > days.csv
  skidway logs count --geoip GeoLite2-Country.mmdb -o json logs/
  skidway logs count --by day,asn,crawler --asn GeoLite2-ASN.mmdb logs/
  skidway logs count --by day,country,crawler --by day,status --html web.html \
      logs/
  skidway logs count --visitors day,country --by month,country logs/
  skidway logs count s3://my-logs/web/2026-11/ --s3-profile logs
  skidway logs count --dry-run 'logs/*.xz' backup.tar.gz`,
		Args: k.args("PATH: name the files or directories to count"),
	}
	k.counting.addFlags(c)
	k.inputs.addFlags(c)
	c.Flags().Var(&k.window, "window", "size of the files that are in Redis at once")
	c.Flags().Var(&k.top, "top", "number of rows per day, the highest first; 0: all")
	c.Flags().BoolVar(&k.force, "force", false, "count files with the same content each, too")
	c.Flags().BoolVar(&k.dryRun, "dry-run", false, "print the files with their formats, and count nothing")
	k.page.days = `--where 'day >= "2026-01-01"'`
	k.page.addFlags(c)
	k.output = cli.OutputFlag(a, c)
	c.MarkFlagsMutuallyExclusive("dry-run", "html")
	c.RunE = cli.Action(func(c *cobra.Command, paths []string) error {
		paths, err := k.read(c, paths)
		if err = errors.Join(err, k.page.check(c)); err != nil {
			return err
		}
		return k.run(c.Context(), paths)
	})
	return c
}

func (k *counter) run(ctx context.Context, paths []string) error {
	aggregation, warnings, err := k.aggregation()
	if err != nil {
		return err
	}
	showsVisitors := slices.ContainsFunc(aggregation.Tables(), func(t cuts.Table) bool { return t.HasVisitors })
	if len(k.visitors) > 0 && k.page.path == "" && !showsVisitors {
		return cli.WrongUsage("no table has visitors: --by %s has them, without other dimensions, and so has the page of --html", strings.Join(k.visitors, ","))
	}
	printWarnings(k.Console, warnings...)
	files, missing, err := k.list(ctx, k.Console, paths)
	if err != nil {
		return err
	}
	if k.dryRun {
		shipper := distribute.NewShipper(nil, &distribute.ShipperConfig{Force: k.force, Members: k.members(), Open: k.open(), MaxWindow: k.maxWindow()})
		return dryRun(ctx, k.App, k.output.Word, shipper, aggregation, files, len(missing))
	}
	started := time.Now()
	var batch distribute.BatchResult
	if len(files) > 0 {
		if batch, err = k.batch(ctx, aggregation, files); err != nil {
			return err
		}
	}
	k.formats.print(k.Console)
	report, page := k.page.split(batch.Report)
	r := resultOf(report)
	r.top, r.took = int(k.top), time.Since(started)
	r.settings, _ = cuts.ParseSettings(aggregation.Settings()) // which are those of a Counting
	if len(r.tables) == 0 {                                    // nothing was counted
		r.tables = aggregation.Tables()
	}
	for _, bad := range append(missing, shippingErrors(batch.Files)...) {
		r.problems = append(r.problems, problem{bad.Path, cli.WithHint(bad.Err), true})
		r.tally.Failed++
	}
	var pageErr error // what was counted is printed all the same
	if k.page.path != "" {
		for _, bad := range r.problems[len(page.Problems):] {
			page.Problems = append(page.Problems, distribute.Problem{File: bad.File, Kind: distribute.NotCounted, Detail: bad.Note})
		}
		page.Subscriber.Tally = r.tally
		pageErr = k.page.write(k.Console, "", "", page)
	}
	if err := errors.Join(k.print(r), pageErr); err != nil {
		return err
	}
	if warning := batch.Report.Subscriber.UnknownWarning(); warning != "" {
		k.Console.Notice("warning: %s", warning)
	}
	outcomes := countOutcomes(k.Console, batch.Files)
	if k.skipped > 0 {
		outcomes[distribute.Skipped] += k.skipped
	}
	return verdict(outcomes, r.tally)
}

// print prints the counts.
func (k *counter) print(r result) error {
	if k.live == nil {
		return printResult(k.App, k.output.Word, r)
	}
	err := k.live.end(r)
	if err == nil {
		r.printSummary(k.App)
	}
	return err
}

func (k *counter) batch(ctx context.Context, aggregation *distribute.Counting, files []string) (result distribute.BatchResult, err error) {
	db, err := k.Open(ctx, cmp.Or(k.Redis, cli.EmbeddedURL))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, stopping, end := k.Console.Listen(ctx)
	defer end()
	settings, _ := cuts.ParseSettings(aggregation.Settings()) // which are those of a Counting
	query := k.page.query(cuts.Query{}, settings)
	if k.live != nil {
		query = &cuts.Query{By: settings.Overview()}
	}
	batch := distribute.NewBatch(handle.New(db), aggregation, &distribute.BatchConfig{
		Window: int64(k.window), Workers: int(k.workers), Force: k.force, Members: k.members(), Open: k.open(), MaxWindow: k.maxWindow(), Query: query,
		Notify: func(e distribute.Event) {
			if k.formats.add(e) {
				return
			}
			if f := e.Shipped; f.Outcome != distribute.Shipped || f.Base > 0 || f.Grown > 0 { // otherwise the event that it is counted is enough
				k.notify(e)
			}
		},
	})
	defer context.AfterFunc(stopping, batch.Stop)()
	stop, err := k.show(ctx, batch, stream.Bytes(files))
	if err != nil {
		return result, err
	}
	defer stop()
	result, err = batch.Run(ctx, files)
	return result, cli.InvalidAsUsage(err)
}

// show shows the progress of a batch with so many bytes until stop is called.
func (k *counter) show(ctx context.Context, batch *distribute.Batch, total int64) (stop func(), err error) {
	if k.live != nil {
		return k.live.begin(ctx, batch, total)
	}
	return k.Console.ShowBytes(total,
		func() int64 { bytes, _ := batch.Progress(); return bytes },
		func() int64 { _, lines := batch.Progress(); return lines }), nil
}

// notify prints an event, or keeps it for the end of the live view.
func (k *counter) notify(e distribute.Event) {
	if k.live == nil || !k.live.keep(e) {
		printEvent(k.Console, e)
	}
}

// A formatCount has the number of counted files by their format, for one line at the end instead
// of one for each file.
type formatCount map[string]int

// add adds the file of an event, and reports whether there is nothing else to tell of it.
func (c formatCount) add(e distribute.Event) (plain bool) {
	if e.Kind != distribute.EventCounted || e.Err != nil {
		return false
	}
	if e.Reading.Format != "" {
		c[e.Reading.Format]++
	}
	return e.Problem == nil && !e.Reading.Unsure && !e.Reading.Unzoned
}

// print prints the files by format, those with most files first, if formats were detected.
func (c formatCount) print(console *cli.Console) {
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(c[b]-c[a], strings.Compare(a, b)) })
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprintf("%s %d", name, c[name])
	}
	if len(texts) > 0 {
		console.Notice("files by format: %s", strings.Join(texts, ", "))
	}
}

// maxWindow returns the memory for windows of the shipper, and of the worker.
func (k *counter) maxWindow() int64 { return int64(k.memory) / 2 }

func shippingErrors(files []distribute.ShippedFile) []*stream.FileError {
	var list []*stream.FileError
	for _, f := range files {
		if bad, ok := errors.AsType[*stream.FileError](f.Err); ok {
			list = append(list, bad)
		}
	}
	return list
}

// outcomes has the number of files by outcome.
type outcomes map[distribute.Outcome]int

// countOutcomes counts the outcomes of files and prints notices about empty ones.
func countOutcomes(console *cli.Console, files []distribute.ShippedFile) outcomes {
	count := outcomes{}
	for _, f := range files {
		count[f.Outcome]++
		if f.Outcome == distribute.Empty {
			console.Notice("%s: empty, nothing to count", f.Path)
		}
	}
	return count
}

// verdict returns the error of a run over files, whose own errors were reported
// before; nil if all of them were counted.
func verdict(files outcomes, tally distribute.Tally) error {
	var parts []string
	if tally.Failed > 0 {
		parts = append(parts, fmt.Sprintf("failed: %d", tally.Failed))
	}
	if tally.Partial > 0 {
		parts = append(parts, fmt.Sprintf("counted in part: %d", tally.Partial))
	}
	if n := files[distribute.NotReached]; n > 0 {
		return fmt.Errorf("%w; files not reached: %s", cli.ErrStoppedEarly, strings.Join(append([]string{fmt.Sprint(n)}, parts...), ", "))
	}
	if len(parts) > 0 {
		return errors.New("some files went wrong; " + strings.Join(parts, ", "))
	}
	if len(files) == 0 || len(files) == 1 && files[distribute.Empty] > 0 {
		return errors.New("nothing to count: every file is empty")
	}
	return nil
}
