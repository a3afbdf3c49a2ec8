package agents

import (
	"math/bits"
	"regexp"
	"slices"
	"sync"
)

// An automaton looks for all texts in one pass (Aho and Corasick, 1975, with every transition in a
// table). What it finds is the lowest index of the list, not the leftmost match, so each state has
// the lowest index of all texts that end in it.
type automaton struct {
	classOf [256]uint8 // bytes that no text has are of class 0
	shift   int        // 1<<shift is the number of classes, rounded up
	next    []uint16   // state<<shift | class → state, with the bit marked if it has an ending
	endings []ending
	marks   []uint16 // state → index of its ending

	expressions []expression // in the order of the list
}

// marked is the bit of a transition to a state that has an ending.
const marked = 1 << 15

// An ending has what the texts that end in a state stand for.
type ending struct {
	verdict
	tries uint64 // expressions that may match, a bit each
}

// An expression is an entry of the list that is no plain text. It is tried where one of its required
// texts was found.
type expression struct {
	crawler uint16
	*regexp.Regexp
}

// matcher returns the automaton of the list and of the browsers.
var matcher = sync.OnceValue(func() *automaton {
	b := builder{ending: map[int]ending{}}
	a := &automaton{}
	for i, c := range crawlers() {
		texts, exact := required(c.pattern)
		e := ending{verdict: verdict{uint16(i), none}}
		if !exact {
			e = ending{verdict{none, none}, 1 << len(a.expressions)}
			a.expressions = append(a.expressions, expression{uint16(i), regexp.MustCompile(c.pattern)})
		}
		for _, text := range texts {
			b.add(text, e)
		}
	}
	for i, browser := range browsers {
		for _, text := range browser.texts {
			b.add(text, ending{verdict: verdict{none, uint16(i)}})
		}
	}
	b.build(a)
	return a
})

// A scan is the state behind a part of an agent, and what was found in it.
type scan struct {
	state uint
	found ending
}

var newScan = scan{found: ending{verdict: verdict{none, none}}}

// find returns the verdict of an agent.
func (a *automaton) find(agent []byte) verdict { return a.verdict(a.scan(newScan, agent), agent) }

// scan goes on with the next part of an agent.
func (a *automaton) scan(s scan, part []byte) scan {
	next, shift, state := a.next, a.shift&15, s.state
	for _, b := range part {
		to := next[state<<shift|uint(a.classOf[b])]
		state = uint(to &^ marked)
		if to&marked != 0 {
			s.found = s.found.join(a.endings[a.marks[state]])
		}
	}
	s.state = state
	return s
}

// verdict returns the verdict of an agent that was scanned.
func (a *automaton) verdict(s scan, agent []byte) verdict {
	found := s.found
	for tries := found.tries; tries != 0; tries &= tries - 1 {
		e := a.expressions[bits.TrailingZeros64(tries)]
		if e.crawler > found.crawler {
			break
		}
		if e.Match(agent) {
			found.crawler = e.crawler
			break
		}
	}
	return found.verdict
}

func (e ending) join(other ending) ending {
	return ending{verdict{min(e.crawler, other.crawler), min(e.browser, other.browser)}, e.tries | other.tries}
}

// A builder is the trie of the texts.
type builder struct {
	edges  []map[byte]int // state → byte → state
	ending map[int]ending
}

func (b *builder) add(text string, e ending) {
	if b.edges == nil {
		b.edges = []map[byte]int{{}}
	}
	state := 0
	for i := range len(text) {
		to, ok := b.edges[state][text[i]]
		if !ok {
			to = len(b.edges)
			b.edges = append(b.edges, map[byte]int{})
			b.edges[state][text[i]] = to
		}
		state = to
	}
	if before, ok := b.ending[state]; ok {
		e = e.join(before)
	}
	b.ending[state] = e
}

// build fills the tables of a. States are renumbered by depth: the shallow ones, in which most bytes
// of an agent end, are near each other in memory.
func (b *builder) build(a *automaton) {
	classes := 1
	for _, edges := range b.edges {
		for letter := range edges {
			if a.classOf[letter] == 0 {
				a.classOf[letter] = uint8(classes)
				classes++
			}
		}
	}
	if len(b.edges) >= marked {
		panic("agents: the embedded list has too many states")
	}
	a.shift = bits.Len(uint(classes - 1))
	a.next = make([]uint16, len(b.edges)<<a.shift)
	a.marks = make([]uint16, len(b.edges))
	a.endings = []ending{{verdict: verdict{none, none}}}
	type place struct{ trie, fallback int } // fallback is the state of the longest other text that is an end of its own
	queue := []place{{0, 0}}
	for state := 0; state < len(queue); state++ {
		row := a.row(state)
		copy(row, a.row(queue[state].fallback)) // complete, because that state is shallower; the root's own is zero
		edges := b.edges[queue[state].trie]
		for _, letter := range sortedLetters(edges) {
			step, to := &row[a.classOf[letter]], len(queue)
			fallback := int(*step &^ marked)
			own, ends := b.ending[edges[letter]]
			a.mark(to, fallback, own, ends)
			*step = uint16(to)
			if a.marks[to] != 0 {
				*step |= marked
			}
			queue = append(queue, place{edges[letter], fallback})
		}
	}
}

// row returns the transitions of a state.
func (a *automaton) row(state int) []uint16 { return a.next[state<<a.shift:][:1<<a.shift] }

// mark sets the ending of a state: its own, if it has one, joined with that of its fallback.
func (a *automaton) mark(state, fallback int, own ending, ends bool) {
	a.marks[state] = a.marks[fallback]
	if ends {
		a.endings = append(a.endings, own.join(a.endings[a.marks[fallback]]))
		a.marks[state] = uint16(len(a.endings) - 1)
	}
}

func sortedLetters(edges map[byte]int) (letters []byte) {
	for letter := range edges {
		letters = append(letters, letter)
	}
	slices.Sort(letters)
	return letters
}
