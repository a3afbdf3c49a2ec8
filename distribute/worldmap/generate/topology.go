package main

import "math"

// A point is a place: in degrees east and north, or projected.
type point struct{ x, y float64 }

// A topology is a file of TopoJSON (https://github.com/topojson/topojson-specification), as far as
// world-atlas needs it: polygons of shared arcs, whose points are differences of integers.
type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]float64
	Objects   struct {
		Countries struct {
			Geometries []struct {
				Type       string
				ID         string
				Properties struct{ Name string }
				Arcs       rings
			}
		}
	}
}

// countries returns the countries of the file.
func (t *topology) countries() (all []country) {
	for _, g := range t.Objects.Countries.Geometries {
		c := country{code: codeOf(g.ID, g.Properties.Name), name: g.Properties.Name}
		for _, ring := range g.Arcs.outer {
			c.parts = append(c.parts, t.outline(ring))
		}
		all = append(all, split(c)...)
	}
	return all
}

// outline returns the points of a ring of arcs; a negative arc is one's complement of one in
// reverse.
func (t *topology) outline(ring []int) (points []point) {
	for _, index := range ring {
		arc := t.arc(max(index, ^index))
		if index < 0 {
			for i, j := 0, len(arc)-1; i < j; i, j = i+1, j-1 {
				arc[i], arc[j] = arc[j], arc[i]
			}
		}
		if len(points) > 0 {
			arc = arc[1:] // the end of the arc before
		}
		points = append(points, arc...)
	}
	return points
}

func (t *topology) arc(index int) (points []point) {
	x, y := 0.0, 0.0
	for _, step := range t.Arcs[index] {
		x, y = x+step[0], y+step[1]
		points = append(points, point{x*t.Transform.Scale[0] + t.Transform.Translate[0], y*t.Transform.Scale[1] + t.Transform.Translate[1]})
	}
	return points
}

// area returns twice the area of an outline.
func area(outline []point) (sum float64) {
	for i, p := range outline {
		q := outline[(i+1)%len(outline)]
		sum += p.x*q.y - q.x*p.y
	}
	return math.Abs(sum)
}

// largest returns the outline with the largest area.
func largest(parts [][]point) (best []point) {
	for _, part := range parts {
		if best == nil || area(part) > area(best) {
			best = part
		}
	}
	return best
}

// centre returns the middle of the box around an outline.
func centre(outline []point) point {
	low, high := outline[0], outline[0]
	for _, p := range outline {
		low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
	}
	return point{(low.x + high.x) / 2, (low.y + high.y) / 2}
}
