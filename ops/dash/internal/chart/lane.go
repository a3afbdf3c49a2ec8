package chart

import "skidway/internal/chart"

// A Lane is a row of parts of a whole, each as wide as its size.
type Lane struct {
	Label string
	Rects []LaneRect
}

// A LaneRect is a part of a lane.
type LaneRect struct{ X, Width, Class, Title string }

// laneWidth is that of the drawing, which is stretched.
const laneWidth = 1000.0

// NewLane returns an empty lane.
func NewLane(label string) *Lane { return &Lane{Label: label} }

// Add adds a part behind size bytes of others.
func (l *Lane) Add(title, class string, behind, size, whole int64) {
	if whole <= 0 || size <= 0 {
		return
	}
	at := func(n int64) float64 { return laneWidth * float64(min(n, whole)) / float64(whole) }
	l.Rects = append(l.Rects, LaneRect{chart.Coordinate(at(behind)), chart.Coordinate(max(1, at(behind+size)-at(behind))), class, title})
}
