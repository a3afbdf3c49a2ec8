package distribute

import (
	"fmt"
	"math"
	"strings"
	"time"

	"skidway/distribute/stream"
)

// partCommits decides when a scan commits what it has counted so far, and does it.
type partCommits struct {
	bytes       int64         // of content between two commits
	interval    time.Duration // between two commits
	segment     int64         // bytes per segment of the upload
	held        int64         // bytes of the upload that may stay in Redis although they are counted
	checkpoints *stream.Checkpoints
	plain       bool // the place of a line follows from its offset: no checkpoint is recorded
	commit      func(result *fileResult, checkpoint []byte) error

	last  time.Time // of the last commit, or when the scan began
	lines int64     // that were committed
}

// maxOpen is how much content may follow, after a commit is due, while a record is open.
const maxOpen = 4 << 20

// newPartCommits returns the commits of an upload that is read from a checkpoint on, in a
// window of so many bytes.
func newPartCommits(config WorkerConfig, upload record, window int64, from stream.Checkpoint, commit func(*fileResult, []byte) error) *partCommits {
	p := &partCommits{
		bytes: config.CommitBytes, interval: config.CommitInterval, segment: max(upload.segment, 1), held: math.MaxInt64,
		checkpoints: stream.NewCheckpoints(upload.codec, max(upload.segment, 1), from), plain: upload.codec == stream.Plain,
		commit: commit, last: time.Now(),
	}
	if upload.stream || upload.upload > window/2 {
		p.held = max(upload.segment, window/4)
	}
	return p
}

// An urgency is how urgent a commit is.
type urgency int

const (
	whenDue  urgency = iota
	soon             // another file comes first, for a short time
	givenUp          // another file comes first
	atAnyEnd         // the shipper waits: also within a record
)

// commitPart commits the whole lines that were counted since the last commit, if it is
// urgent or due, or if that frees so many segments that the shipper need not wait for room.
func (s *fileScan) commitPart(urgent urgency) error {
	resume, behind := s.reached()
	// Before its end there may be nothing new in a copy of a counted file; a record that
	// goes on is counted by a later part, unless it goes on for too long: perhaps its end was
	// never written.
	counts := resume > s.before.resume && resume >= s.before.end
	if counts && isOpen(s.counter) {
		if counts = urgent == atAnyEnd || resume-s.before.resume >= s.parts.bytes+maxOpen; counts {
			s.verdicts.flush(s.counter)
		}
	}
	if !counts && resume > s.before.resume {
		resume, behind = s.before.resume, s.before.inside
	}
	checkpoint := s.parts.checkpoints.Before(resume + behind.bytes - s.base)
	if checkpoint.Raw < s.before.keep {
		checkpoint = stream.Checkpoint{} // the recorded one stays
	}
	due := urgent != whenDue || isFull(s.counter) || resume-s.before.resume >= s.parts.bytes || time.Since(s.parts.last) >= s.parts.interval
	frees := checkpoint.Raw/s.parts.segment > s.before.keep/s.parts.segment
	if !frees && !counts || !due && (!frees || checkpoint.Raw-s.before.keep < s.parts.held) {
		return nil
	}
	result := &fileResult{cells: map[cellName]int64{}, progress: s.before}
	if counts {
		result = s.part(resume)
		if err := result.subtractTail(s.before.tail); err != nil {
			return &refusal{err}
		}
		result.progress.lines = s.before.lines + result.tally.Lines
	}
	result.progress.keep, result.progress.inside = max(checkpoint.Raw, s.before.keep), behind
	var encoded []byte
	if checkpoint.Raw > 0 && !s.parts.plain {
		encoded = checkpoint.Encode()
	}
	if err := s.parts.commit(result, encoded); err != nil {
		return err
	}
	s.before, s.parts.last, s.parts.lines = result.progress, time.Now(), s.parts.lines+result.read.Lines
	if !counts {
		return nil
	}
	s.verdicts = verdicts{}
	var err error
	if s.counter, err = s.aggregation.Begin(nil, s.before.state); err != nil {
		return fmt.Errorf("go on after a commit: %w", err)
	}
	return nil
}

// commitAll commits the whole lines that were counted, those of the sample included if no others
// may follow soon.
func (s *fileScan) commitAll(urgent urgency) error {
	rests := s.sampled >= minSampleLines && (urgent == givenUp || time.Since(s.parts.last) >= s.parts.interval)
	if s.splitter == nil && len(s.sample) > 0 && (rests || urgent == atAnyEnd) {
		if err := s.begin(); err != nil {
			return err
		}
	}
	return s.commitPart(urgent)
}

// part returns the counts of the whole lines since the last commit, which end at resume.
func (s *fileScan) part(resume int64) *fileResult {
	result := &fileResult{cells: map[cellName]int64{}, tally: s.verdicts.tally(), progress: s.before}
	result.tally.Bytes = resume - s.before.resume
	s.counter.Cells(result.add)
	result.filtered = filteredDays(s.counter)
	result.addVisitors(s.counter)
	result.read = result.tally
	p := &result.progress
	p.resume, p.ending, p.tail, p.state, p.long = resume, s.ending(resume), "", s.state(), formatLongLines(s.splitter.FinishedLongLines())
	return result
}

// longFormat is how long lines are recorded between two parts.
const longFormat = "%d %d %d"

func formatLongLines(long stream.LongLines) string {
	if long.Count == 0 {
		return ""
	}
	return fmt.Sprintf(longFormat, long.Count, long.Offset, long.Line)
}

