package accesslog

import "skidway/distribute/accesslog/wrappers"

// maxHeld bounds the parts of lines that are in a state, in bytes.
const maxHeld = 32 << 10

// A joiner takes the wrapper off lines and joins lines that it holds in parts, those of
// each stream by themselves.
type joiner struct {
	peel    func(line, buffer []byte) (wrappers.Record, bool)
	buffer  []byte
	streams [wrappers.Streams]partStream
	binary  wrappers.BinaryField
}

// A partStream is a stream whose lines may be in parts.
type partStream struct {
	parts   []byte // of the line that is open
	open    bool   // the next record goes on with a line
	counted bool   // and that line was counted before
	tooLong bool
}

// A joinResult is what became of a line.
type joinResult uint8

const (
	joined     joinResult = iota // it holds a line, or the last part of one
	notWrapped                   // it has not the wrapper's shape
	nothing                      // it holds a part of a line that is not the last one, or none
	tooLong                      // it is the last part of a line that is too long
)

// join returns what a line holds. It is valid until the next call.
func (j *joiner) join(line []byte) ([]byte, joinResult) {
	if f := &j.binary; f.Open && f.Add(line) {
		switch {
		case f.Open || !f.Message:
			return nil, nothing
		case f.TooLong:
			return nil, tooLong
		}
		return f.Value, joined
	}
	record, ok := j.peel(line, j.buffer[:0])
	if !ok {
		if record, ok = j.peel(trimStart(line), j.buffer[:0]); !ok {
			return nil, notWrapped
		}
	}
	j.buffer = record.Buffer
	s := &j.streams[record.Stream]
	switch {
	case record.Binary:
		j.binary.Begin(line)
		return nil, nothing
	case record.Skip:
		return nil, nothing
	case s.counted:
		s.counted = record.Partial
		return nil, nothing
	case !s.open && !record.Partial:
		return record.Inner, joined
	}
	if !s.open {
		s.parts, s.tooLong = s.parts[:0], false
	}
	if s.tooLong = s.tooLong || len(s.parts)+len(record.Inner) > wrappers.MaxLine; !s.tooLong {
		s.parts = append(s.parts, record.Inner...)
	}
	if s.open = record.Partial; s.open {
		return nil, nothing
	}
	if s.tooLong {
		return nil, tooLong
	}
	return s.parts, joined
}

// open reports whether a stream has a line that is not complete, or a binary field is not.
func (j *joiner) open() bool {
	if j.binary.Open && !j.binary.Flushed {
		return true
	}
	for i := range j.streams {
		if j.streams[i].open {
			return true
		}
	}
	return false
}

// held reports whether the lines that are not complete are short enough for a state.
func (j *joiner) held() bool {
	if j.binary.Open && !j.binary.Flushed {
		return false
	}
	sum := 0
	for i := range j.streams {
		if s := &j.streams[i]; s.open {
			if sum += len(s.parts); s.tooLong || sum > maxHeld {
				return false
			}
		}
	}
	return true
}
