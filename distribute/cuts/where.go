package cuts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/internal/filter"
)

// Missing is the value of a dimension that a line lacks, but for country and continent. In a
// filter it is an empty text.
const Missing = "-"

// lineSchema has the fields of filters of lines: the dimensions, then the others.
var lineSchema = func() filter.Schema {
	var schema filter.Schema
	for kind := range numKinds {
		schema = append(schema, dimensionField(kind))
	}
	return append(schema,
		filter.Field{Name: "address", Type: filter.Address},
		filter.Field{Name: "agent"}, filter.Field{Name: "referrer"}, filter.Field{Name: "user"},
		filter.Field{Name: "bytes", Type: filter.Number, Definite: true},
		filter.Field{Name: "duration", Type: filter.Duration, Definite: true},
	)
}()

// dimensionField returns the field of a dimension.
func dimensionField(kind Kind) filter.Field {
	f := filter.Field{Name: kind.String(), Check: checkPresent}
	switch kind {
	case Status:
		f.Type, f.Definite, f.Check = filter.Number, true, checkStatus
	case Country:
		f.Check = checkCountry
	case Continent:
		f.Check = checkContinent
	case StatusClass:
		f.Words = []string{"", "1xx", "2xx", "3xx", "4xx", "5xx"}
	case Day:
		f.Check = checkDay
	}
	return f
}

func checkStatus(text string) error {
	if n, err := strconv.Atoi(text); err == nil && (n < 100 || n > 599) {
		return fmt.Errorf("there is no status %d: want 100 to 599, or a condition such as status >= 500", n)
	}
	return nil
}

func checkPresent(text string) error {
	if text == Missing {
		return fmt.Errorf(`a missing value is "" here, not %q`, text)
	}
	return nil
}

func checkDay(text string) error {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return fmt.Errorf("there is no day %.20q: want a date such as 2026-11-30", text)
	}
	return nil
}

// dimensionValue returns the value of a dimension in a filter.
func dimensionValue(kind Kind, value string) filter.Value {
	if kind == Status {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return filter.Value{}
		}
		return filter.OfInt(n)
	}
	if value == Missing {
		value = ""
	}
	return filter.OfText(value)
}

// parseLineFilter parses a filter of lines, by all dimensions and by address, agent, referrer,
// user, bytes and duration.
func parseLineFilter(text string) (*filter.Filter, error) { return filter.Parse(text, lineSchema) }

// parseCellFilter parses a filter of the cells of a cut, by its dimensions. The numbers of its
// fields are their places in the cut. The error names a dimension that the cut lacks.
func parseCellFilter(text string, cut Cut) (*filter.Filter, error) {
	all, err := parseLineFilter(text)
	if err != nil {
		return nil, &QueryError{err.Error()}
	}
	var schema filter.Schema
	for _, d := range cut {
		schema = append(schema, dimensionField(d.Kind))
	}
	for i, field := range lineSchema {
		if all.Uses(i) && !slices.Contains(cut.Columns(), field.Name) {
			return nil, wrongQuery("the filter uses %s, and the cut %s has %s only: count by it",
				field.Name, cut, strings.Join(cut.Columns(), ", "))
		}
	}
	return filter.Parse(text, schema)
}
