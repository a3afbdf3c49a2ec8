package distribute

import (
	"fmt"
	"strings"
)

// several lines. That, its tail, is counted as it is, for it may be the last one. Its counts are
// stored with the file: when the file grows they are subtracted, and the whole line or record
// is counted.

// A tail has the counts of the last line, and of records that are open.
type tail struct {
	tally Tally
	cells []Cell
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

// addTail counts the records that are open, and a last line without newline, unless its size is
// 0; line is nil if it is too long to be parsed.
func (r *fileResult) addTail(aggregation Aggregation, line []byte, size int64, state string) error {
	counter, err := aggregation.Begin(nil, state)
	if err != nil {
		return fmt.Errorf("count the last line: %w", err)
	}
	var seen verdicts
	if size > 0 {
		seen.add(counter, line)
	}
	seen.flush(counter)
	tally := seen.tally()
	if size == 0 && tally.Lines == 0 {
		return nil
	}
	tally.Bytes = size
	r.addVisitors(counter) // for good: this is the last commit of the shipment
	r.tail = tail{tally: tally}
	counter.Cells(func(cell Cell) { r.tail.cells = append(r.tail.cells, cell) })
	r.tally.Add(tally)
	for _, cell := range r.tail.cells {
		r.add(cell)
	}
	return nil
}

// subtractTail subtracts the counts of a tail that was stored earlier.
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
