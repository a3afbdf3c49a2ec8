package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

// counter makes a subscriber, or has it count further: so many lines of each day, which are in one
// commit; more commits before it are folded.
func (s scriptRunner) counter(name, settings string, lines int, days ...string) {
	s.t.Helper()
	s.subscribe(name, settings)
	commit := commitName("f", 1, parseInt(s.field(s.k.subscriber(name).record(), "version"))+1)
	for _, day := range days {
		key := s.k.subscriber(name).sealedCells(commit)
		for _, cell := range []string{"\tUS", " 0 bytes\tUS", " 1\t/a", " 1 bytes\t/a"} {
			s.do([]any{"HSET", key, day + cell, lines})
		}
		s.do([]any{"ZADD", s.k.subscriber(name).days(), 0, day}, []any{"HSET", key, "accounts\t" + day + " counted", lines - 1, "accounts\t" + day + " unknown", 1, "accounts\t" + day + " private", 1})
		for field, n := range map[string]int{"lines": lines + 1, "unparsable": 1, "counted": lines - 1, "unknown": 1, "private": 1, "build:made 1": lines} {
			s.do([]any{"HINCRBY", s.k.subscriber(name).record(), field, n})
		}
	}
	if err := s.c.totals(name).tidy(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.do([]any{"SADD", s.k.subscriber(name).sealed(), commit}, []any{"HINCRBY", s.k.subscriber(name).record(), "version", 1})
}

const sourceSettings = "country-day by=day,country by=path measure=bytes"

// export exports a subscriber.
func (s scriptRunner) export(name string) string {
	s.t.Helper()
	var out bytes.Buffer
	if _, err := s.c.Export(s.t.Context(), name, &out); err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// imports imports an export into s, and returns what is wrong or changed.
func (s scriptRunner) imports(text string) string {
	_, changed, err := s.c.Import(s.t.Context(), "s", strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(changed)
}

// lines returns the lines that a report of s has; it fails the test if rows and sums part.
func (s scriptRunner) lines(at string) int64 {
	s.t.Helper()
	report, err := s.c.Report(context.Background(), "s", nil)
	if err != nil || report.Moving {
		s.t.Fatal(at, report.Moving, err)
	}
	t := report.Subscriber.Tally
	if t.Lines != t.Counted+t.Unknown+t.Expired+t.Unparsable {
		s.t.Errorf("%s: %+v", at, t)
	}
	for _, table := range report.Tables {
		if n := t.Counted + t.Unknown; table.Total.Requests != n || table.Total.Bytes != n {
			s.t.Errorf("%s, by %v: %+v of %+v", at, table.By, table.Total, t)
		}
	}
	return t.Lines
}

// importLeft returns the keys of imports of s.
func (s scriptRunner) importLeft() []string {
	return s.c.db.Keys(s.t.Context(), s.k.subscriber("s").record()+":import*").Val()
}

func TestSourcesAreAddedAndReplaced(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	s.counter("s", sourceSettings, 10, "2026-11-01")
	s.counter("a", sourceSettings+" max-cells=200 tz=as-written", 100, "2026-11-01", "2026-11-02")
	s.counter("b", sourceSettings, 1000, "2026-11-03")
	first, b := s.export("a"), s.export("b")
	steps := []struct {
		text, want string
		lines      int64
	}{
		{first, "true", 11 + 202}, {first, "false", 11 + 202}, {b, "true", 11 + 202 + 1001},
	}
	s.counter("a", sourceSettings, 5, "2026-11-02", "2026-11-04")
	again := s.export("a")
	if first == again || again != s.export("a") {
		t.Errorf("exports of two commits: %s%s", first, again)
	}
	steps = append(steps, []struct {
		text, want string
		lines      int64
	}{{again, "true", 11 + 202 + 12 + 1001}, {first, "false", 11 + 202 + 12 + 1001}}...)
	for i, step := range steps {
		if got := s.imports(step.text); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
		if got := s.lines("then"); got != step.lines {
			t.Errorf("step %d: %d lines, want %d", i, got, step.lines)
		}
	}
	if all, err := s.c.Subscribers(t.Context()); err != nil || all[slices.IndexFunc(all, func(other Subscriber) bool { return other.Name == "s" })].ImportedLines != 12+202+1001 {
		t.Errorf("%+v, %v", all, err)
	}
	if use, err := s.c.CellUse(t.Context(), "s"); err != nil || use.Days != 4 || use.Cells != 4*(1+3+1) {
		t.Errorf("%+v, %v", use, err)
	}
	if left := s.importLeft(); len(left) != 24 { // the fields, groups and days of two sources, and cells of 4 days and the accounts
		t.Errorf("left: %s", left)
	}
	if got := s.imports(s.export("s")); !strings.Contains(got, "count twice") {
		t.Error(got)
	}
	for remove, f := range map[string]func(context.Context, string) error{"reset": s.c.Reset, "unsubscribe": s.c.Unsubscribe} {
		s.counter("s", sourceSettings, 10, "2026-11-01")
		s.imports(b)
		if err := f(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if left := s.importLeft(); len(left) > 0 || s.exists(s.k.subscriber("s").sources()) != "0" {
			t.Errorf("%s leaves %s", remove, left)
		}
	}
}

func TestSourceThatWasCountedInAnotherWayIsRefused(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	s.counter("s", sourceSettings, 10, "2026-11-01")
	for settings, want := range map[string]string{
		"country-day by=day,country by=path:2 measure=bytes":        "--by",
		"country-day by=day,country by=path":                        "--measure",
		sourceSettings + " tz=Europe/Berlin":                        "--tz",
		sourceSettings + " tz=as-written log-tz=UTC":                "--log-tz",
		sourceSettings + ` tz=as-written where=country == "DE"`:     "--where",
		"country-day by=path by=day,country measure=bytes keep=40d": "--by",
	} {
		s.subscribe("other", settings)
		got := s.imports(s.export("other"))
		if !strings.Contains(got, "it was counted with "+want+" ") {
			t.Errorf("%s: %s", settings, got)
		}
		if err := s.c.Unsubscribe(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
	}
	s.subscribe("words", "words")
	if _, err := s.c.Export(t.Context(), "words", new(bytes.Buffer)); !errors.Is(err, ErrNotExported) {
		t.Error(err)
	}
}

func TestCellsThatASourceMovedIntoOthersMarkTheRowsOfAReport(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	s.counter("s", sourceSettings, 10, "2026-11-01")
	s.counter("a", sourceSettings, 100, "2026-11-01")
	s.counter("a", sourceSettings, 100, "2026-11-01") // folds what was before
	s.do([]any{"ZADD", s.k.subscriber("a").groups(), 3, "2026-11-01"}, []any{"ZINCRBY", s.k.subscriber("a").totals("2026-11-01"), -40, "US"}, []any{"ZADD", s.k.subscriber("a").totals("2026-11-01"), 40, cuts.Other},
		[]any{"ZINCRBY", s.k.subscriber("a").totals("2026-11-01 0 bytes"), -40, "US"}, []any{"ZADD", s.k.subscriber("a").totals("2026-11-01 0 bytes"), 40, cuts.Other})
	if got := s.imports(s.export("a")); got != "true" {
		t.Fatal(got)
	}
	s.lines("then")
	report, err := s.c.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	table := report.Tables[0]
	i := slices.IndexFunc(table.Rows, func(r cuts.Row) bool { return r.Values[1] == "US" })
	if table.Folded != 3 || i < 0 || !table.Rows[i].AtLeast || table.Rows[i].Requests != 170 {
		t.Errorf("%+v", table)
	}
	if len(report.Sources) != 1 || report.Sources[0].Tally.Lines != 202 || report.Sources[0].Commit != 2 || report.Sources[0].Imported.IsZero() || report.Subscriber.Builds[0].Lines != 210 {
		t.Errorf("%+v %+v", report.Sources, report.Subscriber.Builds)
	}
}

// By the clock of Redis nothing of these days is kept.
func TestDaysOfSourcesExpire(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	s.subscribe("s", sourceSettings+" keep=1d")
	s.counter("a", sourceSettings, 100, "2025-11-01", "2025-11-02")
	if got := s.imports(s.export("a")); got != "true" {
		t.Fatal(got)
	}
	if got := s.lines("then"); got != 202 {
		t.Errorf("%d lines", got)
	}
	report, err := s.c.Report(t.Context(), "s", nil)
	if err != nil || report.Subscriber.Tally.Expired != 200 || len(s.importLeft()) != 2 {
		t.Errorf("%+v %v, left %s", report.Subscriber.Tally, err, s.importLeft())
	}
}

// A process that ends after any of its commands is one that was killed.
func TestReportHasAllOrNothingOfAnImportWheneverAProcessIsKilled(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	s := newScriptRunner(t, redistest.Open(t, url))
	s.counter("s", sourceSettings, 10, "2026-11-01")
	s.counter("a", sourceSettings, 100, "2026-11-01")
	if got := s.imports(s.export("a")); got != "true" {
		t.Fatal(got)
	}
	before := int64(11 + 101)
	for n, done := 1, false; !done; n += 3 {
		s.counter("a", sourceSettings, 100, "2026-11-01")
		text, after := s.export("a"), before+101
		killed, kill := context.WithCancel(t.Context())
		db, left := redistest.Open(t, url), n
		db.AddHook(afterEach{func() {
			if left--; left <= 0 {
				kill()
			}
			// What reports have without those that complete it.
			if got := s.lines(fmt.Sprintf("command %d", n-left)); got != before && got != after {
				t.Errorf("command %d of %d: %d lines, want %d or %d", n-left, n, got, before, after)
			}
		}})
		_, done, _ = newChannel(db, "web").Import(killed, "s", strings.NewReader(text))
		kill()
		for id := range s.c.db.HGetAll(t.Context(), s.k.subscriber("s").imports()).Val() { // a lease that has ended
			s.do([]any{"HSET", s.k.subscriber("s").imports(), id, 1})
		}
		if before = s.lines("at last"); before == after && !done {
			done = true // killed behind the switch
		} else if before != after {
			before = after // of the next export, when this one is not imported
			if got := s.imports(text); got != "true" || s.lines("again") != after {
				t.Errorf("killed after %d commands: %s", n, got)
			}
		}
		if left := s.importLeft(); len(left) != 8 {
			t.Errorf("killed after %d commands: left %s", n, left)
		}
	}
}

// A report reads the first group of a source, and then the source is replaced.
func TestReportBesideAnImportHasOneOfBoth(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	s := newScriptRunner(t, redistest.Open(t, url))
	s.counter("s", sourceSettings, 10, "2026-11-01")
	s.counter("a", sourceSettings, 100, "2026-11-01", "2026-11-02")
	s.imports(s.export("a"))
	for n, done := 1, false; !done; n += 3 {
		s.counter("a", sourceSettings, 100, "2026-11-01", "2026-11-02")
		text := s.export("a")
		db, left := redistest.Open(t, url), n
		db.AddHook(afterEach{func() {
			if left--; left == 0 {
				s.imports(text)
			}
		}})
		reader := s
		reader.c = newChannel(db, "web")
		if got := reader.lines("beside"); (got-11)%202 != 0 {
			t.Errorf("command %d: %d lines", n, got)
		}
		done = left > 0
	}
}

// exportText is an export with cells of two days.
const exportText = `{"format":"skidway-counts","version":1,"source":"ABCDEFGHIJKLMNOPQRSTUVWX","epoch":0,"commit":2,"settings":"country-day by=day,country by=path measure=bytes","sums":{"lines":7,"counted":5,"unknown":1,"private":1,"unparsable":1},"builds":{"made 1":6}}
{"group":"accounts","cells":{"2026-11-01 counted":2,"2026-11-02 counted":3}}
{"group":"accounts","cells":{"2026-11-02 private":1,"2026-11-02 unknown":1}}
{"group":"2026-11-01","cells":{"DE":1,"US":1}}
{"group":"2026-11-01 1","moved":4,"cells":{"(other)":2}}
{"group":"2026-11-01 1 bytes","moved":4,"cells":{"(other)":200}}
{"group":"2026-11-02","cells":{"DE":3,"ZZ":1}}
{"group":"2026-11-02 1","cells":{"/a":4}}
{"end":true,"cells":11}
`

func TestDamagedExportIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	lines := strings.SplitAfter(exportText, "\n")
	damaged := map[string]string{"empty": "", "an end more": exportText + lines[8]}
	for i := range lines[:9] {
		damaged[fmt.Sprintf("without line %d", i+1)] = strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
		damaged[fmt.Sprintf("line %d twice", i+1)] = strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), "")
	}
	for old, others := range map[string][]string{
		`"version":1`: {`"version":2`}, `"epoch":0`: {`"epoch":-1`, `"epoch":9007199254740993`, `"epoch":1.5`, `"epoch":"0"`}, `"commit"`: {`"unknown":1,"commit"`},
		`ABCDEFGHIJKLMNOPQRSTUVWX`: {"", "a b c d e f g h i j", strings.Repeat("A", 65)}, `"lines":7`: {`"lines":8`, `"lines":-7`, `"many":7`}, `"private":1,"unparsable":1`: {`"private":2,"unparsable":1`},
		`"builds":{"made 1"`: {`"builds":{"made\n1"`, `"builds":{""`}, `"US":1`: {`"US":2`, `"US":-1`, `"US":0`, `"us":1`, `"XX":1`, `"U\u001fS":1`},
		`"2026-11-01 counted"`: {`"2026-11-31 counted"`, `"2026-11-01 many"`}, `"group":"2026-11-02 1"`: {`"group":"2026-11-02 2"`, `"group":"2026-11-03 1"`, `"group":"day"`, `"group":"2026-11-02 1 d0"`},
		`"moved":4,"cells":{"(other)":2}`: {`"moved":-4,"cells":{"(other)":2}`, `"cells":{}`, `"cells":{"":2}`, `"cells":{"\u0000":2}`}, `"cells":11`: {`"cells":10`, `"cells":11} {"end":true`},
		`"/a":4`: {`"` + strings.Repeat("a", 257) + `":4`, `"` + strings.Repeat("a", maxExportLine) + `":4`},
	} {
		for _, other := range others {
			damaged[fmt.Sprintf("%.40s for %s", other, old)] = strings.Replace(exportText, old, other, 1)
		}
	}
	for name, text := range damaged {
		_, changed, err := s.c.Import(t.Context(), "s", strings.NewReader(text))
		var refused *SourceError
		if changed || !errors.As(err, &refused) || refused.Line < 1 {
			t.Errorf("%s: %t %v", name, changed, err)
		}
	}
	if left := s.importLeft(); len(left) > 0 || s.exists(s.k.subscriber("s").sources()) != "0" {
		t.Errorf("left: %s", left)
	}
	if got := s.imports(exportText); got != "true" || s.field(s.k.subscribers(), "s") != sourceSettings { // the first one has created it
		t.Error(got)
	}
}

func FuzzExportsThatAreReadAddUp(f *testing.F) {
	f.Add([]byte(exportText))
	f.Add([]byte(strings.Replace(exportText, "US", "FR", 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := newExportReader(bytes.NewReader(text))
		head, err := r.readHead()
		if err != nil {
			return
		}
		var cells, requests int64
		err = r.readCells(func(c exportCells, day string) error {
			for _, n := range c.Cells {
				cells++
				if c.Group == day {
					requests += n
				}
			}
			return nil
		})
		if tally := head.source().Tally; err == nil && (requests != tally.Counted+tally.Unknown || cells != r.cells) {
			t.Errorf("%d cells with %d lines of %+v", cells, requests, tally)
		}
	})
}

// A source is replaced between the two reads of its subscriber, and an error of another one is no reason
// to leave lines out.
func TestLinesOfSourcesAreReadAgainIfOneIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	s, db := newScriptRunner(t, redistest.Open(t, url)), redistest.Open(t, url)
	reader, calls := newChannel(db, "web"), 0
	source := func(id, imported string, lines int) {
		s.do([]any{"HSET", s.k.subscriber("s").sources(), id, "0 1 " + imported})
		if lines > 0 {
			s.do([]any{"HSET", s.k.subscriber(importName("s", imported)).record(), "lines", lines})
		}
	}
	source("a", "1", 0)
	source("b", "2", 20)
	db.AddHook(afterEach{func() {
		if calls++; calls == 1 {
			source("a", "3", 10)
		}
	}})
	list := []Subscriber{{Name: "s"}}
	if err := reader.sourceCounts(t.Context(), list); err != nil || list[0].Sources != 2 || list[0].ImportedLines != 30 {
		t.Errorf("%+v, %v", list, err)
	}
	source("a", "4", 0)
	s.do([]any{"DEL", s.k.subscriber(importName("s", "2")).record()}, []any{"SET", s.k.subscriber(importName("s", "2")).record(), "text"})
	if err := reader.sourceCounts(t.Context(), list); !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Errorf("%+v, %v, want the error of the other source", list, err)
	}
}
