package dash

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

func TestNothingIsClaimedOfQueuesThatWereNotRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	of := func(name string, read time.Time, stored bool) *ops.SampledQueue {
		return &ops.SampledQueue{QueueStatus: ops.QueueStatus{Name: name, Time: read}, Stored: stored, Done: make([]int64, 24), Failed: make([]int64, 24)}
	}
	scopes, err := access.ParseScopes([]string{"view:*"})
	if err != nil {
		t.Fatal(err)
	}
	read, stored, unread := of("read", now, false), of("stored", now.Add(-90*time.Second), true), of("unread", time.Time{}, false)
	p := &page{overview: &ops.Overview{Now: now, Names: 3, Queues: []*ops.SampledQueue{read, stored, unread}}, exchange: exchange{links: links{"", loadAssets()}}, viewer: viewer{&access.Principal{Scopes: scopes}}}
	for n, want := range []string{"1 of 3 queues read", "Statistics and schedules of 0 of 3 queues are read"} {
		if text := p.Reading(); text != want || p.Verdict().Calm {
			t.Errorf("%d: it says %q and %+v, want %q", n, text, p.Verdict(), want)
		}
		if n > 0 {
			break
		}
		if names := namesWith(p, queue.Dead); !slices.Equal(names, []string{"stored", "unread"}) {
			t.Errorf("dead jobs are looked for in %q", names)
		}
		rows := queueRows(p, p.overview.Queues)
		if rows[0].Read.Text != "" || rows[1].Read.Text != "figures of 1m 30s ago" || rows[2].Waiting.Text != "–" || rows[2].Icon.Label != "not read yet" {
			t.Errorf("the rows are %+v", rows)
		}
		if f := sum(p.overview); f.Done != "–" || f.Failed != "–" || f.Ratio != "–" {
			t.Errorf("the figures are %+v", f)
		}
		stored.Stored, unread.Time = false, now
	}
}

func TestAgesGoOnWithTheClock(t *testing.T) {
	t.Parallel()
	read := time.Now().Add(-10 * time.Minute)
	p := &page{overview: &ops.Overview{Now: read.Add(time.Hour), ReadAt: read}, clock: clock{time.UTC}, Settings: settings{zone: time.UTC}}
	at := p.overview.Now.Add(-5 * time.Minute)
	if age := p.Age(at, p.Now()); age.Text != words.Age(p.Now().Sub(at)) || p.Now().Sub(at) < 15*time.Minute || age.Age != "%s" {
		t.Errorf("after ten minutes the age of what was five minutes old is %+v", age)
	}
	if ago, in := p.Ago(at, p.Now()), p.In(p.Now().Add(90*time.Second), p.Now()); ago.Age != "%s ago" || in.Text != "in 1m 30s" || in.Age != "in %s" {
		t.Errorf("the texts are %+v and %+v", ago, in)
	}
	if text := p.AsOfText(); text != p.overview.Now.UTC().Format("15:04:05") {
		t.Errorf("the figures are as of %s", text)
	}
}

func TestShapesOfTroublesAreLive(t *testing.T) {
	t.Parallel()
	q := &ops.SampledQueue{QueueStatus: ops.QueueStatus{Name: "mail", Time: time.Now()}}
	p := &page{overview: &ops.Overview{Now: time.Now(), Queues: []*ops.SampledQueue{q}}, exchange: exchange{links: links{"", loadAssets()}}, viewer: viewer{&access.Principal{}}}
	for _, c := range []struct {
		rank   ops.Rank
		shapes map[string]string
		marks  [2]string // of the overview and of the queues
	}{
		{ops.Problem, map[string]string{"verdict": "bad", "mark.overview": "bad", "mark.queues": "bad"}, [2]string{"1", "1"}},
		{ops.Warning, map[string]string{"verdict": "warn", "mark.queues": "warn"}, [2]string{"", "1"}},
		{ops.Off, map[string]string{"verdict": "ok"}, [2]string{"", ""}},
	} {
		p.recorder = &recorder{map[string]string{}, map[string][]string{}}
		p.overview.Troubles = []ops.Trouble{{Rank: c.rank, Name: "unserved", Queue: q}}
		p.Verdict()
		marks := [2]string{p.Mark("overview").Count.Text, p.Mark("queues").Count.Text}
		for key, shape := range c.shapes {
			if got := p.values["shape "+key]; !strings.HasPrefix(got, shape+"\n"+p.Icon(shape, "").Href+"\n") {
				t.Errorf("%s: the shape of %s is %q, want %s", c.rank, key, got, shape)
			}
		}
		if got := [2]string{p.values["mark.overview"], p.values["mark.queues"]}; marks != c.marks || got != marks {
			t.Errorf("%s: the marks are %q, in the stream %q, want %q", c.rank, marks, got, c.marks)
		}
	}
}

func TestListWhoseSearchEndedEarlyStaysAsItWas(t *testing.T) {
	drawing := func(record func(*recorder)) recorder {
		r := recorder{map[string]string{}, map[string][]string{}}
		record(&r)
		return r
	}
	whole := drawing(func(r *recorder) { r.row("jobs", "a"); r.row("jobs", "b") })
	early := drawing(func(r *recorder) { r.unknownRows("jobs") })
	none := drawing(func(*recorder) {})
	for name, c := range map[string]struct {
		before, now recorder
		want        *event
	}{
		"the search ended early":       {whole, early, nil},
		"it goes on ending early":      {early, early, nil},
		"it has looked at all again":   {early, whole, &event{map[string]string{}, whole.rows}},
		"all have gone":                {whole, none, &event{map[string]string{}, map[string][]string{"jobs": {}}}},
		"all have gone since it ended": {early, none, &event{map[string]string{}, map[string][]string{"jobs": {}}}},
	} {
		if got := c.now.since(c.before); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
