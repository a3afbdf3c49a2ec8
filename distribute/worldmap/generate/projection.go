package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// width and height are those of the drawing.
const width, height = 2000, 942

// meridian is the middle of the map. The map is cut on the other side of the Earth, in the Bering
// Strait, where it cuts no country in two.
const meridian = 11.5

// equalEarth is the projection of Šavrič, Patterson and Jenny (2018), which keeps areas.
func equalEarth(p point) point {
	const a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
	longitude := math.Mod(p.x-meridian+540, 360) - 180
	theta := math.Asin(math.Sqrt(3) / 2 * math.Sin(p.y*math.Pi/180))
	t2 := theta * theta
	t6 := t2 * t2 * t2
	x := 2 * math.Sqrt(3) * longitude * math.Pi / 180 * math.Cos(theta) / (3 * (9*a4*t6*t2 + 7*a3*t6 + 3*a2*t2 + a1))
	return point{x, -(a4*t6*t2*theta + a3*t6*theta + a2*t2*theta + a1*theta)}
}

// A frame is the place of the projected map in the drawing.
type frame struct{ scale, left, top float64 }

// A pixel is a place in the drawing.
type pixel struct{ x, y int }

// fit returns the frame in which all areas and the centres of dots are as large as possible.
func fit(areas, dots []country) frame {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	var places []point
	for _, c := range areas {
		if c.code != leftOut {
			places = append(places, slices.Concat(c.parts...)...)
		}
	}
	for _, c := range dots {
		places = append(places, centre(largest(c.parts)))
	}
	for _, p := range places {
		q := equalEarth(p)
		low, high = point{min(low.x, q.x), min(low.y, q.y)}, point{max(high.x, q.x), max(high.y, q.y)}
	}
	const margin = 12 // more than the radius of a dot
	f := frame{scale: min((width-2*margin)/(high.x-low.x), (height-2*margin)/(high.y-low.y))}
	f.left = (width - f.scale*(low.x+high.x)) / 2
	f.top = (height - f.scale*(low.y+high.y)) / 2
	return f
}

// place returns where a point is in the drawing.
func (f frame) place(p point) pixel {
	q := equalEarth(p)
	return pixel{int(math.Round(f.left + f.scale*q.x)), int(math.Round(f.top + f.scale*q.y))}
}

// smallest is the area in pixels below which a part of a country that has larger ones is left out.
const smallest = 3

// path returns the path of a country, in relative integers.
func (f frame) path(c country) string {
	var path strings.Builder
	var start pixel
	most := largest(c.parts)
	for _, part := range c.parts {
		var outline []pixel
		var exact []point
		for _, p := range part {
			at := f.place(p)
			exact = append(exact, point{float64(at.x), float64(at.y)})
			if n := len(outline); n == 0 || at != outline[n-1] {
				outline = append(outline, at)
			}
		}
		if n := len(outline); n > 1 && outline[0] == outline[n-1] {
			outline = outline[:n-1]
		}
		if len(outline) < 3 || area(exact) < 2*smallest && &part[0] != &most[0] {
			continue
		}
		fmt.Fprintf(&path, "m%d%s", outline[0].x-start.x, signed(outline[0].y-start.y))
		last := outline[0]
		for i, at := range outline[1:] {
			next := outline[(i+2)%len(outline)]
			if (at.x-last.x)*(next.y-at.y) == (at.y-last.y)*(next.x-at.x) && (at.x-last.x)*(next.x-at.x)+(at.y-last.y)*(next.y-at.y) > 0 {
				continue // on the way to the next one
			}
			fmt.Fprintf(&path, "%s%s", signed(at.x-last.x), signed(at.y-last.y))
			last = at
		}
		path.WriteString("z")
		start = outline[0]
	}
	return path.String()
}

// signed returns a number behind a separator: its sign, or a blank.
func signed(n int) string {
	if n < 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprint(" ", n)
}

// rings are the arcs of a polygon or of several.
type rings struct{ outer [][]int }

// UnmarshalJSON reads the outer rings; lakes and enclosed countries are drawn over the land.
func (r *rings) UnmarshalJSON(text []byte) error {
	var several [][][]int
	if err := json.Unmarshal(text, &several); err == nil {
		for _, polygon := range several {
			r.outer = append(r.outer, polygon[0])
		}
		return nil
	}
	var one [][]int
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	r.outer = append(r.outer, one[0])
	return nil
}
