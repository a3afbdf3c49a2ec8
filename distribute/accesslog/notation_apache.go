package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

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
