package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
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

// nginxField is the field of a variable of nginx. Of several variables for one
// field in a layout, the one with the least rank is read.
var nginxField = map[string]struct {
	field Field
	rank  int
}{
	"remote_addr":               {Address, 0},
	"realip_remote_addr":        {Address, 1},
	"proxy_protocol_addr":       {Address, 2},
	"http_x_forwarded_for":      {Address, 3},
	"proxy_add_x_forwarded_for": {Address, 4},
	"time_local":                {Time, 0},
	"time_iso8601":              {Time, 1},
	"msec":                      {Time, 2},
	"status":                    {Status, 0},
	"request":                   {Request, 0},
	"request_method":            {Method, 0},
	"request_uri":               {Path, 0},
	"uri":                       {Path, 1},
	"server_protocol":           {Protocol, 0},
	"host":                      {Host, 0},
	"http_host":                 {Host, 1},
	"server_name":               {Host, 2},
	"http_referer":              {Referrer, 0},
	"http_user_agent":           {Agent, 0},
	"remote_user":               {User, 0},
	"body_bytes_sent":           {Bytes, 0},
	"bytes_sent":                {Bytes, 1},
	"request_time":              {Duration, 0},
	"geoip2_data_country_code":  {Country, 0},
	"geoip_country_code":        {Country, 1},
	"http_cf_ipcountry":         {Country, 2},
	// Not nginx's: a date and a time of day in two places.
	"date":  {Date, 0},
	"clock": {Clock, 0},
	// Nor these: what is added up.
	"processing_1": {Duration, 0},
	"processing_2": {duration2, 0},
	"processing_3": {duration3, 0},
}

// nginxPieces reads the value of nginx's log_format.
func nginxPieces(text string) ([]layoutPiece, error) {
	var pieces []layoutPiece
	ranks := [numFields]int{}
	for text != "" {
		literal, rest, found := strings.Cut(text, "$")
		if literal != "" {
			pieces = append(pieces, layoutPiece{literal: literal})
		}
		if !found {
			break
		}
		name, after := variableName(rest)
		if name == "" {
			return nil, errors.New("a $ that no name of a variable follows")
		}
		if name == "binary_remote_addr" {
			return nil, errors.New("$binary_remote_addr is not text: log $remote_addr")
		}
		text = after
		known := nginxField[name]
		pieces = appendValue(pieces, &ranks, "$"+name, known.field, known.rank)
	}
	return pieces, nil
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

// nginxValue returns the value of a log_format directive, which has a name, perhaps
// escape=…, and strings in quotes that are joined; text itself if it is none.
func nginxValue(text string) (string, error) {
	text = strings.TrimSpace(text)
	directive, ok := strings.CutPrefix(text, "log_format")
	if !ok {
		if quoted := strings.TrimSuffix(text, ";"); len(quoted) > 1 && quoted[0] == '\'' {
			return joinQuoted(quoted)
		}
		return text, nil
	}
	_, value := cutWord(directive) // its name
	if word, rest := cutWord(value); strings.HasPrefix(word, "escape=") {
		value = rest
	}
	return joinQuoted(strings.TrimSuffix(strings.TrimSpace(value), ";"))
}

// cutWord cuts off the word that text starts with.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// joinQuoted joins strings in single or double quotes.
func joinQuoted(text string) (string, error) {
	var joined strings.Builder
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		quote := text[0]
		if quote != '\'' && quote != '"' {
			return "", errors.New("log_format: the value must stand in quotes")
		}
		end := 1
		for end < len(text) && text[end] != quote {
			if text[end] == '\\' && end+1 < len(text) {
				end++
			}
			joined.WriteByte(text[end])
			end++
		}
		if end == len(text) {
			return "", errors.New("log_format: a quote is not closed")
		}
		text = text[end+1:]
	}
	return joined.String(), nil
}

// variableName returns the name that text starts with, also in braces.
func variableName(text string) (name, rest string) {
	if strings.HasPrefix(text, "{") {
		name, rest, _ = strings.Cut(text[1:], "}")
		return name, rest
	}
	end := 0
	for end < len(text) && isNameByte(text[end]) {
		end++
	}
	return text[:end], text[end:]
}

