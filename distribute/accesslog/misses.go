package accesslog

import (
	"hash/fnv"
	"slices"

	"skidway/distribute/accesslog/internal/lex"
)

// A search tries all formats and wrappers, which takes a hundred times as long as parsing. The
// first freeMisses lines that no format reads are searched, and then one of missInterval.
//
// Lines that resemble none of the last maxShapes for which a search failed are searched too:
// another format may begin there. Where all lines differ, they are freeMisses and one of
// unlikeInterval.
const (
	freeMisses     = 100
	missInterval   = 32
	maxShapes      = 16
	unlikeInterval = 8
)

// misses are the lines since the last format was found that no format read. They are a part of
// the state of a parser, so that one that goes on in the middle of a file searches the same lines.
type misses struct {
	Count  int64    `json:"misses,omitempty"`
	Unlike int64    `json:"unlike,omitempty"` // those that were searched because they resembled none
	Shapes []uint32 `json:"shapes,omitempty"` // of the last ones that were searched
}

// maySearch reports whether a search of the line's format is due. Header lines are always
// searched: lines behind them cannot be read without.
func (m *misses) maySearch(line []byte) bool {
	if m.Count < freeMisses || m.Count%missInterval == 0 {
		return true
	}
	line = trimStart(line)
	if len(line) > 0 && line[0] == '#' && isHeader(line) {
		return true
	}
	if m.Unlike < freeMisses+m.Count/unlikeInterval && !slices.Contains(m.Shapes, shapeOf(line)) {
		m.Unlike++
		return true
	}
	m.Count++
	return false
}

// add adds a line whose search failed.
func (m *misses) add(line []byte) {
	m.Count++
	shape := shapeOf(trimStart(line))
	if slices.Contains(m.Shapes, shape) {
		return
	}
	if len(m.Shapes) >= maxShapes {
		m.Shapes = slices.Delete(m.Shapes, 0, len(m.Shapes)-maxShapes+1)
	}
	m.Shapes = append(m.Shapes, shape)
}

// shapeOf returns a hash of how a line begins, the same whatever its numbers are, also
// hexadecimal ones.
func shapeOf(line []byte) uint32 {
	const length = 24 // a time, and what follows it
	var start [length]byte
	for i := range copy(start[:], line) {
		if c := start[i]; c-'0' <= 9 || lex.Lower(c)-'a' <= 'f'-'a' {
			start[i] = '0'
		}
	}
	hash := fnv.New32a()
	_, _ = hash.Write(start[:])
	return hash.Sum32()
}
