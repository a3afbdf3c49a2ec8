package queue

import (
	"encoding/json"
	"fmt"
)

// Args are what a job of one kind is given. A type of one's own with a Kind is
// written as JSON:
//
//	type SendEmail struct{ To, Subject string }
//	func (SendEmail) Kind() string { return "email.send" }
//
// Bytes that are there already go in by [Raw].
type Args interface {
	// Kind is 1 to 128 letters, digits, '.', '_', '-' or '/'. It must not
	// depend on the value: handlers are found by the zero value's.
	Kind() string
}

// ArgsWithOptions are args with default options: a field that the caller of
// [Client.Enqueue] leaves at its zero value is taken from them. Delay and At
// count as one field. Nil means no defaults.
type ArgsWithOptions interface {
	Args
	Options() *Options
}

type raw struct {
	kind string
	args []byte
}

func (r raw) Kind() string { return r.kind }

// MarshalJSON gives the bytes, if they are JSON.
func (r raw) MarshalJSON() ([]byte, error) {
	if !json.Valid(r.args) {
		return nil, fmt.Errorf("%w: args of %s are not JSON", ErrInvalid, r.kind)
	}
	return r.args, nil
}

// Raw makes Args of a kind and bytes, JSON or any others, which are passed on as
// they are.
func Raw(kind string, args []byte) Args { return raw{kind, args} }

func marshal(args Args) ([]byte, error) {
	switch args := args.(type) {
	case raw:
		return args.args, nil
	default:
		data, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("%w: marshal args of %s: %w", ErrInvalid, args.Kind(), err)
		}
		return data, nil
	}
}

// maxName is the most bytes of a queue's or kind's name.
const maxName = 128

// checkName checks the name of a queue.
func checkName(what, name string) error {
	if !isName(name, false) {
		return fmt.Errorf("%w: %s %.140q: use 1 to %d letters, digits, '.', '_' or '-'", ErrInvalid, what, name, maxName)
	}
	return nil
}

func checkKind(kind string) error {
	if !isName(kind, true) {
		return fmt.Errorf("%w: kind %.140q: use 1 to %d letters, digits, '.', '_', '-' or '/'", ErrInvalid, kind, maxName)
	}
	return nil
}

// isName is called for every job: a regular expression would show in profiles.
func isName(name string, slash bool) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		case c == '/' && slash:
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// Bytes gives args as a job carries them. Those of [Raw] are not copied.
func MarshalArgs(args Args) ([]byte, error) { return marshal(args) }
