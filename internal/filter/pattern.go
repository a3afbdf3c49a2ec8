package filter

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

// Bounds of the regular expressions of a filter.
const (
	maxPatterns    = 10
	maxPatternSize = 2000 // characters and classes, repeated ones as often as they are repeated
)

// compilePattern compiles the regular expression of a comparison.
func (c *checker) compilePattern(cmp *comparison, at file.Location) error {
	text := cmp.constants[0].value.text
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return refuse(at, "%v: want a regular expression of RE2", err)
	}
	if patternSize(parsed) > maxPatternSize {
		return refuse(at, "the regular expression is too large: it repeats too much")
	}
	if c.patterns++; c.patterns > maxPatterns {
		return refuse(at, "more than %d regular expressions", maxPatterns)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return refuse(at, "%v", err)
	}
	cmp.pattern = &pattern{compiled: compiled, size: patternSize(parsed)}
	if parsed.Op == syntax.OpLiteral && parsed.Flags&syntax.FoldCase != 0 && isASCII(string(parsed.Rune)) {
		cmp.pattern.folded = foldedPattern(strings.ToLower(string(parsed.Rune)), compiled)
	}
	return nil
}

// A pattern is a compiled regular expression.
type pattern struct {
	compiled *regexp.Regexp
	size     int
	folded   func(string) bool // does the same faster; nil for none
}

// maxSteps is the number of steps, a byte of a text for a part of a regular expression, that a
// match may take at once: less than a millisecond.
const maxSteps = 1 << 14

// matcher returns the function that matches texts. stop may be nil.
func (p *pattern) matcher(stop func() bool) func(string) bool {
	switch {
	case p.folded != nil:
		return p.folded
	case stop == nil:
		return p.compiled.MatchString
	}
	return func(text string) bool {
		if len(text)*p.size <= maxSteps {
			return p.compiled.MatchString(text)
		}
		return p.compiled.MatchReader(&stoppable{text, stop, 0, maxSteps / p.size})
	}
}

// A stoppable reads a text until stop returns true, which it calls every few bytes.
type stoppable struct {
	text  string
	stop  func() bool
	next  int // the number of bytes after which to call it; the text gets shorter
	every int
}

func (s *stoppable) ReadRune() (r rune, size int, err error) {
	if s.next--; s.next < 0 {
		if s.next = s.every; s.stop() {
			s.text = ""
		}
	}
	if s.text == "" {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(s.text)
	s.text = s.text[size:]
	return r, size, nil
}

// patternSize returns the size of a regular expression without the short forms of repetitions.
func patternSize(re *syntax.Regexp) int {
	size := max(1, len(re.Rune))
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(1, re.Min, re.Max)
	}
	return min(size, maxPatternSize+1)
}

// foldedPattern returns a function that does what a regular expression for a text in upper or
// lower case does, faster for texts in ASCII. (Outside of it, some letters are k and s.)
func foldedPattern(lower string, pattern *regexp.Regexp) func(string) bool {
	return func(text string) bool {
		if !isASCII(text) {
			return pattern.MatchString(text)
		}
		for i := 0; i+len(lower) <= len(text); i++ {
			if lowerASCII(text[i]) == lower[0] && equalFolded(text[i:i+len(lower)], lower) {
				return true
			}
		}
		return false
	}
}

func equalFolded(text, lower string) bool {
	for i := range len(lower) {
		if lowerASCII(text[i]) != lower[i] {
			return false
		}
	}
	return true
}

func lowerASCII(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
