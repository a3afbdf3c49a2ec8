package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	c.Flags().StringVar(&f.file, "batch", "", "`FILE` of jobs, one JSON object a line, or - for standard input")
	c.Flags().BoolVar(&f.ids, "ids", false, "print the id of each job of the batch, for a duplicate that of the one there")
	c.Flags().BoolVar(&f.skipBad, "skip-bad", false, "tell lines that are no jobs and go on; the exit code is 1")
}

// A batch is lines on their way into a queue. They are read and made jobs by
// several goroutines ahead of the one that sends them, in order: so it can
// always be said which line was the last.
type batch struct {
	*enqueuing
	client *queue.Client
	queue  string
	name   string // of the file, for people

	ids                  *bufio.Writer
	done                 int // lines dealt with
	added, twice, bad    int
	sentBytes, sentLines atomic.Int64
}

func (e *enqueuing) addBatch(c *cobra.Command, client *queue.Client, options queue.Options) error {
	var wrong error
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case flag.Name == "batch" || flag.Name == "ids" || flag.Name == "skip-bad":
		case c.InheritedFlags().Lookup(flag.Name) == nil:
			wrong = cli.WrongUsage("--%s does not go with --batch: the lines say how their jobs are run", flag.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	if _, err := client.Queue(options.Queue); err != nil {
		return err
	}
	b := &batch{enqueuing: e, client: client, queue: options.Queue, name: e.batch.file, ids: bufio.NewWriter(e.Out)}
	source, size := c.InOrStdin(), int64(0)
	if b.name == "-" {
		b.name = "standard input"
	} else {
		file, err := os.Open(b.name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		source = file
	}
	return b.run(c.Context(), source, size)
}

func (b *batch) run(ctx context.Context, source io.Reader, size int64) error {
	begin := time.Now()
	hide := b.showProgress(size)
	ctx, stop, end := b.Console.Listen(ctx)
	err := b.send(ctx, stop, source)
	end()
	hide()
	err = errors.Join(err, b.ids.Flush())
	took := time.Since(begin)
	b.Console.Line(fmt.Sprintf("enqueued=%d duplicates=%d bad=%d lines=%d seconds=%.3f", b.added, b.twice, b.bad, b.done, took.Seconds()))
	if b.bad > toldBad {
		b.Console.Hint(fmt.Sprintf("%s: and %s more bad lines", b.name, humanize.Comma(int64(b.bad-toldBad))))
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

// send adds the jobs of all lines, until one is bad or Redis doesn't take them.
func (b *batch) send(ctx context.Context, stop *cli.Stopper, source io.Reader) error {
	ctx, over := context.WithCancel(ctx)
	defer over()
	for blocks := b.parse(ctx, source); ; {
		select {
		case <-stop.Quit:
			return b.stopped(errBatchStopped)
		case <-ctx.Done():
			return b.stopped(errBatchStopped)
		case block, more := <-blocks:
			if !more {
				return nil
			}
			if err := b.sendBlock(ctx, stop, <-block); err != nil {
				return err
			}
		}
	}
}

// chunk is how many jobs go at once, so that a stop is soon.
const chunk = 500

func (b *batch) sendBlock(ctx context.Context, stop *cli.Stopper, block block) error {
	bad := block.bad
	for jobs, lines := block.jobs, block.lines; len(jobs) > 0; {
		n := min(len(jobs), chunk)
		if len(bad) > 0 && !b.batch.skipBad { // those before it go in, those after it don't
			for n > 0 && lines[n-1] > bad[0].line {
				n--
			}
			if n == 0 {
				break
			}
		}
		if stop.Stopped() {
			return b.stopped(errBatchStopped)
		}
		if err := b.sendJobs(ctx, jobs[:n], lines[:n]); err != nil {
			return err
		}
		jobs, lines = jobs[n:], lines[n:]
	}
	for _, bad := range bad {
		if !b.batch.skipBad {
			b.bad, b.done = 1, bad.line-1
			// Not %w: what a file says is no wrong usage.
			return b.stopped(fmt.Errorf("%s: line %d: %v", b.name, bad.line, bad.err))
		}
		if b.bad++; b.bad <= toldBad {
			b.Console.Problem(b.name, fmt.Errorf("line %d: %w", bad.line, bad.err))
		}
	}
	b.done = block.last
	b.sentBytes.Add(int64(block.size))
	b.sentLines.Store(int64(b.done))
	if block.err != nil {
		return b.stopped(fmt.Errorf("%s: %w", b.name, block.err))
	}
	return b.ids.Flush()
}

// toldBad is how many bad lines are told one by one.
const toldBad = 10

// sendJobs adds some jobs and counts what became of them.
func (b *batch) sendJobs(ctx context.Context, jobs []queue.Insert, lines []int) error {
	var failed error
	var unknown *rdb.OutcomeUnknownError
	first, last := 0, 0 // of an unknown outcome, the lines that it is unknown of
	for i, result := range b.client.EnqueueMany(ctx, jobs) {
		var twice *queue.DuplicateError
		id := result.ID
		switch {
		case result.Err == nil:
			b.added++
		case errors.As(result.Err, &twice):
			b.twice++
			id = twice.Owner
		case failed == nil:
			failed, first, last = result.Err, lines[i], lines[i]
			_ = errors.As(failed, &unknown)
		case unknown == nil || errors.Is(result.Err, unknown):
			last = lines[i]
		}
		if b.batch.ids && id != "" {
			_, _ = b.ids.WriteString(id + "\n") // Flush tells
		}
	}
	if failed == nil {
		b.done = lines[len(lines)-1]
		return nil
	}
	if errors.Is(failed, cli.ErrStoppedAtOnce) {
		failed = errBatchStopped
	}
	if unknown != nil {
		return fmt.Errorf("%s: lines %d to %d: they may be in the queue or not, later ones are not: %w", b.name, first, last, failed)
	}
	b.done = first - 1
	return b.stopped(fmt.Errorf("%s: lines %d to %d: %w", b.name, first, last, failed))
}

// errBatchStopped is for Ctrl-C, once or twice. Unlike other commands a batch must
// not just be run again.
var errBatchStopped = errors.New("stopped")

// stopped says after an error how to go on.
func (b *batch) stopped(err error) error {
	from := ""
	if b.name != "standard input" {
		from = fmt.Sprintf(", with: tail -n +%d %s | skidway enqueue %s --batch -", b.done+1, b.name, b.queue)
	}
	return fmt.Errorf("%w: no job from line %d on was added; go on there%s", err, b.done+1, from)
}
