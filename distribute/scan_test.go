package distribute

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/accesslog"
	"skidway/distribute/stream"
)

// A wordCount is an Aggregation that counts each line in cells that are given
// to it.
type wordCount struct {
	cells   []Cell
	verdict Verdict
}

func (w wordCount) Settings() string                      { return "words" }
func (w wordCount) Build() string                         { return "" }
func (w wordCount) Begin([]byte, string) (Counter, error) { return w, nil }
func (w wordCount) Line([]byte) Verdict                   { return w.verdict }
func (w wordCount) State() string                         { return "" }
func (w wordCount) Cells(yield func(Cell)) {
	for _, cell := range w.cells {
		yield(cell)
	}
}

// counted drops the cells that came to nothing.
func counted(cells map[cellName]int64) map[cellName]int64 {
	cells = maps.Clone(cells)
	maps.DeleteFunc(cells, func(_ cellName, n int64) bool { return n == 0 })
	return cells
}

func TestSubtractedLastLineLeavesNothing(t *testing.T) {
	t.Parallel()
	name := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return strings.ReplaceAll(string(b), "\t", "") })
	cell := rapid.Custom(func(t *rapid.T) Cell {
		return Cell{name.Draw(t, "group"), name.Draw(t, "member"), rapid.Int64Range(-1<<53, 1<<53).Draw(t, "n")}
	})
	rapid.Check(t, func(t *rapid.T) {
		words := wordCount{rapid.SliceOf(cell).Draw(t, "cells"), Verdict(rapid.IntRange(0, int(Expired)).Draw(t, "verdict"))}
		line := rapid.SliceOfN(rapid.Byte(), 1, -1).Draw(t, "line")
		before := Tally{Lines: 7, Counted: 4, Unknown: 2, Unparsable: 1, Bytes: 100}
		file := &fileResult{cells: map[cellName]int64{}, tally: before}
		file.add(Cell{"2026-11-01", "US", 5})
		cells := counted(file.cells)
		if err := file.addTail(words, line, int64(len(line)), true, ""); err != nil {
			t.Fatal(err)
		}
		if file.tally.Bytes != before.Bytes+int64(len(line)) {
			t.Fatalf("a last line of %d bytes made of %+v: %+v", len(line), before, file.tally)
		}
		if err := file.subtractTail(file.tail.format()); err != nil {
			t.Fatal(err)
		}
		if file.tally != before {
			t.Fatalf("tally %+v, want %+v", file.tally, before)
		}
		if got := counted(file.cells); !maps.Equal(got, cells) {
			t.Fatalf("cells %v, want %v", got, cells)
		}
	})
}

