package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// layoutValue returns the value of a directive of nginx or Apache that is pasted from a server's
// configuration, or of its strings in quotes alone. Another text is the value itself.
func layoutValue(text string) (string, error) {
	text = strings.TrimSpace(text)
	directive, rest := cutWord(text)
	switch strings.ToLower(directive) {
	case "log_format": // name, perhaps escape=…, strings that are joined
		_, rest = cutWord(rest)
		if word, value := cutWord(rest); strings.HasPrefix(word, "escape=") {
			rest = value
		}
		return joinQuoted(directive, rest, true)
	case "logformat": // a string, perhaps a name
		return joinQuoted(directive, rest, false)
	case "customlog": // file or program, string or name, perhaps conditions
		if _, rest = cutArgument(rest); rest == "" || !isQuoteMark(rest[0]) {
			return "", errors.New("CustomLog has only the name of a format: give the LogFormat of that name")
		}
		return joinQuoted(directive, rest, false)
	case "access_log":
		return "", errors.New("access_log has only the name of a format: give the log_format of that name")
	}
	switch {
	case len(text) > 1 && text[0] == '\'':
		return joinQuoted("log_format", text, true)
	case strings.HasPrefix(text, `"%`) && strings.HasSuffix(text, `"`) && strings.Contains(text, `\"`):
		return joinQuoted("LogFormat", text, false)
	}
	return text, nil
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

// cutArgument cuts off the word, or the string in quotes, that text starts with.
func cutArgument(text string) (argument, rest string) {
	text = strings.TrimSpace(text)
	if text == "" || !isQuoteMark(text[0]) {
		return cutWord(text)
	}
	argument, rest, ok := cutQuoted(text)
	if !ok {
		return text, ""
	}
	return argument, strings.TrimSpace(rest)
}

func isQuoteMark(c byte) bool { return c == '\'' || c == '"' }

// cutQuoted cuts off the string in quotes that text starts with; ok reports whether it ends.
func cutQuoted(text string) (value, rest string, ok bool) {
	var unquoted strings.Builder
	for end := 1; end < len(text); end++ {
		c := text[end]
		if c == text[0] {
			return unquoted.String(), text[end+1:], true
		}
		if c == '\\' && end+1 < len(text) {
			end++
			c = cmp.Or(map[byte]byte{'t': '\t', 'n': '\n'}[text[end]], text[end])
		}
		unquoted.WriteByte(c)
	}
	return "", "", false
}

// joinQuoted returns the string in single or double quotes with which text begins, or all of them
// joined, up to a semicolon. Comments between them are passed over.
func joinQuoted(directive, text string, all bool) (string, error) {
	var joined strings.Builder
	for text = strings.TrimSpace(text); ; text = strings.TrimSpace(text) {
		if strings.HasPrefix(text, "#") {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		if text == "" || text[0] == ';' {
			break
		}
		if !isQuoteMark(text[0]) {
			return "", fmt.Errorf("%s: the value must stand in quotes", directive)
		}
		value, rest, ok := cutQuoted(text)
		if !ok {
			return "", fmt.Errorf("%s: a quote is not closed", directive)
		}
		joined.WriteString(value)
		if text = rest; !all {
			break
		}
	}
	if joined.Len() == 0 {
		return "", fmt.Errorf("%s: the value must stand in quotes", directive)
	}
	return joined.String(), nil
}
