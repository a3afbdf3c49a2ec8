package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// A fileCount is what one claim made of one file.
type fileCount struct {
	tally    Tally
	cells    map[cellName]int64
	progress progress
	failure  error // nothing of the file was counted
	damage   error // the file was counted up to here only
}

type cellName struct{ group, member string }

func (f *fileCount) add(cell Cell) { f.cells[cellName{cell.Group, cell.Member}] += cell.N }

// A counting is the work on one file: what a subscriber has not counted of it.
type counting struct {
	aggregation Aggregation
	subscriber  string
	patience    time.Duration // how long to wait for a block before asking whether the shipper lives
	busy        func() bool   // whether the processors have work enough
	lines       *atomic.Int64 // tells how many lines are counted so far
}

// countFile counts what the subscriber has not counted of a file yet. Its error
// means that the count is void; what is wrong with the file itself is in the
// fileCount.
func (c *Channel) countFile(ctx context.Context, r record, w counting) (*fileCount, error) {
	before := r.counted[w.subscriber]
	upload := c.download(ctx, r, w.patience)
	defer upload.close()

	start := max(before.resume, r.base)
	content := &contentCounter{aggregation: w.aggregation, before: before, skip: start - r.base, start: start, progress: w.lines}
	inflate := func(to io.Writer) error { return r.codec.copyContent(to, upload) }
	count, err := content.count(pipeline(content, inflate, w.busy, upload.cancel))
	if err != nil {
		return nil, err
	}
	if count.failure != nil || count.damage != nil {
		return count, c.awaitUploaded(ctx, r.id, r.shipment, w.patience)
	}
	return count, nil
}

// finish takes the count from the lines. err is what ended the content, nil at
// its regular end.
func (f *fileCount) finish(aggregation Aggregation, lines *lineCounter, err error, before progress) (*fileCount, error) {
	switch {
	case isDamage(err):
		f.damage = fmt.Errorf("%w; %s", err, lines.place())
	case err != nil:
		return nil, err
	}
	f.tally = lines.tally()
	f.tally.Bytes = lines.resume - lines.start
	lines.counter.Cells(f.add)
	state := lines.counter.State()
	f.progress = progress{resume: lines.resume, end: lines.resume, state: state, note: lines.note()}
	if f.damage != nil {
		f.progress.note, f.progress.missing = "partial: "+f.damage.Error(), true
	} else if line, size := lines.tail(); size > 0 {
		if err := f.countTail(aggregation, line, size, state); err != nil {
			return nil, err
		}
		f.progress.end = lines.offset
	}
	if f.progress.end < before.end { // nothing new came
		f.progress = before
		f.tally, f.cells = Tally{}, map[cellName]int64{}
		return f, nil
	}
	if err := f.takeBack(before.tail); err != nil {
		f.tally, f.cells = Tally{}, map[cellName]int64{}
		f.progress = before
		f.fail(err)
	}
	return f, nil
}

// tallyFile counts the file itself, by what has changed since it was counted
// before: it may have grown, or been mended.
func (f *fileCount) tallyFile(before progress) {
	kinds := func(p progress, add int64) {
		switch {
		case p.missing && p.end == 0:
			f.tally.Failed += add
		case p.missing:
			f.tally.Partial += add
			f.tally.Files += add
		default:
			f.tally.Files += add
		}
	}
	if before.shipment > 0 {
		kinds(before, -1)
	}
	kinds(f.progress, 1)
	f.progress.lines = before.lines + f.tally.Lines
}

// fail notes that nothing of the file is counted, and why.
func (f *fileCount) fail(err error) {
	f.failure = err
	f.progress.note, f.progress.missing = err.Error(), true
}

// isDamage reports whether an error is about what was uploaded, and not about
// the way to it.
func isDamage(err error) bool {
	var corrupt *CorruptError
	var unsupported *UnsupportedCompressionError
	return errors.As(err, &corrupt) || errors.As(err, &unsupported) || errors.Is(err, errVanished)
}
