package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"skidway/distribute/stream"
)

// What Begin is shown of a file: its first sampleLines lines, or fewer if they
// are long: sampleSize bytes, if there are some lines in it; maxSample bytes in
// any case.
const (
	sampleLines = 1000
	sampleSize  = 1 << 20
	someLines   = 20
	maxSample   = 4 << 20
)

// A fileCounter counts what a subscriber has not counted of one file yet: the
// file's uncompressed content is written to it.
type fileCounter struct {
	aggregation Aggregation
	before      progress
	skip        int64         // bytes that were counted before
	start       int64         // where in the content the counting begins
	lines       *atomic.Int64 // counted so far, for the progress of the worker

	sample   []byte // until the counting begins
	sampled  int    // newlines in it
	counter  Counter
	splitter *stream.Splitter
	verdicts verdicts
}

// A fileResult is what one claim made of one file.
type fileResult struct {
	tally    Tally
	cells    map[cellName]int64
	progress progress
	failure  error // nothing of the file was counted
	damage   error // the file was counted up to here only
}

type cellName struct{ group, member string }

func (r *fileResult) add(cell Cell) { r.cells[cellName{cell.Group, cell.Member}] += cell.N }

// A refusal is the error of an aggregation that does not count the file.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// countFile counts what the subscriber has not counted of a file yet. Its error
// means that the count is void; what is wrong with the file itself is in the
// fileResult.
func (w *Worker) countFile(ctx context.Context, r record, lines *atomic.Int64) (*fileResult, error) {
	patience := w.config.Lease
	upload := w.channel.download(ctx, r, patience)
	defer upload.Close()

	before := r.counted[w.subscriber]
	start := max(before.resume, r.base)
	counter := &fileCounter{aggregation: w.aggregation, before: before, skip: start - r.base, start: start, lines: lines}
	inflate := func(to io.Writer) error { return r.codec.CopyContent(to, upload) }
	result, err := counter.result(stream.Pipeline(counter, inflate, w.busy, upload.Cancel))
	if err != nil {
		return nil, err
	}
	result.tallyFile(before)
	if result.failure != nil || result.damage != nil {
		return result, w.channel.awaitUploaded(ctx, r.id, r.shipment, patience)
	}
	return result, nil
}

// Write counts the next block of the content. Its error is a refusal.
func (c *fileCounter) Write(block []byte) (int, error) {
	written := len(block)
	skipped := min(c.skip, int64(written))
	c.skip -= skipped
	block = block[skipped:]
	if c.splitter == nil {
		c.sample = append(c.sample, block...)
		c.sampled += bytes.Count(block, []byte("\n"))
		if !c.fresh() || c.sampled >= sampleLines || len(c.sample) >= maxSample || len(c.sample) >= sampleSize && c.sampled >= someLines {
			return written, c.begin()
		}
		return written, nil
	}
	c.splitter.Split(block)
	c.lines.Store(c.verdicts.tally().Lines)
	return written, nil
}

// fresh reports whether this is the beginning of the file, for this subscriber.
func (c *fileCounter) fresh() bool { return c.before.shipment == 0 || c.before.resume == 0 }

// begin begins the counting with the sample.
func (c *fileCounter) begin() (err error) {
	sample, state := c.sample, ""
	if !c.fresh() {
		sample, state = nil, c.before.state
	}
	if c.counter, err = c.aggregation.Begin(sample, state); err != nil {
		return &refusal{err}
	}
	c.splitter = stream.NewSplitter(c.start, func(line []byte) { c.verdicts.add(c.counter, line) })
	c.splitter.Split(c.sample)
	c.sample = nil
	return nil
}

// result ends the counting. err is what ended the content, nil at its regular
// end.
func (c *fileCounter) result(err error) (*fileResult, error) {
	result := &fileResult{cells: map[cellName]int64{}, progress: c.before}
	var refused *refusal
	if c.splitter == nil && !errors.As(err, &refused) {
		if err != nil && !isDamage(err) {
			return nil, err
		}
		if begun := c.begin(); begun != nil && !(isDamage(err) && len(c.sample) == 0) {
			err = begun // a file that is damaged from its first byte on is just that
		}
	}
	if c.splitter == nil {
		result.fail(err)
		return result, nil
	}
	switch {
	case isDamage(err):
		result.damage = fmt.Errorf("%w; %s", err, c.place())
	case err != nil:
		return nil, err
	}
	if err := c.collect(result); err != nil {
		return nil, err
	}
	if result.progress.end < c.before.end { // nothing new came
		result.void(c.before)
	} else if err := result.takeBack(c.before.tail); err != nil {
		result.void(c.before)
		result.fail(err)
	}
	return result, nil
}

