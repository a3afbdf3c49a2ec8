package filter

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
)

// OfJSON returns the value that a path leads to in JSON: the names of members, and the numbers
// of elements from 0 on. It is missing if there is none, or if the data before its end is no
// JSON. Of several members with the same name the last one counts, as in encoding/json.
func OfJSON(data []byte, path []string) Value {
	for _, name := range path {
		data = trimSpace(data)
		if len(data) == 0 {
			return Value{}
		}
		switch data[0] {
		case '{':
			data = member(data, name)
		case '[':
			data = element(data, name)
		default:
			return Value{}
		}
	}
	value, _, ok := cutValue(data)
	if !ok {
		return Value{}
	}
	return scalar(value)
}

// scalar returns a value of JSON.
func scalar(data []byte) Value {
	text := string(data)
	switch data[0] {
	case '"':
		if bytes.IndexByte(data, '\\') < 0 {
			return OfText(text[1 : len(text)-1])
		}
		if err := json.Unmarshal(data, &text); err != nil {
			return Value{}
		}
		return OfText(text)
	case '{', '[':
		return Value{kind: other, text: text}
	}
	switch text {
	case "null":
		return Value{}
	case "true":
		return Value{kind: boolean, text: text, n: 1}
	case "false":
		return Value{kind: boolean, text: text}
	}
	if !jsonNumber.MatchString(text) {
		return Value{}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Value{kind: whole, text: text, n: n}
	}
	f, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
	return Value{kind: fraction, text: text, f: f}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// member returns the rest of the data from the value of a member of an object on.
func member(object []byte, name string) (found []byte) {
	rest := trimSpace(object[1:])
	for len(rest) > 0 && rest[0] == '"' {
		key, after, ok := cutValue(rest)
		after = trimSpace(after)
		if !ok || len(after) == 0 || after[0] != ':' {
			return nil
		}
		value := trimSpace(after[1:])
		if isKey(key, name) {
			found = value
		}
		if rest, ok = nextItem(value); !ok {
			return found
		}
	}
	return nil
}

// isKey reports whether a text of JSON, in quotation marks, is a name.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1:len(key)-1]) == name
	}
	var text string
	return json.Unmarshal(key, &text) == nil && text == name
}

// element returns the rest of the data from an element of an array on.
func element(array []byte, number string) []byte {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return nil
	}
	rest := trimSpace(array[1:])
	for ok := true; ok && len(rest) > 0 && rest[0] != ']'; n-- {
		if n == 0 {
			return rest
		}
		rest, ok = nextItem(rest)
	}
	return nil
}

// nextItem skips a value and the comma behind it. It returns false if there is none.
func nextItem(data []byte) (rest []byte, ok bool) {
	_, rest, ok = cutValue(data)
	rest = trimSpace(rest)
	if !ok || len(rest) == 0 || rest[0] != ',' {
		return nil, false
	}
	return trimSpace(rest[1:]), true
}

// cutValue cuts a value off the front of JSON. It does not check what is inside of it.
func cutValue(data []byte) (value, rest []byte, ok bool) {
	data = trimSpace(data)
	depth := 0
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			end := stringEnd(data[i:])
			if end == 0 {
				return nil, nil, false
			}
			i += end
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			for i < len(data) && !bytes.ContainsRune([]byte(" \t\r\n,:]}"), rune(data[i])) {
				i++
			}
			return data[:i], data[i:], i > 0
		}
		if depth <= 0 {
			return data[:i], data[i:], depth == 0
		}
	}
	return nil, nil, false
}

// stringEnd returns the length of the text in quotation marks at the front of data, 0 if it has
// no end.
func stringEnd(data []byte) int {
	for i := 1; ; {
		next := bytes.IndexAny(data[i:], `"\`)
		if next < 0 {
			return 0
		}
		i += next
		if data[i] == '"' {
			return i + 1
		}
		if i += 2; i >= len(data) {
			return 0
		}
	}
}

func trimSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }
