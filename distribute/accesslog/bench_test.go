package accesslog

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// BenchmarkParse counts one line an operation. The lines differ in their
// addresses, so that the processor cannot learn them, and 50 of them share a
// second.
func BenchmarkParse(b *testing.B) {
	const tail = `"GET /static/app.js?v=12 HTTP/1.1" 200 23412 "https://www.example.org/" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"`
	cases := []struct{ name, format, line string }{
		{"common", "common", `%s - - [%s] "GET /static/app.js?v=12 HTTP/1.1" 200 23412`},
		{"combined", "combined", `%s - - [%s] ` + tail},
		{"combined-user", "combined", `%s - frank [%s] ` + tail},
		{"combined-list", "combined", `10.0.0.2, 10.0.0.1, %s - - [%s] ` + tail},
		{"combined-ipv6", "combined", `2001:470:1f0b:%.0s:a8bb:ccff:fedd:1 - - [%s] ` + tail},
		{"combined-host", "combined", `%.0sclient.dialup.example.net - - [%s] ` + tail},
		{"vhost", "vhost", `www.example.org:443 %s - - [%s] ` + tail},
		{"minimal", "minimal", `%s %.10s GET /static/app.js?v=12`},
	}
	for _, c := range cases {
		for _, zone := range []*time.Location{nil, time.FixedZone("", -5*3600)} {
			name := c.name
			if zone != nil {
				name += "-zone"
			}
			b.Run(name, func(b *testing.B) {
				benchmarkLines(b, c.format, zone, benchLines(c.line, c.format, 20*time.Millisecond))
			})
		}
	}
	// A quiet server: no two lines are of the same minute.
	for _, zone := range []*time.Location{nil, time.FixedZone("", -5*3600)} {
		b.Run(fmt.Sprintf("combined-quiet-zone=%v", zone != nil), func(b *testing.B) {
			benchmarkLines(b, "combined", zone, benchLines(cases[1].line, "combined", 90*time.Second))
		})
	}
}

// benchmarked is the number of different lines that a benchmark reads repeatedly.
const benchmarked = 2048

func benchLines(pattern, format string, step time.Duration) [][]byte {
	layout := "02/Jan/2006:15:04:05 -0700"
	if format == "minimal" {
		layout = time.DateOnly
	}
	random := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2024, 2, 28, 23, 0, 0, 0, time.UTC)
	lines := make([][]byte, benchmarked)
	for i := range lines {
		at = at.Add(step)
		ip := fmt.Sprintf("%d.%d.%d.%d", random.IntN(223)+1, random.IntN(256), random.IntN(256), random.IntN(256))
		lines[i] = fmt.Appendf(nil, pattern, ip, at.Format(layout))
	}
	return lines
}

func benchmarkLines(b *testing.B, format string, zone *time.Location, lines [][]byte) {
	f, err := ByName(format)
	if err != nil {
		b.Fatal(err)
	}
	p := f.New(Options{Zone: zone})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, verdict := p.Parse(lines[i%benchmarked]); verdict != Parsed {
			b.Fatalf("not parsed: %s", lines[i%benchmarked])
		}
	}
}

// The request of the lines in which formats are compared.
const (
	benchPath     = "/static/app.js?v=12"
	benchReferrer = "https://www.example.org/"
	benchAgent    = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
)