// collect adds up what was counted, and counts the last line.
func (c *fileCounter) collect(result *fileResult) error {
	resume := c.splitter.Resume()
	result.tally = c.verdicts.tally()
	result.tally.Bytes = resume - c.splitter.Start()
	c.counter.Cells(result.add)
	state := c.counter.State()
	result.progress = progress{resume: resume, end: resume, state: state, note: c.splitter.Note()}
	if result.damage != nil {
		result.progress.note, result.progress.missing = "partial: "+result.damage.Error(), true
		return nil
	}
	if line, size := c.splitter.Tail(); size > 0 {
		if err := result.countTail(c.aggregation, line, size, state); err != nil {
			return err
		}
	}
	result.progress.end = c.splitter.Offset()
	return nil
}

// place returns, for people, how far the lines were counted.
func (c *fileCounter) place() string {
	if c.splitter.Start() == 0 {
		return fmt.Sprintf("counted up to line %d, byte %d of the uncompressed content", c.verdicts.tally().Lines, c.splitter.Resume())
	}
	return fmt.Sprintf("counted up to byte %d of the uncompressed content", c.splitter.Resume())
}

// void drops what was counted: the file stands as it stood before.
func (r *fileResult) void(before progress) {
	r.tally, r.cells, r.progress = Tally{}, map[cellName]int64{}, before
}

// fail notes that nothing of the file is counted, and why.
func (r *fileResult) fail(err error) {
	r.failure = err
	r.progress.note, r.progress.missing = err.Error(), true
}

// tallyFile counts the file itself, by what has changed since it was counted
// before: it may have grown, or been mended.
func (r *fileResult) tallyFile(before progress) {
	kinds := func(p progress, add int64) {
		switch {
		case p.missing && p.end == 0:
			r.tally.Failed += add
		case p.missing:
			r.tally.Partial += add
			r.tally.Files += add
		default:
			r.tally.Files += add
		}
	}
	if before.shipment > 0 {
		kinds(before, -1)
	}
	kinds(r.progress, 1)
	r.progress.lines = before.lines + r.tally.Lines
}

// isDamage reports whether an error is about what was uploaded, and not about
// the way to it.
func isDamage(err error) bool { return stream.IsDamage(err) || errors.Is(err, errVanished) }

// A log that is shipped while it grows may end in the middle of a line. That
// line is counted as it stands, for it may be the last. What it counted is kept
// with the file: when the file goes on, it is taken back, and the line counted
// anew when it is whole.

// What a last line counted is kept as text: a line for the tally, then one for
// each cell.
const (
	tallyFormat = "%d %d %d %d %d\n"
	cellFormat  = "%d %q %q\n"
)

// countTail counts a last line that has no newline; nil is one that is too long
// to be looked at.
func (r *fileResult) countTail(aggregation Aggregation, line []byte, size int64, state string) error {
	counter, err := aggregation.Begin(nil, state)
	if err != nil {
		return fmt.Errorf("count the last line: %w", err)
	}
	var seen verdicts
	seen.add(counter, line)
	tally := seen.tally()
	tally.Bytes = size
	var text strings.Builder
	fmt.Fprintf(&text, tallyFormat, tally.Lines, tally.Counted, tally.Unknown, tally.Unparsable, tally.Bytes)
	counter.Cells(func(cell Cell) {
		r.add(cell)
		fmt.Fprintf(&text, cellFormat, cell.N, cell.Group, cell.Member)
	})
	r.tally.Add(tally)
	r.progress.tail = text.String()
	return nil
}

// takeBack subtracts what an earlier countTail counted.
func (r *fileResult) takeBack(tail string) error {
	if tail == "" {
		return nil
	}
	head, cells, _ := strings.Cut(tail, "\n")
	var t Tally
	if _, err := fmt.Sscanf(head+"\n", tallyFormat, &t.Lines, &t.Counted, &t.Unknown, &t.Unparsable, &t.Bytes); err != nil {
		return fmt.Errorf("the record of the last line is malformed: %w", err)
	}
	r.tally.Add(Tally{Lines: -t.Lines, Counted: -t.Counted, Unknown: -t.Unknown, Unparsable: -t.Unparsable, Bytes: -t.Bytes})
	for line := range strings.Lines(cells) {
		var cell Cell
		if _, err := fmt.Sscanf(line, cellFormat, &cell.N, &cell.Group, &cell.Member); err != nil {
			return fmt.Errorf("the record of the last line is malformed: %w", err)
		}
		cell.N = -cell.N
		r.add(cell)
	}
	return nil
}
