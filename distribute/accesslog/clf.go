package accesslog

import (
	"bytes"
	"net/netip"
	"strings"

	"skidway/distribute/accesslog/formats"
	"skidway/distribute/accesslog/internal/lex"
)

// clf parses the Common Log Format (the NCSA one, see Apache's mod_log_config)
// and the formats that add fields to it: address, ident, user, time in
// brackets, quoted request, status, size.
type clf struct {
	wholeLines
	vhost   bool // the server's host name stands before the address
	stamps  stampReader
	proxies *proxyList
	fields  FieldSet
	values  Values
}

func newCLF(o Options, vhost bool) Parser {
	p := clf{vhost: vhost, stamps: newStampReader(o), proxies: newProxyList(o), fields: o.Fields, values: o.values(0)}
	if o.scope() != needed {
		return &clfCutter{p}
	}
	return &p
}

// A clfCutter is a clf that cuts its lines into values, too.
type clfCutter struct{ clf }

// Parse implements [Parser].
func (p *clfCutter) Parse(line []byte) (Record, Verdict) {
	if record, host, address, ok := p.quick(line); ok {
		v := &p.values.raw
		v[Host] = nil
		if name := bytes.TrimRight(trimStart(line[:host]), " \t"); len(name) > 0 {
			v[Host] = name
		}
		if v.cutPlain(line[host:], address, p.fields) {
			return record, Parsed
		}
	}
	record, verdict := p.parseAny(line)
	if verdict == Parsed {
		p.cut(trimStart(line))
	}
	return record, verdict
}

// Parse implements [Parser]. What quick can't read is read in parseAny, which returns the same
// results.
func (p *clf) Parse(line []byte) (Record, Verdict) {
	if record, _, _, ok := p.quick(line); ok {
		return record, Parsed
	}
	return p.parseAny(line)
}

// quick reads a line as nearly all lines of nearly all logs are: with an address, no ident and no
// user. It returns the lengths of the host before the address, with what follows it, and of the
// address.
func (p *clf) quick(line []byte) (record Record, host, address int, ok bool) {
	rest := line
	if p.vhost {
		if len(line) > 0 && (line[0] == '{' || line[0] == '[') { // perhaps an object
			return record, 0, 0, false
		}
		rest = afterHost(line)
		host = len(line) - len(rest)
	}
	record.Addr, address = ipv4(rest)
	if address == 0 {
		record.Addr, address = ipv6Before(rest)
	}
	if address == 0 || len(rest) < address+clfMiddleLen+2 {
		return record, 0, 0, false
	}
	rest = rest[address:]
	if string(rest[:len(clfNames)+1]) != clfNames+"[" || string(rest[clfMiddleLen:clfMiddleLen+2]) != ` "` {
		return record, 0, 0, false
	}
	record.Day, ok = p.stamps.read(rest[len(clfNames):])
	return record, host, address, ok
}

// ipv6Before reads the IPv6 address that b starts with, before a blank, and returns how many bytes
// it takes; 0 if b starts with none, or with one that has a zone.
func ipv6Before(b []byte) (addr netip.Addr, n int) {
	end := bytes.IndexByte(b[:min(len(b), maxIPv6+1)], ' ')
	if end <= 0 || bytes.IndexByte(b[:end], '%') >= 0 {
		return addr, 0
	}
	if addr = ipv6(b[:end]); addr.IsValid() {
		n = end
	}
	return addr, n
}

const (
	clfNames     = " - - "                  // neither ident nor user
	clfMiddleLen = len(clfNames) + stampLen // from the address to the end of the time
)

// A clfStart reads lines of layouts that begin as the Common Log Format does, but for the ident
// or user: those with an IPv4 address and without a user.
type clfStart struct {
	stamps stampReader
	end    string // what follows the time
	// Between the address and the time, some formats have words, as many as words, which are often
	// those of the line before. Others have neither ident nor user: then words is zero.
	words  int
	gap    []byte // what stood between; empty: it is not known
	misses int    // lines with something else since
	wait   int    // so many misses until it is learned anew: more, the more often that was in vain
}

