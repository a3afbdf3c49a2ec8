package accesslog

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a layout cannot be used.
var (
	errAdjacent  = errors.New("two values have nothing between them, so it cannot be known where the first one ends")
	errNoAddress = errors.New("it has no address of the client ($remote_addr, %h or %a)")
	errNoTime    = errors.New("it has no time ($time_local, $time_iso8601, $msec or %t)")
)

// A LayoutError is the error for a layout that is none.
type LayoutError struct {
	Layout string
	Err    error
}

// Error returns a text that names the layout.
func (e *LayoutError) Error() string { return fmt.Sprintf("layout %q: %v", e.Layout, e.Err) }

// Unwrap returns the reason.
func (e *LayoutError) Unwrap() error { return e.Err }

// ByLayout returns the format of lines that a server writes with a layout of the
// user's own: the value of nginx's log_format, or of Apache's LogFormat, or such a
// directive as it stands in the server's configuration. The error is a *[LayoutError].
//
// The values that are read are those of Apache's mod_log_config and of nginx's
// variables. The client's address is $remote_addr, %h or %a, and only without one
// of these $realip_remote_addr, $proxy_protocol_addr or the header X-Forwarded-For.
func ByLayout(text string) (Format, error) {
	value, parse := nginxValue, nginxPieces
	if strings.Contains(text, "%") && !strings.Contains(text, "$") {
		value, parse = apacheValue, apachePieces
	}
	l, err := compileLayout(text, value, parse)
	if err != nil {
		return Format{}, &LayoutError{text, err}
	}
	return Format{name: text, splitter: func(string) splitter { return l }, layouts: layouts{l}, unit: l.unit()}, nil
}

// unit returns the unit of the layout's duration.
func (l *layout) unit() time.Duration {
	for _, part := range l.parts {
		if part.field != Duration {
			continue
		}
		switch part.name {
		case "%D", "%{us}T":
			return time.Microsecond
		case "%{ms}T":
			return time.Millisecond
		}
	}
	return time.Second
}

// compileLayout returns the layout that a text describes in a notation.
func compileLayout(text string, value func(string) (string, error), parse func(string) ([]layoutPiece, error)) (*layout, error) {
	text, err := value(text)
	if err != nil {
		return nil, err
	}
	pieces, err := parse(text)
	if err != nil {
		return nil, err
	}
	return newLayout(pieces)
}

// appendValue appends a value. If a field is there already, the value with the lesser
// rank keeps it.
func appendValue(pieces []layoutPiece, ranks *[numFields]int, name string, field Field, rank int) []layoutPiece {
	if field != noField {
		for i, piece := range pieces {
			if piece.field != field {
				continue
			}
			if ranks[field] <= rank {
				field = noField
			} else {
				pieces[i].field = noField
			}
			break
		}
		ranks[field] = rank
	}
	return append(pieces, layoutPiece{name: name, field: field})
}

// appendLiteral appends a text between values, unless it is empty.
func appendLiteral(pieces []layoutPiece, literal string) []layoutPiece {
	if literal == "" {
		return pieces
	}
	return append(pieces, layoutPiece{literal: literal})
}
