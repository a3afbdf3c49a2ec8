package distribute

import (
	"fmt"
	"strings"
)

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
func (f *fileCount) countTail(aggregation Aggregation, line []byte, size int64, state string) error {
	counter, err := aggregation.Begin(nil, state)
	if err != nil {
		return fmt.Errorf("count the last line: %w", err)
	}
	var seen verdicts
	if line == nil {
		seen[Unparsable]++
	} else {
		seen[counter.Line(line)]++
	}
	tally := seen.tally()
	tally.Bytes = size
	var text strings.Builder
	fmt.Fprintf(&text, tallyFormat, tally.Lines, tally.Counted, tally.Unknown, tally.Unparsable, tally.Bytes)
	counter.Cells(func(cell Cell) {
		f.add(cell)
		fmt.Fprintf(&text, cellFormat, cell.N, cell.Group, cell.Member)
	})
	f.tally.Add(tally)
	f.progress.tail = text.String()
	return nil
}

// takeBack subtracts what an earlier countTail counted.
func (f *fileCount) takeBack(tail string) error {
	if tail == "" {
		return nil
	}
	head, cells, _ := strings.Cut(tail, "\n")
	var t Tally
	if _, err := fmt.Sscanf(head+"\n", tallyFormat, &t.Lines, &t.Counted, &t.Unknown, &t.Unparsable, &t.Bytes); err != nil {
		return fmt.Errorf("the record of the last line is malformed: %w", err)
	}
	f.tally.Add(Tally{Lines: -t.Lines, Counted: -t.Counted, Unknown: -t.Unknown, Unparsable: -t.Unparsable, Bytes: -t.Bytes})
	for line := range strings.Lines(cells) {
		var cell Cell
		if _, err := fmt.Sscanf(line, cellFormat, &cell.N, &cell.Group, &cell.Member); err != nil {
			return fmt.Errorf("the record of the last line is malformed: %w", err)
		}
		cell.N = -cell.N
		f.add(cell)
	}
	return nil
}
