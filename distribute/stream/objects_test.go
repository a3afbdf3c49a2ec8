package stream

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// splitAt passes content to a Splitter of objects in two blocks, and returns what it passed
// on, and the offsets between objects.
func splitAt(content string, cut int) (objects []string, resumes []int64, s *Splitter) {
	s = NewSplitter(0, func(line []byte) { objects = append(objects, string(line)) })
	s.SplitObjects(ObjectsBegin)
	for _, block := range []string{content[:cut], content[cut:]} {
		s.Split([]byte(block))
		resumes = append(resumes, s.Resume())
	}
	return objects, resumes, s
}

// continued returns what a Splitter passes on that goes on where another one ended which has read the
// content up to a place.
func continued(content string, cut int) (objects []string, from int64, next *Splitter) {
	s := NewSplitter(0, func(line []byte) { objects = append(objects, string(line)) })
	s.SplitObjects(ObjectsBegin)
	s.Split([]byte(content[:cut]))
	next = NewSplitter(s.Resume(), func(line []byte) { objects = append(objects, string(line)) })
	next.SplitObjects(s.ObjectsState())
	next.Split([]byte(content[s.Resume():]))
	return objects, s.Resume(), next
}

func TestObjectsArePassedOnWhereverTheBlocksEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"array", `[{"a":1},{"b":"]}\"{"},` + "\n" + `{"c":{"d":[{}]}}]` + "\n", []string{`{"a":1}`, `{"b":"]}\"{"}`, `{"c":{"d":[{}]}}`}},
		{"records", ` {"records" : [` + "\n" + `{"a":1}, {"b":[2]}]}` + "\n", []string{`{"a":1}`, `{"b":[2]}`}},
		{"events", `{"events": [{"message":"[{"}, {"message":"b"}], "searchedLogStreams": [], "nextToken": "t"}`, []string{`{"message":"[{"}`, `{"message":"b"}`}},
		{"events of a subscription", `{"messageType":"DATA_MESSAGE","owner":"1","subscriptionFilters":["f"],"logEvents":[{"id":"1","logEvents":[2]},{"id":"2"}]}{"owner":"1", "logEvents" : [` + "\n" + `{"id":"3"}]}`, []string{`{"id":"1","logEvents":[2]}`, `{"id":"2"}`, `{"id":"3"}`}},
		{"records again", `{"records":[{"a":1}]}` + "\n" + `{"records":[{"b":2}]}`, []string{`{"a":1}`, `{"b":2}`}},
		{"objects of several lines", "{\n \"a\": {\n  \"b\": \"\\\\\"\n }\n}\n{\n \"c\": 1\n}\n", []string{"{\n \"a\": {\n  \"b\": \"\\\\\"\n }\n}", "{\n \"c\": 1\n}"}},
		{"other keys", `{"a":[1]}{"record":[{}]}`, []string{`{"a":[1]}`, `{"record":[{}]}`}},
		{"nothing", "[]\n", nil},
		{"lines behind an array", "[{\"a\":1},\n{\"b\":2}]\n8.8.8.8 {x}\n[10/Oct x] y\n", []string{`{"a":1}`, `{"b":2}`, "8.8.8.8 {x}", "[10/Oct x] y"}},
		{"lines before arrays", "8.8.8.8 [x\n \"8.8.4.4\" {\n[ {\"a\":1}, {\"b\":2} ]\n[\n{\"c\":3}\n]\nz\n", []string{"8.8.8.8 [x", `"8.8.4.4" {`, `{"a":1}`, `{"b":2}`, `{"c":3}`, "z"}},
		{"objects before an array", "{\"a\":1}\n[{\"b\":2}]\n{\"c\":3}\n", []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}},
		{"lines behind records", "{\"records\":[\n{\"a\":1}],\n\"b\": {\"c\": [2, \"}\"]}\n}\ntext\n{\"events\":[{\"d\":4}],\"n\":{\"e\":5}}\n", []string{`{"a":1}`, "text", `{"d":4}`}},
		{"records in records", `{"records":[{"records":[{"a":1}]}]}` + "\n", []string{`{"records":[{"a":1}]}`}},
		{"what stands in the line of an object", "{\"a\":1} b [c\n\n \t\n[]\nd\n", []string{`{"a":1}`, "", "", "d"}},
		{"lines that begin as arrays do", "[{\"a\":1}]\n[ INFO ] x\n[] y\n[[z\n] {\"b\n, c\n} d\n[\n\ne {\n", []string{`{"a":1}`, "[ INFO ] x", "[] y", "[[z", `] {"b`, ", c", "} d", "[", "", "e {"}},
		{"lines that begin as objects do", "{x} y\n[{x} y\n{\n{ x\n{}\n", []string{"{x} y", "[{x} y", "{", "{ x", "{}"}},
		{"behind an object that is cut off", "[{\"a\":1}]\n{\"b\n8.8.8.8 x\n{\"c\":[\n8.8.4.4 \"y\"\n8.8.4.5 z\n", []string{`{"a":1}`, `{"b`, "8.8.8.8 x", `{"c":[`, `8.8.4.4 "y"`, "8.8.4.5 z"}},
		{"behind an array that is cut off", "[{\"a\":1},\n8.8.8.8 x\n[{\"b\":2},\n{\"c\":\n8.8.4.4 y\nz\n", []string{`{"a":1}`, "8.8.8.8 x", `{"b":2}`, `{"c":`, "8.8.4.4 y", "z"}},
		{"behind records that are cut off", "{\"records\":[{\"a\":1}],\n8.8.8.8 x\n8.8.4.4 y\n{\"events\":[{\"b\":2}\nz\n", []string{`{"a":1}`, "8.8.8.8 x", "8.8.4.4 y", `{"b":2}`, "z"}},
		{"objects of lines behind one that is cut off", "{\"a\":{\"b\":1,\n{\"c\":2}\n{\"d\":3}\n", []string{`{"a":{"b":1,`, `{"c":2}`, `{"d":3}`}},
		{"arrays behind each other", `[{"a":1}][{"b":2}], {"c":3}[]` + "\n{\"d\":4}{\n\"e\":5}", []string{`{"a":1}`, `{"b":2}`, `{"c":3}`, `{"d":4}`, "{\n\"e\":5}"}},
		{"values of every kind", "{\"a\":[\n1,\n-2,\ntrue,\nfalse,\nnull,\n{\n},\n[\n]\n]\n,\n\"b\"\n:\n\"c\"\n}\n", []string{"{\"a\":[\n1,\n-2,\ntrue,\nfalse,\nnull,\n{\n},\n[\n]\n]\n,\n\"b\"\n:\n\"c\"\n}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for cut := range len(c.content) + 1 {
				got, resumes, s := splitAt(c.content, cut)
				if !slices.Equal(got, c.want) {
					t.Fatalf("in blocks of %d and more bytes: %q, want %q", cut, got, c.want)
				}
				if line, size, open := s.Tail(); size != 0 || open {
					t.Fatalf("in blocks of %d and more bytes: %q is left", cut, line)
				}
				// Another Splitter goes on between objects.
				all, _, next := continued(c.content, cut)
				if !slices.Equal(all, c.want) {
					t.Fatalf("continued at %d: %q, want %q", resumes[0], all, c.want)
				}
				if next.Resume() != s.Resume() || next.Offset() != s.Offset() {
					t.Fatalf("continued at %d: ends at %d, %d; want %d, %d", resumes[0], next.Resume(), next.Offset(), s.Resume(), s.Offset())
				}
			}
		})
	}
}

func TestObjectThatIsCutOffIsTheTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content string
		line    string // "": none is open
		size    int64
	}{
		{`[{"a":1}, {"b":"2`, `{"b":"2`, 7},
		{"[{\"a\":1}]\n[10/Oct", "[10/Oct", 7},
		{"x\n {", "{", 1},
		{`{"records":[{"a":1}]`, "", 1},
		{`{"records":[{"a":1}], "n":`, "", 7},
		{"{\"a\":1}\n[", "", 1},
		{"{\"a\":1}\n[ \n", "", 3},
		{"{\"a\":1}\n[ ] ", "", 4},
		{`[{"a":1},`, "", 0},
		{"[{\"a\":1},\n \n", "", 1},
		{`{"a":1} b`, "", 0},
	} {
		_, resumes, s := splitAt(c.content, 3)
		if line, size, open := s.Tail(); string(line) != c.line || size != c.size || open != (c.line != "") || resumes[1] != int64(len(c.content))-size {
			t.Errorf("%q: tail %q (open: %t), %d bytes from %d", c.content, line, open, size, resumes[1])
		}
	}
}

func TestObjectsAreBounded(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", MaxLine) + `"}`
	var got []string
	s := NewSplitter(0, func(line []byte) {
		if line == nil {
			got = append(got, "too long")
		} else {
			got = append(got, string(line))
		}
	})
	s.SplitObjects(ObjectsBegin)
	for block := range slices.Chunk([]byte(`[{"b":1},`+long+`,{"c":2}]`), 64<<10) {
		s.Split(block)
	}
	if want := []string{`{"b":1}`, "too long", `{"c":2}`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if l := s.LongLines(); l.Count != 1 || l.Line != 2 || l.Offset != 9 {
		t.Errorf("long lines: %+v", l)
	}
}

func TestFirstLinesAreLinesOrObjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content string
		lines   []string
		objects bool
	}{
		{"a\nb\nc", []string{"a", "b"}, false},
		{"[10/Oct/2000:13:55:36 -0700] x", []string{"[10/Oct/2000:13:55:36 -0700] x"}, false},
		{`{"a":1}` + "\n" + `{"b":2}` + "\n", []string{`{"a":1}`, `{"b":2}`}, false},
		{`[{"a":1},{"b":2},{"c":3}]`, []string{`{"a":1}`, `{"b":2}`}, true},
		{"\ufeff[\n  {\n   \"a\": 1\n  }\n]", []string{"{\n   \"a\": 1\n  }"}, true},
		{`{"records":[{"a":1},{"b`, []string{`{"a":1}`, `{"b`}, true},
		{`{"events":[{"a":1},{"b`, []string{`{"a":1}`, `{"b`}, true},
		{"a [\n[{\"b\":2},{\"c\":3}]", []string{"a [", `{"b":2}`}, true},
		{"{\"a\":1}\n{\"events\":[{\"b\":2}]}", []string{`{"a":1}`, `{"b":2}`}, true},
		{"a\n[b] {\"c\":3}", []string{"a", `[b] {"c":3}`}, false},
		{"{\n \"a\": 1\n}\n", []string{"{\n \"a\": 1\n}"}, true},
		{`{"a":1}{"b":[{"c":2},{"d":3}]}`, []string{`{"a":1}`, `{"b":[{"c":2},{"d":3}]}`}, true},
		{"{\"a\":1}\n {\"b\":2}, {\"c\":3", []string{`{"a":1}`, `{"b":2}`}, true},
		{`{"a":[{"b":1},{"c":2}],"d":"}{\"","e":{"f":3}}`, []string{`{"a":[{"b":1},{"c":2}],"d":"}{\"","e":{"f":3}}`}, false},
		{`8.8.8.8 {"a":1}{"b":2}`, []string{`8.8.8.8 {"a":1}{"b":2}`}, false},
		{`{"messageType":"DATA_MESSAGE","owner":"1","logEvents":[{"id":"1"}]}`, []string{`{"id":"1"}`}, true},
		{"", []string{""}, false},
	} {
		lines, objects := FirstLines([]byte(c.content), 2)
		if got := strings.Split(string(bytes.Join(lines, []byte("\x00"))), "\x00"); !slices.Equal(got, c.lines) || objects != c.objects {
			t.Errorf("%q: %q, objects %v", c.content, got, objects)
		}
	}
}

func FuzzObjects(f *testing.F) {
	f.Add([]byte(`[{"a":1},{"b":"]}\"{"}]`), uint16(5))
	f.Add([]byte(`{"records":[{"a":1}]}`), uint16(12))
	f.Add([]byte("8.8.8.8 - - [x]\n[{\"a\":1},\n{\"b\":2}]\n[10/Oct] {\n{\"c\":3}\n"), uint16(17))
	f.Add([]byte("{\"events\":[{\"a\":[1]}],\n\"b\":{\"c\":\"]\"}}\ntext"), uint16(21))
	f.Fuzz(func(t *testing.T, content []byte, at uint16) {
		cut := int(at) % (len(content) + 1)
		whole, _, first := splitAt(string(content), 0)
		parts, resumes, second := splitAt(string(content), cut)
		if !slices.Equal(whole, parts) || first.Resume() != second.Resume() {
			t.Fatalf("%q in one block, %q in two at %d: %q", whole, parts, cut, content)
		}
		if resumes[0] > int64(cut) || second.Offset() != int64(len(content)) {
			t.Fatalf("goes on at %d of %d bytes", resumes[0], cut)
		}
		if all, from, _ := continued(string(content), cut); !slices.Equal(all, whole) {
			t.Fatalf("%q continued at %d: %q, want %q", content, from, all, whole)
		}
		FirstLines(content, 3)
	})
}

// What is longer than the bound is one line, and what follows it is read on.
func TestWhatIsOpenBehindTheBoundIsAbandoned(t *testing.T) {
	t.Parallel()
	blanks := strings.Repeat(" ", MaxLine)
	for name, begin := range map[string]string{
		"object": "{\"a\":1," + blanks + "\n", "string": `{"` + blanks + "\n", "bracket": "[" + blanks + "x\n",
		"brace": "{" + blanks + "\n", "records": `{"records":[{}],` + blanks + "\n", "lines": "{\"a\":1," + strings.Repeat("\n\"x\",", MaxLine/5) + "\n",
	} {
		for _, size := range []int{300 << 10, 4 * MaxLine} {
			lines, long := int64(0), 0
			s := NewSplitter(0, func(line []byte) {
				if lines++; line == nil {
					long++
				}
			})
			s.SplitObjects(ObjectsBegin)
			for block := range slices.Chunk([]byte(begin+"8.8.8.8 x\n8.8.4.4 y\n"), size) {
				s.Split(block)
			}
			if _, _, open := s.Tail(); long != 1 || lines < 3 || open || s.LongLines().Count != 1 {
				t.Errorf("%s in blocks of %d bytes: %d lines, %d of them too long; open: %t", name, size, lines, long, open)
			}
		}
	}
}

// textOf returns the lines of content that are no JSON, without the blanks before them.
func textOf(content []byte) (lines []string) {
	for line := range bytes.Lines(append(bytes.Clone(content), '\n')) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		for len(line) > 0 && isBlank(line[0]) {
			line = line[1:]
		}
		if !undecidedText.Match(line) {
			lines = append(lines, string(line))
		}
	}
	return lines
}

// undecidedText begins lines that are JSON, or what else may come next decides.
var undecidedText = regexp.MustCompile(`^(\{|\[[ \t\r\x00]*(\{|\]?[ \t\r\x00]*$))`)

func FuzzText(f *testing.F) {
	f.Add([]byte("[]\xbb\n\xef\n8.8.8.8 - - [x] {\n[ INFO ] {\"\n[] y\n]\n, }\n\n\"a\",[[\n[[{"), uint16(9))
	f.Fuzz(func(t *testing.T, content []byte, at uint16) {
		var all strings.Builder
		var want []string
		for _, line := range textOf(append([]byte("not a byte order mark\n"), content...)) {
			all.WriteString(line + "\n[{\"a\":[]},\n {\"b\":\"}\"}\n]\n{\"Records\" : [ {\"c\":{}}]\n}\n")
			want = append(want, line, `{"a":[]}`, `{"b":"}"}`, `{"c":{}}`)
		}
		if got, _, _ := splitAt(all.String(), int(at)%(all.Len()+1)); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func FuzzCutOffObject(f *testing.F) {
	object := "{\"a\":{\"b\":[1,\"x\\\"y\",{\"c\":null}],\"d\":-1.5e3},\n \"f\":[\n1,\ntrue,\n{\"g\": 2}\n]\n}"
	logs := []string{
		`8.8.8.8 - - [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "x {\"y\": [1"`, `::1 - - [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 5`,
		`[10/Oct/2025:13:55:36 +0000] 8.8.8.8 "GET /[ HTTP/1.1" 200`, `www.example.org 8.8.8.8 {`, `"8.8.8.8","2025-10-10","GET /"`, `{"remote_addr":"8.8.8.8","a":[{"b":1}]}`,
		"-",
	}
	f.Add(uint16(0), uint16(1), uint8(0), "")
	for i := range len(object) {
		f.Add(uint16(i), uint16(i), uint8(i), "[")
	}
	f.Fuzz(func(t *testing.T, cut, block uint16, log uint8, before string) {
		line := logs[int(log)%len(logs)]
		content := object[:1+int(cut)%(len(object)-1)] + "\n" + strings.Repeat(line+"\n", 10)
		if before == "[" {
			content = "[" + object + ",\n" + content
		}
		got, _, s := splitAt(content, int(block)%(len(content)+1))
		n := 0
		for _, passed := range got {
			if passed == line {
				n++
			}
		}
		if tail, _, open := s.Tail(); n < 9 || open {
			t.Fatalf("%d of 10 lines: %q, and the tail %q", n, got, tail)
		}
	})
}

// A reader that goes on needs an object from its beginning, however long it is.
func TestNothingOfAnOpenObjectIsSkipped(t *testing.T) {
	t.Parallel()
	s := NewSplitter(0, func([]byte) {})
	s.SplitObjects(ObjectsBegin)
	s.Split([]byte(`[{"a":"`))
	s.Split(bytes.Repeat([]byte("}"), 2*MaxLine))
	if n, tooLong := s.Inside(); n != 0 || tooLong {
		t.Errorf("%d bytes, too long: %t", n, tooLong)
	}
}
