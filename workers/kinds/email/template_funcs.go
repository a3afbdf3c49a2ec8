package email

import (
	"fmt"
	htmltemplate "html/template"
	"reflect"
	"text/template"
)

// funcsPerSize is how many times the size limit of a message the functions of
// one template may produce together: a template may keep each text that it made
// in a variable, so that the sum must be bounded and not only each text.
const funcsPerSize = 4

// boundedFuncs returns replacements of all functions of text/template that
// produce text. Of 250 bytes, nested calls of the original ones make gigabytes
// in memory before anything is written. Together they produce at most
// [funcsPerSize] * limit bytes for one template; then they return ErrTooLarge.
func boundedFuncs(limit int64) template.FuncMap {
	left := funcsPerSize * limit
	bounded := func(size int64, text func() string) (string, error) {
		if size > left {
			return "", ErrTooLarge
		}
		result := text()
		if left -= int64(len(result)); left < 0 {
			return "", ErrTooLarge
		}
		return result, nil
	}
	ofArgs := func(text func(...any) string) func(...any) (string, error) {
		return func(args ...any) (string, error) {
			size := int64(0)
			for _, arg := range args {
				size += printedSize(arg)
			}
			return bounded(size, func() string { return text(args...) })
		}
	}
	return template.FuncMap{
		"print":    ofArgs(fmt.Sprint),
		"println":  ofArgs(fmt.Sprintln),
		"html":     ofArgs(htmltemplate.HTMLEscaper),
		"js":       ofArgs(htmltemplate.JSEscaper),
		"urlquery": ofArgs(htmltemplate.URLQueryEscaper),
		"printf": func(format string, args ...any) (string, error) {
			return bounded(formattedSize(format, args), func() string { return fmt.Sprintf(format, args...) })
		},
	}
}

func printedSize(arg any) int64 {
	if text, ok := arg.(string); ok {
		return int64(len(text))
	}
	return int64(len(fmt.Sprint(arg)))
}

// formattedSize returns an upper bound of the bytes that fmt.Sprintf returns,
// without making them; verbs that quote or encode may exceed it a few times.
// Each verb counts as its width, its precision and the largest argument, because
// a verb may name any of them by its index.
func formattedSize(format string, args []any) int64 {
	const maxNumber = 1_000_000 // fmt refuses larger widths and precisions
	var largest, star int64     // the largest argument in bytes, and as a width
	for _, arg := range args {
		largest = max(largest, printedSize(arg))
		if value := reflect.ValueOf(arg); value.CanInt() {
			star = max(star, value.Int(), -value.Int())
		}
	}
	size, number, inVerb := int64(len(format)), int64(0), false
	for i := range len(format) {
		c := format[i]
		switch {
		case !inVerb:
			inVerb = c == '%'
			continue
		case c >= '0' && c <= '9':
			number = min(number*10+int64(c-'0'), maxNumber)
			continue
		case c == '*':
			number = min(star, maxNumber)
		}
		size, number = size+number, 0
		if c == '%' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 {
			size += largest
			inVerb = false
		}
	}
	return size
}
