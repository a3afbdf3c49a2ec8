package accesslog

import (
	"encoding/binary"

	"skidway/distribute/accesslog/internal/lex"
)

// An objectShape is what an object had between its values: servers write the keys of all
// lines in one order. A line of the same shape is read without looking its keys up.
type objectShape struct {
	pieces []shapePiece
	text   []byte // that of all pieces
	whole  bool   // it goes up to the last value that is read, or to the end of the object
	misses int    // lines in a row that had another shape
}

// A shapePiece is what stands before a value.
type shapePiece struct {
	text []byte // up to the first byte of the value, or behind a quote or a bracket
	kind valueKind
	key  *objectKey // nil: the value is skipped

	pieceText // of the text, unless that is longer
}

// A pieceText is a text that is compared by words.
type pieceText struct {
	size         int                  // of the text; 0 if it is longer than pieceLen
	words, masks [pieceLen / 8]uint64 // of the text, and of the bytes that it has
}

// pieceLen is the length of the longest text that is compared by words, in bytes.
const pieceLen = 32

// set sets the text.
func (p *pieceText) set(text []byte) {
	*p = pieceText{}
	if len(text) > pieceLen {
		return
	}
	p.size = len(text)
	for i, c := range text {
		p.words[i/8] |= uint64(c) << (i % 8 * 8)
		p.masks[i/8] |= 0xff << (i % 8 * 8)
	}
}

// begins reports whether the text stands at a place of a line, and at least pieceLen bytes from there on.
func (p *pieceText) begins(line []byte, at int) bool {
	if at+pieceLen > len(line) {
		return false
	}
	b := line[at : at+pieceLen]
	return (binary.LittleEndian.Uint64(b)^p.words[0])&p.masks[0]|(binary.LittleEndian.Uint64(b[8:])^p.words[1])&p.masks[1]|
		(binary.LittleEndian.Uint64(b[16:])^p.words[2])&p.masks[2]|(binary.LittleEndian.Uint64(b[24:])^p.words[3])&p.masks[3] == 0
}

// A valueKind is how the end of a value is found.
type valueKind uint8

const (
	unquoted valueKind = iota
	quoted
	nested  // an object or an array
	noValue // the piece ends the object
)

const (
	// maxPieces bounds the pieces of a shape.
	maxPieces = 256
	// maxMisses is the number of lines in a row with other shapes until a new one is learned:
	// single lines may lack a key.
	maxMisses = 4
)

// read reads a line of the shape, and reports whether it has it. If not, some values may be set.
func (o *objectShape) read(line []byte, found *objectValues) bool {
	at := 0
	if !o.whole {
		return false
	}
	for i := range o.pieces {
		p := &o.pieces[i]
		start := at + len(p.text)
		if at+pieceLen <= len(line) && p.size > 0 {
			b := line[at : at+pieceLen] // as begins has it: a call takes 4 % of a line
			if (binary.LittleEndian.Uint64(b)^p.words[0])&p.masks[0]|(binary.LittleEndian.Uint64(b[8:])^p.words[1])&p.masks[1]|
				(binary.LittleEndian.Uint64(b[16:])^p.words[2])&p.masks[2]|(binary.LittleEndian.Uint64(b[24:])^p.words[3])&p.masks[3] != 0 {
				return false
			}
		} else if start > len(line) || string(line[at:start]) != string(p.text) {
			return false
		}
		var value []byte
		switch p.kind {
		case quoted:
			end := lex.StringEnd(line, start)
			if end < 0 {
				return false
			}
			value, at = line[start:end], end+1
		case unquoted:
			if start == len(line) || line[start] <= ' ' || line[start] == '"' || line[start] == '{' || line[start] == '[' {
				return false
			}
			at = lex.UnquotedEnd(line, start)
			value = line[start:at]
		case nested:
			if at = lex.NestedEnd(line, start-1); at < 0 {
				return false
			}
			if p.key != nil && line[start-1] == '[' {
				value = firstElement(line[start:at])
			}
		case noValue:
			o.misses = 0
			return true
		}
		if p.key == nil {
			continue
		}
		if found.set(p.key, value); found.done {
			o.misses = 0
			return true
		}
	}
	return false
}

// learns reports whether the shape is to be that of a line which does not have it, and makes it
// empty then.
func (o *objectShape) learns() bool {
	if o.misses++; len(o.pieces) > 0 && o.misses < maxMisses {
		return false
	}
	o.pieces, o.text, o.whole, o.misses = o.pieces[:0], o.text[:0], false, 0
	return true
}

// add appends the text before a value, which must not change until finish is called.
func (o *objectShape) add(text []byte, kind valueKind, key *objectKey) {
	o.text = append(o.text, text...)
	o.pieces = append(o.pieces, shapePiece{text: text, kind: kind, key: key})
}

// finish ends the shape. Lines are read by it if it is whole.
func (o *objectShape) finish(whole bool) {
	o.whole = whole
	rest := o.text // which does not move any more
	for i := range o.pieces {
		n := len(o.pieces[i].text)
		o.pieces[i].text, rest = rest[:n:n], rest[n:]
		o.pieces[i].set(o.pieces[i].text)
	}
}
