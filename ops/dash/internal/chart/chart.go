// Package chart draws charts as values of SVG attributes, for the templates of the pages.
package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"skidway/ops/dash/internal/words"
)

// A Spark is a small line of a table; its last point is now.
type Spark struct {
	Label, Path string
	X, Y        string
	Dot         bool
}

// Line returns the line of values, the oldest first. Zero is its base.
func Line(label string, values []float64) *Spark {
	if len(values) < 2 {
		return nil
	}
	const width, top, base = 100, 2.8, 19
	most := max(1, slices.Max(values))
	s := &Spark{Label: label, Dot: true}
	var path strings.Builder
	for i, value := range values {
		s.X = coordinate(width * float64(i) / float64(len(values)-1))
		s.Y = coordinate(base - (base-top)*value/most)
		path.WriteString(command(i) + s.X + " " + s.Y)
	}
	s.Path = path.String()
	return s
}

// command returns the letter before a point of a path.
func command(i int) string {
	if i == 0 {
		return "M"
	}
	return "L"
}

// coordinate returns a number of a drawing.
func coordinate(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}

// A Bar is a share of a whole.
type Bar struct{ Label, Class, Width string }

// Share returns the bar of a share; bad ones are drawn as a problem.
func Share(label string, part, whole float64, bad bool) Bar {
	class := "f"
	if bad {
		class = "x"
	}
	width := 0.0
	if whole > 0 {
		width = 100 * min(1, part/whole)
	}
	return Bar{label, class, coordinate(width)}
}

// A Plot is a large chart: an area with its line, another line, and bars of failures below on their
// own scale.
type Plot struct {
	Label             string
	Area, Line, Other string
	Bars              string
	Y, StripY, X      []string
}

// plotWidth and the heights are those of the drawing, which is stretched.
const plotWidth, plotHeight, stripHeight = 1000, 100, 30

// New draws series of equal length, the oldest value first; other and failed may be nil.
func New(label string, x []string, line, other, failed []float64) *Plot {
	p := &Plot{Label: label, X: x}
	top := niceTop(max(most(line), most(other)))
	p.Line, p.Other = plotLine(line, top), plotLine(other, top)
	if p.Line != "" {
		p.Area = fmt.Sprintf("M0 %d%sL%d %dz", plotHeight, "L"+p.Line[1:], plotWidth, plotHeight)
	}
	p.Y = []string{words.Short(top), words.Short(top / 2), "0"}
	if failed != nil {
		most := niceTop(most(failed))
		p.Bars, p.StripY = plotBars(failed, most), []string{words.Short(most), "0"}
	}
	return p
}

func most(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}

// niceTop returns the end of an axis: 1, 1.5, 2, 2.5, 5 or 8 times a power of ten.
func niceTop(most float64) float64 {
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

func plotLine(values []float64, top float64) string {
	if len(values) < 2 {
		return ""
	}
	var path strings.Builder
	for i, value := range values {
		x, y := plotWidth*float64(i)/float64(len(values)-1), plotHeight*(1-value/top)
		path.WriteString(command(i) + coordinate(x) + " " + coordinate(y))
	}
	return path.String()
}

// plotBars returns one path of all bars.
func plotBars(values []float64, top float64) string {
	var path strings.Builder
	step := plotWidth / float64(max(1, len(values)))
	for i, value := range values {
		if value > 0 {
			height := max(0.8, stripHeight*value/top)
			fmt.Fprintf(&path, "M%s %dv-%sh%sv%sz", coordinate(float64(i)*step+step/5), stripHeight, coordinate(height), coordinate(step*3/5), coordinate(height))
		}
	}
	return path.String()
}

// Bars are small bars of a table, one for each of a few times; a part of each can be bad.
type Bars struct {
	Label string
	Rects []BarRect
}

// A BarRect is a bar, or the bad part of one.
type BarRect struct{ X, Y, Width, Height, Class string }

// barsWidth and barsHeight are those of the drawing; a bar takes barShare of its place.
const barsWidth, barsHeight, barShare = 100.0, 20.0, 0.76

// Histogram returns the bars of counts, the oldest first. Zero is their base.
func Histogram(label string, counts, bad []int64) *Bars {
	b := &Bars{Label: label}
	top, step := float64(max(1, slices.Max(counts))), barsWidth/float64(len(counts))
	add := func(i int, n int64, class string) {
		if n > 0 {
			height := max(1.5, barsHeight*float64(n)/top)
			b.Rects = append(b.Rects, BarRect{coordinate(float64(i) * step), coordinate(barsHeight - height), coordinate(step * barShare), coordinate(height), class})
		}
	}
	for i, n := range counts {
		add(i, n, "")
		add(i, bad[i], "hot")
	}
	return b
}
