package stats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestErrorsAreGroupedByKindAndShape(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		f.count("mail", queue.AttemptRetry, 2, "dial tcp 10.0.0.1:25: timeout\nat line 1")
		f.count("mail", queue.AttemptRetry, 1, "dial tcp 10.0.0.2:25: timeout")
		f.count("web", queue.AttemptRetry, 1, "dial tcp 10.0.0.2:25: timeout")
		f.flush()
		f.count("mail", queue.AttemptDead, 1, "dial tcp 10.0.0.3:25: timeout")
		f.count("mail", queue.AttemptRetry, 1, "dial tcp 10.0.0.4:25: timeout")
		f.flush()
		groups, err := Errors(f.ctx, f.client, "q", 10)
		f.must(err)
		if len(groups) != 2 || groups[0].Kind != "mail" || groups[1].Kind != "web" {
			t.Fatalf("groups: %+v", groups)
		}
		g, web := groups[0], groups[1]
		if g.Shape != "dial tcp <address>: timeout" || g.Failed != 5 || g.Dead != 1 || g.Error != "dial tcp 10.0.0.3:25: timeout" || g.Job != "q:0:mail-0" {
			t.Errorf("%+v", g)
		}
		if g.Hours[ErrorHours-1]+g.Hours[ErrorHours-2] != 5 || g.First.After(g.Last) || g.First.IsZero() || web.Failed != 1 || web.Dead != 0 {
			t.Errorf("%+v, %+v", g, web)
		}
		if some, err := Errors(f.ctx, f.client, "q", 1); err != nil || len(some) != 1 || some[0] != g {
			t.Errorf("the latest: %+v, %v", some, err)
		}
	})
}

func TestErrorGroupsAreBoundedAndTheLastSeenStay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t), "")
	for round := range 11 {
		for n := range 100 {
			f.count("k", queue.AttemptRetry, 1, "error "+strings.Repeat("x", round)+strings.Repeat("y", n))
		}
		f.flush()
	}
	groups, err := Errors(f.ctx, f.client, "q", 5000)
	f.must(err)
	ids := f.db.ZCard(f.ctx, f.queue.Key("errors:last")).Val()
	if len(groups) != 1000 || ids != 1000 || f.db.HLen(f.ctx, f.queue.Key("errors")).Val() != 1000 {
		t.Errorf("%d groups, %d ids", len(groups), ids)
	}
	if size := f.db.MemoryUsage(f.ctx, f.queue.Key("errors")).Val(); size > 1<<20 {
		t.Errorf("they take %d bytes", size)
	}
	// One that was not seen for long goes with the next error.
	f.must(f.db.ZAddXX(f.ctx, f.queue.Key("errors:last"), zOf(groups[0].ID, 1)).Err())
	f.count("k", queue.AttemptRetry, 1, groups[1].Error)
	f.flush()
	again, err := Errors(f.ctx, f.client, "q", 5000)
	f.must(err)
	if len(again) != 999 || slices.ContainsFunc(again, func(g ErrorGroup) bool { return g.ID == groups[0].ID }) {
		t.Error("a group that was not seen for long is kept")
	}
}

func TestHoursOfErrorsThatAreOverAreDropped(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	begin := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	f := newFixture(t, db, "")
	for hour := range 60 {
		if err := db.SetEmbeddedTime(begin.Add(time.Duration(hour) * time.Hour)); err != nil {
			t.Fatal(err)
		}
		f.collector.clock = redisClock{}
		f.count("k", queue.AttemptRetry, hour+1, "no")
		f.flush()
		f.count("k", queue.AttemptDead, 1, "no")
		f.flush()
	}
	groups, err := Errors(f.ctx, f.client, "q", 1)
	f.must(err)
	for i, n := range groups[0].Hours {
		if n != int64(60-ErrorHours+i+2) || groups[0].Deaths[i] != 1 {
			t.Errorf("hour %d has %d, of which %d are deaths", i, n, groups[0].Deaths[i])
		}
	}
	if text := db.HGet(f.ctx, f.queue.Key("errors"), groups[0].ID).Val(); strings.Count(text, ":") != 2*ErrorHours+2 { // two are in the id of the job
		t.Errorf("kept is %s", text)
	}
	if groups[0].Failed != 60*61/2+60 || groups[0].Dead != 60 || !groups[0].First.Equal(begin) || !groups[0].Last.Equal(begin.Add(59*time.Hour)) {
		t.Errorf("%+v", groups[0])
	}
}

