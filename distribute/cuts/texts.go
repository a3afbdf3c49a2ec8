package cuts

import "hash/maphash"

// A textTable numbers texts in the order in which they are added. The zero value is empty.
type textTable struct {
	slots []textSlot // a power of two, at most half of them in use; a text is behind the slot of its hash
	ends  []uint32   // in bytes, by number
	bytes []byte
}

// A textSlot has the number plus one of a text; zero is an empty slot.
type textSlot struct{ hash, number uint32 }

const minTextSlots = 1 << 6

var textSeed = maphash.MakeSeed()

func hashOf(text []byte) uint32 { return uint32(maphash.Bytes(textSeed, text)) }

// text returns the text with a number.
func (t *textTable) text(number uint32) []byte {
	start := uint32(0)
	if number > 0 {
		start = t.ends[number-1]
	}
	return t.bytes[start:t.ends[number]]
}

// find returns the number of a text with a hash, and reports whether the table has it.
func (t *textTable) find(text []byte, hash uint32) (number uint32, found bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for at := hash; ; at++ {
		slot := t.slots[at&uint32(len(t.slots)-1)]
		if slot.number == 0 {
			return 0, false
		}
		if slot.hash == hash && string(t.text(slot.number-1)) == string(text) {
			return slot.number - 1, true
		}
	}
}

// add adds a text with a hash that the table does not have, and returns its number.
func (t *textTable) add(text []byte, hash uint32) uint32 {
	t.bytes = append(t.bytes, text...)
	t.ends = append(t.ends, uint32(len(t.bytes)))
	number := uint32(len(t.ends))
	if 2*len(t.ends) > len(t.slots) {
		before := t.slots
		t.slots = make([]textSlot, max(2*len(before), minTextSlots))
		for _, slot := range before {
			if slot.number != 0 {
				t.put(slot)
			}
		}
	}
	t.put(textSlot{hash, number})
	return number - 1
}

func (t *textTable) put(slot textSlot) {
	at := slot.hash & uint32(len(t.slots)-1)
	for t.slots[at].number != 0 {
		at = (at + 1) & uint32(len(t.slots)-1)
	}
	t.slots[at] = slot
}

// clear removes all texts.
func (t *textTable) clear() {
	clear(t.slots)
	t.ends, t.bytes = t.ends[:0], t.bytes[:0]
}

// A textCache has what is known of texts that came before. Its memory is bounded: when it is full, it
// forgets all. The zero value is empty.
type textCache struct {
	texts textTable
	known []uint32 // by the numbers of the texts
	last  uint32   // the number plus one of the text that was found last
}

// Bounds of a textCache: 640 KiB.
const (
	maxTexts     = 1 << 12
	maxTextBytes = 1 << 19
	maxTextSize  = 1 << 10 // longer ones are not in it
)

// get returns what is known of a text; make returns it for one that is not in the cache.
func (c *textCache) get(text []byte, make func() uint32) uint32 {
	if c.last != 0 && string(c.texts.text(c.last-1)) == string(text) {
		return c.known[c.last-1]
	}
	if len(text) > maxTextSize {
		return make()
	}
	hash := hashOf(text)
	if number, found := c.texts.find(text, hash); found {
		c.last = number + 1
		return c.known[number]
	}
	known := make()
	if len(c.known) == maxTexts || len(c.texts.bytes)+len(text) > maxTextBytes {
		c.texts.clear()
		c.known, c.last = c.known[:0], 0
	}
	c.texts.add(text, hash)
	c.known = append(c.known, known)
	return known
}
