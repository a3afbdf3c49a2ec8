package queue

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// An id of a job is the queue, the partition and a local id, joined by colons:
//
//	mail:0:n1795299599363-0      was added to the fresh line of priority normal, as that entry
//	mail:0:d660d4e2ac3bb8        was added with a delay, at the time in µs
//
// Users treat it as opaque. The keys of the queue contain only the local id.

func globalID(queue, local string) string {
	return queue + ":" + strconv.Itoa(partition) + ":" + local
}

// splitID returns the queue and the local id of a job's id.
func splitID(id string) (queue, local string, err error) {
	queue, rest, ok := strings.Cut(id, ":")
	part, local, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 || part != strconv.Itoa(partition) || len(local) < 2 || len(local) > maxLocalID || checkName("queue", queue) != nil {
		return "", "", fmt.Errorf("%w: %.80q is no id of a job", ErrInvalid, id)
	}
	_, valid := priorityOf(local[0])
	if valid {
		_, valid = entryTime(local[1:])
	} else if local[0] == 'd' {
		_, valid = delayedTime(local)
	}
	if valid {
		return queue, local, nil
	}
	return "", "", fmt.Errorf("%w: %.80q is no id of a job", ErrInvalid, id)
}

const maxLocalID = 48

// addedAt returns the time in ms at which a job was added according to its local id.
func addedAt(local string) (int64, bool) {
	if ms, ok := delayedTime(local); ok {
		return ms, true
	}
	return entryTime(local[min(1, len(local)):])
}

// delayedTime returns the milliseconds in the local id of a job that was added with a delay.
func delayedTime(local string) (int64, bool) {
	digits, ok := strings.CutPrefix(local, "d")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	return int64(n / 1000), err == nil
}

// entryTime returns the milliseconds in the id of a stream's entry.
func entryTime(entry string) (int64, bool) {
	ms, seq, ok := strings.Cut(entry, "-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(ms, 10, 63)
	_, err2 := strconv.ParseUint(seq, 10, 64)
	return int64(n), err == nil && err2 == nil
}

// compareEntries compares the ids of two entries of one stream, or only their milliseconds.
func compareEntries(a, b string) int {
	aMillis, aSeq, _ := strings.Cut(a, "-")
	bMillis, bSeq, _ := strings.Cut(b, "-")
	// Redis writes numbers without leading zeros: the longer one is larger.
	return cmp.Or(
		cmp.Compare(len(aMillis), len(bMillis)), cmp.Compare(aMillis, bMillis),
		cmp.Compare(len(aSeq), len(bSeq)), cmp.Compare(aSeq, bSeq))
}

// A Priority is the rank of a job in its queue: a higher one always goes first. The
// zero value is Normal.
type Priority int8

// The priorities.
const (
	Low    Priority = -1
	Normal Priority = 0
	High   Priority = 1
)

// priorities lists the priorities, the highest first; their values are
// consecutive. The names and numbers of the lines, the letters in ids and records
// and the keys follow from it. CONTRIBUTING.md describes how to add a level;
// TestEveryPlaceKnowsThePriorities reports the places in this package that repeat
// the list.
var priorities = [...]struct {
	Priority
	name   string
	letter byte // in ids and records; 'd' begins the ids of delayed jobs
}{
	{High, "high", 'h'},
	{Normal, "normal", 'n'},
	{Low, "low", 'l'},
}

// ParsePriority returns the priority with a name: "high", "normal" or "low". An
// empty name means Normal.
func ParsePriority(name string) (Priority, error) {
	for _, p := range priorities {
		if p.name == cmp.Or(name, "normal") {
			return p.Priority, nil
		}
	}
	return 0, fmt.Errorf("priority %q: want high, normal or low: %w", name, ErrInvalid)
}

// String returns "high", "normal" or "low".
func (p Priority) String() string {
	if !p.valid() {
		return fmt.Sprintf("Priority(%d)", int8(p))
	}
	return priorities[p.rank()].name
}

func (p Priority) valid() bool { return p >= Low && p <= High }

// rank returns the place of the priority in priorities: zero for the highest.
func (p Priority) rank() int { return int(High - p) }

func (p Priority) letter() byte { return priorities[p.rank()].letter }

func priorityOf(letter byte) (Priority, bool) {
	for _, p := range priorities {
		if p.letter == letter {
			return p.Priority, true
		}
	}
	return 0, false
}