// parseLongLines returns no lines if the text is malformed: they are for a note only.
func parseLongLines(text string) (long stream.LongLines) {
	if _, err := fmt.Sscanf(text, longFormat, &long.Count, &long.Offset, &long.Line); err != nil {
		return stream.LongLines{}
	}
	return long
}

// longLinesNote returns the text that is recorded with a file that has lines longer
// than [stream.MaxLine]; without any, it is empty.
func longLinesNote(long stream.LongLines) string {
	if long.Count == 0 {
		return ""
	}
	first, more := fmt.Sprintf("line %d", long.Line), ""
	if long.Line == 0 {
		first = fmt.Sprintf("the line at byte %d of the uncompressed content", long.Offset)
	}
	if long.Count > 1 {
		more = fmt.Sprintf(", and %d more", long.Count-1)
	}
	return fmt.Sprintf("%s is longer than %d MiB%s: counted as unparsable", first, stream.MaxLine>>20, more)
}

// inside is what a reader that goes on behind the last whole line need not read again: NULs
// before the next line, or the start of a line that is longer than [stream.MaxLine].
type inside struct {
	bytes   int64
	tooLong bool
}

const insideFormat = "%d %t"

func (i inside) format() string {
	if i.bytes == 0 {
		return ""
	}
	return fmt.Sprintf(insideFormat, i.bytes, i.tooLong)
}

// parseInside returns nothing if the text is malformed.
func parseInside(text string) (i inside) {
	if _, err := fmt.Sscanf(text, insideFormat, &i.bytes, &i.tooLong); err != nil || i.bytes < 0 {
		return inside{}
	}
	return i
}

// A log that is shipped while it grows may end in the middle of a line, or of a record of
// several lines. That, its tail, is counted as it is, for it may be the last one. Its counts are
// stored with the file: when the file grows they are subtracted, and the whole line or record
// is counted.

// A tail has the counts of the last line, and of records that are open.
type tail struct {
	tally    Tally
	cells    []Cell
	filtered map[string]int64 // lines by day; not stored
}

// The counts of a tail are stored as text: one line for the tally, then one line
// for each cell.
const (
	tallyFormat = "%d %d %d %d %d %d %d\n"
	cellFormat  = "%d %q %q\n"
)

// format returns the text of a tail, empty if it has no lines.
func (t tail) format() string {
	if t.tally.Lines == 0 && t.tally.Bytes == 0 {
		return ""
	}
	var text strings.Builder
	n := t.tally
	fmt.Fprintf(&text, tallyFormat, n.Lines, n.Counted, n.Unknown, n.Filtered, n.Expired, n.Unparsable, n.Bytes)
	for _, cell := range t.cells {
		fmt.Fprintf(&text, cellFormat, cell.N, cell.Group, cell.Member)
	}
	return text.String()
}

// parseTail parses what format returns.
func parseTail(text string) (t tail, err error) {
	if text == "" {
		return t, nil
	}
	head, cells, _ := strings.Cut(text, "\n")
	n := &t.tally
	if _, err := fmt.Sscanf(head+"\n", tallyFormat, &n.Lines, &n.Counted, &n.Unknown, &n.Filtered, &n.Expired, &n.Unparsable, &n.Bytes); err != nil {
		return t, fmt.Errorf("the record of the last line is malformed: %w", err)
	}
	for line := range strings.Lines(cells) {
		var cell Cell
		if _, err := fmt.Sscanf(line, cellFormat, &cell.N, &cell.Group, &cell.Member); err != nil {
			return t, fmt.Errorf("the record of the last line is malformed: %w", err)
		}
		t.cells = append(t.cells, cell)
	}
	return t, nil
}

// addTail counts the records that are open, and what [stream.Splitter.Tail] returned: a last line or
// object only if it is open.
func (r *fileResult) addTail(aggregation Aggregation, line []byte, size int64, open bool, state string) error {
	counter, err := aggregation.Begin(nil, state)
	if err != nil {
		return fmt.Errorf("count the last line: %w", err)
	}
	var seen verdicts
	if open {
		seen.add(counter, line)
	}
	seen.flush(counter)
	tally := seen.tally()
	if size == 0 && tally.Lines == 0 {
		return nil
	}
	tally.Bytes = size
	r.addVisitors(counter) // for good: this is the last commit of the shipment
	r.tail = tail{tally: tally, filtered: filteredDays(counter)}
	counter.Cells(func(cell Cell) { r.tail.cells = append(r.tail.cells, cell) })
	r.tally.Add(tally)
	for _, cell := range r.tail.cells {
		r.add(cell)
	}
	for day, n := range r.tail.filtered {
		if r.filtered == nil {
			r.filtered = map[string]int64{}
		}
		r.filtered[day] += n
	}
	return nil
}

// subtractTail subtracts the counts of a tail that was stored earlier. Its filtered lines were in no
// cell: they stay what they were counted as when their day expires.
func (r *fileResult) subtractTail(text string) error {
	t, err := parseTail(text)
	if err != nil {
		return err
	}
	n := t.tally
	r.tally.Add(Tally{
		Lines: -n.Lines, Counted: -n.Counted, Unknown: -n.Unknown, Filtered: -n.Filtered, Expired: -n.Expired, Unparsable: -n.Unparsable, Bytes: -n.Bytes,
	})
	for _, cell := range t.cells {
		cell.N = -cell.N
		r.add(cell)
	}
	return nil
}
