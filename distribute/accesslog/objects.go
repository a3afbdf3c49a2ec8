package accesslog

import (
	"bytes"
	"math"
	"strings"
)

// objects is the splitter of lines that are a JSON object each. It reads what servers
// write rather than what RFC 8259 allows: \xHH in strings, values without quotes such
// as -, and missing values. Keys may come in any order.
type objects struct {
	keys   []objectKey
	needed []objectKey // those of the fields that every line needs
}

// An objectKey is a key of an object: that of a field, or of an object with further keys.
type objectKey struct {
	name  string
	field Field
	rank  uint8 // of several keys for one field, the least is read; 0 is the first
	inner []objectKey
}

// newObjects returns the splitter for fields that are found at paths. A path names keys
// from the outermost object inwards, with dots between. Of several paths for a field
// the first one that a line has is read.
func newObjects(paths map[Field][]string) *objects {
	o := new(objects)
	for field, alternatives := range paths {
		for rank, path := range alternatives {
			o.keys = insertPath(o.keys, path, field, uint8(rank))
			if neededFields.Has(field) {
				o.needed = insertPath(o.needed, path, field, uint8(rank))
			}
		}
	}
	return o
}

// insertPath inserts the key at a path.
func insertPath(keys []objectKey, path string, field Field, rank uint8) []objectKey {
	keys = insertKey(keys, strings.Split(path, "."), field, rank)
	if strings.Contains(path, ".") { // one key may have the dots
		keys = insertKey(keys, []string{path}, field, rank)
	}
	return keys
}

func insertKey(keys []objectKey, path []string, field Field, rank uint8) []objectKey {
	at := 0
	for at < len(keys) && keys[at].name != path[0] {
		at++
	}
	if at == len(keys) {
		keys = append(keys, objectKey{name: path[0]})
	}
	if len(path) == 1 {
		keys[at].field, keys[at].rank = field, rank
	} else {
		keys[at].inner = insertKey(keys[at].inner, path[1:], field, rank)
	}
	return keys
}

func (o *objects) state() string { return "" }

// split implements [splitter]. A line may be an element of an array that has one
// element a line.
func (o *objects) split(line []byte, v *values, s scope) Verdict {
	if len(line) == 0 || line[0] != '{' {
		line = bytes.TrimLeft(trimStart(line), "[, ")
	}
	v.clear(s)
	scan, keys := newObjectScan(v, s != needed), o.keys
	if s == needed {
		keys = o.needed
	}
	if len(line) == 0 || line[0] != '{' || !scan.object(line, keys) && s == exact {
		return Unparsable // the end of a line may be cut off behind what is asked for
	}
	if v[Time] == nil {
		v[Time] = v[ended]
	}
	if v[Address] == nil || v[Time] == nil && (v[Date] == nil || v[Clock] == nil) {
		return Unparsable
	}
	return Parsed
}

// An objectScan goes through the bytes of an object.
type objectScan struct {
	values *values
	ranks  [numFields]uint8 // of the values that were found
	all    bool
	done   bool // the rest cannot change what was asked for
	rest   []byte

	// found, if not nil, is called with every value instead, and the path to it.
	found func(path, value string)
	path  string // of the object that is read, with a dot at its end
}

func newObjectScan(v *values, all bool) objectScan {
	s := objectScan{values: v, all: all}
	for i := range s.ranks {
		s.ranks[i] = math.MaxUint8
	}
	return s
}

// object reads the object that b starts with, and sets rest to what follows it. It
// reports whether it is one, as far as it had to read.
func (s *objectScan) object(b []byte, keys []objectKey) (ok bool) {
	b = skipBlanks(b[1:])
	for len(b) > 0 && b[0] != '}' {
		if b[0] == ',' {
			b = skipBlanks(b[1:])
			continue
		}
		if b[0] != '"' {
			return false
		}
		end := stringEnd(b)
		if end < 0 {
			return false
		}
		name := b[1:end]
		b = skipBlanks(b[end+1:])
		if len(b) == 0 || b[0] != ':' {
			return false
		}
		b = skipBlanks(b[1:])
		if s.found != nil {
			ok = s.show(b, string(name))
		} else {
			ok = s.value(b, findKey(keys, name))
		}
		if !ok {
			return false
		}
		if s.done {
			return true
		}
		b = skipBlanks(s.rest)
	}
	if len(b) == 0 {
		return false
	}
	s.rest = b[1:]
	return true
}

// show calls found with the value that b starts with, or with those in the object.
func (s *objectScan) show(b []byte, name string) bool {
	if len(b) > 0 && b[0] == '{' {
		outer := s.path
		s.path += name + "."
		defer func() { s.path = outer }()
		return s.object(b, nil)
	}
	if !s.value(b, nil) {
		return false
	}
	s.found(s.path+name, strings.Trim(string(b[:len(b)-len(s.rest)]), `" `))
	return true
}

func findKey(keys []objectKey, name []byte) *objectKey {
	for i := range keys {
		if string(name) == keys[i].name {
			return &keys[i]
		}
	}
	return nil
}

// value reads the value that b starts with, which belongs to the key; if that is
// nil, the value is skipped.
func (s *objectScan) value(b []byte, key *objectKey) bool {
	if len(b) == 0 {
		return false
	}
	var text []byte
	switch b[0] {
	case '"':
		end := stringEnd(b)
		if end < 0 {
			return false
		}
		text, s.rest = b[1:end], b[end+1:]
	case '{':
		if key != nil && len(key.inner) > 0 {
			return s.object(b, key.inner)
		}
		return s.skipNested(b)
	case '[':
		if !s.skipNested(b) {
			return false
		}
		text = firstElement(b)
	default:
		end := 0
		for end < len(b) && b[end] != ',' && b[end] != '}' && b[end] != ']' && b[end] > ' ' {
			end++
		}
		text, s.rest = b[:end], b[end:]
	}
	if key != nil && key.field != noField && text != nil && string(text) != "null" {
		s.set(key, text)
	}
	return true
}

// set sets the field of a key, unless a better key has set it.
func (s *objectScan) set(key *objectKey, text []byte) {
	if s.ranks[key.field] <= key.rank {
		return
	}
	s.ranks[key.field] = key.rank
	s.values[key.field] = text
	s.done = !s.all && s.ranks[Address] == 0 && (s.ranks[Time] == 0 || s.ranks[Date] == 0 && s.ranks[Clock] == 0)
}

// firstElement returns the string that the array b starts with; nil if it is none.
func firstElement(b []byte) []byte {
	b = skipBlanks(b[1:])
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	return b[1:stringEnd(b)]
}

// skipNested sets rest to what follows the object or array that b starts with.
func (s *objectScan) skipNested(b []byte) bool {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b[i:])
			if end < 0 {
				return false
			}
			i += end
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.rest = b[i+1:]
				return true
			}
		}
	}
	return false
}

// stringEnd returns where the quote is that ends the string that b starts with; -1 if
// there is none.
func stringEnd(b []byte) int {
	for from := 1; ; {
		at := bytes.IndexByte(b[from:], '"')
		if at < 0 {
			return -1
		}
		if at += from; !isEscaped(b[1:], at-1) {
			return at
		}
		from = at + 1
	}
}

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}
