package cuts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/agents"
	"skidway/internal/filter"
)

// dimensionField returns the field of a dimension.
func dimensionField(kind Kind) filter.Field {
	f := filter.Field{Name: kind.String(), Definite: true, Check: checks[kind]}
	switch kind {
	case Status:
		f.Type = filter.Number
	case StatusClass:
		f.Words = []string{"", "1xx", "2xx", "3xx", "4xx", "5xx"}
	case Protocol:
		f.Words = []string{"", "HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"}
	case Browser:
		f.Words = append(agents.Browsers(), "")
	case CrawlerClass:
		f.Words = append(agents.Classes(), "")
	}
	return f
}

// A check returns an error for a constant that no line has as the value of a dimension.
type check = func(op, constant string) error

var checks = [numKinds]check{
	Day: checkDay,
	Week: inForm(Week, "a week such as 2026-W47", func(text string) bool {
		var year, week int
		n, err := fmt.Sscanf(text, "%4d-W%2d", &year, &week)
		return err == nil && n == 2 && text == fmt.Sprintf("%04d-W%02d", year, week) && week >= 1 && week <= 53
	}),
	Month: inForm(Month, "a month such as 2026-11", isTimeOf("2006-01")),
	Hour: inForm(Hour, "an hour such as 2026-11-20T14:00+01:00", func(text string) bool {
		return isTimeOf(hourLayout)(text) || isTimeOf("2006-01-02T15:00")(text)
	}),
	Country:   func(_, text string) error { return checkCountry(text) },
	Continent: func(_, text string) error { return checkContinent(text) },
	Status:    checkStatus,
	ASN: inForm(ASN, "a number such as AS13335", func(text string) bool {
		digits, found := strings.CutPrefix(text, asnPrefix)
		n, err := strconv.ParseUint(digits, 10, 32)
		return found && err == nil && n > 0 && strconv.FormatUint(n, 10) == digits
	}),
	Format: checkFormat,
	File:   asCounted(File, func(text []byte) []byte { return text }),
	Method: inForm(Method, `at most 16 letters, or "(invalid)"`, func(text string) bool {
		return text == invalidMethod || isMethod([]byte(text))
	}),
	Host:         asCounted(Host, hostOf),
	ReferrerHost: asCounted(ReferrerHost, hostOf),
	Path:         asCounted(Path, func(text []byte) []byte { return pathOf(text, 0) }),
	Crawler:      checkPresent,
}

func checkPresent(_, text string) error {
	if text == Missing {
		return fmt.Errorf(`a missing value is "" here, not %q`, text)
	}
	return nil
}

func checkDay(_, text string) error {
	if !isTimeOf(time.DateOnly)(text) {
		return fmt.Errorf("there is no day %.20q: want a date such as 2026-11-30", text)
	}
	return nil
}

// isTimeOf returns a function that reports whether a text is a time as a layout formats it.
func isTimeOf(layout string) func(string) bool {
	return func(text string) bool {
		at, err := time.Parse(layout, text)
		return err == nil && at.Format(layout) == text
	}
}

// isOrder reports whether an operator compares the order: then also a constant that no line has
// makes a difference.
func isOrder(op string) bool { return slices.Contains([]string{"<", "<=", ">", ">="}, op) }

// checkStatus refuses a status that is none.
func checkStatus(op, text string) error {
	if n, err := strconv.Atoi(text); err == nil && !isOrder(op) && (n < 100 || n > 599) {
		return fmt.Errorf("there is no status %d: want 100 to 599, or a condition such as status >= 500", n)
	}
	return nil
}

// checkFormat refuses the name of a format that is none, or not the one that is counted.
func checkFormat(op, text string) error {
	f, err := accesslog.ByName(text)
	switch {
	case isOrder(op):
		return nil
	case err != nil:
		return err
	case f.Name() != text:
		return fmt.Errorf("format is never %.40q: want %q", text, f.Name())
	}
	return nil
}

// inForm returns a check of texts that are missing or have a form.
func inForm(kind Kind, form string, has func(string) bool) check {
	return func(op, text string) error {
		if err := checkPresent(op, text); err != nil {
			return err
		}
		if text != "" && !isOrder(op) && !has(text) {
			return fmt.Errorf("%s is never %.40q: want %s", kind, text, form)
		}
		return nil
	}
}

// asCounted returns a check of texts of lines that are counted in one form.
func asCounted(kind Kind, form func([]byte) []byte) check {
	return func(op, text string) error {
		if err := checkPresent(op, text); err != nil {
			return err
		}
		if counted := Value(form([]byte(text))); counted != text && !isOrder(op) {
			return fmt.Errorf("%s is never %.40q: want %q", kind, text, counted)
		}
		return nil
	}
}
