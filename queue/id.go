package queue

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// An id of a job is the queue, the partition and a local id, joined by colons:
//
//	mail:0:n1795299599363-0       entered the normal line at once, as that entry
//	mail:0:d000000000000042      waited for its time first
//
// Users treat it as opaque. Within the queue's keys only the local id is used.

func globalID(queue, local string) string {
	return queue + ":" + strconv.Itoa(partition) + ":" + local
}

// splitID gives the queue and the local id.
func splitID(id string) (queue, local string, err error) {
	queue, rest, ok := strings.Cut(id, ":")
	part, local, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 || part != strconv.Itoa(partition) || len(local) < 2 || len(local) > maxLocalID || checkName("queue", queue) != nil {
		return "", "", fmt.Errorf("%w: %.80q is no id of a job", ErrInvalid, id)
	}
	switch local[0] {
	case 'h', 'n', 'l':
		if _, ok := entryTime(local[1:]); ok {
			return queue, local, nil
		}
	case 'd':
		if _, err := strconv.ParseUint(local[1:], 10, 64); err == nil {
			return queue, local, nil
		}
	}
	return "", "", fmt.Errorf("%w: %.80q is no id of a job", ErrInvalid, id)
}

const maxLocalID = 48

// QueueOf gives the name of the queue that a job is in, or an error that wraps
// [ErrInvalid] where id is none.
func QueueOf(id string) (string, error) {
	queue, _, err := splitID(id)
	return queue, err
}

// entryTime gives the milliseconds in a stream's entry id.
func entryTime(entry string) (int64, bool) {
	ms, seq, ok := strings.Cut(entry, "-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(ms, 10, 63)
	_, err2 := strconv.ParseUint(seq, 10, 64)
	return int64(n), err == nil && err2 == nil
}

// compareEntries orders ids of entries of one stream.
func compareEntries(a, b string) int {
	aMillis, aSeq, _ := strings.Cut(a, "-")
	bMillis, bSeq, _ := strings.Cut(b, "-")
	// Redis writes numbers without leading zeros: the longer one is larger.
	return cmp.Or(
		cmp.Compare(len(aMillis), len(bMillis)), cmp.Compare(aMillis, bMillis),
		cmp.Compare(len(aSeq), len(bSeq)), cmp.Compare(aSeq, bSeq))
}

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
