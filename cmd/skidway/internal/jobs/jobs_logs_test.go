package jobs

import (
	"strings"
	"testing"
)

func TestNewLinesAreThoseNotSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ seen, lines, want string }{
		"first":         {"", "a b", "a b"},
		"none":          {"a b", "a b", ""},
		"more":          {"a b", "a b c", "c"},
		"some dropped":  {"a b c", "b c d", "d"},
		"all dropped":   {"a b", "x y", "x y"},
		"repeated text": {"a a", "a a a", "a"},
	} {
		if got := strings.Join(newLines(strings.Fields(c.seen), strings.Fields(c.lines)), " "); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
