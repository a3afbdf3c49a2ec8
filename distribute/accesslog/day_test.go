package accesslog_test

import (
	"testing"

	"pgregory.net/rapid"

	"skidway/distribute/accesslog"
)

func TestDaysAreCountedFrom1970(t *testing.T) {
	t.Parallel()
	for want, text := range map[accesslog.Day]string{
		0: "1970-01-01", -1: "1969-12-31", 19782: "2024-02-29", -719528: "0000-01-01", 2932896: "9999-12-31",
	} {
		if got, err := accesslog.ParseDay(text); err != nil || got != want {
			t.Errorf("ParseDay(%s) = %d, %v; want %d", text, got, err, want)
		}
		if got := want.String(); got != text {
			t.Errorf("Day(%d) is %s, want %s", want, got, text)
		}
	}
}

func TestParseDayRefusesOtherDates(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "2024-02-30", "2024-2-3", "2024-02-29T00:00:00Z", "29/Feb/2024"} {
		if day, err := accesslog.ParseDay(text); err == nil {
			t.Errorf("ParseDay(%q) = %s", text, day)
		}
	}
}

func TestDayComesBackFromItsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day := accesslog.Day(rapid.Int32Range(-719528, 2932896).Draw(t, "day"))
		if got, err := accesslog.ParseDay(day.String()); err != nil || got != day {
			t.Fatalf("%s came back as %s, %v", day, got, err)
		}
	})
}
