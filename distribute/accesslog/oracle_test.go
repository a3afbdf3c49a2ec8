package accesslog_test

import (
	"bytes"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/accesslog"
)

// The oracle reads lines slowly and straightforwardly, with the standard
// library's parsers of addresses and times, and must agree with the parsers on
// every line whatsoever.

func oracle(format, line string, zone *time.Location) (addr netip.Addr, day string, ok bool) {
	if format == "minimal" {
		addr, day, ok = oracleMinimal(line, zone)
	} else {
		addr, day, ok = oracleCLF(line, format == "vhost", zone)
	}
	return addr, day, ok && len(day) == len(time.DateOnly) // with a year of four digits
}

func oracleCLF(line string, vhost bool, zone *time.Location) (none netip.Addr, day string, ok bool) {
	line = strings.TrimLeft(line, "\x00\ufeff \t")
	at := oracleStamp(line)
	if at < 0 {
		return none, "", false
	}
	head, text, tail := line[:at], line[at:at+28], line[at+28:]
	if objectHead.MatchString(line) || strings.Contains(head, `{"`) && strings.HasPrefix(strings.TrimLeft(tail, " \t"), `\"`) {
		return none, "", false
	}
	text = strings.Replace(strings.Replace(text, ":60 ", ":59 ", 1), "-0000]", "+0000]", 1)
	const layout = "[02/Jan/2006:15:04:05 -0700]"
	stamped, err := time.Parse(layout, text)
	if err != nil || stamped.Format(layout) != text {
		return none, "", false
	}
	if zone != nil {
		stamped = stamped.In(zone)
	}
	fields := strings.FieldsFunc(head, isBlank)
	if vhost && len(fields) > 3 && !strings.HasSuffix(fields[0], ",") {
		head = head[len(fields[0])+1:]
		fields = fields[1:]
	}
	addr := oracleClient(head)
	quoted := strings.HasPrefix(strings.TrimLeft(tail, " \t"), `"`)
	return addr, stamped.Format(time.DateOnly), addr.IsValid() || len(fields) >= 3 && quoted
}

var objectHead = regexp.MustCompile(`^(\[[ \t]*)?\{`)

// oracleStamp returns where the last outline of a time before the request is.
func oracleStamp(line string) int {
	last := -1
	for i := 0; i+28 <= len(line); i++ {
		if last >= 0 && line[i] == '"' {
			break
		}
		if hasOutline(line[i:i+28]) && !(last >= 0 && strings.Contains(line[i:i+28], `"`)) {
			last = i
			i += 27
		}
	}
	return last
}

func hasOutline(s string) bool {
	for i, c := range []byte("[__/___/____:__:__:__ _____]") {
		if c != '_' && s[i] != c {
			return false
		}
	}
	return true
}

var tokens = regexp.MustCompile(`([^ \t",]+)(,?)`)

func oracleClient(head string) netip.Addr {
	var run, last []netip.Addr
	listed, words := false, 0
	all := tokens.FindAllStringSubmatch(head, -1)
	for i, m := range all {
		addr, comma := oracleAddress(m[1]), m[2] != ""
		if m[1] == "-" && i > 0 && !comma && !listed {
			if words > 1 && i+2 == len(all) && all[i+1][1] == "-" {
				return netip.Addr{}
			}
			break
		}
		if addr.IsValid() {
			run = append(run, addr)
			last, words = run, 0
		} else if !comma && !listed {
			run = nil
			words++
		}
		listed = comma
	}
	for _, addr := range last {
		if accesslog.IsPublic(addr) {
			return addr
		}
	}
	if len(last) > 0 {
		return last[0]
	}
	return netip.Addr{}
}

var (
	ipv4Port  = regexp.MustCompile(`^(\d+\.\d+\.\d+\.\d+):\d{1,5}$`)
	bracketed = regexp.MustCompile(`^\[([^\]]*:[^\]]*)\](:\d{1,5})?$`)
)

var sign = regexp.MustCompile(`^(\+|/|%20)`)

func oracleAddress(token string) netip.Addr {
	token = token[len(sign.FindString(token)):]
	if m := ipv4Port.FindStringSubmatch(token); m != nil {
		token = m[1]
	} else if m := bracketed.FindStringSubmatch(token); m != nil {
		token = m[1]
	}
	if addr, _, _ := strings.Cut(token, "%"); strings.Contains(addr, ":") {
		token = addr
	}
	addr, err := netip.ParseAddr(token)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}

var minimalLine = regexp.MustCompile(`^((?:[ \t",]*[^ \t",]+,)*[ \t",]*([^ \t",]+))"*[ \t]+` +
	`(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(?:[0-5]\d|60)(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?(?:[ \t]|$)`)

