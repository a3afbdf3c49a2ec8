package lex

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// StringEnd returns where the quote is that ends the string whose text begins at a place; -1
// if there is none.
func StringEnd(b []byte, start int) int {
	const ones, highs, quotes = 0x0101010101010101, 0x8080808080808080, 0x2222222222222222
	// Most strings are short; long ones are searched faster by IndexByte.
	short := min(len(b)-8, start+24)
	for at := start; ; {
		var next int
		if at <= short {
			x := binary.LittleEndian.Uint64(b[at:]) ^ quotes
			marks := (x - ones) &^ x & highs // the lowest one is right
			if marks == 0 {
				at += 8
				continue
			}
			next = bits.TrailingZeros64(marks) / 8
		} else if next = bytes.IndexByte(b[at:], '"'); next < 0 {
			return -1
		}
		if at += next; at == start || b[at-1] != '\\' || !IsEscaped(b[start:], at-start) {
			return at
		}
		at++
	}
}

// IsEscaped reports whether an odd number of backslashes stands before b[at].
func IsEscaped(b []byte, at int) bool {
	n := at
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (at-n)%2 == 1
}

// UnquotedEnd returns the place behind the value without quotes at a place.
func UnquotedEnd(b []byte, at int) int {
	for at < len(b) && !endsUnquoted[b[at]] {
		at++
	}
	return at
}

// endsUnquoted has the bytes that end a value without quotes.
var endsUnquoted = func() (ends [256]bool) {
	for c := range ends {
		ends[c] = c <= ' ' || c == ',' || c == '}' || c == ']'
	}
	return ends
}()

// NestedEnd returns the place behind the object or array at a place; -1 if it does not end.
func NestedEnd(b []byte, at int) int {
	for depth := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			if at = StringEnd(b, at+1); at < 0 {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}

// IsSpace reports whether a byte may stand between the tokens of JSON.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// SkipSpace returns the place of the first byte from a place on that is no space.
func SkipSpace(b []byte, at int) int {
	for at < len(b) && IsSpace(b[at]) {
		at++
	}
	return at
}

// Unescape returns the text of a JSON string, in the buffer if it has escapes.
func Unescape(s, buffer []byte) (text, rest []byte) {
	if bytes.IndexByte(s, '\\') < 0 {
		return s, buffer
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			buffer = append(buffer, c)
			continue
		}
		i++
		switch s[i] {
		case 'n':
			buffer = append(buffer, '\n')
		case 't':
			buffer = append(buffer, '\t')
		case 'r':
			buffer = append(buffer, '\r')
		case 'u':
			r, ok := hex4(s[i+1:])
			if !ok {
				buffer = append(buffer, '\\', 'u')
				continue
			}
			buffer = utf8.AppendRune(buffer, r)
			i += 4
		default:
			buffer = append(buffer, s[i])
		}
	}
	return buffer, buffer
}

// UnescapePlain appends to the buffer a JSON string in which characters that need no escape have none. Quotes,
// backslashes and control characters keep theirs. It returns the string, and the buffer with it.
func UnescapePlain(s, buffer []byte) (text, rest []byte) {
	start := len(buffer)
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			buffer = append(buffer, s[i])
			continue
		}
		i++
		if s[i] == '/' {
			buffer = append(buffer, '/')
			continue
		}
		if r, ok := hex4(s[i+1:]); s[i] == 'u' && ok && r < 0x100 && unicode.IsPrint(r) && r != '"' && r != '\\' {
			buffer = utf8.AppendRune(buffer, r)
			i += len("0000")
			continue
		}
		buffer = append(buffer, '\\', s[i])
	}
	return buffer[start:len(buffer):len(buffer)], buffer
}

// hex4 reads the four hexadecimal digits that s starts with.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		digit := strings.IndexByte("0123456789abcdef", Lower(c))
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

func Lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Members calls yield with the key and the value of each member of the object that a line is, and
// reports whether it is one. The value is the text of a string, and nil if it is null, an object
// or an array.
func Members(line []byte, yield func(key, value []byte)) bool {
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	for at := 1; at < len(line); {
		switch c := line[at]; {
		case c == '"':
		case c == '}':
			return true
		case c == ',' || IsSpace(c):
			at++
			continue
		default:
			return false
		}
		end := StringEnd(line, at+1)
		if end < 0 {
			return false
		}
		key := line[at+1 : end]
		if at = SkipSpace(line, end+1); at == len(line) || line[at] != ':' {
			return false
		}
		var value []byte
		if value, at = member(line, SkipSpace(line, at+1)); at < 0 {
			return false
		}
		yield(key, value)
	}
	return false
}

// member returns the value at a place as Members has it, and the place behind it; that is -1 if
// there is none.
func member(line []byte, at int) (value []byte, end int) {
	switch {
	case at == len(line):
		return nil, -1
	case line[at] == '"':
		if end = StringEnd(line, at+1); end < 0 {
			return nil, -1
		}
		return line[at+1 : end], end + 1
	case line[at] == '{' || line[at] == '[':
		return nil, NestedEnd(line, at)
	}
	end = UnquotedEnd(line, at)
	if value = line[at:end]; string(value) == "null" {
		value = nil
	}
	return value, end
}
