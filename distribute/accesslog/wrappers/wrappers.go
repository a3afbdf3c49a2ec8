// Package wrappers takes off log lines what a container runtime, a log shipper or syslog has put
// around them. Each wrapper is declared in a file of its own, with the page that specifies it.
//
// A new wrapper is a file with a [Wrapper], and its name in the table [All].
package wrappers

// All has all wrappers, specific ones first. It must not be changed.
var All = [...]Wrapper{docker, cri, syslog, fluentd, timestamp, compose, journal, message}

// A Wrapper is what is put around each line of a log.
type Wrapper struct {
	Name string
	// Description is one line for people.
	Description string
	// Specification is the address of the page that defines the wrapper.
	Specification string
	Example       string // with … for the line
	Real          []Line // from public projects and documentation
	// Peel takes the wrapper off a line, and reports whether it could. It may use the buffer,
	// which is empty. It is safe for concurrent use, with a buffer for each call.
	Peel func(line, buffer []byte) (Record, bool)
}

// A Line is a real line, and what it holds.
type Line struct{ Origin, Text, Inner string }

// A Record is what a wrapper holds: a line, or a part of one.
type Record struct {
	Inner []byte // perhaps in the buffer
	// Buffer is the buffer for the next line.
	Buffer []byte
	// Partial means that the line goes on in the next record of the stream.
	Partial bool
	Skip    bool  // it holds no line, nor a part of one
	Binary  bool  // it is the name of a binary field, which follows
	Stream  uint8 // below Streams
}

// Streams is the number of streams that a wrapper may hold: standard output and standard error.
const Streams = 2

// MaxLine is the length of the longest line that is joined of its parts, in bytes.
const MaxLine = 1 << 20
