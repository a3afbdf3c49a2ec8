package jobs

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"skidway/queue"
)

func TestBlocksHoldWholeLinesHoweverTheyAreRead(t *testing.T) {
	t.Parallel()
	const text = "a\n\nbb\n" + "ccc"
	for name, source := range map[string]io.Reader{
		"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
	} {
		read, got, last := newBlockReader(source), "", 0
		for more := true; more; {
			var b block
			b, more = read.next()
			if b.err != nil || b.first != last+1 || more && !strings.HasSuffix(string(b.text), "\n") {
				t.Fatalf("%s: block %+v after line %d", name, b, last)
			}
			got, last = got+string(b.text), b.last
		}
		if got != text || last != 4 {
			t.Errorf("%s: %q, %d lines", name, got, last)
		}
	}
}

func TestLineWithoutEndIsRefused(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader("{\"kind\":\"a\"}\n"), strings.NewReader(strings.Repeat("x", maxLine)), strings.NewReader(strings.Repeat("x", maxLine)))
	read := newBlockReader(endless)
	var b block
	for more := true; more; {
		b, more = read.next()
	}
	if b.err == nil || !strings.Contains(b.err.Error(), "line 2 is longer than 8.0 MiB") {
		t.Errorf("%v", b.err)
	}
}

func TestReadErrorEndsABatchAfterTheLinesBeforeIt(t *testing.T) {
	t.Parallel()
	read := newBlockReader(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(errors.New("disk gone"))))
	first, more := read.next()
	last, none := read.next()
	if string(first.text) != "a\n" || !more || none || last.err == nil || last.last != 1 {
		t.Errorf("%+v %v, %+v %v", first, more, last, none)
	}
}

// The fast reader of lines and the reader of JSON return the same job.
func FuzzPlainJob(f *testing.F) {
	for _, line := range []string{
		`{"kind":"a"}`, `{"kind":"a","args":{"x":[1,"}",{"y":"\""}]}}`, ` { "args" : null , "kind" : "b" } `,
		`{"kind":"a","kind":"b"}`, `{"kind":"a\u0062"}`, `{"kind":"a","max-attempts":3}`, `{"Kind":"a"}`, `{"kind":""}`, `{"":null,"kind":"a"}`, `{"args ":null,"kind":"b"}`, "{\"kind\":\"\x9a\"}", `{}`, `[]`, `{"kind":"a"}x`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if line = strings.TrimSpace(line); line == "" {
			return
		}
		short, ok := plainJob([]byte(line))
		if !ok {
			return
		}
		var long queue.NewJob
		if err := json.Unmarshal([]byte(line), &long); err != nil {
			t.Fatalf("%q is refused: %v", line, err)
		}
		shortArgs, _ := queue.MarshalArgs(short.Args)
		longArgs, _ := queue.MarshalArgs(long.Args)
		if short.Args.Kind() != long.Args.Kind() || string(shortArgs) != string(longArgs) || !reflect.DeepEqual(short.Options, long.Options) {
			t.Fatalf("%q: %v %s, not %v %s", line, short.Args, shortArgs, long.Args, longArgs)
		}
	})
}
