package command

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
)

// Bounds of what is logged beside what is kept.
const (
	maxOutputLines = 200     // of each output; the log of a job keeps fewer
	maxOutputLine  = 4 << 10 // bytes; longer lines are logged in pieces
	lastLines      = 20      // are logged although there were too many before them
)

// An output keeps the first and the last bytes that are written to it, and logs
// its first lines. Memory is bounded by three times the limit.
type output struct {
	name  string // stdout or stderr
	log   *slog.Logger
	limit int // bytes to keep, and to log

	total int64
	head  []byte
	tail  []byte // at least the last limit/2 bytes after head

	line   []byte // the current line
	lines  int    // number of logged lines
	logged int    // their bytes
}

func (o *output) Write(p []byte) (int, error) {
	o.logLines(p)
	o.total += int64(len(p))
	rest := p
	if room := o.limit - o.limit/2 - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	half := o.limit / 2
	if len(rest) > half {
		o.tail, rest = o.tail[:0], rest[len(rest)-half:]
	}
	if o.tail = append(o.tail, rest...); len(o.tail) > 2*half {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-half:]...)
	}
	return len(p), nil
}

// String returns all output, or its start, its end and how many bytes are missing.
func (o *output) String() string {
	tail := o.end()
	missing := o.total - int64(len(o.head)+len(tail))
	if missing == 0 {
		return string(o.head) + string(tail)
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", o.head, missing, tail)
}

// end returns what is kept after the head.
func (o *output) end() []byte { return o.tail[max(0, len(o.tail)-o.limit/2):] }

// last returns the last bytes, at most n, without a part of a character at the start.
func (o *output) last(n int) string {
	text := strings.TrimSpace(string(o.head) + string(o.end()))
	if o.total > int64(len(o.head)+len(o.end())) {
		text = strings.TrimSpace(string(o.end()))
	}
	if len(text) > n {
		text = "…" + strings.ToValidUTF8(text[len(text)-n:], "")
	}
	return text
}

// logLines logs the lines that end in p, while there is room.
func (o *output) logLines(p []byte) {
	for len(p) > 0 && !o.full() {
		before, after, ended := bytes.Cut(p, []byte{'\n'})
		n := min(len(before), maxOutputLine-len(o.line))
		o.line = append(o.line, before[:n]...)
		switch {
		case n < len(before):
			p = p[n:]
			o.logLine()
		case ended:
			p = after
			o.logLine()
		default:
			p = nil
		}
	}
}

func (o *output) logLine() {
	o.log.Info(string(o.line), "stream", o.name)
	o.lines++
	o.logged += len(o.line) + 1
	o.line = o.line[:0]
}

// full reports whether no more lines are logged.
func (o *output) full() bool { return o.lines == maxOutputLines || o.logged >= o.limit }

// close logs the last line, or the last lines if there were too many.
func (o *output) close() {
	if !o.full() {
		if len(o.line) > 0 {
			o.logLine()
		}
		return
	}
	if o.total <= int64(o.logged) {
		return
	}
	lines := strings.Split(strings.TrimSuffix(o.last(maxOutputLine), "\n"), "\n")
	o.log.Info("… there was more output; its last lines:", "stream", o.name, "bytes", o.total)
	for _, line := range lines[max(0, len(lines)-lastLines):] {
		o.log.Info(line, "stream", o.name)
	}
}
