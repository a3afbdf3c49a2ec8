package delayed

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"skidway/queue"
)

// at reads a time as "2006-01-02 15:04:05 -0700", the seconds may be missing.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02 15:04 -0700", "2006-01-02 15:04:05 -0700", time.RFC3339Nano} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("%q is no time", text)
	return time.Time{}
}

func TestSchedulesFireByTheClockOnTheWall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expr, zone, from string
		want             string // times, by commas
	}{
		"five fields":                  {"30 6 * * 1-5", "UTC", "2026-11-20 06:30 +0000", "2026-11-23 06:30 +0000, 2026-11-24 06:30 +0000"},
		"six fields begin with second": {"*/20 * * * * *", "UTC", "2026-11-20 06:30:25 +0000", "2026-11-20 06:30:40 +0000, 2026-11-20 06:31 +0000"},
		"a descriptor":                 {"@daily", "Asia/Kolkata", "2026-11-20 06:30 +0530", "2026-11-21 00:00 +0530, 2026-11-22 00:00 +0530"},
		"day of month or of week":      {"0 0 13 * 5", "UTC", "2026-11-10 00:00 +0000", "2026-11-13 00:00 +0000, 2026-11-20 00:00 +0000"},
		"leap day":                     {"0 0 29 2 *", "UTC", "2097-01-01 00:00 +0000", "2104-02-29 00:00 +0000, 2108-02-29 00:00 +0000"},
		"leap day in a zone":           {"0 0 29 2 *", "Europe/Berlin", "2026-01-01 00:00 +0000", "2028-02-29 00:00 +0100, 2032-02-29 00:00 +0100, 2036-02-29 00:00 +0100"},
		"end of a leap year":           {"30 12 31 12 *", "Australia/Lord_Howe", "2027-12-31 12:30 +1100", "2028-12-31 12:30 +1100, 2029-12-31 12:30 +1100"},
		"fractions count":              {"* * * * * *", "UTC", "2026-11-20T06:30:25.999Z", "2026-11-20 06:30:26 +0000, 2026-11-20 06:30:27 +0000"},
		"steps since 1970":             {"@every 90m", "Europe/Berlin", "2026-11-20 00:00 +0000", "2026-11-20 01:30 +0000, 2026-11-20 03:00 +0000"},
		"steps before 1970":            {"@every 10s", "UTC", "1969-12-31 23:59:55 +0000", "1970-01-01 00:00 +0000, 1970-01-01 00:00:10 +0000"},

		"Berlin: a time in the gap":             {"30 2 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100", "2026-03-29 03:00 +0200, 2026-03-30 02:30 +0200"},
		"Berlin: many times in the gap":         {"*/10 2 29 3 *", "Europe/Berlin", "2026-03-01 12:00 +0100", "2026-03-29 03:00 +0200, 2027-03-29 02:00 +0200"},
		"Berlin: in the gap and right after":    {"0,30 2,3 * * *", "Europe/Berlin", "2026-03-29 00:00 +0100", "2026-03-29 03:00 +0200, 2026-03-29 03:30 +0200"},
		"Berlin: every hour goes on in the gap": {"30 * * * *", "Europe/Berlin", "2026-03-29 00:30 +0100", "2026-03-29 01:30 +0100, 2026-03-29 03:30 +0200"},
		"Berlin: every other hour in the gap":   {"0 */2 * * *", "Europe/Berlin", "2026-03-29 00:00 +0100", "2026-03-29 03:00 +0200, 2026-03-29 04:00 +0200"},
		"Berlin: a time in the repeat":          {"30 2 * * *", "Europe/Berlin", "2026-10-25 00:00 +0200", "2026-10-25 02:30 +0200, 2026-10-26 02:30 +0100"},
		"Berlin: from within the repeat":        {"30 2 * * *", "Europe/Berlin", "2026-10-25 02:10 +0100", "2026-10-26 02:30 +0100"},
		"Berlin: many times in the repeat":      {"*/30 2,3 * * *", "Europe/Berlin", "2026-10-25 00:00 +0200", "2026-10-25 02:00 +0200, 2026-10-25 02:30 +0200, 2026-10-25 03:00 +0100"},
		"Berlin: every hour in the repeat":      {"30 * * * *", "Europe/Berlin", "2026-10-25 01:30 +0200", "2026-10-25 02:30 +0200, 2026-10-25 02:30 +0100, 2026-10-25 03:30 +0100"},
		"Berlin: every minute in the repeat":    {"* * * * *", "Europe/Berlin", "2026-10-25 02:58 +0200", "2026-10-25 02:59 +0200, 2026-10-25 02:00 +0100, 2026-10-25 02:01 +0100"},
		"New York: a time in the gap":           {"0 2 * * *", "America/New_York", "2026-03-07 03:00 -0500", "2026-03-08 03:00 -0400, 2026-03-09 02:00 -0400"},
		"New York: a time in the repeat":        {"0 1 * * *", "America/New_York", "2026-10-31 12:00 -0400", "2026-11-01 01:00 -0400, 2026-11-02 01:00 -0500"},
		"New York: @hourly in the repeat":       {"@hourly", "America/New_York", "2026-11-01 00:00 -0400", "2026-11-01 01:00 -0400, 2026-11-01 01:00 -0500, 2026-11-01 02:00 -0500"},
		"Lord Howe: gap of half an hour":        {"15,45 2 * * *", "Australia/Lord_Howe", "2026-10-04 00:00 +1030", "2026-10-04 02:30 +1100, 2026-10-04 02:45 +1100, 2026-10-05 02:15 +1100"},
		"Lord Howe: repeat of half an hour":     {"15,45 1 * * *", "Australia/Lord_Howe", "2026-04-05 00:00 +1100", "2026-04-05 01:15 +1100, 2026-04-05 01:45 +1100, 2026-04-06 01:15 +1030"},
		"Lord Howe: every quarter in it":        {"*/15 * * * *", "Australia/Lord_Howe", "2026-04-05 01:30 +1100", "2026-04-05 01:45 +1100, 2026-04-05 01:30 +1030, 2026-04-05 01:45 +1030"},
		"Sao Paulo: no midnight":                {"0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00 -0300", "2018-11-04 01:00 -0200, 2018-11-05 00:00 -0200"},
		"Sao Paulo: the day after no midnight":  {"0 12 4 11 *", "America/Sao_Paulo", "2018-11-03 12:00 -0300", "2018-11-04 12:00 -0200"},
		"Sao Paulo: a repeated evening":         {"30 23 * * *", "America/Sao_Paulo", "2018-02-17 12:00 -0200", "2018-02-17 23:30 -0200, 2018-02-18 23:30 -0300"},
		"Apia: a day that was left out":         {"0 12 * * *", "Pacific/Apia", "2011-12-29 12:00 -1000", "2011-12-31 00:00 +1400, 2011-12-31 12:00 +1400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []time.Time
			for text := range strings.SplitSeq(c.want, ", ") {
				want = append(want, at(t, text))
			}
			got, err := Next(c.expr, c.zone, at(t, c.from), len(want))
			if err != nil || !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
		})
	}
}

func TestWrongExpressionsAndZonesAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ expr, zone, want string }{
		"no expression":            {"", "", "expression"},
		"too few fields":           {"* * *", "", `expression "* * *"`},
		"too many fields":          {"* * * * * * *", "", "expression"},
		"out of range":             {"61 * * * *", "", "61"},
		"no such day":              {"0 0 30 2 *", "", "never fires"},
		"no such day in any month": {"0 0 31 4,6,9,11 *", "", "never fires"},
		"a field without a value":  {", * * * *", "", "no value"},
		"a second without a value": {", * * * * *", "", "no value"},
		"unknown descriptor":       {"@reboot", "", "@reboot"},
		"zone in the expression":   {"TZ=UTC 0 0 * * *", "", "beside"},
		"steps below a second":     {"@every 10ms", "", "whole seconds"},
		"steps of half seconds":    {"@every 1500ms", "", "whole seconds"},
		"no steps":                 {"@every soon", "", "soon"},
		"unknown zone":             {"* * * * *", "Mars/Olympus", `zone "Mars/Olympus"`},
		"the machine's zone":       {"* * * * *", "Local", "zone"},
		"a path":                   {"* * * * *", "../etc/passwd", "zone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Next(c.expr, c.zone, time.Now(), 1)
			if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an ErrInvalid with %s", err, c.want)
			}
		})
	}
}