func oracleMinimal(line string, zone *time.Location) (none netip.Addr, day string, ok bool) {
	line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), "\x00\ufeff \t")
	m := minimalLine.FindStringSubmatch(line)
	if m == nil {
		return none, "", false
	}
	addr := oracleClient(m[1])
	date, clock, offset := m[3], m[4], strings.Replace(m[5], ":", "", 1)
	if clock == "" {
		clock = "00:00"
	}
	if offset == "" {
		zone = nil
	}
	if offset == "" || offset == "Z" || offset == "-0000" {
		offset = "+0000"
	}
	const layout = "2006-01-02 15:04 -0700"
	text := date + " " + clock + " " + offset
	stamped, err := time.Parse(layout, text)
	if err != nil || stamped.Format(layout) != text {
		return none, "", false
	}
	if zone != nil {
		stamped = stamped.In(zone)
	}
	return addr, stamped.Format(time.DateOnly), addr.IsValid() || m[2] == "-"
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// newYork has another offset than the lines, and two of its own.
func newYork(tb testing.TB) *time.Location {
	tb.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		tb.Fatal(err)
	}
	return zone
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agree fails the test if parser and oracle read the line differently.
func agree(tb fataler, p accesslog.Parser, format, line string, zone *time.Location) {
	tb.Helper()
	record, verdict := p.Parse([]byte(line))
	addr, day, ok := oracle(format, line, zone)
	if ok != (verdict == accesslog.Parsed) {
		tb.Fatalf("%s: parsed %v, oracle %v: %q", format, verdict == accesslog.Parsed, ok, line)
	}
	if ok && (record.Addr != addr || record.Day.String() != day) {
		tb.Fatalf("%s: got %s on %s, oracle %s on %s: %q", format, record.Addr, record.Day, addr, day, line)
	}
}

// anyLine draws a line near to one of the formats, often with damage.
func anyLine(t *rapid.T) string {
	octet := rapid.IntRange(0, 260)
	addr := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return strings.Join([]string{strconv.Itoa(octet.Draw(t, "a")), strconv.Itoa(octet.Draw(t, "b")), strconv.Itoa(octet.Draw(t, "c")), strconv.Itoa(octet.Draw(t, "d"))}, ".")
		}),
		rapid.SampledFrom([]string{"8.8.8.8", "10.0.0.1", "2600::1", "[2600::1]:80", "fe80::1%eth0", "::ffff:1.1.1.1", "8.8.8.8:80",
			"/8.8.8.8", "/8.8.8.8:80", "+8.8.8.8", "%208.8.8.8", "/+8.8.8.8", "-", "unknown", "client.example.net", "www.example.org:443", "008.8.8.8", ""}),
	)
	separator := rapid.SampledFrom([]string{" ", " ", ", ", ",", "\t", `"`, " - "})
	clock := rapid.Custom(func(t *rapid.T) string {
		at := time.Unix(rapid.Int64Range(63072000, 4102444800).Draw(t, "unix"), 0)
		at = at.In(time.FixedZone("", 15*60*rapid.IntRange(-56, 56).Draw(t, "offset")))
		return at.Format(rapid.SampledFrom([]string{"[02/Jan/2006:15:04:05 -0700]", "[02/Jan/2006:15:04:05 -0700]",
			"2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04-0700", "2006-01-02T15:04:05.9"}).Draw(t, "layout"))
	})
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(t, "addresses") {
		b.WriteString(addr.Draw(t, "address"))
		b.WriteString(separator.Draw(t, "separator"))
	}
	b.WriteString(rapid.SampledFrom([]string{"- - ", "- frank ", "", "- [x ", "- ", "- 9.9.9.9 "}).Draw(t, "user"))
	b.WriteString(clock.Draw(t, "time"))
	b.WriteString(rapid.SampledFrom([]string{request, request, "", "\r", " x", ` "` + stamp, " " + stamp + request}).Draw(t, "rest"))
	line := []byte(b.String())
	for range rapid.IntRange(0, 2).Draw(t, "damages") {
		at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
		line[at] = rapid.SampledFrom([]byte("\x00 \t\",-[]:/T%019x\xff")).Draw(t, "byte")
	}
	return string(line)
}

func TestParsersAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{nil, newYork(t)}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		format := rapid.SampledFrom(oracleFormats).Draw(t, "format")
		p := parser(t, format, zone)
		// Two different lines, each twice: what is remembered must not show.
		first, second := anyLine(t), anyLine(t)
		for _, line := range []string{first, first, second, first, second} {
			agree(t, p, format, line, zone)
		}
	})
}

// oracleFormats are the formats that the oracle knows.
var oracleFormats = []string{"vhost", "combined", "common", "minimal"}

func FuzzParse(f *testing.F) {
	for _, format := range accesslog.Formats() {
		f.Add([]byte(format.Example()))
	}
	f.Add([]byte(`"10.0.0.1, [2600::1]:80, unknown" - [x ` + stamp + ` ` + stamp + request))
	f.Add([]byte("8.8.8.8\t2024-02-29T23:59:60.5+02:00\r"))
	f.Add([]byte("#Fields: time c-ip\n23:59:59 8.8.8.8\n00:00:00 \"8.8.8.8\""))
	zone := newYork(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		lines := bytes.Split(content, []byte("\n"))
		for _, zone := range []*time.Location{nil, zone} {
			for _, format := range oracleFormats {
				p := parser(t, format, zone)
				agree(t, p, format, string(lines[0]), zone)
				agree(t, p, format, string(lines[0]), zone)
			}
			for _, format := range accesslog.Formats() {
				checkContinuation(t, format, lines, zone)
			}
		}
		_, _ = accesslog.Detect(lines)
	})
}

// checkContinuation fails unless a parser that begins with the state of another goes on
// as the other does.
func checkContinuation(t *testing.T, format accesslog.Format, lines [][]byte, zone *time.Location) {
	t.Helper()
	p := format.New(accesslog.Options{Zone: zone})
	for _, line := range lines {
		next := format.New(accesslog.Options{Zone: zone, State: p.State()})
		record, verdict := p.Parse(line)
		if other, v := next.Parse(line); other != record || v != verdict {
			t.Fatalf("%s: %v %d, after a continuation %v %d: %q", format.Name(), record, verdict, other, v, line)
		}
	}
}
