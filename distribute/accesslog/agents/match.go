package agents

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
)

// Match returns the name and the class of the crawler that an agent is of; both are "" for people.
// agent is not kept, and may be of any length and of any bytes.
func Match(agent []byte) (name, class string) {
	if found := matcher().find(agent); found.crawler != none {
		c := &crawlers()[found.crawler]
		return c.name, c.class
	}
	return "", ""
}

// Browser returns the browser that an agent is of: "Edge", "Opera", "Samsung Internet", "Firefox",
// "Chrome", "Safari" or "Internet Explorer", the first of these that it names; [BrowserCrawler] for
// a crawler, and [BrowserOther] for the rest.
func Browser(agent []byte) string {
	switch found := matcher().find(agent); {
	case found.crawler != none:
		return BrowserCrawler
	case found.browser != none:
		return browsers[found.browser].name
	}
	return BrowserOther
}

// Browsers returns all names that [Browser] returns.
func Browsers() []string {
	names := []string{BrowserCrawler, BrowserOther}
	for _, b := range browsers {
		names = append(names, b.name)
	}
	return names
}

// none is the index of no crawler and of no browser.
const none = math.MaxUint16

// A verdict has the indices of a crawler in the list, and of a browser.
type verdict struct{ crawler, browser uint16 }

// number returns a number that decides what Match and Browser return.
func (v verdict) number() int {
	switch {
	case v.crawler != none:
		return len(browsers) + 1 + int(v.crawler)
	case v.browser != none:
		return 1 + int(v.browser)
	}
	return 0
}

// A Finder identifies one agent after the other. Most agents begin as another one does, and differ
// in versions: it remembers some of these, and goes on where they differ. It is not safe for
// concurrent use. The zero value is ready to use.
type Finder struct{ known [1 << finderBits]scanned }

// A scanned agent, up to maxScanned bytes, and the scan of it behind each scanStep bytes.
type scanned struct {
	agent []byte
	scans []scan
}

const (
	finderBits  = 6 // of the place of an agent, chosen by its first finderBytes
	finderBytes = 32
	scanStep    = 8
	maxScanned  = 1 << 8
)

var seed = maphash.MakeSeed()

// Number returns a number of at most a few thousand that decides what Match and Browser return for
// an agent.
func (f *Finder) Number(agent []byte) int {
	a := matcher()
	known := &f.known[maphash.Bytes(seed, agent[:min(finderBytes, len(agent))])>>(64-finderBits)]
	steps := commonPrefix(known.agent, agent) / scanStep
	s, at := newScan, steps*scanStep
	if known.scans = known.scans[:steps]; steps > 0 {
		s = known.scans[steps-1]
	}
	known.agent = append(known.agent[:at], agent[at:max(at, min(maxScanned, len(agent)))]...)
	for ; at+scanStep <= len(known.agent); at += scanStep {
		s = a.scan(s, agent[at:at+scanStep])
		known.scans = append(known.scans, s)
	}
	return a.verdict(a.scan(s, agent[at:]), agent).number()
}

// commonPrefix returns the length of a common prefix of two texts, the longest one but for up to
// seven bytes.
func commonPrefix(a, b []byte) (n int) {
	for n+8 <= min(len(a), len(b)) {
		if differ := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)/8
		}
		n += 8
	}
	return n
}
