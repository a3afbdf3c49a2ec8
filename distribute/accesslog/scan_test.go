package accesslog

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"pgregory.net/rapid"

	"skidway/distribute/accesslog/internal/lex"
)

// altered returns one of some texts in which a few bytes were replaced.
func altered(t *rapid.T, texts ...string) []byte {
	b := []byte(rapid.SampledFrom(texts).Draw(t, "text"))
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		if len(b) > 0 {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789:. x\x00")).Draw(t, "byte")
		}
	}
	return b
}

// A reader remembers the last time, which must not change how the next one is read.
func TestTimeIsReadAsIfItWereTheFirst(t *testing.T) {
	t.Parallel()
	york, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Zone: rapid.SampledFrom([]*time.Location{nil, york}).Draw(t, "zone"), Local: rapid.SampledFrom([]*time.Location{nil, york, time.UTC}).Draw(t, "local")}
		r := newTimeReader(o)
		for range rapid.IntRange(2, 20).Draw(t, "times") {
			fresh := newTimeReader(o)
			if rapid.Bool().Draw(t, "two fields") {
				date := altered(t, "2026-11-01", "2026-11-02", "1/2/26", "01/02/2026", "")
				clock := altered(t, "23:59:58", "3:59:58", "00:00:60", "12:30", "12:30:01.5", "12:30:01Z", "")
				zone := rapid.SampledFrom([][]byte{nil, {}, []byte("-0800")}).Draw(t, "offset")
				day, ok := r.readTwo(date, clock, zone)
				if wantDay, want := fresh.readTwo(date, clock, zone); day != wantDay && want || ok != want {
					t.Fatalf("%q %q %q: %s, %v, want %s, %v", date, clock, zone, day, ok, wantDay, want)
				}
				continue
			}
			text := altered(t, "10/Oct/2000:13:55:36 -0700", "10/Oct/2000:13:55:36", "2000-10-10T23:59:60.123456789-07:00", "2000-10-10T23:59:00Z", "2000-10-10T13:55",
				"2000-10-10", "1693871999", "1693872000.123", "1693871999999", "1693871999999999999", "")
			day, ok := r.read(text)
			if wantDay, want := fresh.read(text); day != wantDay && want || ok != want {
				t.Fatalf("%q: %s, %v, want %s, %v", text, day, ok, wantDay, want)
			}
		}
	})
}

func TestTimeThatIsLikeTheLastOneIsVerified(t *testing.T) {
	t.Parallel()
	ahead := time.FixedZone("", 60) // its days end within 100 seconds of UTC's
	for _, c := range []struct {
		zone        *time.Location
		first, then string
		want        string // the day of then; empty: it is no time
	}{
		{nil, "2000-10-10T23:59:36Z", "2000-10-10T23:59:60Z", "2000-10-10"},
		{nil, "2000-10-10T23:59:36Z", "2000-10-10T23:59:61Z", ""},
		{nil, "2000-10-10T23:59:36Z", "2000-10-10T23:59:3xZ", ""},
		{nil, "2000-10-10T23:59:36.123Z", "2000-10-10T23:59:36.12xZ", ""},
		{nil, "2000-10-10T23:59:36.123Z", "2000-10-10T23:59:36,123Z", "2000-10-10"},
		{nil, "1693871901.5", "1693871999.9", "2023-09-04"},
		{nil, "1693871901.5", "1693871999x9", ""},
		{ahead, "1693871901", "1693871999", "2023-09-05"},
		{nil, "2000-10-10 10:00:00", "2000-10-11 10:00:00", "2000-10-11"},
	} {
		r := newTimeReader(Options{Zone: c.zone})
		read := func(text string) string {
			day, ok := r.read([]byte(text))
			if date, clock, two := bytes.Cut([]byte(text), []byte(" ")); two {
				day, ok = r.readTwo(date, clock, nil)
			}
			if !ok {
				return ""
			}
			return day.String()
		}
		read(c.first)
		if got := read(c.then); got != c.want {
			t.Errorf("%s behind %s: %q, want %q", c.then, c.first, got, c.want)
		}
	}
}

