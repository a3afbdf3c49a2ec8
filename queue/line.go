package queue

import "fmt"

// A Priority is one of three; within a queue a higher one always goes first.
// The zero value is Normal.
type Priority int8

// The priorities.
const (
	Low    Priority = -1
	Normal Priority = 0
	High   Priority = 1
)

// ParsePriority reads "high", "normal" or "low"; "" is Normal.
func ParsePriority(text string) (Priority, error) {
	switch text {
	case "high":
		return High, nil
	case "normal", "":
		return Normal, nil
	case "low":
		return Low, nil
	}
	return 0, fmt.Errorf("priority %q: want high, normal or low: %w", text, ErrInvalid)
}

// String is "high", "normal" or "low".
func (p Priority) String() string {
	switch p {
	case High:
		return "high"
	case Normal:
		return "normal"
	case Low:
		return "low"
	}
	return fmt.Sprintf("Priority(%d)", int8(p))
}

func (p Priority) valid() bool { return p >= Low && p <= High }

// letter stands for the priority in ids and records.
func (p Priority) letter() byte { return "lnh"[p+1] }

func priorityOf(letter byte) (Priority, bool) {
	switch letter {
	case 'h':
		return High, true
	case 'n':
		return Normal, true
	case 'l':
		return Low, true
	}
	return 0, false
}

// A line is one of the nine streams in which jobs of a queue wait, numbered
// from 1 in the order in which they are read, as *rdb.Scripts number them.
type line int

// The lines of one priority, in order. What was handed back goes first, then
// what was delayed and is due, then what is fresh.
const (
	returnedLine line = 1 + iota
	dueLine
	freshLine
	linesEach = 3
	lineCount = 9
)

// of gives the line of the same sort at a priority: freshLine.of(High).
func (l line) of(p Priority) line { return l + linesEach*line(High-p) }

func (l line) priority() Priority { return High - Priority((l-1)/linesEach) }

func (l line) fresh() bool { return (l-1)%linesEach+1 == freshLine }