// A timetable is correct if it fires exactly in the seconds of its rule. The
// rule is put here as one would check it by hand: second by second.
func TestTimetablesAgreeWithAWalkAlongTheClock(t *testing.T) {
	t.Parallel()
	changes := map[string]string{
		"Europe/Berlin":       "2026-03-29 00:00 +0000 2026-10-25 00:00 +0000",
		"America/New_York":    "2026-03-08 06:00 +0000 2026-11-01 05:00 +0000",
		"Australia/Lord_Howe": "2026-10-03 15:00 +0000 2026-04-04 14:30 +0000",
		"America/Sao_Paulo":   "2018-11-04 02:30 +0000 2018-02-18 01:00 +0000",
		"Africa/Casablanca":   "2026-02-15 01:00 +0000 2026-03-22 01:00 +0000",
	}
	exprs := []string{"* * * * *", "*/7 * * * *", "30 * * * *", "0 * * * *", "*/20 1-3 * * *", "30 2 * * *", "0 0 * * *", "15 */2 * * *", "59 23 * * *", "0 3 * * *"}
	for zone, texts := range changes {
		for _, begin := range []time.Time{at(t, texts[:22]), at(t, texts[23:])} {
			for _, expr := range exprs {
				table, err := parseTimetable(expr, zone)
				if err != nil {
					t.Fatal(err)
				}
				from := begin.Add(-4 * time.Hour)
				until := begin.Add(6 * time.Hour)
				want := walk(table, from, until)
				var got []time.Time
				for at := table.next(from); at.Before(until); at = table.next(at) {
					got = append(got, at)
				}
				if !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%s in %s: got\n%v, want\n%v", expr, zone, got, want)
				}
			}
		}
	}
}

// walk returns the times at which a timetable fires, by looking at each minute.
func walk(table *timetable, from, until time.Time) (times []time.Time) {
	matches := func(shows time.Time) bool { return table.wall.Next(shows.Add(-time.Second)).Equal(shows) }
	shown := map[time.Time]bool{}
	last := onWall(from.In(table.zone))
	for now := from.Add(-3 * time.Hour); now.Before(from); now = now.Add(time.Minute) {
		shown[onWall(now.In(table.zone))] = true
	}
	shown[last] = true
	for now := from.Add(time.Minute); now.Before(until); now = now.Add(time.Minute) {
		shows := onWall(now.In(table.zone))
		fires := matches(shows)
		if !table.steady {
			for skipped := last.Add(time.Minute); skipped.Before(shows); skipped = skipped.Add(time.Minute) {
				fires = fires || matches(skipped)
			}
			fires = fires && !shown[shows]
		}
		if fires {
			times = append(times, now)
		}
		shown[shows], last = true, shows
	}
	return times
}

func FuzzTimetable(f *testing.F) {
	for _, expr := range []string{"30 6 * * 1-5", "@every 90s", "*/5 22-2 ? JAN-MAR SUN,3", "0 0 29 2 *", ",", "@daily", "* * * * * 7"} {
		f.Add(expr, "Europe/Berlin", int64(1795299599))
	}
	f.Fuzz(func(t *testing.T, expr, zone string, from int64) {
		if from < 0 || from > 1<<36 {
			return
		}
		after := time.Unix(from, 0)
		times, err := Next(expr, zone, after, 5)
		if err != nil {
			if !errors.Is(err, queue.ErrInvalid) {
				t.Fatalf("%q in %q: %v is no ErrInvalid", expr, zone, err)
			}
			return
		}
		if len(times) != 5 {
			t.Fatalf("%q in %q fires at %v only", expr, zone, times)
		}
		for _, next := range times {
			if !next.After(after) || next.Nanosecond() != 0 {
				t.Fatalf("%q in %q fires at %v after %v", expr, zone, next, after)
			}
			after = next
		}
	})
}

func BenchmarkTimetableNext(b *testing.B) {
	for _, expr := range []string{"* * * * * *", "30 6 * * 1-5", "0 0 29 2 *"} {
		b.Run(strings.ReplaceAll(expr, " ", "_"), func(b *testing.B) {
			table, err := parseTimetable(expr, "Europe/Berlin")
			if err != nil {
				b.Fatal(err)
			}
			for at := time.Unix(1795299599, 0); b.Loop(); {
				if at = table.next(at); at.Year() > 2100 {
					at = time.Unix(1795299599, 0)
				}
			}
		})
	}
}
