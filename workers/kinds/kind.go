package kinds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"skidway/queue"
)

// Names gives the names of the built-in kinds whose args [Check] knows, sorted.
func Names() []string {
	var names []string
	for _, k := range builtIns() {
		names = append(names, k.name)
	}
	return names
}

// Check says what is wrong with args for a built-in kind: no JSON object, a
// field that the kind doesn't have, or what the Check method of its args finds.
// Its errors match [queue.ErrInvalid] and name the field; a wrong value is a
// [FieldError]. What it lets through may still be refused by the worker, whose
// configuration it doesn't know. Of other kinds it knows nothing: nil.
func Check(kind string, args []byte) error {
	for _, k := range builtIns() {
		if k.name == kind {
			if err := k.check(args); err != nil {
				return fmt.Errorf("%w: args of %s: %w", queue.ErrInvalid, kind, err)
			}
			return nil
		}
	}
	return nil
}

// A FieldError says what is wrong with one field of args.
type FieldError struct {
	Field   string // as in JSON
	Problem string // what is wrong and what is wanted
}

func (e *FieldError) Error() string { return "field " + e.Field + ": " + e.Problem }

// Is makes it match [queue.ErrInvalid].
func (e *FieldError) Is(target error) bool { return target == queue.ErrInvalid }

func wrong(field, format string, values ...any) error {
	return &FieldError{field, fmt.Sprintf(format, values...)}
}

// checkable is what args of all built-in kinds are.
type checkable interface {
	queue.Args
	Check() error
}

type builtIn struct {
	name  string
	check func(args []byte) error
}

func builtIns() []builtIn {
	return []builtIn{
		entry[EmailArgs](),
		entry[ExecArgs](),
		entry[HTTPArgs](),
		entry[LogsCountArgs](),
		entry[LogsReportArgs](),
		entry[LogsShipArgs](),
	}
}

func entry[A checkable]() builtIn {
	var zero A
	return builtIn{zero.Kind(), func(data []byte) error {
		var args A
		if err := decode(data, &args); err != nil {
			return err
		}
		return args.Check()
	}}
}

// decode reads a JSON object and nothing else, and refuses unknown fields.
func decode(data []byte, args any) error {
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return errors.New("want a JSON object, in braces")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(args)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := decoder.Token(); err != io.EOF {
			return fmt.Errorf("after byte %d: more than one JSON value", decoder.InputOffset())
		}
		return nil
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return wrong(mismatch.Field, "a %s can't go there, want %s", mismatch.Value, jsonName(mismatch))
	default:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
}

// jsonName says in JSON's words what a field takes.
func jsonName(mismatch *json.UnmarshalTypeError) string {
	switch kind := mismatch.Type.Kind().String(); kind {
	case "slice":
		return "an array"
	case "map", "struct":
		return "an object"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	default:
		return "a whole number"
	}
}
