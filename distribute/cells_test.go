package distribute

import (
	"fmt"
	"testing"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

func TestCellUseIsOfAllDaysCutsAndMeasures(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.Open(t, redistest.URL(t)))
	s.subscribe("s", "country-day by=day,path by=day measure=bytes")
	if use, err := s.c.CellUse(t.Context(), "s"); err != nil || use != (CellUse{}) {
		t.Errorf("without counts: %+v, %v", use, err)
	}
	add := func(group string, members ...any) {
		key := s.k.subscriber("s").totals(group)
		for _, member := range members {
			s.do([]any{"ZADD", key, 1, member})
		}
		s.do([]any{"ZADD", s.k.subscriber("s").groups(), 0, group})
	}
	const cells = 150
	for i := range cells {
		add("2026-11-01", fmt.Sprintf("/%03d", i))
	}
	add("2026-11-01 0 bytes", "/001")
	add("2026-11-01 1", cuts.Any)
	add(cuts.AccountGroup, "2026-11-01 counted")
	add("2026-11-03", "/001", "/002")
	use, err := s.c.CellUse(t.Context(), "s")
	if want := (CellUse{Days: 2, Largest: cells, Cells: cells + 4, Bytes: (cells + 4) * 104}); err != nil || use != want {
		t.Errorf("%+v, %v, want %+v", use, err, want)
	}
}
