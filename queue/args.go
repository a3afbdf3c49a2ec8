package queue

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// Args is the payload of a job. A type of your own is encoded as JSON:
//
//	type SendEmail struct{ To, Subject string }
//
//	func (SendEmail) Kind() string { return "email.send" }
//
// Use [Raw] for bytes that are already encoded. Args may carry default options by
// a method Options() *[Options]: a field that the caller of [Client.Enqueue]
// leaves at its zero value is taken from them (Delay and At count as one field). Args
// whose method Options has another signature are not enqueued.
type Args interface {
	// Kind returns 1 to 128 letters, digits, '.', '_', '-' or '/'. It must not
	// depend on the value: handlers are registered with the zero value's kind.
	Kind() string
}

// optionsArgs are args with default options. Options may return nil.
type optionsArgs interface {
	Args
	Options() *Options
}

// checkArgs returns an error if the kind of args is not valid, or their method Options
// would be ignored.
func checkArgs(args Args) error {
	if _, ok := args.(optionsArgs); !ok {
		if typ := reflect.TypeOf(args); hasOptions(typ) {
			return fmt.Errorf("%w: the method Options of %v would be ignored: declare it as func (%[2]v) Options() *queue.Options", ErrInvalid, typ)
		}
	}
	return checkKind(args.Kind())
}

// typesWithOptions has the results of hasOptions, because reflection is slow.
var typesWithOptions sync.Map

// hasOptions reports whether a type, or a pointer to it, has a method Options.
func hasOptions(typ reflect.Type) bool {
	if found, ok := typesWithOptions.Load(typ); ok {
		return found.(bool)
	}
	_, found := typ.MethodByName("Options")
	if !found {
		_, found = reflect.PointerTo(typ).MethodByName("Options")
	}
	typesWithOptions.Store(typ, found)
	return found
}

type raw struct {
	kind string
	args []byte
}

func (r raw) Kind() string { return r.kind }

// MarshalJSON returns the bytes if they are JSON.
func (r raw) MarshalJSON() ([]byte, error) {
	if !json.Valid(r.args) {
		return nil, fmt.Errorf("%w: args of %s are not JSON", ErrInvalid, r.kind)
	}
	return r.args, nil
}

// Raw returns Args of a kind whose bytes, JSON or any others, are passed on
// unchanged.
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

// maxName is the maximum length of the names of queues and kinds, in bytes.
const maxName = 128

// checkName returns an error if name is not a name such as that of a queue. what is
// the name's role, for the error.
func checkName(what, name string) error {
	if !isName(name, false) {
		return fmt.Errorf("%w: %s %.140q: use 1 to %d letters, digits, '.', '_' or '-'", ErrInvalid, what, name, maxName)
	}
	return nil
}

// checkNewName is checkName for a name that is made now.
func checkNewName(what, name string) error {
	if name == "." || name == ".." {
		return invalid("%s %q: it means a folder in addresses", what, name)
	}
	return checkName(what, name)
}

func checkKind(kind string) error {
	if !isName(kind, true) {
		return fmt.Errorf("%w: kind %.140q: use 1 to %d letters, digits, '.', '_', '-' or '/'", ErrInvalid, kind, maxName)
	}
	return nil
}

// isName reports whether name is valid. It runs for every job: a regular expression
// would show in profiles.
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

// MarshalArgs returns the bytes of args as a job carries them. Those of [Raw] are not
// copied.
func MarshalArgs(args Args) ([]byte, error) { return marshal(args) }