func isNameByte(c byte) bool {
	return c == '_' || c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// apacheField is the field of a directive of Apache's mod_log_config, by its letter
// and, where it has one, the argument in braces in lower case.
var apacheField = map[string]struct {
	field Field
	rank  int
}{
	"a":                     {Address, 0},
	"h":                     {Address, 1},
	"{c}a":                  {Address, 2},
	"{c}h":                  {Address, 2},
	"{x-forwarded-for}i":    {Address, 3},
	"s":                     {Status, 0},
	"r":                     {Request, 0},
	"m":                     {Method, 0},
	"U":                     {Path, 0},
	"H":                     {Protocol, 0},
	"V":                     {Host, 1},
	"v":                     {Host, 2},
	"{host}i":               {Host, 0},
	"{referer}i":            {Referrer, 0},
	"{user-agent}i":         {Agent, 0},
	"u":                     {User, 0},
	"b":                     {Bytes, 0},
	"B":                     {Bytes, 0},
	"O":                     {Bytes, 1},
	"D":                     {Duration, 0},
	"T":                     {Duration, 1},
	"{ms}T":                 {Duration, 0},
	"{us}T":                 {Duration, 0},
	"{s}T":                  {Duration, 1},
	"{cf-ipcountry}i":       {Country, 0},
	"{GEOIP_COUNTRY_CODE}e": {Country, 1},
	"{MM_COUNTRY_CODE}e":    {Country, 2},
}

// apachePieces reads the value of Apache's LogFormat.
func apachePieces(text string) (pieces []layoutPiece, err error) {
	ranks := [numFields]int{}
	for text != "" {
		literal, rest, found := strings.Cut(text, "%")
		pieces = appendLiteral(pieces, literal)
		if !found {
			break
		}
		var d apacheDirective
		if d, text, err = readDirective(rest); err != nil {
			return nil, err
		}
		switch {
		case d.letter == '%':
			pieces = appendLiteral(pieces, "%")
		case d.letter == 't' && d.argument == "":
			pieces = appendLiteral(pieces, "[")
			pieces = appendValue(pieces, &ranks, "%t", Time, 0)
			pieces = appendLiteral(pieces, "]")
		case d.letter == 't':
			if pieces, err = appendTime(pieces, &ranks, d.argument); err != nil {
				return nil, err
			}
		default:
			known := apacheField[d.key()]
			pieces = appendValue(pieces, &ranks, "%"+d.key(), known.field, known.rank)
		}
	}
	return pieces, nil
}

func appendLiteral(pieces []layoutPiece, literal string) []layoutPiece {
	if literal == "" {
		return pieces
	}
	return append(pieces, layoutPiece{literal: literal})
}

// apacheValue returns the value of a LogFormat directive, which stands in quotes that its
// name follows; text itself if it is none.
func apacheValue(text string) (string, error) {
	text = strings.TrimSpace(text)
	directive, ok := strings.CutPrefix(text, "LogFormat")
	if !ok {
		if !strings.HasPrefix(text, `"%`) || !strings.HasSuffix(text, `"`) || !strings.Contains(text, `\"`) {
			return text, nil
		}
		directive = text
	}
	directive = strings.TrimSpace(directive)
	if !strings.HasPrefix(directive, `"`) {
		return "", errors.New("LogFormat: the value must stand in quotes")
	}
	var value strings.Builder
	for i := 1; i < len(directive); i++ {
		switch c := directive[i]; {
		case c == '"':
			return value.String(), nil
		case c == '\\' && i+1 < len(directive):
			i++
			value.WriteByte(cmp.Or(map[byte]byte{'t': '\t', 'n': '\n'}[directive[i]], directive[i]))
		default:
			value.WriteByte(c)
		}
	}
	return "", errors.New("LogFormat: a quote is not closed")
}

// An apacheDirective is one %… of a LogFormat.
type apacheDirective struct {
	argument string // in braces
	letter   byte
}

// key returns the directive's key in apacheField.
func (d apacheDirective) key() string {
	switch {
	case d.argument == "":
		return string(d.letter)
	case d.letter == 'i':
		return "{" + strings.ToLower(d.argument) + "}i"
	}
	return "{" + d.argument + "}" + string(d.letter)
}

// readDirective reads what follows a %: conditions and modifiers, which change nothing
// here, an argument, and the letter.
func readDirective(text string) (d apacheDirective, rest string, err error) {
	text = strings.TrimLeft(text, "0123456789,!<>")
	if strings.HasPrefix(text, "{") {
		argument, after, found := strings.Cut(text[1:], "}")
		if !found {
			return d, "", errors.New("a { is not closed")
		}
		d.argument, text = argument, strings.TrimLeft(after, "<>")
	}
	if strings.HasPrefix(text, "^") && len(text) >= 3 { // ^ti, ^to, ^FU, ^FB
		text = text[2:]
		d.argument = "^" + d.argument
	}
	if text == "" {
		return d, "", errors.New("a % that no letter follows")
	}
	d.letter = text[0]
	return d, text[1:], nil
}

// appendTime appends the value of %{…}t: a time in the notation of strftime that is
// one of those that are read, or seconds since 1970.
func appendTime(pieces []layoutPiece, ranks *[numFields]int, notation string) ([]layoutPiece, error) {
	notation = strings.TrimPrefix(strings.TrimPrefix(notation, "begin:"), "end:")
	open := ""
	if strings.HasPrefix(notation, "[") && strings.HasSuffix(notation, "]") {
		open, notation = "[", notation[1:len(notation)-1]
	}
	notation = strings.NewReplacer("%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M").Replace(notation)
	rank, known := 0, false
	switch notation {
	case "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z":
		known = true
	case "%d/%b/%Y:%H:%M:%S", "%d/%b/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M":
		known = true
	case "sec", "msec", "usec", "%s":
		known, rank = true, 1
	case "msec_frac", "usec_frac", "%z", "%Z":
		return appendValue(pieces, ranks, "%{"+notation+"}t", noField, 0), nil
	}
	if !known {
		return nil, fmt.Errorf("%%{%s}t is a time that cannot be read: log %%t, or %%{%%Y-%%m-%%dT%%H:%%M:%%S%%z}t", notation)
	}
	if open != "" {
		pieces = appendLiteral(pieces, "[")
	}
	pieces = appendValue(pieces, ranks, "%{"+notation+"}t", Time, rank)
	if open != "" {
		pieces = appendLiteral(pieces, "]")
	}
	return pieces, nil
}
