package cuts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Group names the cells of one day, cut and series.
type Group struct {
	Day    string // "2006-01-02"
	Cut    int    // its index
	Series Series
}

// A Series is a number that is added up in the cells of a group of its own.
type Series string

// Series of a cut. A histogram has one series for each bucket, see [bucketSeries].
const (
	requestSeries Series = ""
	byteSeries    Series = "bytes"
)

// String returns the group as it is stored: the day for the requests of the first cut, and else
// also the index and the series, or the series.
func (g Group) String() string {
	switch {
	case g.Series != requestSeries:
		return g.Day + " " + strconv.Itoa(g.Cut) + " " + string(g.Series)
	case g.Cut > 0:
		return g.Day + " " + strconv.Itoa(g.Cut)
	}
	return g.Day
}

// ParseGroup parses what String returns.
func ParseGroup(text string) (Group, bool) {
	day, rest, found := strings.Cut(text, " ")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return Group{}, false
	}
	g := Group{Day: day}
	if found {
		number, series, _ := strings.Cut(rest, " ")
		cut, err := strconv.Atoi(number)
		if err != nil {
			return Group{}, false
		}
		g.Cut, g.Series = cut, Series(series)
	}
	return g, g.Cut < MaxCuts && g.String() == text
}

// Any is the member of a cell without other values than those that are made of the day.
const Any = "*"

// Other is the value of cells that were moved together, see [Settings].MaxCells.
const Other = "(other)"

// separator stands between the values of a member.
const separator = "\x1f"

// Member returns the member of a cell: the values that a line has of the stored dimensions of a
// cut.
func Member(values []string) string {
	if len(values) == 0 {
		return Any
	}
	return strings.Join(values, separator)
}

// values returns the values of a member of a cut with so many stored dimensions, and reports
// whether it is one.
func values(member string, n int) ([]string, bool) {
	if n == 0 {
		return nil, member == Any
	}
	list := strings.Split(member, separator)
	return list, len(list) == n
}

// maxValue bounds a value, in bytes.
const maxValue = 256

const ellipsis = "…"

// Value returns a text of a line as the value of a dimension: bounded, and without the bytes that
// a member needs for itself.
func Value(text []byte) string {
	if isPlain(text) {
		return string(text)
	}
	var b strings.Builder
	end, fits := 0, 0 // of the longest prefix that leaves room for the ellipsis
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size <= 1, r < ' ', r == 0x7f, r == '(' && i == 0:
			fmt.Fprintf(&b, "%%%02X", text[i])
		default:
			b.Write(text[i : i+size])
		}
		i += size
		if end = b.Len(); end <= maxValue-len(ellipsis) {
			fits = end
		}
		if end > maxValue {
			return b.String()[:fits] + ellipsis
		}
	}
	return b.String()
}

// isPlain reports whether a text is its value: short, and of printable ASCII.
func isPlain(text []byte) bool {
	if len(text) > maxValue || len(text) > 0 && text[0] == '(' {
		return false
	}
	return !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' || c >= 0x7f })
}
