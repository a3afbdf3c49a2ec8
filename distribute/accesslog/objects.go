package accesslog

import (
	"bytes"
	"math"
	"strings"

	"skidway/distribute/accesslog/formats"
	"skidway/distribute/accesslog/internal/lex"
)

// objects is the splitter of lines that are a JSON object each. It reads what servers
// write rather than what RFC 8259 allows: \xHH in strings, values without quotes such
// as -, and missing values. Keys may come in any order.
type objects struct {
	*objectPaths
	shape  objectShape // of the lines
	buffer []byte      // of the values of a line that had escapes
}

// objectPaths are where the fields of objects are.
type objectPaths struct {
	keys   objectKeys
	needed objectKeys       // those of the fields that every line needs
	logger formats.Logger   // whose lines are read; without a key: those of all
	ranks  [numFields]uint8 // before a value was found
}

// objectKeys are keys of one object.
type objectKeys struct {
	list    []objectKey
	lengths uint64 // has a bit for the length of each; the highest one for all others
}

// An objectKey is a key of an object: that of a field, or of an object with further keys.
type objectKey struct {
	name  string
	field Field
	rank  uint8 // of several keys for one field, the least is read; 0 is the first
	inner objectKeys
}

// newObjectPaths returns where fields are. A path names keys from the outermost object inwards,
// with dots between. Of several paths for a field the first one that a line has is read.
// If the logger has a key, only its lines are.
func newObjectPaths(paths map[Field][]string, from formats.Logger) *objectPaths {
	o := &objectPaths{logger: from}
	for i := range o.ranks {
		o.ranks[i] = math.MaxUint8
	}
	if from.Key == "" {
		o.ranks[logger] = 0 // as if it had been found
	} else {
		o.keys.insertPath(from.Key, logger, 0)
		o.needed.insertPath(from.Key, logger, 0)
	}
	for field, alternatives := range paths {
		for rank, path := range alternatives {
			o.keys.insertPath(path, field, uint8(rank))
			if neededFields.Has(field) {
				o.needed.insertPath(path, field, uint8(rank))
			}
		}
	}
	return o
}

// insertPath inserts the key at a path.
func (k *objectKeys) insertPath(path string, field Field, rank uint8) {
	k.insert(strings.Split(path, "."), field, rank)
	if strings.Contains(path, ".") { // one key may have the dots
		k.insert([]string{path}, field, rank)
	}
}

func (k *objectKeys) insert(path []string, field Field, rank uint8) {
	key := k.find([]byte(path[0]))
	if key == nil {
		k.list = append(k.list, objectKey{name: path[0]})
		key = &k.list[len(k.list)-1]
		k.lengths |= lengthBit(len(path[0]))
	}
	if len(path) == 1 {
		key.field, key.rank = field, rank
	} else {
		key.inner.insert(path[1:], field, rank)
	}
}

func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// find returns the key with a name; nil if there is none.
func (k *objectKeys) find(name []byte) *objectKey {
	if k.lengths&lengthBit(len(name)) == 0 {
		return nil
	}
	for i := range k.list {
		if string(name) == k.list[i].name {
			return &k.list[i]
		}
	}
	return nil
}

func (o *objects) state() string { return "" }

// split implements [splitter]. A line may be an element of an array that has one
// element a line.
func (o *objects) split(line []byte, v *values, s scope) Verdict {
	if len(line) == 0 || line[0] != '{' {
		start := trimStart(line)
		line = bytes.TrimLeft(start, "[, ")
		if len(start) > 0 && start[0] == '[' && holdsMore(line) {
			return Unparsable
		}
	}
	if len(line) == 0 || line[0] != '{' || !o.scan(line, v, s) && s == exact {
		return Unparsable // the end of a line may be cut off behind what is asked for
	}
	if s != needed && bytes.IndexByte(line, '\\') >= 0 {
		o.unescape(v[Time:]) // an address has no escapes
	}
	if v[logger] != nil && !isOfLogger(v[logger], o.logger) {
		return Unparsable
	}
	if v[Time] == nil {
		v[Time] = v[ended]
	}
	return v.complete()
}

// unescape undoes the escapes in values that stand for characters which need none, and reports whether there
// may be some.
func (o *objects) unescape(values [][]byte) (found bool) {
	o.buffer = o.buffer[:0]
	for i, value := range values {
		if bytes.IndexByte(value, '\\') >= 0 {
			values[i], o.buffer = lex.UnescapePlain(value, o.buffer)
			found = true
		}
	}
	return found
}

// holdsMore reports whether another object follows the one that a line begins with.
func holdsMore(line []byte) bool {
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	end := lex.NestedEnd(line, 0)
	return end > 0 && bytes.HasPrefix(bytes.TrimLeft(line[end:], ", \t"), []byte("{"))
}

// isOfLogger reports whether a value of the logger's key is one of lines that are requests.
func isOfLogger[T string | []byte](name T, logger formats.Logger) bool {
	want, more := logger.Name, len(name)-len(logger.Suffix)
	if logger.Suffix != "" {
		return more >= 0 && (string(name[more:]) == logger.Suffix || strings.EqualFold(string(name[more:]), logger.Suffix))
	}
	return len(name) >= len(want) && string(name[:len(want)]) == want && (len(name) == len(want) || name[len(want)] == '.')
}

