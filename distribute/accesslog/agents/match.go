package agents

import (
	"hash/maphash"
	"math"
	"sync/atomic"
)

// Match returns the name and the class of the crawler that an agent is of; both are "" for people.
// agent is not kept, and may be of any length and of any bytes.
func Match(agent []byte) (name, class string) {
	if found := identify(agent); found.crawler != none {
		c := &crawlers()[found.crawler]
		return c.name, c.class
	}
	return "", ""
}

// Browser returns the browser that an agent is of: "Edge", "Opera", "Samsung Internet", "Firefox",
// "Chrome", "Safari" or "Internet Explorer", the first of these that it names; [BrowserCrawler] for
// a crawler, and [BrowserOther] for the rest.
func Browser(agent []byte) string {
	switch found := identify(agent); {
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

// Number returns a number of at most a few thousand that decides what Match and Browser return for an
// agent. It uses no cache: it is for callers with one of their own.
func Number(agent []byte) int {
	found := matcher().find(agent)
	switch {
	case found.crawler != none:
		return len(browsers) + 1 + int(found.crawler)
	case found.browser != none:
		return 1 + int(found.browser)
	}
	return 0
}

// none is the index of no crawler and of no browser.
const none = math.MaxUint16

// A verdict has the indices of a crawler in the list, and of a browser.
type verdict struct{ crawler, browser uint16 }

// cacheSlots and maxCached bound the cache: 4 MiB of agents.
const (
	cacheSlots = 1 << 12
	maxCached  = 1 << 10
)

// A cached is an agent in the cache; it is never changed.
type cached struct {
	agent string
	verdict
}

// cache has in each slot the agent that used it last. It is shared by all goroutines: each entry is
// right, whichever of them has stored it.
var (
	cache [cacheSlots]atomic.Pointer[cached]
	seed  = maphash.MakeSeed()
)

func identify(agent []byte) verdict {
	slot := &cache[maphash.Bytes(seed, agent)%cacheSlots]
	if c := slot.Load(); c != nil && c.agent == string(agent) {
		return c.verdict
	}
	found := matcher().find(agent)
	if len(agent) <= maxCached {
		slot.Store(&cached{string(agent), found})
	}
	return found
}
