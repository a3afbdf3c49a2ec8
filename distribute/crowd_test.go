package distribute

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

// Each commit is folded by a process that is stopped after some commands, and then by two others
// at the same time.
func TestCellsOfADayAreBoundedAndTheirSumsExact(t *testing.T) {
	t.Parallel()
	const bound = cuts.MinMaxCells
	url := redistest.URL(t)
	s := newScriptRunner(t, redistest.Open(t, url))
	s.subscribe("s", fmt.Sprintf("country-day by=day,path,status measure=bytes max-cells=%d", bound))
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string]int64{}
	for commit := range 8 {
		name := commitName("f", 1, int64(commit))
		for range 400 {
			path := fmt.Sprint("/", random.IntN(20+commit*random.IntN(60)))
			member, n := cuts.Member([]string{path, fmt.Sprint(200 + random.IntN(3))}), int64(1+random.IntN(5))
			want[path] += n
			key := s.k.subscriber("s").sealedCells(name)
			s.do([]any{"HINCRBY", key, "2026-11-01\t" + member, n}, []any{"HINCRBY", key, "2026-11-01 0 bytes\t" + member, 10 * n})
		}
		s.do([]any{"SADD", s.k.subscriber("s").sealed(), name})
		killed, kill := context.WithCancel(t.Context())
		left := random.IntN(25)
		db := redistest.Open(t, url)
		db.AddHook(afterEach{func() {
			if left--; left < 0 {
				kill()
			}
		}})
		_ = newChannel(db, "web").totals("s").tidy(killed)
		kill()
		other := make(chan error, 1)
		go func() { other <- newChannel(s.c.db, "web").totals("s").tidy(t.Context()) }()
		if err := s.c.totals("s").tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-other; err != nil {
			t.Fatal(err)
		}
		s.boundedTo(bound, want)
	}
}

// boundedTo checks the report of s, whose requests by path are known, each with 10 bytes.
func (s scriptRunner) boundedTo(bound int, want map[string]int64) {
	s.t.Helper()
	if crowded := s.text("SMEMBERS", s.k.subscriber("s").crowded()); crowded != "[]" {
		s.t.Errorf("%s have too many cells", crowded)
	}
	report, err := s.c.Report(s.t.Context(), "s", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	sum, table := int64(0), report.Tables[0]
	for _, n := range want {
		sum += n
	}
	if len(table.Rows) > bound || table.Total.Requests != sum || table.Total.Bytes != 10*sum {
		s.t.Errorf("%d rows of %+v, want at most %d and %d requests", len(table.Rows), table.Total, bound, sum)
	}
	for _, row := range table.Rows {
		if row.Bytes != 10*row.Requests {
			s.t.Errorf("%+v: the measures were not moved together", row)
		}
		path, other := row.Values[1], row.Values[2] == cuts.Other
		if path != cuts.Other && row.Requests > want[path] || !row.AtLeast && !other && table.Folded > 0 || row.AtLeast && path == cuts.Other {
			s.t.Errorf("%+v, and there were %d requests", row, want[path])
		}
	}
	if len(want) > bound && table.Folded == 0 {
		s.t.Error("the report names no cells that were moved")
	}
}

func TestReportHasNoNegativeNumbersOfCellsThatWereMoved(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.Open(t, redistest.URL(t)))
	s.subscribe("s", "country-day by=day,path measure=bytes max-cells=100")
	const day = "2026-11-01"
	name := commitName("f", 1, 1)
	for _, series := range []struct {
		group string
		each  int64
	}{{day, 1}, {day + " 0 bytes", 10}} {
		s.do([]any{"ZADD", s.k.subscriber("s").totals(series.group), 50 * series.each, cuts.Other, 7 * series.each, "/kept"}, []any{"ZADD", s.k.subscriber("s").groups(), 3, series.group})
		for member, n := range map[string]int64{"/moved": -2, "/kept": -1, "/new": 4} {
			s.do([]any{"HSET", s.k.subscriber("s").sealedCells(name), series.group + "\t" + member, n * series.each})
		}
	}
	s.do([]any{"SADD", s.k.subscriber("s").sealed(), name})
	totals := s.c.totals("s")
	at, err := totals.snapshot(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := totals.read(t.Context(), at, nil, &report); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, row := range report.Tables[0].Rows {
		if got[row.Values[1]] = row.Requests; row.Bytes != 10*row.Requests {
			t.Errorf("%+v: the measures are apart", row)
		}
	}
	if want := map[string]int64{cuts.Other: 48, "/kept": 6, "/new": 4}; !maps.Equal(got, want) {
		t.Errorf("the report has %v, want %v", got, want)
	}
	if _, err := totals.release(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if after, err := s.c.Report(t.Context(), "s", nil); err != nil || len(after.Tables[0].Rows) != 3 || after.Tables[0].Total != report.Tables[0].Total {
		t.Errorf("after the fold the report has %+v, %v", after.Tables, err)
	}
}

// DifferentLine returns a line of which the client, the path and the agent come only once, on one of so many days.
func DifferentLine(i, days int) string {
	return fmt.Sprintf("9.%d.%d.%d - - [%02d/Nov/2026:00:00:00 +0000] \"GET /%0180d HTTP/1.1\" 200 1 \"-\" \"agent %0100d\"", i>>16, i>>8&255, i&255, 1+i%days, i, i)
}

// The memory is that of the cells of one commit, however many lines differ.
func TestDifferentLinesNeedBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const lines, maxBytes = 201_000, 100 << 20
	aggregation := newCounting(t, &CountingConfig{By: [][]string{{"day", "path", "browser", "crawler"}}})
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // far below the bound
	}
	before, commits := used(), 0
	counter, err := aggregation.Begin([]byte(DifferentLine(0, 2)+"\n"), "")
	for i := range lines {
		if err != nil {
			t.Fatal(err)
		}
		if verdict := counter.Line([]byte(DifferentLine(i, 2))); verdict != Counted && verdict != Unknown {
			t.Fatalf("line %d: %v", i, verdict)
		}
		if isFull(counter) || i == lines-1 {
			result := &fileResult{cells: map[cellName]int64{}}
			counter.Cells(result.add)
			if now := used() - before; now > maxBytes {
				t.Errorf("%d MiB are used", now>>20)
			}
			commits++
			runtime.KeepAlive(result)
			counter, err = aggregation.Begin(nil, counter.State())
		}
	}
	if commits != 3 {
		t.Errorf("%d commits", commits)
	}
	if now := used() - before; now > 4<<20 {
		t.Errorf("after all commits %d MiB are used", now>>20)
	}
}