// scan sets the fields of a line, and reports whether it is an object, as far as it has to be
// read.
func (o *objects) scan(line []byte, v *values, s scope) bool {
	keys := &o.keys
	if s == needed {
		keys = &o.needed
	}
	v.clear(s)
	found := objectValues{values: v, all: s != needed, ranks: o.ranks}
	if s != exact { // the lines of which may be any
		if o.shape.read(line, &found) {
			return true
		}
		v.clear(s)
		found.ranks, found.done = o.ranks, false
	}
	scan := objectScan{line: line, objectValues: found}
	if s != exact && o.shape.learns() {
		scan.shape = &o.shape
	}
	end := scan.object(0, keys)
	if end >= 0 && !scan.done {
		scan.learn(end, noValue, nil)
	}
	if scan.shape != nil {
		scan.shape.finish(end >= 0)
	}
	return end >= 0
}

// objectValues are the values that were found in an object.
type objectValues struct {
	values *values
	ranks  [numFields]uint8 // of the values that were found
	all    bool
	done   bool // the rest cannot change what was asked for
}

// An objectScan goes through a line that is an object.
type objectScan struct {
	line []byte
	objectValues

	shape  *objectShape // learns that of the line; nil: none does
	behind int          // the end of the last value that it has learned

	// found, if not nil, is called with every value instead, and the path to it.
	found func(path, value string)
	path  string // of the object that is read, with a dot at its end
}

// object reads the object that begins at a place of the line, as far as it has to, and returns
// the place behind it; -1 if it is none.
func (s *objectScan) object(at int, keys *objectKeys) int {
	line := s.line
	for at++; at < len(line); {
		switch c := line[at]; {
		case c == '"':
		case c == '}':
			return at + 1
		case c == ',' || lex.IsSpace(c):
			at++
			continue
		default:
			return -1
		}
		end := lex.StringEnd(line, at+1)
		if end < 0 {
			return -1
		}
		name := line[at+1 : end]
		if at = lex.SkipSpace(line, end+1); at == len(line) || line[at] != ':' {
			return -1
		}
		if at = lex.SkipSpace(line, at+1); s.found != nil {
			at = s.show(at, string(name))
		} else {
			at = s.value(at, keys.find(name))
		}
		if at < 0 || s.done {
			return at
		}
	}
	return -1
}

// show calls found with the value at a place, or with those in the object there. It returns
// the place behind it; -1 if there is none.
func (s *objectScan) show(at int, name string) int {
	if at < len(s.line) && s.line[at] == '{' {
		outer := s.path
		s.path += name + "."
		defer func() { s.path = outer }()
		return s.object(at, nil)
	}
	end := s.value(at, nil)
	if end >= 0 {
		text, _ := lex.UnescapePlain(s.line[at:end], nil)
		s.found(s.path+name, strings.Trim(string(text), `" `))
	}
	return end
}

// value reads the value at a place, which belongs to the key; if that is nil, the value is
// skipped. It returns the place behind it; -1 if there is none.
func (s *objectScan) value(at int, key *objectKey) int {
	line := s.line
	if at == len(line) {
		return -1
	}
	var text []byte
	var end int
	switch line[at] {
	case '"':
		if end = lex.StringEnd(line, at+1); end < 0 {
			return -1
		}
		text = line[at+1 : end]
		end++
		s.learn(at+1, quoted, key)
	case '{', '[':
		if line[at] == '{' && key != nil && len(key.inner.list) > 0 {
			return s.object(at, &key.inner)
		}
		if end = lex.NestedEnd(line, at); end < 0 {
			return -1
		}
		if line[at] == '[' && key != nil {
			text = firstElement(line[at+1 : end])
		}
		s.learn(at+1, nested, key)
	default:
		end = lex.UnquotedEnd(line, at)
		text = line[at:end]
		s.learn(at, unquoted, key)
	}
	s.behind = end
	if key != nil {
		s.set(key, text)
	}
	return end
}

// learn adds to the shape what stands between the last value and a place.
func (s *objectScan) learn(end int, kind valueKind, key *objectKey) {
	if s.shape == nil {
		return
	}
	if len(s.shape.pieces) == maxPieces {
		s.shape = nil
		return
	}
	s.shape.add(s.line[s.behind:end], kind, key)
}

// set sets the field of a key, unless a better key has set it.
func (s *objectValues) set(key *objectKey, text []byte) {
	if key.field == noField || text == nil || s.ranks[key.field] <= key.rank {
		return
	}
	if len(text) <= len("null") && s.setNone(key.field, text) {
		return
	}
	s.ranks[key.field] = key.rank
	s.values[key.field] = text
	s.done = !s.all && s.ranks[logger] == 0 && s.ranks[Address] == 0 && (s.ranks[Time] == 0 || s.ranks[Date] == 0 && s.ranks[Clock] == 0)
}

// setNone reports whether a text means that there is no value: null, and for an address also - or nothing. Such
// an address is set as long as no other key has one: no client is known then.
func (s *objectValues) setNone(field Field, text []byte) bool {
	null := string(text) == "null"
	if field == Address && (null || len(text) < len("::")) {
		if null {
			text = text[:0]
		}
		if len(s.values[Address]) == 0 {
			s.values[Address] = text
		}
		return true
	}
	return null
}

// firstElement returns the string that the elements of an array begin with; nil if it is none.
func firstElement(b []byte) []byte {
	at := lex.SkipSpace(b, 0)
	if at == len(b) || b[at] != '"' {
		return nil
	}
	return b[at+1 : lex.StringEnd(b, at+1)]
}