// clfStart returns nil if lines of the layouts begin otherwise, or need more of a line to be read.
func (l layouts) clfStart(o Options) *clfStart {
	if o.scope() != needed || len(l) == 0 {
		return nil
	}
	if words := l.gapWords(); words > 0 {
		return &clfStart{stamps: newStampReader(o), end: l[0].parts[words+1].end[1:], words: words}
	}
	for _, layout := range l {
		if layout.head != "" || layout.needed != 3 || layout.parts[0].field != Address || layout.parts[0].end != " - " ||
			layout.parts[1].end != " [" || !layout.parts[1].stamp || layout.parts[2].end != l[0].parts[2].end {
			return nil
		}
	}
	end, found := strings.CutPrefix(l[0].parts[2].end, "]")
	if !found {
		return nil
	}
	return &clfStart{stamps: newStampReader(o), end: end}
}

// gapWords returns the number of words between the address, with which lines of the only layout begin,
// and the time in brackets; zero if they begin otherwise.
func (l layouts) gapWords() int {
	words := l[0].needed - 2
	if len(l) > 1 || l[0].head != "" || words < 1 || l[0].parts[0].field != Address || l[0].parts[words+1].name != "$time_local" ||
		!strings.HasPrefix(l[0].parts[words+1].end, "]") {
		return 0
	}
	for i := range words + 1 {
		if end := l[0].parts[i].end; i < words && end != " " || i == words && end != " [" {
			return 0
		}
	}
	return words
}

// read returns the day of a line that begins with an IPv4 address, of n bytes, and reports whether
// it is such a line.
func (c *clfStart) read(line []byte, n int) (Day, bool) {
	if c.words > 0 {
		return c.readGap(line[n:])
	}
	if len(line) < n+clfMiddleLen+len(c.end) {
		return 0, false
	}
	rest := line[n:]
	if string(rest[:len(clfNames)]) != clfNames || !isStamp(rest[len(clfNames):]) ||
		string(rest[clfMiddleLen:clfMiddleLen+len(c.end)]) != c.end {
		return 0, false
	}
	return c.stamps.read(rest[len(clfNames):])
}

// readGap is read of a line with the words of the one before, behind its address.
func (c *clfStart) readGap(rest []byte) (Day, bool) {
	n := len(c.gap)
	if n == 0 || len(rest) < n+stampLen+len(c.end) || string(rest[:n]) != string(c.gap) || !isStamp(rest[n:]) ||
		string(rest[n+stampLen:n+stampLen+len(c.end)]) != c.end {
		return 0, false
	}
	c.misses, c.wait = 0, 0
	return c.stamps.read(rest[n:])
}

// learn remembers the words of a line that read did not read, and that begins with an address of n
// bytes. They end where those of the layout do: the first [ is that of the time.
func (c *clfStart) learn(line []byte, n int) {
	const maxGap, maxWait = 64, 1024
	if c.misses++; c.misses <= c.wait {
		return
	}
	c.misses, c.wait = 0, min(2*c.wait+1, maxWait)
	rest := line[n:]
	end := bytes.IndexByte(rest[:min(len(rest), maxGap)], '[')
	if end < 0 || !isStamp(rest[end:]) || bytes.Count(rest[:end], []byte(" ")) != c.words+1 ||
		bytes.Contains(rest[:end], []byte("  ")) || bytes.Contains(rest[:end], []byte(", ")) || rest[0] != ' ' || rest[end-1] != ' ' {
		return
	}
	c.gap = append(c.gap[:0], rest[:end]...)
}

// Values implements [Parser].
func (p *clf) Values() *Values { return &p.values }

// Where the fields of a line are; and behind the time, whatever stands before it.
var (
	clfLine = mustLayout(formats.CombinedLayout + ` $rest`)
	clfTail = mustLayout(`$remote_addr[$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $rest`)
)

// cut sets the values of a line that was parsed.
func (p *clf) cut(line []byte) {
	v := &p.values.raw
	at := findStamp(line)
	host, rest := []byte(nil), line
	if p.vhost && countFields(line[:at]) > 3 {
		rest = afterHost(line)
		host = bytes.TrimRight(line[:len(line)-len(rest)], " \t")
	}
	if clfLine.split(rest, v, wanted) != Parsed || &v[Time][0] != &line[at+1] {
		clfTail.split(line[at:], v, wanted)
		v[Address] = line[:at]
	}
	if host != nil {
		v[Host] = host
	}
}

// State implements [Parser].
func (p *clf) State() string { return "" }

