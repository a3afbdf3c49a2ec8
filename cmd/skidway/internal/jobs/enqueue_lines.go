package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"skidway/queue"
	"skidway/workers/kinds"
)

const (
	blockSize = 256 << 10
	// maxLine bounds a line of a batch: the largest args, with room for escapes
	// and options.
	maxLine = 8 << 20
)

// A block is the lines that were read at once, with their jobs.
type block struct {
	text       []byte
	first      int // line number, from 1
	last, size int
	jobs       []queue.NewJob
	lines      []int // line numbers of the jobs
	bad        []badLine
	err        error // ended the reading after this block
}

// lastBeforeJobAfter returns the line before the first job behind a line, or the last line if no job follows.
func (b *block) lastBeforeJobAfter(line int) int {
	if next, _ := slices.BinarySearch(b.lines, line+1); next < len(b.lines) {
		return b.lines[next] - 1
	}
	return b.last
}

type badLine struct {
	line int
	err  error
}

// parse reads blocks and parses several at once, some blocks ahead of the reader of
// the channel, which gets them in order. After ctx ends, parse ends when its current
// read returns.
func (b *batch) parse(ctx context.Context, source io.Reader) <-chan chan block {
	parsers := runtime.GOMAXPROCS(0)
	ordered := make(chan chan block, 2*parsers)
	slots := make(chan struct{}, parsers)
	go func() {
		defer close(ordered)
		for read := newBlockReader(source); ; {
			next, more := read.next()
			done := make(chan block, 1)
			select {
			case <-ctx.Done():
				return
			case ordered <- done:
			}
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				b.parseLines(&next)
				done <- next
			}()
			if !more {
				return
			}
		}
	}()
	return ordered
}

// parseLines parses the lines of a block.
func (b *batch) parseLines(block *block) {
	number := block.first - 1
	for line := range bytes.Lines(block.text) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		insert, err := b.parseLine(line)
		if err != nil {
			block.bad = append(block.bad, badLine{number, err})
			if !b.batch.skipBad {
				break
			}
			continue
		}
		block.jobs, block.lines = append(block.jobs, insert), append(block.lines, number)
	}
	block.text = nil
}

// parseLine returns the job of a line. Most lines of large batches have kind and
// args only: plainJob reads these in a quarter of the time (measured).
func (b *batch) parseLine(line []byte) (queue.NewJob, error) {
	insert, plain := plainJob(line)
	if !plain {
		if err := parseJob(line, &insert); err != nil {
			return insert, err
		}
	}
	if name := insert.Options.Queue; name != "" && name != b.queue {
		return insert, fmt.Errorf("it names queue %q: this batch is for %s", name, b.queue)
	}
	insert.Options.Queue = b.queue
	insert.Options.Durable = insert.Options.Durable || b.durable
	if err := b.client.Validate(insert); err != nil {
		return insert, err
	}
	args, err := queue.MarshalArgs(insert.Args)
	if err != nil {
		return insert, err
	}
	if err := kinds.Check(insert.Args.Kind(), args); err != nil {
		return insert, err
	}
	return insert, CheckThen(insert.Options.Then)
}

// parseJob reads a job with all its options, whose names may have '-' as flags do.
// It changes line.
func parseJob(line []byte, insert *queue.NewJob) error {
	if line[0] != '{' {
		return errors.New(`want a JSON object such as {"kind":"email.send","args":{}}`)
	}
	if bytes.IndexByte(line, '-') >= 0 && json.Valid(line) {
		underline(line)
	}
	err := json.Unmarshal(line, insert)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	}
	return err
}

// underline replaces '-' by '_' in the names of a job's options, and in those of the
// jobs that follow it.
func underline(job []byte) {
	for name, value := range members(job) {
		for i, c := range name {
			if c == '-' {
				name[i] = '_'
			}
		}
		if string(name) == "then" && len(value) > 0 && value[0] == '[' {
			for _, next := range members(value) {
				if len(next) > 0 && next[0] == '{' {
					underline(next)
				}
			}
		}
	}
}

// plainJob reads a job that has kind and args only. ok is false for others.
func plainJob(line []byte) (_ queue.NewJob, ok bool) {
	if line[0] != '{' || !json.Valid(line) {
		return queue.NewJob{}, false
	}
	kind, args := []byte(nil), []byte("{}")
	for name, value := range members(line) {
		switch {
		case string(name) == "kind" && len(value) > 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value):
			kind = value[1 : len(value)-1]
		case string(name) == "args":
			args = value
		default:
			return queue.NewJob{}, false
		}
	}
	return queue.NewJob{Args: queue.Raw(string(kind), args)}, kind != nil
}

// members returns the names and values of an object, or the values of an array, as
// parts of the text, which must be valid JSON.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		depth, begin := 0, 0 // begin is that of a name or a value
		text, named, array := false, false, false
		var name []byte
		for i := 0; i < len(object); i++ {
			c := object[i]
			switch {
			case text && c == '\\':
				i++
			case c == '"':
				text = !text
			case text:
			case (c == ',' || c == '}' || c == ']') && depth == 1:
				if named && !yield(name, bytes.TrimSpace(object[begin:i])) {
					return
				}
				named, begin = array, i+1
				if c != ',' {
					depth--
				}
			case c == ':' && depth == 1:
				quoted := bytes.TrimSpace(object[begin:i])
				name, named, begin = quoted[1:len(quoted)-1], true, i+1
			case c == '{' || c == '[':
				if depth++; depth == 1 {
					array, begin = c == '[', i+1
					named = array // each value of an array is a member
				}
			case c == '}' || c == ']':
				depth--
			}
		}
	}
}

// A blockReader cuts a stream into blocks of whole lines.
type blockReader struct {
	source io.Reader
	rest   []byte // the beginning of a line
	line   int    // number of the next line
}

func newBlockReader(source io.Reader) *blockReader { return &blockReader{source: source, line: 1} }

// next returns the lines that can be read now, at least one, and whether more may
// follow.
func (r *blockReader) next() (_ block, more bool) {
	text := append(make([]byte, 0, max(blockSize, 2*len(r.rest))), r.rest...)
	for {
		if len(text) == cap(text) {
			if len(text) > maxLine {
				return block{first: r.line, last: r.line - 1, err: fmt.Errorf("line %d is longer than %s", r.line, humanize.IBytes(maxLine))}, false
			}
			text = append(text, make([]byte, len(text))...)[:len(text)]
		}
		seen := len(text)
		n, err := r.source.Read(text[seen:cap(text)])
		text = text[:seen+n]
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return r.cut(text, len(text), err), false
		}
		if end := bytes.LastIndexByte(text[seen:], '\n'); end >= 0 {
			return r.cut(text, seen+end+1, nil), true
		}
	}
}

// cut returns a block of the first end bytes and keeps the rest.
func (r *blockReader) cut(text []byte, end int, err error) block {
	r.rest = text[end:]
	first, lines := r.line, bytes.Count(text[:end], []byte{'\n'})
	if end > 0 && text[end-1] != '\n' {
		lines++
	}
	r.line += lines
	return block{text: text[:end:end], first: first, last: r.line - 1, size: end, err: err}
}
