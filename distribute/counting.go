package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	chunkSize  = 256 << 10 // of uncompressed content, from the goroutine that inflates to the one that counts
	chunks     = 4
	sampleSize = 1 << 20 // at most, for Begin
	// sampleLines is how many lines Begin is shown, if the file has them.
	sampleLines = 1000
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

// countFile counts what a subscriber has not counted of a file yet. Its error
// means that the count is void; what is wrong with the file itself is in the
// fileCount.
func (c *Channel) countFile(ctx context.Context, aggregation Aggregation, r record, subscriber string, patience time.Duration) (*fileCount, error) {
	before := r.counted[subscriber]
	download := c.download(ctx, r, patience)
	defer download.close()

	start := max(before.resume, r.base)
	count, err := readContent(ctx, aggregation, r.codec, download, start-r.base, start, before)
	if err != nil {
		return nil, err
	}
	if count.failure != nil || count.damage != nil {
		return count, c.awaitUploaded(ctx, r.id, r.shipment, patience)
	}
	return count, nil
}

// readContent inflates and counts: one goroutine each.
func readContent(ctx context.Context, aggregation Aggregation, codec codec, upload *download, skip, start int64, before progress) (*fileCount, error) {
	ctx, cancel := context.WithCancel(ctx)
	pump := newPump()
	go pump.run(ctx, codec, upload, skip)
	defer pump.wait()
	defer upload.cancel()
	defer cancel()

	count := &fileCount{cells: map[cellName]int64{}, progress: before}
	var sample []byte
	state := before.state
	if before.shipment == 0 || before.resume == 0 {
		sample, state = pump.sample(), ""
	}
	counter, err := aggregation.Begin(sample, state)
	if err != nil {
		return count.refused(pump, sample, err)
	}
	lines := newLineCounter(counter, start)
	lines.block(sample)
	for chunk := range pump.full {
		lines.block(chunk)
		pump.free <- chunk[:chunkSize]
	}
	return count.finish(aggregation, lines, pump.err, before)
}

// refused is the end of a file that the aggregation will not count.
func (f *fileCount) refused(pump *pump, sample []byte, err error) (*fileCount, error) {
	if len(sample) < sampleSize && bytes.Count(sample, []byte("\n")) < sampleLines {
		for range pump.full { // the sample ended with the content: why?
		}
		var damage *CorruptError
		if pump.err != nil && !errors.As(pump.err, &damage) && !errors.Is(pump.err, errVanished) {
			return nil, pump.err
		}
		if pump.err != nil && len(sample) == 0 {
			err = pump.err
		}
	}
	f.failure = err
	f.progress.note, f.progress.missing = err.Error(), true
	return f, nil
}

// finish takes the count from the lines. err is what ended the content, nil at
// its regular end.
func (f *fileCount) finish(aggregation Aggregation, lines *lineCounter, err error, before progress) (*fileCount, error) {
	var damage *CorruptError
	switch {
	case errors.As(err, &damage), errors.Is(err, errVanished):
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
		f.failure = err
		f.tally, f.cells = Tally{}, map[cellName]int64{}
		f.progress = before
		f.progress.note, f.progress.missing = err.Error(), true
	}
	return f, nil
}

// A pump inflates an upload into chunks. full is closed at the end of the
// content; then err tells why it ended, nil at its regular end.
type pump struct {
	full, free chan []byte
	err        error
	done       chan struct{}
}

func newPump() *pump {
	p := &pump{full: make(chan []byte, chunks), free: make(chan []byte, chunks), done: make(chan struct{})}
	for range chunks {
		p.free <- make([]byte, chunkSize)
	}
	return p
}

func (p *pump) run(ctx context.Context, codec codec, upload io.Reader, skip int64) {
	defer close(p.done)
	defer close(p.full)
	content, err := codec.inflate(upload)
	if err != nil {
		p.err = err
		return
	}
	defer func() { _ = content.Close() }()
	if _, err := io.CopyN(io.Discard, content, skip); err != nil && err != io.EOF {
		p.err = err
		return
	}
	for {
		var chunk []byte
		select {
		case chunk = <-p.free:
		case <-ctx.Done():
			p.err = context.Cause(ctx)
			return
		}
		n, err := io.ReadFull(content, chunk)
		if n > 0 {
			p.full <- chunk[:n] // never blocks: there are no more chunks than places
		}
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return // ReadFull's own; damage and a lost connection may wrap the same errors
		case err != nil:
			p.err = err
			return
		}
	}
}

// sample takes the first chunks, until there are lines enough.
func (p *pump) sample() []byte {
	var sample []byte
	for lines := 0; lines < sampleLines && len(sample) < sampleSize; {
		chunk, ok := <-p.full
		if !ok {
			break
		}
		lines += bytes.Count(chunk, []byte("\n"))
		sample = append(sample, chunk...)
		p.free <- chunk[:chunkSize]
	}
	return sample
}

// wait returns when the goroutine has ended.
func (p *pump) wait() { <-p.done }
