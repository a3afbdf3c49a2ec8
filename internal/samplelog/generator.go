package samplelog

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"
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

// rhythm is the relative number of requests in each hour of a day.
var rhythm = [24]uint64{
	22, 16, 12, 10, 10, 13, 20, 32, 46, 56, 60, 61,
	58, 57, 58, 59, 60, 62, 66, 70, 68, 58, 44, 32,
}

const stampLayout = "[02/Jan/2006:15:04:05 -0700]"

// A clock has the time of each line. Line i of n stands where a share i/n of
// all requests has passed, so that times never go back and every day has the
// same number of lines.
type clock struct {
	first       time.Time // midnight, UTC
	lines, days uint64
	busy        uint64   // the sum of rhythm
	hours       []uint8  // the hour for each unit of busy
	before      []uint64 // units of busy before each hour

	day, second uint64 // what stamp shows
	stamp       []byte
}

func newClock(o Options) *clock {
	y, m, d := o.First.UTC().Date()
	c := &clock{first: time.Date(y, m, d, 0, 0, 0, 0, time.UTC), lines: uint64(o.Lines), days: uint64(o.Days)}
	for hour, weight := range rhythm {
		c.before = append(c.before, c.busy)
		for range weight {
			c.hours = append(c.hours, uint8(hour))
		}
		c.busy += weight
	}
	c.stamp = c.first.AppendFormat(nil, stampLayout)
	return c
}

// at returns the time of line i in brackets. The bytes are valid until the next
// call.
func (c *clock) at(i uint64) []byte {
	units := i * c.days * c.busy // passed units, in parts of 1/lines
	unit, part := units/c.lines, units%c.lines
	day := unit / c.busy
	hour := uint64(c.hours[unit%c.busy])
	inHour := (unit%c.busy-c.before[hour])*c.lines + part
	second := 3600*hour + 3600*inHour/(rhythm[hour]*c.lines)

	if day != c.day {
		c.day = day
		c.stamp = c.first.AddDate(0, 0, int(day)).AppendFormat(c.stamp[:0], stampLayout)
	}
	if second != c.second {
		c.second = second
		putTwo(c.stamp[13:], second/3600)
		putTwo(c.stamp[16:], second/60%60)
		putTwo(c.stamp[19:], second%60)
	}
	return c.stamp
}

func putTwo(to []byte, n uint64) {
	to[0], to[1] = byte('0'+n/10), byte('0'+n%10)
}

// pause draws how many good lines come before the next bad one: badEvery-1 on
// average.
func (g *generator) pause() uint64 {
	high, _ := bits.Mul64(g.random.Uint64(), 2*g.badEvery-1)
	return high
}

// handshake is how a TLS ClientHello starts. A server that expected plain text
// may log it raw.
const handshake = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

// appendBad appends a line that has no valid address and time.
func appendBad(to []byte, from *client, stamp []byte, random uint64) []byte {
	switch random % 4 {
	case 0: // blank
	case 1:
		to = append(to, handshake...)
		for range 16 {
			random = mix(random)
			to = append(to, byte(random)|0x80) // never a newline
		}
	default: // cut before its time is complete, as by a full disk
		start := len(to)
		to = appendStart(to, from, stamp)
		whole := uint64(len(to) - start - len(stamp)/2)
		to = to[:start+1+int((random>>2)%whole)]
	}
	return append(to, '\n')
}

// Defaults of [Options].
const (
	DefaultLines    = 100_000
	DefaultFiles    = 4
	DefaultDays     = 3
	DefaultBadEvery = 1_000
)

// Upper bounds of [Options]. Those of lines and days keep the clock's arithmetic
// within 64 bits.
const (
	maxLines = 1_000_000_000_000
	maxFiles = 10_000
	maxDays  = 3_660
)

// defaultFirst is fixed so that the lines of the zero Options are always the same.
var defaultFirst = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// Options describe the logs to write. The zero value is ready to use.
type Options struct {
	// Lines is the number of lines to write, over all files and with the bad
	// ones. Zero means [DefaultLines].
	Lines int

	// Seed chooses the lines; two seeds have different clients.
	Seed uint64

	// Files is the number of files that [Write] makes, but at most Lines. Zero
	// means [DefaultFiles]. The other functions ignore it.
	Files int

	// Days is the number of days that the lines cover evenly. Zero means
	// [DefaultDays].
	Days int

	// First is the first of these days, as it is called in UTC. The zero
	// time means 2026-03-02.
	First time.Time

	// BadEvery is the average number of lines for each bad one: one
	// that has no valid address and time, because it is cut short, blank, or
	// the start of a TLS handshake. Zero means [DefaultBadEvery]; below
	// zero, every line is good.
	BadEvery int
}

// withDefaults returns a copy with defaults for fields that are zero.
func (o Options) withDefaults() Options {
	o.Lines = cmp.Or(o.Lines, DefaultLines)
	o.Files = cmp.Or(o.Files, DefaultFiles)
	o.Days = cmp.Or(o.Days, DefaultDays)
	o.BadEvery = cmp.Or(o.BadEvery, DefaultBadEvery)
	if o.First.IsZero() {
		o.First = defaultFirst
	}
	return o
}

// validate returns an error for the first field that is out of its bounds.
func (o Options) validate() error {
	for _, field := range []struct {
		name       string
		value, max int64
	}{
		{"lines", int64(o.Lines), maxLines},
		{"files", int64(o.Files), maxFiles},
		{"days", int64(o.Days), maxDays},
	} {
		if field.value < 1 || field.value > field.max {
			return fmt.Errorf("%s %d: want 1 to %d", field.name, field.value, field.max)
		}
	}
	return nil
}
