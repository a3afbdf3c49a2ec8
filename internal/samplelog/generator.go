package samplelog

import (
	"math/rand/v2"
	"strconv"
)

// A generator makes the lines of a log, in order.
type generator struct {
	random   *rand.PCG
	crowd    *crowd
	clock    *clock
	next     uint64 // the number of the next line
	badEvery uint64 // 0: never
	badIn    uint64 // good lines before the next bad one
}

func newGenerator(o Options) *generator {
	g := &generator{random: rand.NewPCG(o.Seed, 0x736b6964776179), crowd: newCrowd(o.Seed), clock: newClock(o)}
	if o.BadEvery > 0 {
		g.badEvery = uint64(o.BadEvery)
		g.badIn = g.pause()
	}
	return g
}

// line appends the next line with its newline.
func (g *generator) line(to []byte) []byte {
	random := g.random.Uint64()
	from := g.crowd.client(popular(random))
	stamp := g.clock.at(g.next)
	g.next++
	if g.badEvery > 0 {
		if g.badIn == 0 {
			g.badIn = g.pause()
			return appendBad(to, from, stamp, g.random.Uint64())
		}
		g.badIn--
	}

	asked := from.visits[random>>19&255]
	number := uint64(0)
	if asked.many > 0 {
		number = popular(g.random.Uint64())%asked.many + 1
	}
	to = appendStart(to, from, stamp)
	to = appendRequest(to, asked, number)
	to = appendAnswer(to, asked, number, random>>27)
	to = appendReferer(to, asked.from, random>>43)
	to = append(to, `" "`...)
	to = append(to, from.agent...)
	return append(to, "\"\n"...)
}

// appendStart appends the address and the time, which make a line a good one.
func appendStart(to []byte, from *client, stamp []byte) []byte {
	to = append(to, from.addr...)
	to = append(to, " - - "...)
	return append(to, stamp...)
}

func appendRequest(to []byte, asked *resource, number uint64) []byte {
	to = append(to, ` "`...)
	to = append(to, asked.head...)
	if number > 0 {
		to = strconv.AppendUint(to, number, 10)
	}
	return append(to, asked.tail...)
}

// appendAnswer appends the status and the size of the body.
func appendAnswer(to []byte, asked *resource, number, random uint64) []byte {
	status, size := asked.status, asked.size
	if asked.spread > 0 {
		if asked.still {
			size += mix(number) % asked.spread
		} else {
			size += random >> 8 & 0xff * asked.spread >> 8
		}
	}
	if status == "" {
		status = "200"
		switch luck := random & 255; {
		case asked.still && luck < 70:
			status, size = "304", 0
		case luck == 250:
			status, size = "404", 1_245
		case luck == 251:
			status, size = "301", 169
		case luck == 252:
			status, size = "499", 0
		case luck == 253 && random>>8&7 == 0:
			status, size = "502", 157
		}
	}
	to = append(to, `" `...)
	to = append(to, status...)
	to = append(to, ' ')
	return strconv.AppendUint(to, size, 10)
}

var places = [...]string{
	"https://www.google.com/", "https://www.google.com/", "https://www.bing.com/", "https://duckduckgo.com/",
	"https://www.facebook.com/", "https://t.co/Qm3xV9", "https://www.reddit.com/", "https://news.example.net/best-winter-jackets",
}

var pages = [...]string{
	"https://shop.example.org/", "https://shop.example.org/", "https://shop.example.org/category/7",
	"https://shop.example.org/products/12", "https://shop.example.org/category/3?sort=price&page=1", "https://shop.example.org/products/1",
	"https://shop.example.org/search?q=winter+jacket&page=1", "https://shop.example.org/blog/2026/2/care-guide",
}

func appendReferer(to []byte, from referer, random uint64) []byte {
	to = append(to, ` "`...)
	switch {
	case from == fromNowhere, from == fromAnywhere && random&1 == 0:
		return append(to, '-')
	case from == fromAnywhere && random&2 == 0:
		return append(to, places[random>>2&7]...)
	}
	return append(to, pages[random>>2&7]...)
}
