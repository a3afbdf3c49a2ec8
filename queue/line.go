package queue

// A line is one of the streams in which the jobs of a queue wait. Lines are numbered from 1,
// as in the scripts. The numbers are stored in Redis: a new line gets the next number,
// wherever it is in the order in which workers read the lines.
type line int

// A lineKind is what the jobs of a line have in common.
type lineKind string

// The kinds of lines, in the order in which workers read those of a priority.
const (
	quarantineLine lineKind = "quarantine" // jobs whose worker died
	returnedLine   lineKind = "returned"   // jobs that were handed back
	dueLine        lineKind = "due"        // delayed jobs that are due, unless they failed
	freshLine      lineKind = "fresh"      // new jobs
	retryLine      lineKind = "retry"      // jobs that failed and whose delay is over
)

// lines lists the lines: line n is lines[n-1].
var lines = [...]struct {
	kind     lineKind
	priority Priority
}{
	{returnedLine, High}, {dueLine, High}, {freshLine, High},
	{returnedLine, Normal}, {dueLine, Normal}, {freshLine, Normal},
	{returnedLine, Low}, {dueLine, Low}, {freshLine, Low},
	{retryLine, High}, {retryLine, Normal}, {retryLine, Low},
	{quarantineLine, High}, {quarantineLine, Normal}, {quarantineLine, Low},
}

const lineCount = line(len(lines))

// of returns the line of the kind at a priority: freshLine.of(High). It returns zero if there
// is none.
func (k lineKind) of(p Priority) line {
	for i := range lines {
		if lines[i].kind == k && lines[i].priority == p {
			return line(i + 1)
		}
	}
	return 0
}

func (l line) priority() Priority { return lines[l-1].priority }

func (l line) kind() lineKind { return lines[l-1].kind }

// name returns the name of the line's key, such as "2:high:fresh". It begins with the format,
// so that a client that adds an entry of another format finds no line.
func (l line) name() string {
	return formatVersion + ":" + l.priority().String() + ":" + string(l.kind())
}

// precedes reports whether workers read a line before another one.
func (l line) precedes(other line) bool {
	if l.priority() != other.priority() {
		return l.priority().rank() < other.priority().rank()
	}
	return readKinds[l.kind()] < readKinds[other.kind()]
}

// readKinds are the places of the kinds in the order in which workers read the lines of a
// priority.
var readKinds = map[lineKind]int{quarantineLine: 0, returnedLine: 1, dueLine: 2, freshLine: 3, retryLine: 4}