func TestGroupThatIsDamagedBeginsAnew(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		f := newFixture(t, db, "")
		id := groupID("k", "no")
		for _, damaged := range []string{"", "x", "1 2 3", "a b c d e\nk\nno\nno\n1:1", "1 1 1 1 j\nk\nno\nno\n1:1;2"} {
			f.must(db.HSet(f.ctx, f.queue.Key("errors"), id, damaged).Err())
			f.count("k", queue.AttemptRetry, 1, "no")
			f.flush()
			if groups, err := Errors(f.ctx, f.client, "q", 10); err != nil || len(groups) != 1 || groups[0].ID != id || groups[0].Failed != 1 {
				t.Errorf("after %q: %+v, %v", damaged, groups, err)
			}
		}
	})
}

func FuzzBucketsAndGroups(f *testing.F) {
	f.Add("email.send done", "7", "3 1 1700000000000 1700000000000 q:0:n1-0\nk\nno <n>\nno 1\n472222:3:2 472223:1")
	f.Add(" waiting", "9223372036854775807", "")
	f.Add("a r40", "-1", "1 1 1 1 j\nk\ns\ne\n:")
	f.Add("a w3", "1e3", "9999999999999999 1 1 1 j\nk\ns\ne\n-1:5 99999999999999999999:1")
	now := time.Unix(1_700_003_000, 0)
	f.Fuzz(func(t *testing.T, field, value, group string) {
		b := Bucket{Kinds: map[string]*Counts{}}
		b.set(map[string]string{field: value, field + "x": value, "k run": value, "k wait": value, "k r0": value, "k w31": value})
		total := &Counts{}
		for range 4000 { // of all buckets and kinds
			total.Add(b.Total(""))
		}
		for _, h := range []Histogram{total.Run, total.Wait} {
			if h.Count() < 0 || h.Mean() < 0 || h.Quantile(0.5) < 0 || h.Quantile(0.5) > h.Quantile(1) {
				t.Errorf("%q %q: %+v", field, value, h)
			}
		}
		if total.Attempts() < 0 || b.Oldest < 0 || b.Waiting < 0 || b.Added < 0 {
			t.Errorf("%q %q: %+v", field, value, b)
		}
		if g, ok := parseGroup(group, now); ok {
			if g.Failed < 0 || g.Dead < 0 || strings.Contains(g.Kind+g.Shape+g.Error+g.Job, "\n") {
				t.Errorf("%q: %+v", group, g)
			}
		}
		text := sample(group)
		if shape := Shape(group); len(shape) > maxShape || len(text) > maxSample || strings.ContainsAny(shape+text, "\n") {
			t.Errorf("%q: %q, %q", group, shape, text)
		}
		if utf8.ValidString(group) && !utf8.ValidString(text) {
			t.Errorf("%q is cut to %q", group, text)
		}
	})
}

func TestQuantilesAreRightToAFactorOfTwo(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, time.Microsecond, time.Millisecond, 7 * time.Millisecond, time.Second, time.Hour, 10 * 24 * time.Hour} {
		var h Histogram
		for range 100 {
			h.observe(d)
		}
		for _, q := range []float64{0.01, 0.5, 0.99, 1} {
			if got := h.Quantile(q); got > 2*max(d, time.Millisecond) || 2*got < d {
				t.Errorf("%s: the quantile %g is %s", d, q, got)
			}
		}
		if mean := h.Mean(); mean < d-time.Microsecond || mean > d+time.Microsecond {
			t.Errorf("%s: the mean is %s", d, mean)
		}
	}
	var empty, mixed Histogram
	for i := range 1000 {
		mixed.observe(time.Duration(i+1) * time.Millisecond)
	}
	if fmt.Sprint(empty.Mean(), empty.Quantile(0.5)) != "0s 0s" {
		t.Error("an empty histogram has a mean or a quantile")
	}
	if p50 := mixed.Quantile(0.5); p50 < 400*time.Millisecond || p50 > 600*time.Millisecond {
		t.Errorf("the median of 1 to 1,000 ms is %s", p50)
	}
}