// The lines of days that are refused, those of the tail included, stay in the sums as expired ones.
func TestCellsOfARefusedDayExpire(t *testing.T) {
	t.Parallel()
	aggregation := newCounting(t, nil)
	counter, err := aggregation.Begin([]byte("8.8.8.8 2026-11-01 x\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	var seen verdicts
	for _, line := range []string{"8.8.8.8 2026-11-01", "10.0.0.1 2026-11-01", "8.8.8.8 2026-11-02"} {
		seen.add(counter, []byte(line))
	}
	file := &fileResult{cells: map[cellName]int64{}, tally: seen.tally()}
	counter.Cells(file.add)
	if err := file.addTail(aggregation, []byte("10.0.0.2 2026-11-01"), 19, true, counter.State()); err != nil {
		t.Fatal(err)
	}
	file.expire(map[string]bool{"2026-11-01": true})
	if want := (Tally{Lines: 4, Counted: 1, Expired: 3, Bytes: 19}); file.tally != want || len(file.cells) != 2 {
		t.Errorf("%+v with %v, want %+v", file.tally, file.cells, want)
	}
	if got, want := file.tail.format(), "1 0 0 0 1 0 19\n"; got != want {
		t.Errorf("tail %q, want %q", got, want)
	}
}

func TestLastLineIsCountedAsItStands(t *testing.T) {
	t.Parallel()
	aggregation := newCounting(t, nil)
	before, err := aggregation.Begin([]byte("8.8.8.8 2026-11-01 x\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		line []byte
		want Tally
	}{
		{"whole", []byte("8.8.8.8 2026-11-01 x"), Tally{Lines: 1, Counted: 1, Bytes: 20}},
		{"no country", []byte("10.0.0.1 2026-11-01"), Tally{Lines: 1, Unknown: 1, Private: 1, Bytes: 20}},
		{"cut off", []byte("8.8.8.8 2026-"), Tally{Lines: 1, Unparsable: 1, Bytes: 20}},
		{"too long to be looked at", nil, Tally{Lines: 1, Unparsable: 1, Bytes: 20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := &fileResult{cells: map[cellName]int64{}}
			if err := file.addTail(aggregation, c.line, 20, true, before.State()); err != nil {
				t.Fatal(err)
			}
			if file.tally != c.want {
				t.Errorf("%+v, want %+v", file.tally, c.want)
			}
		})
	}
}

// A pickyAggregation refuses every file.
type pickyAggregation struct{ wordCount }

var errPicky = errors.New("not this one")

func (pickyAggregation) Begin([]byte, string) (Counter, error) { return nil, errPicky }

func TestWhatClosesAnArrayIsNoLine(t *testing.T) {
	t.Parallel()
	aggregation := newCounting(t, nil)
	before, err := aggregation.Begin([]byte("8.8.8.8 2026-11-01"), "")
	if err != nil {
		t.Fatal(err)
	}
	file := &fileResult{cells: map[cellName]int64{}}
	if err := file.addTail(aggregation, nil, 20, false, before.State()); err != nil || file.tally != (Tally{Bytes: 20}) {
		t.Errorf("%+v, %v", file.tally, err)
	}
}

func TestAggregationThatRefusesTheLastLineIsHeard(t *testing.T) {
	t.Parallel()
	file := &fileResult{cells: map[cellName]int64{}}
	if err := file.addTail(pickyAggregation{}, []byte("x"), 1, true, ""); !errors.Is(err, errPicky) {
		t.Error(err)
	}
}

func TestMalformedRecordOfALastLineIsAnError(t *testing.T) {
	t.Parallel()
	const tally = "1 1 0 0 0 0 20\n"
	for _, c := range []struct{ name, tail string }{
		{"blank", "\n"},
		{"words", "no numbers here"},
		{"a number too few", "1 1 0 0 0 0"},
		{"a number too many", "1 1 0 0 0 0 20 5"},
		{"an overflow", "1 1 0 0 0 0 99999999999999999999"},
		{"a cell without a number", tally + `"2026-11-01" "US"` + "\n"},
		{"a cell whose number is none", tally + `x "2026-11-01" "US"` + "\n"},
		{"a cell without a member", tally + `1 "2026-11-01"` + "\n"},
		{"a cell without quotes", tally + "1 2026-11-01 US\n"},
		{"a cell that is cut off", tally + `1 "2026-11-01" "U`},
		{"something behind a cell", tally + `1 "2026-11-01" "US" x` + "\n"},
		{"a blank cell", tally + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := &fileResult{cells: map[cellName]int64{}}
			if err := file.subtractTail(c.tail); err == nil || !strings.Contains(err.Error(), "malformed") {
				t.Errorf("%q: %v, cells %v", c.tail, err, file.cells)
			}
		})
	}
}

func FuzzTakeBack(f *testing.F) {
	f.Add("")
	f.Add("1 1 0 0 0 0 20\n1 \"2026-11-01\" \"US\"\n")
	f.Add("1 0 0 0 0 1 -20\n-5 \"\\xff\\n\" `raw`\n")
	f.Add("1 1 0 0 0 0 20\n1 \"a\tb\" \"\\")
	f.Fuzz(func(t *testing.T, tail string) {
		file := &fileResult{cells: map[cellName]int64{}}
		if err := file.subtractTail(tail); err == nil && len(file.cells) > strings.Count(tail, "\n") {
			t.Fatalf("%q has %d cells, want none", tail, len(file.cells))
		}
	})
}

func TestTallySumsUpVerdicts(t *testing.T) {
	t.Parallel()
	var seen verdicts
	for verdict, n := range map[Verdict]int{Counted: 3, Unknown: 2, Unparsable: 4, NoLine: 5, Filtered: 6, Expired: 8, Expired + 1: 1} {
		for range n {
			seen.add(wordCount{verdict: verdict}, []byte{})
		}
	}
	seen.add(wordCount{verdict: Counted}, nil) // too long to be looked at
	if got, want := seen.tally(), (Tally{Lines: 25, Counted: 3, Unknown: 2, Filtered: 6, Expired: 8, Unparsable: 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestLinesOfDaysWithoutRoomAreExpiredBeforeTheyAreFiltered(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range MaxDays {
		lines = append(lines, "8.8.8.8 "+accesslog.Day(10_000+i).String())
	}
	lines = append(lines, "10.0.0.1 "+accesslog.Day(10_000).String(), "10.0.0.1 2026-11-01")
	_, tally := countLines(t, newCounting(t, &CountingConfig{By: [][]string{{"day"}}, Where: `country == "US"`}), lines)
	if want := (Tally{Lines: MaxDays + 2, Counted: MaxDays, Filtered: 1, Expired: 1}); tally != want {
		t.Errorf("%+v, want %+v", tally, want)
	}
}

// endingContent is lines, or objects on lines of their own and in arrays, with NULs and long lines between
// them.
func endingContent(t *rapid.T, objects bool) []byte {
	line := "8.8.8.8 2026-11-01 %d\n"
	pieces := []string{line, line, line, strings.Repeat("\x00", 3000), strings.Repeat("y", 9000)}
	if objects {
		object := `{"remote_addr":"8.8.8.8","time_iso8601":"2026-11-01T00:00:00Z","status":"200","request":"GET /%d HTTP/1.1"}`
		line = object + "\n"
		pieces = []string{line, line, "[\n " + object + ",\n" + object + "\n]\n", "[\n {xyz text\n", `{"records": [` + object + "\n]}\n"}
	}
	out := bytes.Repeat(fmt.Appendf(nil, line, 1), 1+stream.HeadSize/len(line))
	for i, piece := range rapid.SliceOfN(rapid.IntRange(0, len(pieces)-1), 20, 200).Draw(t, "pieces") {
		out = append(out, strings.ReplaceAll(pieces[piece], "%d", strconv.Itoa(i))...)
	}
	return out[:len(out)-rapid.IntRange(0, 60).Draw(t, "cut")]
}

// A plain file is read in blocks of any size, with commits, and again from the place where another worker goes on.
func TestEndingIsThatOfTheContentBeforeResume(t *testing.T) {
	t.Parallel()
	a := newCounting(t, nil)
	recorded := 0
	rapid.Check(t, func(t *rapid.T) {
		content := endingContent(t, rapid.Bool().Draw(t, "objects"))
		before := progress{}
		check := func() {
			if e := before.ending; e.Size > 0 {
				if recorded++; e != stream.EndingOf(before.resume, content[before.resume-int64(e.Size):before.resume]) {
					t.Fatalf("the ending at %d, of %d bytes, is not that of the content", before.resume, e.Size)
				}
			}
		}
		open := func(from stream.Checkpoint) *fileScan {
			s := newFileScan(a, before, 0, new(atomic.Int64))
			upload := record{codec: stream.Plain, segment: 1 << 16, upload: int64(len(content))}
			s.parts = newPartCommits(WorkerConfig{CommitBytes: 1 << 40, CommitInterval: time.Hour}, upload, 1<<30, from, func(result *fileResult, _ []byte) error {
				before = result.progress
				check()
				return nil
			})
			s.seek(from)
			return s
		}
		s := open(stream.Checkpoint{})
		for at := int64(0); at < int64(len(content)); {
			n := int64(rapid.IntRange(100, 5000).Draw(t, "block"))
			if at < stream.HeadSize {
				n = stream.HeadSize
			}
			n = min(n, int64(len(content))-at)
			if _, err := s.Write(bytes.Clone(content[at : at+n])); err != nil {
				t.Fatal(err)
			}
			at += n
			switch rapid.IntRange(0, 9).Draw(t, "then") {
			case 0:
				if err := s.commitAll(atAnyEnd); err != nil {
					t.Fatal(err)
				}
			case 1: // another worker
				at = max(before.keep, before.resume+before.inside.bytes-stream.EndingSize, 0)
				s = open(stream.Checkpoint{Raw: at, Content: at})
			case 2: // the same one, after a wait
				if err := s.commitAll(atAnyEnd); err != nil {
					t.Fatal(err)
				}
				from := s.rewind()
				s.seek(from)
				at = from.Content
			}
		}
		result, err := s.result(nil)
		if err != nil {
			t.Fatal(err)
		}
		before = result.progress
		check()
	})
	if recorded == 0 {
		t.Error("no ending was recorded")
	}
}
