// Package chart draws charts as values of SVG attributes, for the templates of the pages.
package chart

import (
	"fmt"
	"slices"
	"strings"

	"skidway/internal/chart"
	"skidway/ops/dash/internal/words"
)

// A Spark is a small line of a table; its last point is now.
type Spark struct {
	Key   string // of a live one; empty for none
	Label string
	chart.Spark
}

// Line returns the line of values, the oldest first. Zero is its base.
func Line(label string, values []float64) *Spark {
	if len(values) < 2 {
		return nil
	}
	return &Spark{"", label, *chart.NewSpark(values, 0, max(1, slices.Max(values)))}
}

// NoLine returns a line without values, which become known later.
func NoLine(label string) *Spark { return &Spark{"", label, chart.Spark{X: "0", Y: "0"}} }

// A Bar is a share of a whole. Key names its width among the live values; empty for none.
type Bar struct{ Label, Class, Width, Key string }

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
	return Bar{Label: label, Class: class, Width: chart.Coordinate(width)}
}

// A Plot is a large chart: an area with its line, another line, and bars of failures below on their
// own scale.
type Plot struct {
	Key               string // of its live parts; empty: it has none
	Label             string
	Area, Line, Other string
	Bars              string
	Y, StripY, X      []string
}

// stripHeight is that of the bars; the drawing is stretched.
const stripHeight = 30

// New draws series of equal length, the oldest value first; other and failed may be nil.
func New(label string, x []string, line, other, failed []float64) *Plot {
	p := &Plot{Label: label, X: x}
	top := chart.Top(line, other)
	p.Line, p.Other = chart.Line(line, top), chart.Line(other, top)
	p.Area = chart.Area(p.Line)
	p.Y = []string{words.Short(top), words.Short(top / 2), "0"}
	if failed != nil {
		most := chart.Top(failed)
		p.Bars, p.StripY = plotBars(failed, most), []string{words.Short(most), "0"}
	}
	return p
}

// plotBars returns one path of all bars.
func plotBars(values []float64, top float64) string {
	var path strings.Builder
	step := chart.Width / float64(max(1, len(values)))
	for i, value := range values {
		if value > 0 {
			height := max(0.8, stripHeight*value/top)
			fmt.Fprintf(&path, "M%s %dv-%sh%sv%sz", chart.Coordinate(float64(i)*step+step/5), stripHeight, chart.Coordinate(height), chart.Coordinate(step*3/5), chart.Coordinate(height))
		}
	}
	return path.String()
}

// Bars are small bars of a table, one for each of a few times; a part of each can be bad.
type Bars struct {
	Key      string // of live ones; empty for none
	Label    string
	All, Bad string // paths of the bars, and of their bad parts
}

// barsWidth and barsHeight are those of the drawing; a bar takes barShare of its place.
const barsWidth, barsHeight, barShare = 100.0, 20.0, 0.76

// Histogram returns the bars of counts, the oldest first. Zero is their base.
func Histogram(label string, counts, bad []int64) *Bars {
	top := float64(max(1, slices.Max(counts)))
	return &Bars{Label: label, All: smallBars(counts, top), Bad: smallBars(bad, top)}
}

// smallBars returns one path of all bars.
func smallBars(counts []int64, top float64) string {
	var path strings.Builder
	step := barsWidth / float64(len(counts))
	width := chart.Coordinate(step * barShare)
	for i, n := range counts {
		if n > 0 {
			height := chart.Coordinate(max(1.5, barsHeight*float64(n)/top))
			fmt.Fprintf(&path, "M%s 20v-%sh%sv%sz", chart.Coordinate(float64(i)*step), height, width, height)
		}
	}
	return path.String()
}
