package jobs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
)

// batchFlags are the flags of "enqueue --batch".
type batchFlags struct {
	file         string
	ids, skipBad bool
}

func (f *batchFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "batch", "", "`FILE` of jobs, one JSON object per line, or - for standard input")
	c.Flags().BoolVar(&f.ids, "ids", false, "print the id of each job of the batch (of a duplicate: of the existing job)")
	c.Flags().BoolVar(&f.skipBad, "skip-bad", false, "report lines that are no jobs, and skip them; the exit code is 1")
}

// A batch adds the jobs in the lines of a file. Several goroutines read and parse
// lines ahead; one goroutine sends them in order, so that the last line that was
// sent is always known.
type batch struct {
	*enqueueCmd
	client  service
	queue   string
	durable bool
	name    string // of the file, for people
	flags   string // of a command that goes on, as a shell takes them

	ids                    *bufio.Writer
	kinds                  map[string]bool // of the jobs that were added
	done                   int             // lines that were handled
	unclear                int             // the last line whose job may be in the queue or not, 0 for none
	added, duplicates, bad int
	sentBytes, sentLines   atomic.Int64
}

func (e *enqueueCmd) addBatch(c *cobra.Command, client service, options queue.Options) error {
	flags, err := batchFlagsText(c)
	if err != nil {
		return err
	}
	if err := client.Validate(queue.NewJob{Args: queue.Raw("any", nil), Options: queue.Options{Queue: options.Queue}}); err != nil {
		return err
	}
	b := &batch{enqueueCmd: e, client: client, queue: options.Queue, durable: options.Durable, name: e.batch.file, flags: flags, kinds: map[string]bool{}, ids: bufio.NewWriter(e.Out)}
	source, size := c.InOrStdin(), int64(0)
	if b.name == "-" {
		b.name = "standard input"
	} else {
		file, err := os.Open(b.name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it is only read
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		source = file
	}
	return b.run(c.Context(), source, size)
}

// batchFlagsText returns the flags of a batch, other than --batch, as a shell takes them. One that does not go
// with --batch is an error.
func batchFlagsText(c *cobra.Command) (text string, err error) {
	secret := ""
	c.Flags().Visit(func(flag *pflag.Flag) {
		value := flag.Value.String()
		switch {
		case flag.Name == "batch":
		case !slices.Contains([]string{"ids", "skip-bad", "durable"}, flag.Name) && c.InheritedFlags().Lookup(flag.Name) == nil:
			err = cli.WrongUsage("--%s does not go with --batch: the lines have the options of their jobs", flag.Name)
		case flag.Name == "redis" && strings.LastIndexByte(value, '@') > 0: // it has a password; that of @FILE is in the file
			secret = ", and the same --redis"
		case flag.Value.Type() == "bool" && value == "true":
			text += " --" + flag.Name
		default:
			text += " --" + flag.Name + "=" + cli.ShellWord(value)
		}
	})
	return text + secret, err
}

func (b *batch) run(ctx context.Context, source io.Reader, size int64) error {
	begin := time.Now()
	hide := b.showProgress(size)
	sending, stopping, end := b.Console.Listen(ctx)
	err := b.send(sending, stopping, source)
	end()
	hide()
	took := time.Since(begin)
	b.Console.Line(fmt.Sprintf("enqueued=%d duplicates=%d bad=%d lines=%d seconds=%.3f", b.added, b.duplicates, b.bad, b.done, took.Seconds()))
	if b.bad > maxReportedBad {
		b.Console.Hint(fmt.Sprintf("%s: and %s more bad lines", b.name, humanize.Comma(int64(b.bad-maxReportedBad))))
	}
	if err == nil && b.added > 0 {
		warnUnserved(ctx, b.App, b.client, b.queue, "", slices.Sorted(maps.Keys(b.kinds))...)
	}
	if err == nil && b.bad > 0 {
		err = fmt.Errorf("%s: %s of %s lines were no jobs", b.name, humanize.Comma(int64(b.bad)), humanize.Comma(int64(b.done)))
	}
	return err
}

func (b *batch) showProgress(size int64) (hide func()) {
	if size > 0 {
		return b.Console.ShowBytes(size, b.sentBytes.Load, b.sentLines.Load)
	}
	return b.Console.ShowLines(b.sentLines.Load)
}

// send adds the jobs of all lines, until one is bad or Redis refuses them.
func (b *batch) send(ctx, stopping context.Context, source io.Reader) error {
	ctx, over := context.WithCancel(ctx)
	defer over()
	for blocks := b.parse(ctx, source); ; {
		select {
		case <-stopping.Done():
			return b.stopped(errBatchStopped)
		case <-ctx.Done():
			return b.stopped(errBatchStopped)
		case block, more := <-blocks:
			if !more {
				return nil
			}
			if err := b.sendBlock(ctx, stopping, <-block); err != nil {
				return err
			}
		}
	}
}

// maxSend bounds the jobs of one call, so that Ctrl-C takes effect soon.
const maxSend = 500

func (b *batch) sendBlock(ctx, stopping context.Context, block block) error {
	defer func() { b.reportBad(block.bad) }()
	for jobs, lines := block.jobs, block.lines; len(jobs) > 0; {
		n := min(len(jobs), maxSend)
		if len(block.bad) > 0 && !b.batch.skipBad { // the jobs before it are added, those after it are not
			for n > 0 && lines[n-1] > block.bad[0].line {
				n--
			}
			if n == 0 {
				break
			}
		}
		if stopping.Err() != nil {
			return b.stopped(errBatchStopped)
		}
		if err := b.sendAndPrint(ctx, jobs[:n], lines[:n]); err != nil {
			if b.unclear > 0 && b.batch.skipBad { // the error names no line to go on at: a later run may read none of these
				b.done = block.lastBeforeJobAfter(b.unclear)
			}
			return err
		}
		jobs, lines = jobs[n:], lines[n:]
	}
	if len(block.bad) > 0 && !b.batch.skipBad {
		bad := block.bad[0]
		b.bad, b.done = 1, bad.line-1
		// Not %w: a bad line is no wrong usage.
		return b.stopped(fmt.Errorf("%s: line %d: %v", b.name, bad.line, bad.err))
	}
	b.done = block.last
	b.sentBytes.Add(int64(block.size))
	b.sentLines.Store(int64(b.done))
	if block.err != nil {
		return b.stopped(fmt.Errorf("%s: %w", b.name, block.err))
	}
	return nil
}

// reportBad reports the bad lines among those that were handled. A batch that goes on behind them never
// reads them again.
func (b *batch) reportBad(lines []badLine) {
	for _, bad := range lines {
		if bad.line > b.done {
			return
		}
		if b.bad++; b.bad <= maxReportedBad {
			b.Console.Problem(b.name, fmt.Errorf("line %d: %w", bad.line, bad.err))
		}
	}
}

// maxReportedBad bounds the bad lines that are reported one by one.
const maxReportedBad = 10

// sendAndPrint adds some jobs and prints their ids. No job is added after ids that can't be printed.
func (b *batch) sendAndPrint(ctx context.Context, jobs []queue.NewJob, lines []int) error {
	err := b.sendJobs(ctx, jobs, lines)
	if failed := b.ids.Flush(); failed != nil {
		failed = fmt.Errorf("print the ids: %w", failed)
		if err == nil {
			return b.stopped(failed)
		}
		return errors.Join(err, failed)
	}
	return err
}

// sendJobs adds some jobs and counts the results.
func (b *batch) sendJobs(ctx context.Context, jobs []queue.NewJob, lines []int) error {
	var failed error // the first one
	var unknown *rdb.OutcomeUnknownError
	var unconfirmed *rdb.UnconfirmedError
	var refused, unclear []int // lines of the jobs that were not added, and of those that may be
	for i, result := range b.client.EnqueueMany(ctx, jobs) {
		var duplicate *queue.DuplicateError
		id := result.ID
		switch {
		case result.Err == nil, errors.As(result.Err, &unconfirmed):
			b.added++
			b.kinds[jobs[i].Args.Kind()] = true
			b.done = lines[i]
		case errors.As(result.Err, &duplicate):
			b.duplicates++
			id = duplicate.Owner
			b.done = lines[i]
		case errors.As(result.Err, &unknown):
			unclear = append(unclear, lines[i])
		default:
			failed = cmp.Or(failed, result.Err)
			refused = append(refused, lines[i])
		}
		if b.batch.ids && id != "" {
			_, _ = b.ids.WriteString(id + "\n") // Flush returns the error
		}
	}
	var err error
	behind := b.done // a server that allows less refuses some jobs and adds those behind them
	switch {
	case unconfirmed != nil:
		err = fmt.Errorf("%s: up to line %d: jobs were added, but it is not confirmed that they survive a crash of Redis: %w", b.name, b.done, unconfirmed.Err)
	case unknown != nil:
		behind = max(behind, unclear[0])
		err = fmt.Errorf("%s: lines %d to %d: they may be in the queue or not, later ones are not: %w", b.name, unclear[0], unclear[len(unclear)-1], causeOf(unknown))
	case failed == nil:
		b.done = lines[len(lines)-1]
		return nil
	case refused[0] > b.done:
		b.done = refused[0] - 1
		return b.stopped(fmt.Errorf("%s: lines %d to %d: %w", b.name, refused[0], refused[len(refused)-1], causeOf(failed)))
	default:
		err = fmt.Errorf("%s: the jobs up to line %d were added", b.name, b.done)
	}
	if n, _ := slices.BinarySearch(refused, behind); n > 0 {
		err = fmt.Errorf("%w, but not %s: %w", err, lineRanges(refused[:n]), causeOf(failed))
	}
	if unknown != nil {
		b.unclear = unclear[len(unclear)-1]
		b.done = max(b.done, b.unclear)
		return err
	}
	return b.stopped(err)
}

// causeOf returns the error of jobs as that of a batch: a job that is refused is no wrong usage.
func causeOf(err error) error {
	switch {
	case errors.Is(err, cli.ErrStoppedAtOnce):
		return errBatchStopped
	case errors.Is(err, queue.ErrInvalid):
		return errors.New(err.Error())
	}
	return err
}

// lineRanges names lines in ascending order, such as "lines 1 to 2, 4 to 4".
func lineRanges(lines []int) string {
	var ranges []string
	for i := 0; i < len(lines); {
		first := i
		for i++; i < len(lines) && lines[i] == lines[i-1]+1; i++ {
		}
		ranges = append(ranges, fmt.Sprintf("%d to %d", lines[first], lines[i-1]))
	}
	return "lines " + strings.Join(ranges, ", ")
}

// errBatchStopped is the error after Ctrl-C, once or twice. Unlike other commands a
// batch must not be run again from its first line.
var errBatchStopped = errors.New("stopped")

// stopped adds to an error how to go on.
func (b *batch) stopped(err error) error {
	from := ""
	if b.name != "standard input" {
		from = fmt.Sprintf(", with: tail -n +%d %s | skidway enqueue %s --batch -%s", b.done+1, cli.ShellWord(b.name), cli.ShellWord(b.queue), b.flags)
	}
	if b.done == 0 {
		return fmt.Errorf("%w: no job was added; begin again%s", err, from)
	}
	return fmt.Errorf("%w: no job after line %d was added; go on there%s", err, b.done, from)
}
