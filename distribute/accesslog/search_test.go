package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// A countingParser counts the lines that a search tries.
type countingParser struct {
	unknown
	lines int
}

func (p *countingParser) Parse([]byte) (Record, Verdict) {
	p.lines++
	return Record{}, Unparsable
}

// autoOf returns the parser of a file in a format.
func autoOf(t *testing.T, name string) *autoParser {
	t.Helper()
	f, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return Choice{Format: f}.NewAuto(Options{}).(*autoFile).Parser.(*autoParser)
}

func TestFewUnparsableLinesAreTriedWithAllFormats(t *testing.T) {
	t.Parallel()
	const lines = 10_000
	for form, most := range map[string]int{
		"%[1]d is no line of a log": freeMisses + lines/missInterval + 10,
		"%[2]s is no line of a log": 2*freeMisses + lines/missInterval + lines/unlikeInterval + 1,
	} {
		p := autoOf(t, "combined")
		counting := &countingParser{}
		p.search = newElection()
		p.search.parsers[0] = counting
		for i := range lines {
			word := strings.Map(func(digit rune) rune { return digit + 'k' - '0' }, strconv.Itoa(i))
			if _, verdict := p.Parse(fmt.Appendf(nil, form, i, word)); verdict != Unparsable {
				t.Fatal(verdict)
			}
		}
		if counting.lines == 0 || counting.lines > most || len(p.misses.Shapes) > maxShapes {
			t.Errorf("%s: %d of %d lines were tried, want at most %d; %d shapes", form, counting.lines, lines, most, len(p.misses.Shapes))
		}
	}
}

func TestFormatIsFoundBehindManyUnparsableLines(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"caddy": unlikeInterval, "w3c": 1} {
		p := autoOf(t, "combined")
		p.misses = misses{Count: 1001, Unlike: freeMisses + 1001/unlikeInterval} // all were unlike the others
		f, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		example := []byte(f.Example())
		if header, line, found := strings.Cut(f.Example(), "\n"); found {
			if _, verdict := p.Parse([]byte(header)); verdict != NotALine {
				t.Errorf("%s: the header line is not read", name)
			}
			example = []byte(line)
		}
		missed := 0
		for missed < most {
			if _, verdict := p.Parse(example); verdict == Parsed {
				break
			}
			missed++
		}
		if missed >= most {
			t.Errorf("%s: %d lines were not read, want less than %d", name, missed, most)
		}
	}
}
