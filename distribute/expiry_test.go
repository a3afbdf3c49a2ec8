package distribute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

// expiringSubscriber makes s anew, with some lines on each of six days: some of them are folded, others
// sealed.
func (s scriptRunner) expiringSubscriber() {
	s.t.Helper()
	s.do([]any{"FLUSHDB"})
	s.subscribe("s", "country-day by=day,country by=path measure=bytes keep=1d")
	for i, day := range expiringDays {
		s.do([]any{"ZADD", s.k.subscriber("s").days(), 0, day})
		for _, commit := range []string{"f:1:1", "f:1:2"} {
			key := s.k.subscriber("s").sealedCells(commit)
			for _, cell := range []string{"\tUS", " 0 bytes\tUS", " 1\t/a", " 1 bytes\t/a"} {
				s.do([]any{"HSET", key, day + cell, 10})
			}
			s.do([]any{"HSET", key, "accounts\t" + day + " counted", 7, "accounts\t" + day + " unknown", 3, "accounts\t" + day + " private", i})
			s.do([]any{"SADD", s.k.subscriber("s").sealed(), commit})
			for field, n := range map[string]int{"lines": 10, "counted": 7, "unknown": 3, "private": i} {
				s.do([]any{"HINCRBY", s.k.subscriber("s").record(), field, n})
			}
		}
	}
	settings, _ := cuts.ParseSettings("country-day by=day,country by=path measure=bytes")
	if err := s.c.totals("s").fold(s.t.Context(), settings, "f:1:1"); err != nil {
		s.t.Fatal(err)
	}
}

var expiringDays = []string{"2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05", "2026-11-06"}

// addsUp fails the test where the rows of a snapshot and its sums part. It returns the lines that
// are expired.
func (s scriptRunner) addsUp(at string) int64 {
	s.t.Helper()
	totals := s.c.totals("s")
	snapshot, err := totals.snapshot(s.t.Context(), reportHold)
	if err != nil {
		s.t.Fatal(err)
	}
	report := Report{Subscriber: parseSubscriber("s", snapshot.settings, snapshot.fields)}
	if err := totals.read(s.t.Context(), snapshot, nil, &report); err != nil {
		s.t.Fatal(err)
	}
	if moved, err := totals.release(s.t.Context(), snapshot); moved || err != nil {
		s.t.Fatal(moved, err)
	}
	tally, private := report.Subscriber.Tally, int64(0)
	for i := int(tally.Expired / 20); i < len(expiringDays); i++ {
		private += int64(2 * i)
	}
	want := Tally{Lines: 120, Counted: (120 - tally.Expired) / 10 * 7, Unknown: (120 - tally.Expired) / 10 * 3, Expired: tally.Expired, Private: private}
	if tally != want || tally.Expired%20 != 0 {
		s.t.Errorf("%s: %+v, want %+v", at, tally, want)
	}
	for _, table := range report.Tables {
		if n := tally.Counted + tally.Unknown; table.Total.Requests != n || table.Total.Bytes != n {
			s.t.Errorf("%s, by %v: %+v of %+v", at, table.By, table.Total, tally)
		}
	}
	return tally.Expired
}

// A process that ends after any of its commands is one that was killed.
func TestExpiredDaysAddUpWheneverAProcessIsKilled(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	s := newScriptRunner(t, redistest.Open(t, url))
	for n, done := 0, false; !done; n++ {
		s.expiringSubscriber()
		killed, kill := context.WithCancel(t.Context())
		db, left := redistest.Open(t, url), n
		db.AddHook(afterEach{func() {
			if left--; left <= 0 {
				kill()
			}
			s.addsUp(fmt.Sprintf("command %d", n-left))
		}})
		victim := newChannel(db, "web").totals("s")
		settings, _ := cuts.ParseSettings("country-day by=day,country by=path measure=bytes keep=1d")
		done = victim.expireBefore(killed, "2026-11-04") == nil && victim.fold(killed, settings, "f:1:2") == nil
		kill()
		for _, oldest := range []string{"2026-11-04", "2026-11-02", "2026-11-06"} {
			if err := s.c.totals("s").expireBefore(t.Context(), oldest); err != nil {
				t.Fatal(err)
			}
			s.addsUp("then")
		}
		if err := s.c.totals("s").fold(t.Context(), settings, "f:1:2"); err != nil {
			t.Fatal(err)
		}
		if expired := s.addsUp("at last"); expired != 100 {
			t.Errorf("%d lines are expired", expired)
		}
		if left := s.c.db.Keys(t.Context(), s.k.subscriber("s").totals("2026*")).Val(); len(left) != 4 { // the series of one day
			t.Errorf("%s are left", left)
		}
	}
}

