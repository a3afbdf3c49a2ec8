package distribute

import (
	"errors"
	"fmt"
	"testing"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

func TestLiveHasTheNewestDaysAndTheFilesThatAreCounted(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	if _, err := s.c.Live(t.Context(), "s"); !errors.Is(err, ErrNoSubscriber) {
		t.Error(err)
	}
	s.subscribe("s", "country-day by=day,country by=day,path,status")
	add := func(day, cut, member string, n int) {
		s.do([]any{"ZADD", s.k.subscriber("s").totals(day + cut), n, member}, []any{"ZADD", s.k.subscriber("s").days(), 0, day})
	}
	for i, day := range []string{"2026-11-01", "2026-11-02"} {
		add(day, "", "DE", 10+i)
		add(day, "", "FR", 1)
		add(day, " 1", "/a\x1f200", 10+i)
		add(day, " 1", "/b\x1f404", 1)
	}
	s.do([]any{"HSET", s.k.subscriber("s").record(), "lines", 24, "counted", 23, "unparsable", 1})
	s.do([]any{"ZADD", s.k.subscriber("s").claims(), 1e15, "f"}, []any{"HSET", s.k.file("f"), "name", "a.log", "raw", 10, "upload", 20, "lines:s", 24})
	s.do([]any{"ZADD", s.k.subscriber("s").claims(), 1, "of a dead worker"})
	live, err := s.c.Live(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if live.Days != 2 || live.Claimed != 1 || len(live.Counting) != 1 || live.Subscriber.Tally.Lines != 24 || live.Window != testWindow {
		t.Errorf("%+v", live)
	}
	if f := live.Counting[0]; f.Name != "a.log" || f.Uploaded != 10 || f.Size != 20 || f.Lines != 24 {
		t.Errorf("%+v", f)
	}
	want := "[[country] DE 21 FR 2] [[status] 200 21 404 2] "
	if got := tablesOf(live); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.do([]any{"HSET", s.k.subscriber("s").record(), "oldest", "2026-11-02"})
	if live, err = s.c.Live(t.Context(), "s"); err != nil || tablesOf(live) != "[[country] DE 11 FR 1] [[status] 200 11 404 1] " {
		t.Errorf("with a day that is not kept: %s, %v", tablesOf(live), err)
	}
	for i := range livePage {
		s.do([]any{"ZADD", s.k.subscriber("s").totals("2026-11-02 1"), 2, fmt.Sprintf("/%d\x1f404", i)})
	}
	live, err = s.c.Live(t.Context(), "s")
	if rows := live.Tables[1].Rows; err != nil || live.Tables[0].Rows[0].AtLeast || !rows[0].AtLeast || rows[1].Requests != 2*livePage-2 {
		t.Errorf("with more cells than are read: %+v, %v", live.Tables, err)
	}
}

func tablesOf(live Live) (text string) {
	for _, table := range live.Tables {
		text += fmt.Sprint("[", table.Names)
		for _, row := range table.Rows {
			text += fmt.Sprint(" ", row.Values[0], " ", row.Requests)
		}
		text += "] "
	}
	return text
}

func TestOverviewIsOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"country-day by=day,country,crawler by=day,status": "[[country] [status] [crawler]]",
		"country-day by=continent,crawler_class":           "[[continent] [crawler_class]]",
		"country-day by=hour,path:2":                       "[[path:2]]",
		"country-day by=day":                               "[[day]]",
	} {
		parsed, _ := cuts.ParseSettings(settings)
		if got := fmt.Sprint(parsed.Overview()); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
	}
}
