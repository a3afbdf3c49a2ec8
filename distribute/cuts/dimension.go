package cuts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Kind is the kind of a dimension.
type Kind uint8

// The kinds of dimensions, in the order in which they are listed. Those up to Hour are times.
const (
	Day Kind = iota
	Week
	Month
	Hour
	Country
	Continent
	ASN
	Status
	StatusClass
	Method
	Protocol
	Host
	ReferrerHost
	Path
	Browser
	Crawler
	CrawlerClass
	Format
	File
	numKinds
)

var kindNames = [numKinds]string{
	"day", "week", "month", "hour", "country", "continent", "asn", "status", "status_class", "method", "protocol",
	"host", "referrer_host", "path", "browser", "crawler", "crawler_class", "format", "file",
}

// String returns the name of the kind, which is the column of its dimensions.
func (k Kind) String() string { return kindNames[k] }

// isTime reports whether values of the kind are times.
func (k Kind) isTime() bool { return k <= Hour }

// ofDay reports whether values of the kind are made of the day: they are not stored.
func (k Kind) ofDay() bool { return k <= Month }

// A Dimension is a property of a line.
type Dimension struct {
	Kind  Kind
	Depth int // of path:N, the number of names that a value has; 0: all
}

// maxDepth bounds Dimension.Depth.
const maxDepth = 99

// Names lists the names of the dimensions, for messages and completions.
func Names() []string {
	names := slices.Clone(kindNames[:])
	return slices.Insert(names, int(Path)+1, "path:N")
}

// ParseDimension parses the name of a dimension.
func ParseDimension(name string) (Dimension, error) {
	if number, ok := strings.CutPrefix(name, "path:"); ok {
		depth, err := strconv.Atoi(number)
		if err != nil || depth < 1 || depth > maxDepth || strconv.Itoa(depth) != number {
			return Dimension{}, fmt.Errorf("by %q: want path:N with a number from 1 to %d", name, maxDepth)
		}
		return Dimension{Path, depth}, nil
	}
	kind := slices.Index(kindNames[:], name)
	if kind < 0 {
		return Dimension{}, fmt.Errorf("by %q: count by one or more of %s", name, strings.Join(Names(), ", "))
	}
	return Dimension{Kind: Kind(kind)}, nil
}

// String returns the name of the dimension, such as "path:2".
func (d Dimension) String() string {
	if d.Depth > 0 {
		return fmt.Sprintf("%s:%d", d.Kind, d.Depth)
	}
	return d.Kind.String()
}

// A Cut is a list of dimensions, the times first.
type Cut []Dimension

// MaxCuts bounds the cuts of one subscriber.
const MaxCuts = 4

// ParseCut parses the names of dimensions. Times come first, in a fixed order, the others in that
// of the names; a name that is there twice is one dimension.
func ParseCut(names []string) (Cut, error) {
	var cut Cut
	for _, name := range names {
		d, err := ParseDimension(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(cut, d) {
			continue
		}
		if slices.ContainsFunc(cut, func(other Dimension) bool { return other.Kind == d.Kind }) {
			return nil, fmt.Errorf("by %q: the cut has the column %s already", name, d.Kind)
		}
		cut = append(cut, d)
	}
	slices.SortStableFunc(cut, func(a, b Dimension) int { return min(int(a.Kind), int(Hour)+1) - min(int(b.Kind), int(Hour)+1) })
	return cut, nil
}

// String returns the names of the dimensions, such as "day,country".
func (c Cut) String() string {
	names := make([]string, len(c))
	for i, d := range c {
		names[i] = d.String()
	}
	return strings.Join(names, ",")
}

// Columns returns the columns of the dimensions.
func (c Cut) Columns() []string {
	columns := make([]string, len(c))
	for i, d := range c {
		columns[i] = d.Kind.String()
	}
	return columns
}

// stored returns the dimensions whose values are in the members of cells.
func (c Cut) stored() Cut {
	return slices.DeleteFunc(slices.Clone(c), func(d Dimension) bool { return d.Kind.ofDay() })
}

// covers reports whether the counts of the cut can be added up to those by other dimensions:
// it has all of them but for those that are made of the day.
func (c Cut) covers(other Cut) bool {
	return !slices.ContainsFunc(other.stored(), func(d Dimension) bool { return !slices.Contains(c, d) })
}

// A Measure is what is added up in each cell.
type Measure string

// The measures, in the order of their columns.
const (
	Requests Measure = "requests"
	Bytes    Measure = "bytes"    // of responses; exact up to 2^53
	Duration Measure = "duration" // a [Histogram]
)

var measures = []Measure{Requests, Bytes, Duration}

// ParseMeasures parses names of measures; requests are always one of them.
func ParseMeasures(names []string) ([]Measure, error) {
	found := map[Measure]bool{Requests: true}
	for _, name := range names {
		if !slices.Contains(measures, Measure(name)) {
			return nil, fmt.Errorf("measure %q: want requests, bytes or duration", name)
		}
		found[Measure(name)] = true
	}
	return slices.DeleteFunc(slices.Clone(measures), func(m Measure) bool { return !found[m] }), nil
}
