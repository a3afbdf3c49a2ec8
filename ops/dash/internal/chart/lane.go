package chart

import (
	"fmt"

	"skidway/internal/chart"
)

// A Lane is a row of parts of a whole, each as wide as its size.
type Lane struct {
	Key   string // of a live one; empty for none
	Label string
	Parts []LanePart
}

// A LanePart is a part of a lane. Its key names it in the lane.
type LanePart struct{ Key, Path, Class, Title string }

// laneWidth is that of the drawing, which is stretched.
const laneWidth = 1000.0

// NewLane returns an empty lane.
func NewLane(label string) *Lane { return &Lane{Label: label} }

// Add adds a part behind size bytes of others. One without a size has no width.
func (l *Lane) Add(key, title, class string, behind, size, whole int64) {
	at := func(n int64) float64 { return laneWidth * float64(min(n, whole)) / float64(max(1, whole)) }
	part := LanePart{Key: key, Class: class, Title: title}
	if size > 0 {
		width := chart.Coordinate(max(1, at(behind+size)-at(behind)))
		part.Path = fmt.Sprintf("M%s 0h%sv22h-%sz", chart.Coordinate(at(behind)), width, width)
	}
	l.Parts = append(l.Parts, part)
}
