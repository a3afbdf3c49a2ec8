package accesslog

import (
	"bytes"
	"testing"

	"skidway/distribute/accesslog/wrappers"
)

// FuzzLineStart compares what the start of a line says with what its parser reads, and the
// texts of clients with one another.
func FuzzLineStart(f *testing.F) {
	const rest = ` - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "-" "Mozilla/5.0"`
	for _, start := range []string{
		"203.0.113.7", "1.2.3.4", "255.255.255.255", "1.2.3.10", "1.2.3.1", "1.2.3.1000000", "01.2.3.4", "256.1.1.1", "1..2.3", "8.8.8.8 x", "2001:db8::1",
		"", " ", "#.2.3.4", "A.2.3.4", "1.2.3.4\x00", "1.2.3.45 - - [", "1.2.3.4/5", "1.2.3.1\x00", "123.123.123.123.1",
	} {
		f.Add([]byte(start+rest), []byte("1.2.3.4"+rest))
	}
	f.Add([]byte("1.2.3.10"+rest), []byte("1.2.3.1\x00"+rest))
	f.Add([]byte("1.2.3.4 - - [10/Oct/2000:13:55:61 -0700] \"GET / HTTP/1.1\" 200 2326"), []byte("1.2.3.4 - - [10/Oct/2000:13:55:6"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		choice := Choice{Format: combined}
		for _, parser := range []Parser{newCLF(Options{}, false), choice.NewAuto(Options{})} {
			clients := map[Client][]byte{}
			for _, line := range [][]byte{first, second} {
				if bytes.IndexByte(line, '\n') >= 0 {
					return
				}
				client, day, ok := StartOf(parser).Read(line)
				if !ok {
					continue
				}
				text := line[:bytes.IndexByte(line, ' ')]
				if other, known := clients[client]; known && !bytes.Equal(other, text) || client == 0 {
					t.Fatalf("%q and %q are the client %x", other, text, uint64(client))
				}
				clients[client] = text
				addr := ClientOf(line)
				if addr.IsValid() && addr.String() != string(text) {
					t.Fatalf("%q is %s", text, addr)
				}
				if record, verdict := parser.Parse(line); addr.IsValid() && (verdict != Parsed || record != Record{addr, day}) {
					t.Fatalf("%q: %v on day %d; its parser: %v, %v", line, addr, day, record, verdict)
				}
			}
		}
	})
}

func TestStartsAreThoseOfTheParserAtPresent(t *testing.T) {
	t.Parallel()
	const line, other = `8.8.8.8 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326`, `{"remote_addr":"8.8.8.8","time_iso8601":"2000-10-10T13:55:36-07:00","status":200}`
	readsStart := func(p Parser) bool {
		_, _, ok := StartOf(p).Read([]byte(line))
		return ok
	}
	parser := Choice{Format: named("common")}.NewAuto(Options{})
	if !readsStart(parser) {
		t.Error("a parser of common lines reads no start")
	}
	if _, verdict := parser.Parse([]byte(other)); verdict != Parsed {
		t.Fatal("the other format is not found")
	}
	if readsStart(parser) {
		t.Error("the parser has gone over to another format")
	}
	for name, p := range map[string]Parser{
		"behind a host": newCLF(Options{}, true), "in a wrapper": wrapped(&wrappers.All[0], named("common")).New(Options{}),
	} {
		if readsStart(p) {
			t.Errorf("%s: a start is read", name)
		}
	}
}

// FuzzLineCut compares the values that are cut behind the start of a line with those of its parser.
func FuzzLineCut(f *testing.F) {
	const start = `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "`
	for _, rest := range []string{
		`GET / HTTP/1.1" 200 2326 "-" "Mozilla/5.0"`, `GET / HTTP/1.1" 200 2326 "http://a/" "M\"x" more`, `GET /\" HTTP/1.1" 200 2326 "-" "-"`,
		`" 400 0 "-" "-"`, `-" 200 - "-" "a" "1.2.3.4"`, `GET / HTTP/1.1" 200  2326 "-" "-"`, `GET /" 2x0 1 "-" "-"`, `GET /" 200 1, 2 "-" "-"`,
		`GET /" 200 1 "a"b" "c"d" e`, "GET /\" 200 1 \"-\" \"-\"\r", `GET /" 200 1`, `GET /" 200 1 "-"`, `GET /" 200 1 "-" "a`,
		`GET /" x" 200 1 "-" "-"`, `GET /" [11/Oct/2000:13:55:36 -0700] "x" 200 1 "-" "-"`,
	} {
		f.Add(start + rest)
	}
	for _, line := range []string{"\x00 " + start + `GET /" 200 1`, `a.org:80 203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`, `::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1 "-" "-"`} {
		f.Add(line)
	}
	all := Fields(Address, User, Time, Status, Request, Host, Bytes, Referrer, Agent)
	f.Fuzz(func(t *testing.T, text string) {
		line := []byte(text)
		for _, fields := range []FieldSet{all, Fields(Status, Host), Fields(Request, Bytes)} {
			compare := func(p, layout Parser) {
				got, want := p.Values().raw, layout.Values().raw
				for f := range numFields {
					if fields.Has(f) && (!bytes.Equal(got[f], want[f]) || (got[f] == nil) != (want[f] == nil)) {
						t.Fatalf("%q: %s is %q, by the layout %q", line, f, got[f], want[f])
					}
				}
			}
			for _, vhost := range []bool{false, true} {
				fast, slow := newCLF(Options{Fields: fields}, vhost), newCLF(Options{Fields: fields}, vhost).(*clfCutter)
				record, verdict := slow.clf.Parse(line)
				if verdict == Parsed {
					slow.cut(trimStart(line))
				}
				if r, v := fast.Parse(line); r != record || v != verdict {
					t.Fatalf("%q: %v, %v, by the layout %v, %v", line, r, v, record, verdict)
				} else if v == Parsed {
					compare(fast, slow)
				}
				start := StartOf(newCLF(Options{Fields: fields}, vhost))
				if client, day, ok := start.Read(line); ok && ClientOf(line).IsValid() && bytes.IndexByte(line, '\n') < 0 && start.Cut(line, client, fields) {
					if verdict != Parsed || record.Day != day {
						t.Fatalf("%q: %v on day %d; its parser: %v, %v", line, client, day, record, verdict)
					}
					fast.(*clfCutter).values.raw = start.values.raw
					compare(fast, slow)
				}
			}
		}
	})
}
