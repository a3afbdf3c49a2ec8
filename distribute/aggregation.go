package distribute

// An Aggregation makes one mergeable count out of the lines of log files. It
// is shared by all goroutines of a worker and must be safe for concurrent use;
// the counters that it begins are not shared. [CountryDay] is the one that
// ships with Skidway.
type Aggregation interface {
	// Settings names the aggregation and everything that its counts depend
	// on, in a canonical form: "country-day by=day,country format=auto". It
	// is fixed when a subscriber is created, and a worker with other settings
	// is refused.
	Settings() string

	// Build names the data that lines are counted with and that may change
	// while a subscriber lives, such as a country database. It is noted with
	// the counts. Empty: none.
	Build() string

	// Begin starts the count of one file. sample holds its first lines, at
	// most about 4 MiB of them, to see what kind of file it is; it is only
	// lent. When a file goes on that was counted up to some line before,
	// sample is nil and state is what the earlier Counter gave. An error
	// refuses the file: it is reported and nothing of it is counted.
	Begin(sample []byte, state string) (Counter, error)
}

// A Counter counts the lines of one file, or of a part of it.
type Counter interface {
	// Line counts one line, without its newline, and says how. The slice is
	// only lent. Lines come in the order of the file.
	Line(line []byte) Verdict

	// Cells gives what was counted since the Counter began. Cells of the same
	// group and member add up, within a file and over all files.
	Cells(yield func(Cell))

	// State is what Begin wants to know when the file goes on after these
	// lines.
	State() string
}

// A Cell is one number of a count. A group is a sorted set in Redis, its
// members are scored by their number: for counts per country and day, the group
// is the day and the member the country. Group and member hold no tab.
type Cell struct {
	Group, Member string
	N             int64 // beyond 2^53 a sum is no longer exact
}

// A Verdict says how a line was counted.
type Verdict uint8

// Verdicts. The zero value is Unparsable.
const (
	Unparsable Verdict = iota // not of the file's format; in no cell
	Counted                   // in a cell
	Unknown                   // in a cell, but what it is counted by is not known
	NoLine                    // a header, not counted as a line
)

// verdicts counts lines by their Verdict. It has room for any value: what is
// none of the above counts as Unparsable.
type verdicts [256]int64

// add counts one line, nil for one that is too long to be looked at.
func (v *verdicts) add(counter Counter, line []byte) {
	if line == nil {
		v[Unparsable]++
		return
	}
	v[counter.Line(line)]++
}

func (v *verdicts) tally() Tally {
	t := Tally{Counted: v[Counted], Unknown: v[Unknown]}
	for verdict, n := range v {
		if Verdict(verdict) != NoLine {
			t.Lines += n
		}
	}
	t.Unparsable = t.Lines - t.Counted - t.Unknown
	return t
}

// A Tally sums up what was read. Lines = Counted + Unknown + Unparsable.
type Tally struct {
	Lines      int64
	Counted    int64
	Unknown    int64
	Unparsable int64
	Bytes      int64 // of uncompressed content
	Files      int64 // counted in whole or in part
	Partial    int64 // of those, in part
	Failed     int64 // not counted at all
}

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	t.Lines += other.Lines
	t.Counted += other.Counted
	t.Unknown += other.Unknown
	t.Unparsable += other.Unparsable
	t.Bytes += other.Bytes
	t.Files += other.Files
	t.Partial += other.Partial
	t.Failed += other.Failed
}
