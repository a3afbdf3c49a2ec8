package distribute

import (
	"bytes"
	"errors"
	"sync/atomic"
)

// What Begin is shown of a file: its first sampleLines lines, or fewer if they
// are long: sampleSize bytes, if there are some lines in it; mostSample bytes in
// any case.
const (
	sampleLines = 1000
	sampleSize  = 1 << 20
	someLines   = 20
	mostSample  = 4 << 20
)

// A contentCounter is written the uncompressed content of a file and counts it.
type contentCounter struct {
	aggregation Aggregation
	before      progress
	skip        int64 // bytes that were counted before
	start       int64 // where in the content the counting begins
	progress    *atomic.Int64

	sample  []byte // until the counting begins
	sampled int    // newlines in it
	lines   *lineCounter
}

// A refusal is the aggregation's word that it will not count the file.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Write counts the next block of the content. Its error is a refusal.
func (c *contentCounter) Write(block []byte) (int, error) {
	written := len(block)
	skipped := min(c.skip, int64(written))
	c.skip -= skipped
	block = block[skipped:]
	if c.lines == nil {
		c.sample = append(c.sample, block...)
		c.sampled += bytes.Count(block, []byte("\n"))
		if !c.fresh() || c.sampled >= sampleLines || len(c.sample) >= mostSample || len(c.sample) >= sampleSize && c.sampled >= someLines {
			return written, c.begin()
		}
		return written, nil
	}
	c.lines.block(block)
	c.progress.Store(c.lines.tally().Lines)
	return written, nil
}

// fresh reports whether this is the beginning of the file, for this subscriber.
func (c *contentCounter) fresh() bool { return c.before.shipment == 0 || c.before.resume == 0 }

// begin begins the counting with the sample.
func (c *contentCounter) begin() error {
	sample, state := c.sample, ""
	if !c.fresh() {
		sample, state = nil, c.before.state
	}
	counter, err := c.aggregation.Begin(sample, state)
	if err != nil {
		return &refusal{err}
	}
	c.lines = newLineCounter(counter, c.start)
	c.lines.block(c.sample)
	c.sample = nil
	return nil
}

// count ends the counting. err is what ended the content, nil at its regular
// end.
func (c *contentCounter) count(err error) (*fileCount, error) {
	count := &fileCount{cells: map[cellName]int64{}, progress: c.before}
	var refused *refusal
	if c.lines == nil && !errors.As(err, &refused) {
		if err != nil && !isDamage(err) {
			return nil, err
		}
		if begun := c.begin(); begun != nil && !(isDamage(err) && len(c.sample) == 0) {
			err = begun // a file that is damaged from its first byte on is just that
		}
	}
	if c.lines == nil {
		count.fail(err)
		return count, nil
	}
	return count.finish(c.aggregation, c.lines, err, c.before)
}
