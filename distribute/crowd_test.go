package distribute

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

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
