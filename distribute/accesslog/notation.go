package accesslog

import (
	"errors"
	"fmt"
	"slices"
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

// variables are what layouts have for values: the variables of nginx and the directives of Apache's
// mod_log_config, with the argument in lower case where it names a header. Of several values for a
// field in a layout, the one that stands first here is read. The last of the times are those of
// %{…}t. A $time in any notation, with _dmy or _mdy one whose date has the day or the month first, the
// $date and $clock of a time in two places, and the durations that are added up, are not nginx's.
var variables = rankedVariables(`
	address   $remote_addr $realip_remote_addr $proxy_protocol_addr $http_x_forwarded_for $proxy_add_x_forwarded_for
	address   %a %h %{c}a %{c}h %{x-forwarded-for}i
	time      $time_local $time_iso8601 $msec $time %t %{time}t %{sec}t
	time_dmy  $time_dmy
	time_mdy  $time_mdy
	date      $date
	date_dmy  $date_dmy
	date_mdy  $date_mdy
	clock     $clock
	status    $status %s
	request   $request %r
	method    $request_method %m
	path      $request_uri $uri $document_uri %U
	protocol  $server_protocol %H
	host      $host $http_host $server_name %{host}i %V %v
	referrer  $http_referer %{referer}i
	agent     $http_user_agent %{user-agent}i
	user      $remote_user %u
	bytes     $body_bytes_sent $bytes_sent %b %B %O
	duration  $request_time $processing_1 %D %{ms}T %{us}T %T %{s}T
	duration2 $processing_2
	duration3 $processing_3
	country   $geoip2_data_country_code $geoip_country_code $http_cf_ipcountry
	country   %{cf-ipcountry}i %{GEOIP_COUNTRY_CODE}e %{MM_COUNTRY_CODE}e`)

// A variable is the field of a value, and how good it is for that: the least rank is the best.
type variable struct {
	field Field
	rank  int
}

func rankedVariables(text string) map[string]variable {
	known := map[string]variable{}
	for field, names := range mustFields(text) {
		for rank, name := range names {
			known[name] = variable{field, rank}
		}
	}
	return known
}

// ByLayout returns the format of lines that a server writes with a layout of the
// user's own: the value of nginx's log_format, or of Apache's LogFormat or CustomLog, or such a
// directive as it stands in the server's configuration. The error is a *[LayoutError].
//
// The values that are read are those of Apache's mod_log_config and of nginx's
// variables. The client's address is $remote_addr, %h or %a, and only without one
// of these $realip_remote_addr, $proxy_protocol_addr or the header X-Forwarded-For.
//
// Values with nothing between them are one, which is read only where it is a path and its query.
// A \" outside of quotes is also a quote: Apache's configuration has a backslash there, and its lines have not.
// A time may have blanks, also where one follows it. Several %{…}t one after the other are one
// time: its fraction and its offset may be directives of their own.
func ByLayout(text string) (Format, error) {
	l, err := compileLayout(text)
	if err != nil {
		return Format{}, &LayoutError{text, err}
	}
	all := layouts{l}
	if l.escaped {
		if unescaped, err := compileLayout(strings.ReplaceAll(text, `\"`, `"`)); err == nil {
			all = layouts{unescaped, l}
		}
	}
	for _, l := range all {
		l.findTimes()
	}
	return Format{name: text, splitter: func(string) splitter { return all }, layouts: all, port: l.port, unit: l.unit(), order: l.order()}, nil
}

// order returns the order of the layout's dates.
func (l *layout) order() (order dateOrder) {
	for _, part := range l.parts {
		if part.field == Time || part.field == Date {
			order = max(order, part.order)
		}
	}
	return order
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

// compileLayout returns the layout that a text describes. It is in Apache's notation if it has
// only that one's sign.
func compileLayout(text string) (*layout, error) {
	text, err := layoutValue(text)
	if err != nil {
		return nil, err
	}
	sign, value := "$", appendVariable
	escaped := false
	if strings.Contains(text, "%") && !strings.Contains(text, "$") {
		sign, value = "%", appendDirective
		escaped = strings.Contains(text, `\"`)
	}
	var pieces []layoutPiece
	for text != "" {
		literal, rest, found := strings.Cut(text, sign)
		if pieces = appendLiteral(pieces, literal); !found {
			break
		}
		if pieces, text, err = value(pieces, rest); err != nil {
			return nil, err
		}
	}
	l, err := newLayout(pieces)
	if err == nil {
		l.escaped = escaped
	}
	return l, err
}

// appendValue appends a value with the field that it is known for. If there is a value of the
// field already, the better one keeps it.
func appendValue(pieces []layoutPiece, name, known string) []layoutPiece {
	v := variables[known]
	for i, piece := range pieces {
		if v.field == noField || piece.field != v.field {
			continue
		}
		if piece.rank <= v.rank {
			v.field = noField
		} else {
			pieces[i].field = noField
		}
		break
	}
	return append(pieces, layoutPiece{name: name, variable: v})
}

// appendLiteral appends a text between values, unless it is empty.
func appendLiteral(pieces []layoutPiece, literal string) []layoutPiece {
	if literal == "" {
		return pieces
	}
	return append(pieces, layoutPiece{literal: literal})
}

// appendVariable appends the variable of nginx that text, behind its sign, begins with.
func appendVariable(pieces []layoutPiece, text string) (_ []layoutPiece, rest string, err error) {
	name, rest := variableName(text)
	switch name {
	case "":
		return nil, "", errors.New("a $ that no name of a variable follows")
	case "binary_remote_addr":
		return nil, "", errors.New("$binary_remote_addr is not text: log $remote_addr")
	}
	return appendValue(pieces, "$"+name, "$"+name), rest, nil
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

// appendDirective appends the directive of Apache that text, behind its sign, begins with.
func appendDirective(pieces []layoutPiece, text string) (_ []layoutPiece, rest string, err error) {
	d, rest, err := readDirective(text)
	if err != nil {
		return nil, "", err
	}
	switch {
	case d.letter == '%':
		return appendLiteral(pieces, "%"), rest, nil
	case d.letter == 't' && d.argument == "":
		pieces = appendValue(appendLiteral(pieces, "["), "%t", "%t")
		return appendLiteral(pieces, "]"), rest, nil
	case d.letter == 't':
		d.argument, rest = joinTimes(d.argument, rest)
		pieces, err = appendTime(pieces, d.argument)
		return pieces, rest, err
	}
	return appendValue(pieces, d.name(), d.name()), rest, nil
}

// An apacheDirective is one %… of a LogFormat.
type apacheDirective struct {
	argument string // in braces
	letter   byte
}

// name returns the directive's name in variables.
func (d apacheDirective) name() string {
	switch {
	case d.argument == "":
		return "%" + string(d.letter)
	case d.letter == 'i':
		return "%{" + strings.ToLower(d.argument) + "}i"
	}
	return "%{" + d.argument + "}" + string(d.letter)
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

// joinTimes joins a %{…}t with those that follow it, such as the fraction of its seconds and its
// offset, if the whole is a time that can be read. It returns its notation, and the text behind.
func joinTimes(notation, text string) (string, string) {
	joined, rest := notation, text
	for {
		at := strings.IndexByte(rest, '%')
		if at < 0 || at > 1 { // more than a character between
			return notation, text
		}
		d, behind, err := readDirective(rest[at+1:])
		if err != nil || d.letter != 't' || d.argument == "" {
			return notation, text
		}
		joined, rest = joined+rest[:at]+cutMoment(d.argument), behind
		if known, _, _ := knownTime(joined); known != "" {
			notation, text = joined, rest
		}
	}
}

// appendTime appends the value of %{…}t: a time in the notation of strftime that is one of those
// that are read, or seconds since 1970.
func appendTime(pieces []layoutPiece, notation string) ([]layoutPiece, error) {
	known, open, end := knownTime(notation)
	if part := cutMoment(notation); known == "" && !slices.Contains([]string{"msec_frac", "usec_frac", "%z", "%Z"}, part) {
		return nil, fmt.Errorf("%%{%s}t is a time that cannot be read: log %%t, or %%{%%Y-%%m-%%dT%%H:%%M:%%S%%z}t", notation)
	}
	pieces = appendValue(appendLiteral(pieces, open), "%{"+notation+"}t", known)
	return appendLiteral(pieces, end), nil
}

// knownTime returns the variable of a time in the notation of %{…}t; none if it cannot be read. The
// brackets around it are text.
func knownTime(notation string) (known, open, end string) {
	notation = cutMoment(notation)
	if strings.HasPrefix(notation, "[") && strings.HasSuffix(notation, "]") {
		open, notation, end = "[", notation[1:len(notation)-1], "]"
	}
	w, _, ok := sampleOf(notation)
	switch {
	case !ok:
		return "", "", ""
	case w.epoch:
		return "%{sec}t", open, end
	}
	return "%{time}t", open, end
}

// notationOrder returns the order of the date that the value %{…}t has.
func notationOrder(name string) dateOrder {
	notation := cutMoment(strings.TrimSuffix(strings.TrimPrefix(name, "%{"), "}t"))
	_, order, _ := sampleOf(strings.Trim(notation, "[]"))
	return order
}

// sampleOf reads a sample of a notation of strftime, and returns the order in which its date must be
// read; ok reports whether it can be.
func sampleOf(notation string) (w written, order dateOrder, ok bool) {
	text := sampleTexts.Replace(notation)
	if strings.Contains(text, "%") {
		return w, 0, false
	}
	for order = unknownOrder; order <= monthFirst; order++ {
		w, ok = readTime([]byte(text), order)
		if ok && !w.dateOnly && w.date == sampleDay && w.minute == sampleMinute {
			return w, order, true
		}
	}
	return w, 0, false
}

// The sample is of Monday, 2023-09-25, 16:05:06.123456 UTC: no number of it may be another one.
var (
	sampleDay, _ = dateDay(2023, 9, 25)
	sampleTexts  = strings.NewReplacer(
		"msec_frac", "123", "usec_frac", "123456", "msec", "1695657906123", "usec", "1695657906123456", "sec", "1695657906", "%s", "1695657906",
		"%Y", "2023", "%y", "23", "%m", "09", "%b", "Sep", "%h", "Sep", "%B", "September", "%d", "25", "%e", "25", "%a", "Mon", "%A", "Monday",
		"%F", "2023-09-25", "%D", "09/25/23", "%c", "Mon Sep 25 16:05:06 2023",
		"%H", "16", "%k", "16", "%I", "04", "%l", "4", "%p", "PM", "%P", "pm", "%M", "05", "%S", "06", "%T", "16:05:06", "%R", "16:05", "%r", "04:05:06 PM",
		"%z", "+0000", "%Z", "UTC",
	)
)

const sampleMinute = 16*60 + 5

// cutMoment cuts off whether a time is that of the request or of the answer.
func cutMoment(notation string) string {
	return strings.TrimPrefix(strings.TrimPrefix(notation, "begin:"), "end:")
}
