package worldmap

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"sync"
)

//go:embed data/world.tsv
var world string

// Credit names the source of the map, for where it is shown.
const Credit = "Map: Natural Earth, public domain, in the projection Equal Earth; borders as they are held, not as they are claimed."

// A shape is a country, or an area without a code.
type shape struct {
	code, name string
	path       string // of its outlines; empty: it is a dot, or is not drawn
	x, y       string // of its dot
}

var shapes = sync.OnceValue(func() (all []shape) {
	_, lines, _ := strings.Cut(world, "\n")
	for line := range strings.Lines(lines) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		s := shape{code: fields[0], name: fields[1]}
		if strings.HasPrefix(fields[2], "m") {
			s.path = fields[2]
		} else {
			s.x, s.y, _ = strings.Cut(fields[2], " ")
		}
		all = append(all, s)
	}
	return all
})

var names = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, s := range shapes() {
		if s.code != "" {
			names[s.code] = s.name
		}
	}
	return names
})

// Name returns the English name of a country (by Unicode CLDR), empty if the code is of none.
func Name(code string) string { return names()[code] }

// A Drawing is a map.
type Drawing struct {
	SVG    template.HTML
	Steps  []Step  // of its scale, the lowest first
	Places []Place // all that have a code
}

// A Place is a shape of a map as it is drawn, for pages that change it later.
type Place struct {
	Code  string
	Class int
	Title string
}

// Draw returns the map of counts by code of ISO 3166-1. one and many name what is counted ("request",
// "requests"), and are escaped. Each shape has its name and its number in a title, and its code in data-k. Codes
// that are not on the map are left out.
func Draw(counts map[string]int64, one, many string) Drawing {
	scale := ScaleOf(counts)
	drawing := Drawing{Steps: scale.Steps()}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg class="map" viewBox="0 0 2000 942" role="img" aria-label="World map of %s by country. The table has the same numbers.">`, html.EscapeString(many))
	for _, s := range shapes() {
		number, key := "none", ""
		if n := counts[s.code]; s.code != "" && n > 0 {
			number = comma(n) + " " + many
			if n == 1 {
				number = "1 " + one
			}
		}
		place := Place{s.code, scale.Class(counts[s.code]), s.name + ": " + number}
		if s.code != "" {
			key = ` data-k="` + s.code + `"`
			drawing.Places = append(drawing.Places, place)
		}
		title := html.EscapeString(place.Title)
		switch {
		case s.path != "":
			fmt.Fprintf(&svg, `<path class="c%d"%s d="%s"><title>%s</title></path>`, place.Class, key, s.path, title)
		case s.x != "":
			fmt.Fprintf(&svg, `<circle class="c%d"%s cx="%s" cy="%s" r="8"><title>%s</title></circle>`, place.Class, key, s.x, s.y, title)
		}
	}
	svg.WriteString("</svg>")
	drawing.SVG = template.HTML(svg.String()) //nolint:gosec // all texts are escaped
	return drawing
}

// classes is the number of classes of a map without that for none: one for each power of ten, and one
// below and above them.
const classes = 7

// A Scale has the classes of a map: by powers of ten, the lowest of which is the field.
type Scale struct{ lowest int64 }

// ScaleOf returns the scale whose highest class has the highest of the counts.
func ScaleOf(counts map[string]int64) Scale {
	highest := int64(0)
	for code, n := range counts {
		if Name(code) != "" {
			highest = max(highest, n)
		}
	}
	lowest := int64(10)
	for bound := lowest; bound <= highest/100_000; bound *= 10 {
		lowest = bound
	}
	return Scale{lowest}
}

// Class returns the class of a number: 0 for none, 1 to 7 for the others.
func (s Scale) Class(n int64) int {
	if n <= 0 {
		return 0
	}
	class := 1
	for bound := s.lowest; class < classes && n >= bound; bound *= 10 {
		class++
	}
	return class
}

// A Step is a class of a scale.
type Step struct {
	Class int
	Label string // "10–100 k"
}

// Steps returns the classes with that for none.
func (s Scale) Steps() []Step {
	steps := []Step{{0, "none"}, {1, "< " + short(s.lowest)}}
	bound := s.lowest
	for class := 2; class < classes; class++ {
		steps = append(steps, Step{class, between(bound, 10*bound)})
		bound *= 10
	}
	return append(steps, Step{classes, "≥ " + short(bound)})
}

// units are those of large numbers, the largest first.
var units = []struct {
	name string
	size int64
}{{" tn", 1e12}, {" bn", 1e9}, {" M", 1e6}, {" k", 1e3}, {"", 1}}

// short returns a power of ten with its unit, such as "10 k".
func short(n int64) string {
	i := slices.IndexFunc(units, func(u struct {
		name string
		size int64
	}) bool {
		return n >= u.size
	})
	return fmt.Sprint(n/units[i].size) + units[i].name
}

// between returns a range of numbers with one unit: "10–100 k", "0.1–1 M".
func between(low, high int64) string {
	first, last := short(low), short(high)
	number, unit, _ := strings.Cut(last, " ")
	if firstNumber, firstUnit, _ := strings.Cut(first, " "); firstUnit == unit {
		first = firstNumber
	} else {
		first = "0." + strings.Repeat("0", len("100")-len(firstNumber)) + "1"
	}
	return strings.TrimSpace(first + "–" + number + " " + unit)
}

// comma returns a number with separators of thousands.
func comma(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
