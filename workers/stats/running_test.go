package stats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestReportsAreReadTheLongestFirstAndExpire(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		jobs := []RunningJob{{ID: "q:0:n1-0", Kind: "a", Attempt: 2, For: time.Second}, {ID: "q:0:n2-0", Kind: "b", Attempt: 1, For: time.Minute}}
		f.must(Report(f.ctx, f.client, f.queue, "p1", jobs))
		f.must(Report(f.ctx, f.client, f.queue, "p2", nil))
		reports, err := Reports(f.ctx, f.client, "q")
		f.must(err)
		if len(reports) != 2 || len(reports[1].Jobs) != 0 || len(reports[0].Jobs) != 2 {
			t.Fatalf("%+v", reports)
		}
		first := reports[0].Jobs[0]
		if first.ID != "q:0:n2-0" || first.Kind != "b" || first.Pool != "p1" || first.For != time.Minute+reports[0].Age || reports[0].Jobs[1].Attempt != 2 {
			t.Errorf("%+v", reports[0])
		}
		if left := db.PTTL(f.ctx, f.queue.Key("running")).Val(); left <= 0 || left > WatchFor {
			t.Errorf("the reports are kept for %s", left)
		}
	})
}

func TestPoolsAreAskedOnceForManyWatchers(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		q, err := f.client.ForPool("q")
		f.must(err)
		for range 5 {
			f.must(Watch(f.ctx, f.client, "q"))
		}
		signals, _, err := q.Signals(f.ctx, queue.StreamCursor{Key: f.queue.Key("control"), ID: "0-0"})
		f.must(err)
		if len(signals) != 1 || signals[0].Kind != queue.SignalWatch {
			t.Errorf("the signals are %+v", signals)
		}
		if left := db.PTTL(f.ctx, f.queue.Key("watched")).Val(); left <= 0 || left > 10*time.Second {
			t.Errorf("pools are not asked for %s", left)
		}
	})
}

func TestRowsOfPoolsThatAreGoneAreRemovedWhileAQueueIsWatched(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		now, err := db.Time(f.ctx).Result()
		f.must(err)
		row := func(age time.Duration) string { return fmt.Sprint(now.Add(-age).UnixMilli(), " {}") }
		f.must(db.HSet(f.ctx, f.queue.Key("running"), "gone", row(31*time.Second), "damaged", "x", "lives", row(20*time.Second)).Err())
		f.must(Report(f.ctx, f.client, f.queue, "p", nil)) // looks at all of so few
		names, err := db.HKeys(f.ctx, f.queue.Key("running")).Result()
		f.must(err)
		slices.Sort(names)
		if !slices.Equal(names, []string{"lives", "p"}) {
			t.Errorf("the rows are %v", names)
		}
	})
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	var jobs []RunningJob
	for i := range 300 {
		jobs = append(jobs, RunningJob{ID: fmt.Sprintf("q:0:n%d-0", i), Kind: strings.Repeat("k", 128), For: time.Duration(i) * time.Second})
	}
	text := encodeReport(jobs)
	report, ok := parseReport("1700000000000 "+string(text), time.UnixMilli(1_700_000_001_000))
	if !ok || len(text) > maxReportedBytes || len(report.Jobs) < 20 || len(report.Jobs)+report.More != 300 || report.Jobs[0].For != 300*time.Second {
		t.Errorf("%d bytes, %d jobs and %d more", len(text), len(report.Jobs), report.More)
	}
	few, ok := parseReport("1700000000000 "+string(encodeReport(jobs[:3])), time.UnixMilli(1_700_000_000_000))
	if !ok || len(few.Jobs) != 3 || few.More != 0 {
		t.Errorf("%+v", few)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(`1700000000000 {"more":1,"jobs":[{"id":"a","kind":"b","attempt":1,"ms":5}]}`)
	f.Add(`-1 {}`)
	f.Add(`1700000000000 {"jobs":[{"ms":9223372036854775807}]}`)
	f.Fuzz(func(t *testing.T, row string) {
		report, ok := parseReport(row, time.UnixMilli(1_700_000_002_000))
		if !ok {
			return
		}
		if report.Age < 0 || report.Age > WatchFor || report.More < 0 || len(report.Jobs) > maxReported {
			t.Errorf("%q: %+v", row, report)
		}
		for _, job := range report.Jobs {
			if job.For < report.Age {
				t.Errorf("%q: %+v", row, job)
			}
		}
	})
}