// BenchmarkFormats parses lines of each format beside lines of the combined format with the same
// requests: in turns, and the fastest turn of each counts, because a busy machine slows others. It
// reports how many bytes, and how many lines, it parses in the time of one of the combined format,
// and how many bytes a parser could that knew where the address and the time are.
func BenchmarkFormats(b *testing.B) {
	plain := combined.New(Options{})
	reference := benchLines(`%s - - [%s] "GET `+benchPath+` HTTP/1.1" 200 23412 "`+benchReferrer+`" "`+benchAgent+`"`, "combined", 20*time.Millisecond)
	for _, format := range Formats() {
		b.Run(format.Name(), func(b *testing.B) {
			parser, lines := format.New(Options{}), benchmarkedLines(b, format)
			floor := newFloorParser(b, format, lines)
			own, others, least := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			b.ReportAllocs()
			for b.Loop() {
				own = min(own, elapsed(parser, lines))
				others = min(others, elapsed(plain, reference))
				floor.next = 0
				least = min(least, elapsed(floor, lines))
			}
			size := float64(len(bytes.Join(lines, nil)))
			of := others.Seconds() / float64(len(bytes.Join(reference, nil)))
			b.ReportMetric(size/own.Seconds()/1e6, "MB/s")
			b.ReportMetric(size/own.Seconds()*of, "of-combined")
			b.ReportMetric(size/least.Seconds()*of, "floor-of-combined")
			b.ReportMetric(float64(own.Nanoseconds())/float64(len(lines)), "ns/line")
			b.ReportMetric(float64(others)/float64(own)*float64(len(lines))/float64(len(reference)), "lines-of-combined")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A floorParser reads the address and the time of lines, of which it knows where they are: what
// another parser takes beside it is the search for their places. Where a format has a faster way
// to read its time, its own parser may be faster.
type floorParser struct {
	unknown
	places []floorPlace
	next   int
	times  timeReader
	stamps stampReader
}

// A floorPlace is where the address and the time of a line begin and end.
type floorPlace struct{ address, time, date, clock span }

// newFloorParser returns a floorParser of these lines, which are read in this order.
func newFloorParser(b *testing.B, format Format, lines [][]byte) *floorParser {
	b.Helper()
	p := &floorParser{times: newTimeReader(Options{order: format.order}), stamps: newStampReader(Options{})}
	parser := format.New(Options{Fields: Fields(Address, Time, Date, Clock, Path)})
	for _, line := range lines {
		var place floorPlace
		if _, verdict := parser.Parse(line); verdict == Parsed {
			at := func(f Field) span {
				value := parser.Values().raw[f]
				start := cap(line) - cap(value)
				if value == nil || start < 0 || start > len(line) || f == Date && parser.Values().raw[Clock] == nil {
					return span{}
				}
				return span{start, start + len(value)}
			}
			place = floorPlace{at(Address), at(Time), at(Date), at(Clock)}
		}
		p.places = append(p.places, place)
	}
	return p
}

// Parse implements [Parser].
func (p *floorParser) Parse(line []byte) (Record, Verdict) {
	place := &p.places[p.next]
	p.next++
	var r Record
	if place.address.end == 0 {
		return r, NotALine
	}
	r.Addr, _ = ipv4In(line, line[place.address.start:place.address.end])
	var ok bool
	switch at := place.time; {
	case at.end == 0:
		r.Day, ok = p.times.readTwo(line[place.date.start:place.date.end], line[place.clock.start:place.clock.end], nil)
	case at.end-at.start == stampLen-2 && line[at.start+2] == '/':
		r.Day, ok = p.stamps.read(line[at.start-1:])
	default:
		r.Day, ok = p.times.read(line[at.start:at.end])
	}
	if !ok {
		return r, Unparsable
	}
	return r, Parsed
}

// elapsed returns how long a parser takes for lines.
func elapsed(p Parser, lines [][]byte) time.Duration {
	start := time.Now()
	for _, line := range lines {
		p.Parse(line)
	}
	return time.Since(start)
}

// benchmarkedLines returns as many lines as the reference has, behind header lines: the format's
// longest real line, or that of its example, with other addresses and the request of the reference.
func benchmarkedLines(b *testing.B, format Format) (lines [][]byte) {
	b.Helper()
	best := strings.Split(format.Example(), "\n")
	for i, real := range format.declared.Real {
		text := strings.Split(real.Text, "\n")
		if real.Address != "-" && (i == 0 || len(text[len(text)-1]) > len(best[len(best)-1])) {
			best = text
		}
	}
	parser := format.New(Options{Fields: Fields(Address, Path, Referrer, Agent)})
	for _, line := range best {
		lines = append(lines, []byte(line))
		parser.Parse([]byte(line))
	}
	last := best[len(best)-1]
	for field, text := range map[Field]string{Path: benchPath, Referrer: benchReferrer, Agent: benchAgent} {
		if value, ok := parser.Values().Get(field); ok && len(value) > 1 {
			before, after, _ := strings.Cut(last, string(value))
			if !strings.Contains(string(value), " ") && !strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, " HTTP") {
				text = strings.ReplaceAll(text, " ", "+")
			}
			last = before + text + after
		}
	}
	address, ok := parser.Values().Get(Address)
	if !ok {
		b.Fatalf("no address in %s", last)
	}
	if host, _, found := bytes.Cut(address, []byte("]:")); found {
		address = append(host, ']')
	}
	before, after, _ := strings.Cut(last, strings.TrimSpace(string(address)))
	pattern := strings.NewReplacer("%", "%%").Replace(before) + "%s%.0s" + strings.NewReplacer("%", "%%").Replace(after)
	return append(lines[:len(lines)-1], benchLines(pattern, format.Name(), 0)...)
}