// parseAny parses every line that can be parsed. The fields before the time
// may be damaged as long as there is an address. Without one (host names,
// "-") the line must have the fields of the format: at least three before the
// time, and a quote after it. A line in a JSON object is none.
func (p *clf) parseAny(line []byte) (Record, Verdict) {
	line = trimStart(line)
	at := findStamp(line)
	if at < 0 || inObject(line, at) {
		return Record{}, Unparsable
	}
	day, ok := p.stamps.read(line[at:])
	if !ok {
		return Record{}, Unparsable
	}
	head := line[:at]
	if p.vhost && countFields(head) > 3 {
		head = afterHost(head)
	}
	addr := client(head, p.proxies)
	if !addr.IsValid() && !p.proxies.hide(head) && (countFields(head) < 3 || !startsQuoted(line[at+stampLen:])) {
		return Record{}, Unparsable
	}
	return Record{Addr: addr, Day: day}, Parsed
}

// inObject reports whether the time of a line is that of a text in a JSON object: what stands before
// it may be other values, and none of what follows is where the format has it.
func inObject(line []byte, at int) bool {
	if line[0] == '{' || line[0] == '[' && bytes.HasPrefix(bytes.TrimLeft(line[1:at+1], " \t"), []byte("{")) {
		return true
	}
	return bytes.HasPrefix(bytes.TrimLeft(line[at+stampLen:], " \t"), []byte(`\"`)) && bytes.Contains(line[:at], []byte(`{"`))
}

// afterHost returns what follows the host field that b starts with; b itself
// if that field is an element of a list.
func afterHost(b []byte) []byte {
	end := bytes.IndexByte(b, ' ')
	if end < 0 {
		end = len(b)
	}
	if tab := bytes.IndexByte(b[:end], '\t'); tab >= 0 {
		end = tab
	}
	if end == 0 || end == len(b) || b[end-1] == ',' {
		return b
	}
	return b[end+1:]
}

// startsQuoted reports whether the next field of b is quoted.
func startsQuoted(b []byte) bool {
	b = bytes.TrimLeft(b, " \t")
	return len(b) > 0 && b[0] == '"'
}

// countFields returns the number of fields between blanks.
func countFields(b []byte) int {
	n := 0
	for i, c := range b {
		if !lex.IsBlank(c) && (i == 0 || lex.IsBlank(b[i-1])) {
			n++
		}
	}
	return n
}

// countQuoted returns the number of quoted fields in b, in which a backslash
// takes away the meaning of a quote.
func countQuoted(b []byte) int {
	quotes, escaped := 0, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quotes++
		}
	}
	return quotes / 2
}

// isVhost reports whether the line starts with a host field that an address
// follows: a name with a port, whatever follows; without one, a name that is
// followed by an address. An address or "-" that is followed by an address is
// rather a forwarding header, which the combined format reads.
func isVhost(line []byte) bool {
	line = trimStart(line)
	at := findStamp(line)
	if at < 0 || countFields(line[:at]) < 4 {
		return false
	}
	host, rest, comma := nextToken(line[:at])
	if comma || line[0] == '"' || isLevel(host) || !isHostName(host) && !address(host).IsValid() {
		return false
	}
	if hasPort(host) {
		return true
	}
	second, _, _ := nextToken(rest)
	return !address(host).IsValid() && string(host) != "-" && address(second).IsValid()
}

// isLevel reports whether a word is of capital letters alone, as ERROR: is, with which loggers
// begin lines, and not a host.
func isLevel(word []byte) bool {
	word = bytes.TrimSuffix(word, []byte(":"))
	for _, c := range word {
		if c-'A' > 'Z'-'A' {
			return false
		}
	}
	return len(word) > 0
}

// hasPort reports whether a host field is a host and a port. A bare IPv6
// address, whose last group may look like a port, has none.
func hasPort(host []byte) bool {
	colon := bytes.LastIndexByte(host, ':')
	return colon > 0 && isPort(host[colon:]) &&
		(host[colon-1] == ']' || bytes.IndexByte(host, ':') == colon)
}

// isCombined reports whether request, referer and user agent follow the time, or
// more.
func isCombined(line []byte) bool {
	at := findStamp(line)
	return at >= 0 && countQuoted(line[at+stampLen:]) >= 3
}

// isLighttpd reports whether an address, the name of a host and a user stand before the
// time: in the combined format, what follows the address is rarely a name with a dot, or localhost.
func isLighttpd(line []byte) bool {
	line = trimStart(line)
	at := findStamp(line)
	if at < 0 || countFields(line[:at]) != 3 {
		return false
	}
	first, rest, comma := nextToken(line)
	host, _, _ := nextToken(rest)
	named := bytes.ContainsAny(host, ".:") || string(host) == "localhost"
	return named && !comma && !hasPort(first) && address(first).IsValid() && !address(host).IsValid()
}
