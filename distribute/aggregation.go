package distribute

import (
	"bytes"

	"skidway/distribute/accesslog"
)

// An Aggregation counts the lines of log files into cells that can be added up.
// All goroutines of a worker share it, so it must be safe for concurrent use; the
// counters that it begins are not shared. [Counting] is the one of Skidway.
type Aggregation interface {
	// Settings returns the name of the aggregation and everything that its
	// counts depend on, in a canonical form: "country-day by=day,country
	// format=auto". It is fixed when a subscriber is created, and a worker with
	// other settings is refused.
	Settings() string

	// Build returns the name of data that lines are counted with and that may
	// change during the life of a subscriber, such as a country database. It is
	// recorded with the counts. Empty: there is none.
	Build() string

	// Begin starts the count of one file. sample has its first lines, at most
	// about 4 MiB, from which the kind of file can be detected; it must not be
	// kept. For the next part of a file, after each commit and when a file has
	// grown, sample is nil and state is the State of the earlier Counter. An error refuses the file:
	// it is reported and nothing of the file is counted.
	Begin(sample []byte, state string) (Counter, error)
}

// A Counter counts the lines of one file, or of a part of it.
type Counter interface {
	// Line counts one line, without its newline, and returns how. The slice
	// must not be kept. Lines come in the order of the file.
	Line(line []byte) Verdict

	// Cells calls yield with everything that was counted since Begin. Cells of
	// the same group and member are added up, within a file and over all files.
	Cells(yield func(Cell))

	// State returns what Begin needs to count the next part of the file.
	State() string
}

// isFull reports whether the cells of a counter should be committed, before they are too many for the memory.
func isFull(c Counter) bool {
	lines, ok := c.(*lineCounter)
	return ok && lines.isFull()
}

// isOpen reports whether a record of the counter goes on that its state can't hold. No part of a file is
// committed there.
func isOpen(c Counter) bool {
	lines, ok := c.(*lineCounter)
	return ok && !lines.parser.Held()
}

// filteredDays returns the numbers of lines that were Filtered, by days such as "2026-11-01".
func filteredDays(c Counter) map[string]int64 {
	if lines, ok := c.(*lineCounter); ok && lines.cuts != nil {
		return lines.cuts.FilteredDays()
	}
	return nil
}

// A Reading is how the lines of a file are read.
type Reading struct {
	Format  string // that was detected; empty if it was given, or chosen for an earlier part
	Percent int    // of the first lines that have it
	Unsure  bool   // too few have it
	Unzoned bool   // days are those of a zone, but the times have none
}

// A Cell is one number of a count. A group is a sorted set in Redis with the
// numbers of its members as scores: for counts per country and day, the group is
// the day and the member the country. Group and member can't contain a tab.
type Cell struct {
	Group, Member string
	N             int64 // beyond 2^53 a sum is no longer exact
}

// A Verdict is how a line was counted.
type Verdict uint8

// Verdicts. The zero value is Unparsable.
const (
	Unparsable Verdict = iota // not of the file's format; in no cell
	Counted                   // in a cell
	Unknown                   // in a cell, but its country, or other dimension, is unknown
	NoLine                    // a header, not counted as a line
	Filtered                  // not selected by the filter of the settings; in no cell
	Expired                   // of a day that is not kept; in no cell
)

// verdicts counts lines by their Verdict. It has room for any value; invalid ones
// count as Unparsable.
type verdicts [256]int64

// add counts one line; line is nil if it is too long to be parsed.
func (v *verdicts) add(counter Counter, line []byte) {
	if line == nil {
		v[Unparsable]++
		return
	}
	v[counter.Line(line)]++
}

// addLines counts lines, each with its newline, and returns their number.
func (v *verdicts) addLines(counter Counter, lines []byte) (n int64) {
	if block, ok := counter.(*lineCounter); ok {
		return block.lines(lines, v)
	}
	for ; len(lines) > 0; n++ {
		end := bytes.IndexByte(lines, '\n')
		v[counter.Line(lines[:end])]++
		lines = lines[end+1:]
	}
	return n
}

// flush counts the records that are open, where the content ends. The state of the counter is then that
// for the content with which the file grows.
func (v *verdicts) flush(counter Counter) {
	if c, ok := counter.(*lineCounter); ok {
		c.parser.Flush(func(record accesslog.Record, verdict accesslog.Verdict) { v[c.count(record, verdict)]++ })
	}
}

func (v *verdicts) tally() Tally {
	t := Tally{Counted: v[Counted], Unknown: v[Unknown], Filtered: v[Filtered], Expired: v[Expired]}
	for verdict, n := range v {
		if Verdict(verdict) != NoLine {
			t.Lines += n
		}
	}
	t.Unparsable = t.Lines - t.Counted - t.Unknown - t.Filtered - t.Expired
	return t
}

// A Tally is a sum of lines, bytes and files. Lines = Counted + Unknown + Filtered + Expired +
// Unparsable: each line is the first that fits of these, from the last one on.
type Tally struct {
	Lines      int64
	Counted    int64
	Unknown    int64
	Filtered   int64 // by the filter of the settings
	Expired    int64 // of days that are not kept
	Unparsable int64
	Private    int64 // of those of an unknown country, the ones from addresses that are not public
	Crawlers   int64 // of those that are counted or of an unknown country; 0 if crawlers are not counted by
	Bytes      int64 // of uncompressed content
	Files      int64 // counted in whole or in part
	Partial    int64 // of those, in part
	Failed     int64 // not counted at all
}

// All returns the lines that are in cells.
func (t Tally) All() int64 { return t.Counted + t.Unknown }

// People returns those that are not of crawlers, if crawlers are counted by.
func (t Tally) People() int64 { return t.All() - t.Crawlers }

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	t.Lines += other.Lines
	t.Counted += other.Counted
	t.Unknown += other.Unknown
	t.Filtered += other.Filtered
	t.Expired += other.Expired
	t.Private += other.Private
	t.Crawlers += other.Crawlers
	t.Unparsable += other.Unparsable
	t.Bytes += other.Bytes
	t.Files += other.Files
	t.Partial += other.Partial
	t.Failed += other.Failed
}
