package accesslog

import (
	"errors"
	"strings"
	"unicode"
)

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
