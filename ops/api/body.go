package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxDepth bounds the objects and lists that are inside each other in a body.
const maxDepth = 64

// Types of bodies and answers.
const (
	jsonType   = "application/json"
	ndjsonType = "application/x-ndjson"
	csvType    = "text/csv"
)

// readBody returns a body of one of some types, of at most max bytes.
func readBody(w http.ResponseWriter, r *http.Request, max int64, types ...string) (data []byte, mediaType string, err error) {
	mediaType, _, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	known := false
	for _, t := range types {
		known = known || t == mediaType
	}
	if err != nil || !known {
		return nil, "", problem("wrong-type", "the Content-Type is %.80q: want %s", r.Header.Get("Content-Type"), strings.Join(types, " or "))
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, "", problem("wrong-type", "the Content-Encoding is %.40q: bodies must not be compressed", encoding)
	}
	tooLarge := problem("too-large", "the body has more than %d bytes", max)
	if r.ContentLength > max {
		return nil, "", tooLarge
	}
	data, err = readAll(w, http.MaxBytesReader(w, r.Body, max))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, "", tooLarge
	case err != nil:
		return nil, "", problem("invalid", "the body can't be read: %v", err)
	}
	return data, mediaType, nil
}

// readAll reads a body. The deadline of one that came too late stays: the rest of it, which the server reads
// before it answers, would have none.
func readAll(w http.ResponseWriter, body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(body)
	if err == nil {
		clearReadDeadline(w)
	}
	return data, err
}

// decode decodes one value in JSON into target. The names of its fields must be those of shape.
func decode(data []byte, shape reflect.Type, target any) error {
	if err := checkJSON(data, shape); err != nil {
		return err
	}
	return unmarshal(data, target)
}

// unmarshal decodes JSON that has been checked. Its values may be wrong.
func unmarshal(data []byte, target any) error {
	if err := json.Unmarshal(data, target); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return invalidField(wrong.Field, "it can't be %s", wrong.Value) // a number beyond the bounds of its type
		}
		if p := problemOf(err); p != nil {
			return p
		}
		return problem("invalid", "%v", err)
	}
	return nil
}

// checkJSON refuses what decoders understand in different ways: fields that are unknown, in other
// letters or there twice, what follows the value, and texts that are not UTF-8.
func checkJSON(data []byte, shape reflect.Type) error {
	if !utf8.Valid(data) {
		return problem("invalid", "the body is not UTF-8")
	}
	c := checker{json.NewDecoder(bytes.NewReader(data))}
	c.UseNumber()
	err := c.value(shape, 1)
	var field *fieldError
	switch {
	case errors.As(err, &field) && field.path == "":
		return problem("invalid", "%s", strings.Replace(field.detail, "it is", "the body is", 1))
	case errors.As(err, &field):
		return invalidField(strings.TrimPrefix(field.path, "."), "%s", field.detail)
	case err != nil:
		return err
	}
	if _, err := c.Token(); !errors.Is(err, io.EOF) {
		return problem("invalid", "the body has more than one value")
	}
	return nil
}

// A checker checks the names of fields in JSON.
type checker struct{ *json.Decoder }

// A fieldError is an error about a field. The path is built while the checker returns, because a path
// for each value would take a time that grows with the square of the body.
type fieldError struct{ path, detail string }

func (e *fieldError) Error() string { return e.path + ": " + e.detail }

// inside adds the name of what contains the field of an error.
func inside(err error, name string) error {
	var field *fieldError
	if errors.As(err, &field) {
		field.path = name + field.path
	}
	return err
}

func (c *checker) next() (json.Token, error) {
	token, err := c.Token()
	if err != nil {
		return nil, problem("invalid", "the body is no JSON: %v", err)
	}
	return token, nil
}

// value checks the next value, for a type; nil allows all names.
func (c *checker) value(t reflect.Type, depth int) error {
	token, err := c.next()
	delim, nested := token.(json.Delim)
	want := kindOfType(deref(t))
	switch got := kindOfToken(token); {
	case err != nil:
		return err
	case want != "" && token != nil && got != want:
		return &fieldError{detail: fmt.Sprintf("it is %s: want %s", got, want)}
	case !nested:
		return nil
	case depth > maxDepth:
		return &fieldError{detail: fmt.Sprintf("the body has more than %d levels", maxDepth)}
	case delim == '[':
		err = c.list(t, depth)
	default:
		err = c.object(t, depth)
	}
	if err == nil {
		_, err = c.next() // the end
	}
	return err
}

// kindOfToken returns the kind of a value that begins with a token.
func kindOfToken(token json.Token) string {
	switch token := token.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case json.Delim:
		if token == '[' {
			return "a list"
		}
	}
	return "an object"
}

// kindOfType returns the kind of the values of a type, empty if they have any.
func kindOfType(t reflect.Type) string {
	if t == nil || isRaw(t) {
		return ""
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Interface:
		return ""
	}
	return "a number"
}

func (c *checker) list(t reflect.Type, depth int) error {
	var element reflect.Type
	if t = deref(t); t != nil && t.Kind() == reflect.Slice && !isRaw(t) {
		element = t.Elem()
	}
	for n := 0; c.More(); n++ {
		if err := c.value(element, depth+1); err != nil {
			return inside(err, "["+strconv.Itoa(n)+"]")
		}
	}
	return nil
}

func (c *checker) object(t reflect.Type, depth int) error {
	fields := fieldsOf(deref(t))
	var element reflect.Type
	if t = deref(t); t != nil && t.Kind() == reflect.Map {
		element = t.Elem()
	}
	seen := map[string]bool{}
	for c.More() {
		token, err := c.next()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		field, known := fields[name]
		switch {
		case seen[name]:
			return &fieldError{"." + name, fmt.Sprintf("the field %.80q is there twice", name)}
		case fields != nil && !known:
			return &fieldError{"." + name, fmt.Sprintf("there is no field %.80q%s", name, similar(fields, name))}
		}
		if seen[name] = true; !known {
			field = element
		}
		if err := c.value(field, depth+1); err != nil {
			return inside(err, "."+name)
		}
	}
	return nil
}

// similar returns the end of an error about a name that differs from a field only in its letters.
func similar(fields map[string]reflect.Type, name string) string {
	for known := range fields {
		if strings.EqualFold(known, name) {
			return ": it is written " + known
		}
	}
	return ""
}

func deref(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func isRaw(t reflect.Type) bool { return t == reflect.TypeFor[json.RawMessage]() }

// typeFields are the fields of types by their names in JSON.
var typeFields sync.Map

// fieldsOf returns the fields of a struct; nil for a type that has any.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if known, ok := typeFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
	typeFields.Store(t, fields)
	return fields
}
