package delayed

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/queue"
)

func TestMissedTimesFollowThePolicyAndLateOnesFire(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	for name, c := range map[string]struct {
		catchUp              queue.CatchUp
		due, old, since, now int // in s, where each 10 s are due
		fire                 []int
		next                 int
	}{
		"on time":                       {queue.CatchUpNone, 100, 0, 50, 100, []int{100}, 110},
		"late":                          {queue.CatchUpNone, 100, 0, 50, 135, []int{100, 110, 120, 130}, 140},
		"late, and no watch afterwards": {queue.CatchUpNone, 100, 105, 150, 155, []int{100, 150}, 160},
		"missed, none":                  {queue.CatchUpNone, 100, 90, 145, 145, nil, 150},
		"missed, last":                  {queue.CatchUpLast, 100, 90, 145, 145, []int{140}, 150},
		"missed, all":                   {queue.CatchUpAll, 100, 90, 145, 145, []int{100, 110, 120, 130, 140}, 150},
		"late, missed, and now, last":   {queue.CatchUpLast, 100, 115, 145, 150, []int{100, 110, 140, 150}, 160},
		"only one was missed, last":     {queue.CatchUpLast, 140, 135, 145, 145, []int{140}, 150},
		"due when the watch began":      {queue.CatchUpNone, 100, 90, 100, 100, []int{100}, 110},
		"due when the last watch ended": {queue.CatchUpNone, 100, 100, 130, 131, []int{100, 130}, 140},
		"off the table, missed, last":   {queue.CatchUpLast, 103, 90, 145, 145, []int{140}, 150},
		"off the table, late":           {queue.CatchUpNone, 103, 90, 95, 125, []int{103, 110, 120}, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := parseTimetable("@every 10s", "")
			if err != nil {
				t.Fatal(err)
			}
			due := queue.DueSchedule{CronSchedule: queue.CronSchedule{CatchUp: c.catchUp}, At: second(c.due)}
			found := queue.DueSchedules{Now: second(c.now), Old: second(c.old), Since: second(c.since)}
			p := planOf(table, &due, &found, 50)
			var fire []int
			for _, at := range p.fire {
				fire = append(fire, int(at.Unix()))
			}
			if !slices.Equal(fire, c.fire) || !p.next.Equal(second(c.next)) {
				t.Errorf("fires at %v, next at %d; want %v and %d", fire, p.next.Unix(), c.fire, c.next)
			}
		})
	}
}

func TestManyMissedTimesFireUpToTheNewestThousand(t *testing.T) {
	t.Parallel()
	table, err := parseTimetable("* * * * * *", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	due := queue.DueSchedule{CronSchedule: queue.CronSchedule{CatchUp: queue.CatchUpAll}, At: end.Truncate(time.Second).AddDate(-3, 0, 0)}
	found := queue.DueSchedules{Now: end, Old: due.At.Add(-time.Hour), Since: end}
	var all []time.Time
	for due.At.Before(end) {
		p := planOf(table, &due, &found, 50)
		all = append(all, p.fire...)
		due.At = p.next
	}
	if len(all) != MaxCatchUp || !all[0].Equal(end.Truncate(time.Second).Add(-(MaxCatchUp-1)*time.Second)) {
		t.Errorf("%d times fire, from %v on; want the newest %d before %v", len(all), all[0], MaxCatchUp, end)
	}
	if !slices.IsSortedFunc(all, time.Time.Compare) {
		t.Error("they do not fire in order")
	}
}

// A schedule that no watch could read for a year, while they watched others.
func TestTimesThatAreVeryLateFireUpToTheNewestThousand(t *testing.T) {
	t.Parallel()
	table, err := parseTimetable("* * * * * *", "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	due := queue.DueSchedule{At: now.Truncate(time.Second).AddDate(-1, 0, 0)}
	found := queue.DueSchedules{Now: now, Old: now.Add(-time.Hour), Since: now.Add(-time.Hour)}
	fired := 0
	for steps := 0; due.At.Before(now); steps++ {
		p := planOf(table, &due, &found, 50)
		if fired += len(p.fire); fired > MaxCatchUp {
			t.Fatalf("%d times fire, and the next is %v", fired, p.next)
		}
		due.At = p.next
	}
	if fired != MaxCatchUp {
		t.Errorf("%d times fire, want %d", fired, MaxCatchUp)
	}
}

// The same times fire if a plan is cut into steps.
func TestPlansInStepsFireWhatOnePlanFires(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom([]string{"@every 11s", "*/13 * * * * *", "* * * * *", "30 2 * * *", "*/10 2 * * *"}).Draw(t, "expr")
		table, err := parseTimetable(expr, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC)
		length := rapid.IntRange(1, 3000)
		if table.wall != nil && !table.steady {
			length = rapid.IntRange(1, 400000)
		}
		var times []time.Time // old, since, now
		for at := begin; len(times) < 3; {
			at = at.Add(time.Duration(length.Draw(t, "seconds")) * time.Second)
			times = append(times, at)
		}
		found := queue.DueSchedules{Old: times[0], Since: times[1], Now: times[2]}
		due := queue.DueSchedule{CronSchedule: queue.CronSchedule{CatchUp: rapid.SampledFrom([]queue.CatchUp{"none", "last", "all"}).Draw(t, "policy")}, At: table.next(begin)}

		var want, missed []time.Time // by the documented rule
		for at := due.At; !at.After(found.Now); at = table.next(at) {
			if at.After(found.Old) && at.Before(found.Since) {
				missed = append(missed, at)
			} else {
				want = append(want, at)
			}
		}
		want = append(want, missed[max(0, len(missed)-maxMissed(due.CatchUp)):]...)
		slices.SortFunc(want, time.Time.Compare)

		var got []time.Time
		for !due.At.After(found.Now) {
			p := planOf(table, &due, &found, rapid.IntRange(1, 50).Draw(t, "step"))
			got = append(got, p.fire...)
			due.At = p.next
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s in %+v: got %v, want %v", expr, found, got, want)
		}
	})
}
