package cuts

import (
	"slices"

	"skidway/distribute/geo"
)

// A tree numbers the combinations of a day and of the values that lines have of some dimensions, in
// the order in which they come. Each of its levels adds a dimension.
type tree struct{ levels []level }

// A level numbers the pairs of a node of the level above it, or of a day, and of a value.
type level struct {
	column int      // of the values, in the Counter
	width  uint32   // of the rows of near
	near   []uint32 // a row for each parent: the nodes plus one by their values, of values below width
	far    []uint32 // the nodes plus one of other values: a power of two, at most half of them in use, and a pair is behind the slot of its hash
	pairs  []uint64 // by node: the parent in the upper half, the value in the lower one
	inFar  int
}

// newTree returns the tree of some dimensions of a Counter.
func (c *Counter) newTree(dimensions Cut) tree {
	dimensions = slices.Clone(dimensions)
	if i := slices.Index(dimensions, Dimension{Kind: Country}); i > 0 { // there are many: below the day they take least room
		dimensions[0], dimensions[i] = dimensions[i], dimensions[0]
	}
	var t tree
	for i, d := range dimensions {
		width := uint32(1 << 4)
		if i == 0 && d.Kind == Country {
			width = geo.Countries
		}
		t.levels = append(t.levels, level{column: c.addColumn(d), width: width})
	}
	return t
}

// node returns the number of the day and of the values of the last line.
func (c *Counter) node(t *tree) int {
	node := uint32(c.day)
	for i := range t.levels {
		l := &t.levels[i]
		value := c.columns[l.column].number
		if at := uint(node*l.width + value); value < l.width && at < uint(len(l.near)) && l.near[at] != 0 {
			node = l.near[at] - 1
		} else {
			node = l.child(node, value)
		}
	}
	return int(node)
}

// child returns the node of a pair, which is not in near.
func (l *level) child(parent, value uint32) uint32 {
	node, pair := uint32(len(l.pairs)), uint64(parent)<<32|uint64(value)
	if value < l.width {
		l.pairs = append(l.pairs, pair)
		if end := int(parent+1) * int(l.width); end > len(l.near) {
			l.near = append(l.near, make([]uint32, end-len(l.near))...)
		}
		l.near[parent*l.width+value] = node + 1
		return node
	}
	if 2*l.inFar >= len(l.far) {
		before := l.far
		l.far = make([]uint32, max(2*len(before), 1<<6))
		for _, old := range before {
			if old != 0 {
				l.far[l.place(l.pairs[old-1])] = old
			}
		}
	}
	at := l.place(pair)
	if l.far[at] != 0 {
		return l.far[at] - 1
	}
	l.pairs = append(l.pairs, pair)
	l.far[at] = node + 1
	l.inFar++
	return node
}

// place returns the place in far of a pair, or where it is to be.
func (l *level) place(pair uint64) int {
	const spread = 0x9e3779b97f4a7c15
	mask := uint64(len(l.far) - 1)
	at := pair * spread >> 32 & mask
	for l.far[at] != 0 && l.pairs[l.far[at]-1] != pair {
		at = (at + 1) & mask
	}
	return int(at)
}

// setNode sets the values of a node in the columns, and returns the index of its day.
func (c *Counter) setNode(t *tree, node int) (day int) {
	for i := range slices.Backward(t.levels) {
		l := &t.levels[i]
		c.columns[l.column].number = uint32(l.pairs[node])
		node = int(l.pairs[node] >> 32)
	}
	return node
}
