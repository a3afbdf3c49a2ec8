package distribute

import (
	"errors"
	"fmt"
	"strings"
)

// A log that is shipped while it grows may end in the middle of a line. That
// line is counted as it stands, for it may be the last. What it counted is kept
// with the file: when the file goes on, it is taken back, and the line counted
// anew when it is whole.

// countTail counts a last line that has no newline.
func (f *fileCount) countTail(aggregation Aggregation, line []byte, state string) error {
	counter, err := aggregation.Begin(nil, state)
	if err != nil {
		return fmt.Errorf("count the last line: %w", err)
	}
	var seen [verdicts]int64
	seen[counter.Line(line)]++
	tally := tallyOf(&seen)
	tally.Bytes = int64(len(line))
	var text strings.Builder
	fmt.Fprintf(&text, "%d %d %d %d %d", tally.Lines, tally.Counted, tally.Unknown, tally.Unparsable, tally.Bytes)
	counter.Cells(func(cell Cell) {
		f.add(cell)
		fmt.Fprintf(&text, "\n%d %s\t%s", cell.N, cell.Group, cell.Member)
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
	if _, err := fmt.Sscanf(head, "%d %d %d %d %d", &t.Lines, &t.Counted, &t.Unknown, &t.Unparsable, &t.Bytes); err != nil {
		return fmt.Errorf("the record of the last line is malformed: %w", err)
	}
	f.tally.Add(Tally{Lines: -t.Lines, Counted: -t.Counted, Unknown: -t.Unknown, Unparsable: -t.Unparsable, Bytes: -t.Bytes})
	for line := range strings.SplitSeq(cells, "\n") {
		if line == "" {
			continue
		}
		number, name, _ := strings.Cut(line, " ")
		group, member, ok := strings.Cut(name, "\t")
		if !ok {
			return errors.New("the record of the last line is malformed")
		}
		f.add(Cell{group, member, -parseInt(number)})
	}
	return nil
}