// Parsers remember the last time, and how lines looked: what they read must not depend on it.
func TestLineIsReadAsIfItWereTheFirst(t *testing.T) {
	t.Parallel()
	formats := Formats()
	for _, text := range []string{"[$time_iso8601] $a $b $remote_addr - $c", `$time_local|$a|"$http_x_forwarded_for" $rest`, "$a-$remote_addr $msec;$rest", `%h %l %{%d/%b/%Y:%H:%M:%S}t "%r"`} {
		f, err := ByLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		f.example = map[byte]string{
			'[': "[2026-11-20T14:00:05Z] x - 203.0.113.7 - y", '$': `10/Oct/2000:13:55:36 -0700|-|"203.0.113.7, 10.0.0.1" x`, '%': `203.0.113.7 - 10/Oct/2000:13:55:36 "GET /"`,
		}[text[0]]
		if text[1] == 'a' {
			f.example = "--203.0.113.7 1594939200.123;x"
		}
		formats = append(formats, f)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(formats).Draw(t, "format")
		example := strings.Split(f.Example(), "\n")
		header, line := example[:len(example)-1], example[len(example)-1]
		p := f.New(Options{})
		for _, text := range header {
			p.Parse([]byte(text))
		}
		for range rapid.IntRange(2, 20).Draw(t, "lines") {
			fresh := f.New(Options{})
			for _, text := range header {
				fresh.Parse([]byte(text))
			}
			text := []byte(line)
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
				change := rapid.SampledFrom([]string{"", "1", "9", " ", "  ", "-", ", ", `"`, "\\", "\t", ":", "[", "}", "x", "203.0.113.7"}).Draw(t, "change")
				text = slices.Replace(text, at, at+1, []byte(change)...)
				if len(text) == 0 {
					break
				}
			}
			record, verdict := p.Parse(text)
			if want, wantVerdict := fresh.Parse(text); verdict != wantVerdict || verdict == Parsed && record != want {
				t.Fatalf("%q: %d, %v, want %d, %v", text, verdict, record, wantVerdict, want)
			}
		}
	})
}

// Lines that look like others up to the place where they are read in another way.
func TestWordsOfALineEndWhereItsFieldsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, first, then, want string }{
		{"[$time_iso8601] $upstream_a $remote_addr $b", "[2026-11-20T14:00:05Z] x 203.0.113.7 y z", "[2026-11-20T14:00:06Z] x, 203.0.113.7 203.0.113.8 y z", "203.0.113.8"},
		{"[$time_iso8601] $upstream_a $b $c $remote_addr $d", "[2026-11-20T14:00:05Z] x b c 203.0.113.7 y z", "[2026-11-20T14:00:06Z] x, b c 203.0.113.7 203.0.113.8 y z", "203.0.113.8"},
		{"[$time_iso8601] $a $remote_addr $b", "[2026-11-20T14:00:05Z] x 203.0.113.7 y z", "[2026-11-20T14:00:06Z] x, 203.0.113.7 203.0.113.8 y z", "203.0.113.7"},
		{"[$time_iso8601] $a $remote_addr $b", "[2026-11-20T14:00:05Z] x 203.0.113.7 y z", "[2026-11-20T14:00:06Z]  203.0.113.7 203.0.113.8 y z", "203.0.113.7"},
		{`[$time_iso8601] "$a" $remote_addr $b`, `[2026-11-20T14:00:05Z] "x" 203.0.113.7 y z`, `[2026-11-20T14:00:06Z] "x\" 203.0.113.7 " 203.0.113.8 y z`, "203.0.113.8"},
		{"w3c", "#Fields: date time a b c-ip\n2026-11-20 14:00:05 x y 203.0.113.7", `2026-11-20 14:00:06 x "y 203.0.113.7" 203.0.113.8`, "203.0.113.8"},
		{"w3c", "#Fields: date time a b c-ip\n2026-11-20 14:00:05 x y 203.0.113.7", `2026-11-20 14:00:06 "x 203.0.113.7 " y 203.0.113.8`, "203.0.113.8"},
		{`[$time_local] $upstream_a "$remote_addr"`, `[10/Oct/2000:13:55:36 -0700] x "203.0.113.7"`, `[10/Oct/2000:13:55:37 -0700] x, "203.0.113.7" y "203.0.113.8" - - - -`, "203.0.113.8"},
		{"envoy", named("envoy").example, `[2021-02-11T16:29:25.123Z] "GET / HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "203.0.113.8" "curl/8.5" "c2b1b2b5" "www.example.org" "10.0.0.9:8080"`, "203.0.113.8"},
		{`$remote_addr $remote_user [$time_local] "$request"`, `203.0.113.7 - [10/Oct/2000:13:55:36 -0700] "GET /"`, `203.0.113.8 a [b [10/Oct/2000:13:55:37 -0700] "GET /"`, "203.0.113.8"},
		{"aws-alb", named("aws-alb").example, strings.Replace(named("aws-alb").example, ":2817", "", 1), "203.0.113.7"},
	} {
		f, err := ByName(c.format)
		if err != nil {
			t.Fatal(err)
		}
		p := f.New(Options{})
		for line := range strings.SplitSeq(c.first, "\n") {
			p.Parse([]byte(line))
		}
		if record, verdict := p.Parse([]byte(c.then)); verdict != Parsed || record.Addr.String() != c.want {
			t.Errorf("%s: %q: %d, %v, want %s", c.format, c.then, verdict, record, c.want)
		}
	}
}

