package accesslog

import (
	"fmt"
	"slices"
	"strings"
)

// formats is the table of all formats. [Detect] gives a line to the first one
// that claims it, so the more particular stand before the more general.
var formats = [...]Format{
	vhost,
	combined,
	common,
	minimal,
}

// Format is a way of writing log lines. Get one from [ByName], [Detect] or
// [Formats]; the zero value is not usable.
type Format struct {
	name, description, example string
	// aliases are other names of the same format.
	aliases []string
	parser  func(Options) Parser
	// fits tells whether a line that the parser accepts has the exact shape of
	// the format: a parser is tolerant, and accepts lines that are rather
	// another format's. If nil, every line that the parser accepts has it.
	fits func(line []byte) bool
}

// Name returns the name that [ByName] knows the format by.
func (f Format) Name() string { return f.name }

// Description returns one line for people about the format.
func (f Format) Description() string { return f.description }

// Example returns a line in the format.
func (f Format) Example() string { return f.example }

// New returns a parser of the format's lines.
func (f Format) New(o Options) Parser { return f.parser(o) }

// Formats returns all formats, the more particular before the more general.
func Formats() []Format { return slices.Clone(formats[:]) }

// ByName returns the format of that name or alias ("nginx" is "combined"). The
// error is an [*UnknownFormatError].
func ByName(name string) (Format, error) {
	for _, f := range formats {
		if f.name == name || slices.Contains(f.aliases, name) {
			return f, nil
		}
	}
	return Format{}, &UnknownFormatError{Name: name}
}

// UnknownFormatError says that no format has the name.
type UnknownFormatError struct {
	Name string
}

// Error names the formats that there are.
func (e *UnknownFormatError) Error() string {
	var known []string
	for _, f := range formats {
		known = append(append(known, f.name), f.aliases...)
	}
	return fmt.Sprintf("unknown log format %q: use one of %s", e.Name, strings.Join(known, ", "))
}
