package cuts

import "slices"

// Bound returns the number of cells that a group may have; 0: there is no bound, because none of
// its values can become [Other], or because its cells are those of another group, which has one.
func (s Settings) Bound(g Group) int {
	if g.Cut < 0 || g.Cut >= len(s.Cuts) || g.Series != requestSeries || !slices.ContainsFunc(s.Cuts[g.Cut], canBeOther) {
		return 0
	}
	return s.MaxCells
}

func canBeOther(d Dimension) bool { return !d.Kind.isTime() }

// Groups returns the groups with the same cells as a group, one for each series of the measures,
// that of the requests first. A group of no cut is alone.
func (s Settings) Groups(g Group) []Group {
	if g.Cut < 0 || g.Cut >= len(s.Cuts) {
		return []Group{g}
	}
	var list []Group
	for _, m := range s.Measures {
		for _, series := range m.series() {
			list = append(list, Group{g.Day, g.Cut, series})
		}
	}
	return list
}

// Others returns the cells into which a cell may have been moved, the nearest one first; none if
// its group has no bound.
func (s Settings) Others(g Group, member string) (list []string) {
	if g.Cut < 0 || g.Cut >= len(s.Cuts) {
		return nil
	}
	stored := s.Cuts[g.Cut].stored()
	parts, ok := values(member, len(stored))
	for i, d := range slices.Backward(stored) {
		if ok && canBeOther(d) && parts[i] != Other {
			parts[i] = Other
			list = append(list, Member(parts))
		}
	}
	return list
}

// A Crowd chooses the cells of a group that are moved because it has more than its bound: those
// with the fewest requests. The last dimension that is not a time becomes [Other]; when only
// such cells are left, the dimension before it too.
type Crowd struct {
	stored  Cut
	max     int
	byOther [][]Move // by the number of dimensions that are Other already
}

// A Move is one cell of a crowd: its member, and that of the cell that it is added to.
type Move struct{ From, Into string }

// NewCrowd returns a crowd from which at most a number of cells are moved.
func (s Settings) NewCrowd(g Group, maxMoves int) *Crowd {
	stored := s.Cuts[g.Cut].stored()
	return &Crowd{stored, maxMoves, make([][]Move, len(stored))}
}

// Add adds a cell, and reports whether no further one is needed. Cells are added by their
// requests, the fewest first.
func (c *Crowd) Add(member string) (enough bool) {
	list, ok := values(member, len(c.stored))
	if !ok {
		return false
	}
	others := 0
	for i, d := range slices.Backward(c.stored) {
		switch {
		case !canBeOther(d):
		case list[i] == Other:
			others++
		default:
			if len(c.byOther[others]) < c.max {
				list[i] = Other
				c.byOther[others] = append(c.byOther[others], Move{member, Member(list)})
			}
			return len(c.byOther[0]) == c.max
		}
	}
	return false
}

// Moves returns the cells to move, none if all dimensions of all cells are Other.
func (c *Crowd) Moves() []Move {
	for _, moves := range c.byOther {
		if len(moves) > 0 {
			return moves
		}
	}
	return nil
}
