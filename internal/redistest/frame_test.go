package redistest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// replyTable has one message of each kind.
var replyTable = map[string]string{
	"status":              "+OK\r\n",
	"error":               "-ERR unknown command\r\n",
	"number":              ":-42\r\n",
	"string":              "$5\r\nhello\r\n",
	"string with CRLF":    "$6\r\n+a\r\n:1\r\n",
	"empty string":        "$0\r\n\r\n",
	"null string":         "$-1\r\n",
	"list":                "*2\r\n$1\r\na\r\n:1\r\n",
	"empty list":          "*0\r\n",
	"null list":           "*-1\r\n",
	"nested lists":        "*2\r\n*1\r\n*0\r\n*2\r\n+a\r\n*-1\r\n",
	"null":                "_\r\n",
	"truth":               "#t\r\n",
	"double":              ",-1.5e3\r\n",
	"infinity":            ",inf\r\n",
	"big number":          "(3492890328409238509324850943850943825024385\r\n",
	"error with bytes":    "!8\r\nERR a\r\nb\r\n",
	"verbatim string":     "=8\r\ntxt:a\r\nb\r\n",
	"map":                 "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n",
	"empty map":           "%0\r\n",
	"set":                 "~3\r\n:1\r\n:2\r\n+x\r\n",
	"push":                ">2\r\n+message\r\n$1\r\nx\r\n",
	"map of maps":         "%1\r\n%1\r\n+k\r\n~0\r\n%1\r\n,1\r\n(1\r\n",
	"attributes":          "|1\r\n+ttl\r\n:3600\r\n$1\r\na\r\n",
	"attributes in lists": "*2\r\n|1\r\n+ttl\r\n:1\r\n:7\r\n:8\r\n",
}

func TestRepliesOfAllKindsAreDistinguished(t *testing.T) {
	t.Parallel()
	for name, message := range replyTable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One byte at a time, and the next message right behind it.
			in := newFrames(iotest.OneByteReader(strings.NewReader(message + "+next\r\n")))
			for _, want := range []string{message, "+next\r\n"} {
				if raw, err := in.reply(); string(raw) != want || err != nil {
					t.Errorf("got %q, %v, want %q", raw, err, want)
				}
			}
			if raw, err := in.reply(); len(raw) > 0 || err != io.EOF {
				t.Errorf("got %q, %v at the end", raw, err)
			}
		})
	}
}

func TestBrokenRepliesArePassedOnAsFarAsTheyCame(t *testing.T) {
	t.Parallel()
	for name, message := range replyTable {
		half := message[:len(message)-1]
		if raw, err := newFrames(strings.NewReader(half)).reply(); string(raw) != half || err != io.ErrUnexpectedEOF {
			t.Errorf("%s: got %q, %v", name, raw, err)
		}
	}
}

func TestWhatIsNotRESPIsRefused(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"unknown kind":         "?1\r\n",
		"no kind":              "\r\n",
		"no carriage return":   "+OK\n",
		"no length":            "$\r\n",
		"length below null":    "$-2\r\n",
		"length beyond limit":  "$536870913\r\n",
		"length is wrong":      "$1\r\nab\r\n",
		"streamed string":      "$?\r\n",
		"streamed list":        "*?\r\n",
		"list of unknown kind": "*1\r\n?\r\n",
	} {
		if _, err := newFrames(strings.NewReader(message)).reply(); !errors.Is(err, errFrame) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRequestsAreReadAsWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw   string
		words []string
	}{
		"list":                 {"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n", []string{"GET", "a\r\nb"}},
		"line":                 {"SET a  1\r\n", []string{"SET", "a", "1"}},
		"line without return":  {"PING\n", []string{"PING"}},
		"empty list":           {"*0\r\n", nil},
		"empty line":           {"\r\n", nil},
		"list of other things": {"*1\r\n:1\r\n", nil},
	} {
		raw, words, err := newFrames(strings.NewReader(c.raw + "*1\r\n")).request()
		if string(raw) != c.raw || !slices.Equal(words, c.words) || err != nil {
			t.Errorf("%s: got %q as %q, %v", name, raw, words, err)
		}
	}
}

// Whatever comes, the messages make up the bytes that were read, and the same
// bytes in other portions are the same messages.
func FuzzFramesKeepEveryByte(f *testing.F) {
	for _, message := range replyTable {
		f.Add([]byte(message + message))
	}
	f.Add([]byte("*1\r\n$536870912\r\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		for name, read := range map[string]func(*frames) ([]byte, error){
			"replies":  (*frames).reply,
			"requests": func(in *frames) ([]byte, error) { raw, _, err := in.request(); return raw, err },
		} {
			whole, single := newFrames(bytes.NewReader(stream)), newFrames(iotest.OneByteReader(bytes.NewReader(stream)))
			rest := stream
			for {
				raw, err := read(whole)
				again, other := read(single)
				if !bytes.Equal(raw, again) || err != other {
					t.Fatalf("%s: %q, %v in one portion, %q, %v in many", name, raw, err, again, other)
				}
				if !bytes.HasPrefix(rest, raw) {
					t.Fatalf("%s: %q is not the start of %q", name, raw, rest)
				}
				if rest = rest[len(raw):]; err != nil {
					if err != errFrame && len(rest) > 0 {
						t.Fatalf("%s: ended with %v before %q", name, err, rest)
					}
					break
				}
			}
		}
	})
}
