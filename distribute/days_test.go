package distribute_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/internal/redistest"
)

// daysOf makes a line for each of some days, from 2001-01-01 on, without a final newline.
func daysOf(first, n int) string {
	var lines []string
	for i := first; i < first+n; i++ {
		lines = append(lines, "8.8.8.8 "+time.Date(2001, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)+" x")
	}
	return strings.Join(lines, "\n")
}

// A line is expired, whether or not the filter would select it: also the last one without its end.
func TestFilteredLinesOfDaysForWhichASubscriberHasNoRoomAreExpired(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.URL(t))
	folder, channel := t.TempDir(), open(t, db)
	public, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day"}}, Where: `country == "US"`})
	if err != nil {
		t.Fatal(err)
	}
	ship(t, channel, write(t, folder, "full.log", []byte(daysOf(0, distribute.MaxDays))))
	workFor(t, channel, "s", public)
	const others = "10.0.0.1 2001-01-01 x\n10.0.0.1 2026-11-01 x\n8.8.8.8 2026-11-02 x\n10.0.0.1 2026-11-02 x\n10.0.0.1 2026-11-03 x"
	for _, text := range []string{others, others + " more\n"} { // and grown
		ship(t, channel, write(t, folder, "others.log", []byte(text)))
		workFor(t, channel, "s", public)
		report, err := channel.Report(context.Background(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		tally := report.Subscriber.Tally
		tally.Bytes = 0
		if want := (distribute.Tally{Lines: distribute.MaxDays + 5, Counted: distribute.MaxDays, Filtered: 1, Expired: 4, Files: 2}); tally != want {
			t.Errorf("%+v, want %+v", tally, want)
		}
	}
}

// The last line of a file without its end is counted as it stands, also as an expired one.
func TestLinesOfMoreDaysThanASubscriberMayHaveAreExpired(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.URL(t)) // the embedded one is slow with so many keys
	folder, channel := t.TempDir(), open(t, db)
	days, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day"}}}) // other cuts only take time
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{daysOf(0, 2000), daysOf(1990, 2200)}
	for i, text := range append(texts, texts[1]+" more\n"+daysOf(10, 3)+"\n") {
		if i == 2 {
			i = 1 // the second one has grown
		}
		ship(t, channel, write(t, folder, fmt.Sprintf("access-%d.log", i), []byte(text)))
		workFor(t, channel, "s", days)
	}
	report, err := channel.Report(context.Background(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	tally := report.Subscriber.Tally
	tally.Bytes = 0
	want := distribute.Tally{Lines: 4203, Counted: 4109, Expired: 94, Files: 2}
	if tally != want || report.Tables[0].Total.Requests != want.Counted || len(report.Tables[0].Rows) != distribute.MaxDays {
		t.Errorf("%+v with %d requests on %d days, want %+v", tally, report.Tables[0].Total.Requests, len(report.Tables[0].Rows), want)
	}
}
