package distribute

import (
	"testing"
	"time"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

func TestLastDaysAreByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	if err := db.SetEmbeddedTime(time.Date(2020, 3, 4, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	s := newScriptRunner(t, db)
	s.subscribe("s", "country-day by=day,country")
	const future = "2020-09-01" // by Redis, not by this machine
	for _, day := range []string{"2020-03-01", "2020-03-05", future} {
		s.do([]any{"ZADD", s.k.subscriber("s").groups(), 0, day}, []any{"ZADD", s.k.subscriber("s").totals(day), 7, "US"})
	}
	report, err := s.c.Report(t.Context(), "s", &cuts.Query{Last: 2})
	if err != nil {
		t.Fatal(err)
	}
	if table := report.Tables[0]; table.From != "2020-03-04" || table.To != "2020-03-05" || table.Total.Requests != 7 {
		t.Errorf("from %s to %s: %d requests", table.From, table.To, table.Total.Requests)
	}
}
