// Package chart draws lines as paths of SVG, for the pages of the dashboard and of reports.
package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Spark is a small line of a table; its last point is now. It is 100 wide and 20 high.
type Spark struct {
	Path string
	X, Y string // of the last point
}

// Size of a Spark; its values are drawn between the lines top and base.
const sparkWidth, sparkTop, sparkBase = 100, 2.8, 19

// NewSpark draws values, the oldest first, between a lowest and a highest one; nil if there are fewer
// than two.
func NewSpark(values []float64, lowest, highest float64) *Spark {
	if len(values) < 2 {
		return nil
	}
	s := &Spark{}
	var path strings.Builder
	for i, value := range values {
		s.X = Coordinate(sparkWidth * float64(i) / float64(len(values)-1))
		s.Y = Coordinate(sparkBase - (sparkBase-sparkTop)*(value-lowest)/max(1, highest-lowest))
		path.WriteString(command(i) + s.X + " " + s.Y)
	}
	s.Path = path.String()
	return s
}

// Width and Height are those of a large line; the drawing is stretched.
const Width, Height = 1000, 100

// Line returns the path of values, the oldest first, from zero to the value top; empty if there
// are fewer than two.
func Line(values []float64, top float64) string {
	if len(values) < 2 {
		return ""
	}
	var path strings.Builder
	for i, value := range values {
		x, y := Width*float64(i)/float64(len(values)-1), Height*(1-value/top)
		path.WriteString(command(i) + Coordinate(x) + " " + Coordinate(y))
	}
	return path.String()
}

// Area returns the path of the area between a line and zero.
func Area(line string) string {
	if line == "" {
		return ""
	}
	return fmt.Sprintf("M0 %d%sL%d %dz", Height, "L"+line[1:], Width, Height)
}

// Top returns the end of an axis for the highest of some values: 1, 1.5, 2, 2.5, 5 or 8 times a
// power of ten, at least 1.
func Top(series ...[]float64) float64 {
	most := 0.0
	for _, values := range series {
		if len(values) > 0 {
			most = max(most, slices.Max(values))
		}
	}
	if most <= 0 {
		return 1
	}
	scale := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{1, 1.5, 2, 2.5, 5, 8} {
		if most <= step*scale {
			return max(1, step*scale)
		}
	}
	return 10 * scale
}

// command returns the letter before a point of a path.
func command(i int) string {
	if i == 0 {
		return "M"
	}
	return "L"
}

// Coordinate returns a number of a drawing, with at most one decimal.
func Coordinate(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}