// By the clock of Redis nothing of these days is kept.
func TestReportExpiresDaysByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	s.expiringSubscriber()
	now, err := s.c.now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	today := (cuts.Settings{Keep: 1}).Oldest(now)
	report, err := s.c.Report(t.Context(), "s", nil)
	if err != nil || report.Subscriber.Tally.Expired != 120 || len(report.Tables[0].Rows) != 0 || s.field(s.k.subscriber("s").record(), "oldest") < today {
		t.Errorf("%+v %v, oldest %s", report.Subscriber.Tally, err, s.field(s.k.subscriber("s").record(), "oldest"))
	}
}

func TestLastDaysAreThoseBeforeTodayThoughAClockWasWrong(t *testing.T) {
	t.Parallel()
	day := func(ahead int) string { return time.Now().UTC().AddDate(0, 0, ahead).Format(time.DateOnly) }
	for _, c := range []struct{ days, want []string }{
		{[]string{day(-9), day(-1), day(0), "2099-01-01"}, []string{day(-1), day(0)}},
		{[]string{day(-1), day(0), day(1), day(3)}, []string{day(0), day(1)}},
		{[]string{"2099-01-01", "2099-01-02", "2098-12-31"}, []string{"2099-01-01", "2099-01-02"}},
	} {
		s := newScriptRunner(t, redistest.DB(t))
		s.subscribe("s", "country-day by=day,country")
		for _, day := range c.days {
			s.do([]any{"ZADD", s.k.subscriber("s").totals(day), 1, "US"})
			s.do([]any{"ZADD", s.k.subscriber("s").groups(), 0, day})
		}
		report, err := s.c.Report(t.Context(), "s", &cuts.Query{Last: 2})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range report.Tables[0].Rows {
			got = append(got, row.Values[0])
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("the last days of %s are %s", c.days, got)
		}
	}
}

// A file grows whose last line without its end was filtered, on a day that is expired meanwhile. The line
// was in no cell, so it did not expire with its day.
func TestFilteredTailOfADayThatExpiredIsNotTakenForAnExpiredLine(t *testing.T) {
	t.Parallel()
	for grown, want := range map[string]Tally{" more\n": {Expired: 1}, strings.Repeat("x", 1<<20) + "\n": {Unparsable: 1}} {
		c := newScriptRunner(t, redistest.DB(t)).c
		aggregation := newCounting(t, &CountingConfig{Keep: 2, Where: `country == "DE"`})
		path, text := filepath.Join(t.TempDir(), "a.log"), "8.8.8.8 "+time.Now().UTC().Format(time.DateOnly)+" x"
		var counted []Tally
		for _, added := range []string{"", grown} {
			text += added
			worker, err := NewWorker(t.Context(), c, "s", aggregation, &WorkerConfig{UntilDone: true, Workers: 1})
			if err == nil {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
			if err == nil {
				_, err = NewShipper(c, nil).Ship(t.Context(), []string{path})
			}
			if err == nil {
				_, err = worker.Work(t.Context())
			}
			if err == nil {
				err = c.totals("s").expireBefore(t.Context(), "9999-01-01")
			}
			report, reportErr := c.Report(t.Context(), "s", nil)
			if err := errors.Join(err, reportErr); err != nil {
				t.Fatal(err)
			}
			counted = append(counted, report.Subscriber.Tally)
		}
		want.Lines, want.Bytes, want.Files = 1, int64(len(text)), 1
		if counted[0].Filtered != 1 || counted[1] != want {
			t.Errorf("%+v, want a filtered line, then %+v", counted, want)
		}
	}
}

func TestCommitAsksForItsFilteredDaysInTheCallThatStagesItsCells(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	claimed(s)
	s.expireDays("2026-11-02")
	s.stage("c2") // so that Redis has the script
	calls := 0
	s.c.db.AddHook(afterEach{func() { calls++ }})
	c := claim{channel: s.c, subscriber: "s", id: "f", shipment: 1, token: "c1"}
	result := &fileResult{
		tally: Tally{Filtered: 5}, cells: map[cellName]int64{{"2026-11-02", "DE"}: 1}, filtered: map[string]int64{"2026-11-01": 2, "2026-11-02": 3},
	}
	staged, err := c.stage(t.Context(), result)
	if want := (Tally{Filtered: 3, Expired: 2}); err != nil || staged != 1 || calls != 1 || result.tally != want {
		t.Errorf("%d cells staged in %d calls, %+v, %v", staged, calls, result.tally, err)
	}
}