func TestTimesBehindAnotherOffsetAreOfItsDay(t *testing.T) {
	t.Parallel()
	p := named("w3c").New(Options{Zone: time.UTC})
	for _, c := range []struct{ line, want string }{
		{"#Fields: date-local time-local c-ip x", ""},
		{"#GMT-Offset: +0000", ""},
		{"2026-11-20 23:00:05 203.0.113.7 -", "2026-11-20"},
		{`2026-11-20 23:00:06 "203.0.113.7" -`, "2026-11-20"},
		{"#GMT-Offset: -0800", ""},
		{"2026-11-20 23:00:05 203.0.113.7 -", "2026-11-21"},
		{"2026-11-20 23:00:06 203.0.113.7 -", "2026-11-21"},
	} {
		record, verdict := p.Parse([]byte(c.line))
		if (verdict == Parsed) != (c.want != "") || verdict == Parsed && (record.Day.String() != c.want || record.Addr.String() != "203.0.113.7") {
			t.Errorf("%s: %d, %v, want %s", c.line, verdict, record, c.want)
		}
	}
}

func TestScannersFindWhatASearchByteByByteFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte("aaaaaaaa\"\\ \t\x00\xef\xbb\xbf")), 0, 80).Draw(t, "bytes")
		if got, want := trimStart(b), bytes.TrimLeft(b, "\x00\ufeff \t"); !bytes.Equal(got, want) {
			t.Fatalf("trimStart(%q) = %q, want %q", b, got, want)
		}
		start := rapid.IntRange(0, len(b)).Draw(t, "start")
		blank, quote := start, -1
		for blank < len(b) && !lex.IsBlank(b[blank]) {
			blank++
		}
		for at := start; at < len(b) && quote < 0; at++ {
			if b[at] == '\\' {
				at++
			} else if b[at] == '"' {
				quote = at
			}
		}
		if got := nextBlank(b, start); got != blank {
			t.Fatalf("nextBlank(%q, %d) = %d, want %d", b, start, got, blank)
		}
		c := &columns{plain: rapid.Bool().Draw(t, "plain")}
		words, place := rapid.IntRange(1, 4).Draw(t, "words"), start
		for left := words; left > 0 && place >= 0; left-- {
			_, _, place = c.column(b, place)
		}
		if behind := c.skipColumns(b, start, words); (behind < 0) != (place < 0) {
			t.Fatalf("skipColumns(%q, %d, %d) = %d, want %d", b, start, words, behind, place)
		} else if behind >= 0 {
			next, _, _ := c.column(b, behind)
			if want, _, _ := c.column(b, place); next != want {
				t.Fatalf("behind skipColumns(%q, %d, %d) is %d, want %d", b, start, words, next, want)
			}
		}
		if got := lex.StringEnd(b, start); got != quote {
			t.Fatalf("lex.StringEnd(%q, %d) = %d, want %d", b, start, got, quote)
		}
	})
}
