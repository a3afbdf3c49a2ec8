package ops

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

var began = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// statusAt returns the status of a queue at a time after began, changed by edit.
func statusAt(after time.Duration, edit func(*QueueStatus)) QueueStatus {
	status := QueueStatus{Name: "mail", Time: began.Add(after), Workers: 1, Slots: 4, Free: 4, Depth: queue.Depth{Waiting: 3, Oldest: time.Second + after}}
	edit(&status)
	return status
}

// every returns a history with a status every 10 s, up to a time after began.
func every(until time.Duration, edit func(i int, s *QueueStatus)) (h History) {
	for i := 0; time.Duration(i)*10*time.Second <= until; i++ {
		h = h.Add(statusAt(time.Duration(i)*10*time.Second, func(s *QueueStatus) { edit(i, s) }))
	}
	return h
}

func TestDiagnosesHoldAtTheirThresholds(t *testing.T) {
	t.Parallel()
	unserved := func(oldest time.Duration) History {
		return History{statusAt(0, func(s *QueueStatus) { s.Workers, s.Slots, s.Depth.Oldest = 0, 0, oldest })}
	}
	idle := func(int, *QueueStatus) {}
	attempts := func(done, failed int64) History {
		return every(10*time.Minute, func(i int, s *QueueStatus) {
			s.Depth.Oldest = time.Second
			s.Total.Succeeded, s.Total.Failed = done*int64(i)/60, failed*int64(i)/60
		})
	}
	growing := func(oldest time.Duration) func(int, *QueueStatus) {
		return func(i int, s *QueueStatus) {
			s.Depth.Oldest, s.Total.Succeeded = oldest+time.Duration(i)*time.Second, int64(i)
		}
	}
	for name, c := range map[string]struct {
		history History
		want    string // name of the diagnosis, "" for none
	}{
		"served":                    {every(0, idle), ""},
		"unserved for 60 s":         {unserved(time.Minute), "unserved"},
		"unserved for less":         {unserved(time.Minute - time.Millisecond), ""},
		"the worker has just ended": {History{statusAt(0, func(s *QueueStatus) { s.Workers, s.Depth.Oldest, s.LastWorker = 0, time.Hour, began.Add(-time.Second) })}, ""},
		"a worker was there before": {every(time.Hour, func(i int, s *QueueStatus) { s.Workers, s.Depth.Oldest = max(0, 356-i), 10*time.Minute }), ""},
		"and was there long before": {every(time.Hour, func(i int, s *QueueStatus) { s.Workers, s.Depth.Oldest = max(0, 354-i), 10*time.Minute }), "unserved"},
		"delayed jobs are overdue":  {History{statusAt(0, func(s *QueueStatus) { s.Workers, s.Depth = 0, queue.Depth{Delayed: 1, NextDue: began.Add(-time.Hour)} })}, "unserved"},
		"delayed jobs are not due":  {History{statusAt(0, func(s *QueueStatus) { s.Workers, s.Depth = 0, queue.Depth{Delayed: 1, NextDue: began.Add(time.Hour)} })}, ""},
		"stalled for 60 s":          {every(time.Minute, idle), "stalled"},
		"stalled for less":          {every(50*time.Second, idle), ""},
		"paused":                    {every(time.Minute, func(_ int, s *QueueStatus) { s.Depth.Paused = true }), ""},
		"all slots are held":        {every(time.Minute, func(_ int, s *QueueStatus) { s.Depth.Active, s.Free = 4, 0 }), ""},
		"a job was taken":           {every(time.Minute, func(i int, s *QueueStatus) { s.Depth.Active = i / 5 }), ""},
		"no job waits":              {every(time.Minute, func(_ int, s *QueueStatus) { s.Depth.Waiting = 0 }), ""},
		"20 of 100 fail":            {attempts(80, 20), "failing"},
		"19 of 100 fail":            {attempts(81, 19), ""},
		"all of 19 fail":            {attempts(0, 19), ""},
		"all of 20 fail":            {attempts(0, 20), "failing"},
		"grows above 5 min":         {every(10*time.Minute, growing(5*time.Minute)), "grows"},
		"grows below 5 min":         {every(10*time.Minute, growing(time.Second)), ""},
		"grew for less than 10 min": {every(9*time.Minute, growing(time.Hour)), ""},
		"is old and gets younger":   {every(10*time.Minute, func(i int, s *QueueStatus) { growing(time.Hour-2*time.Duration(i)*time.Second)(i, s) }), ""},
	} {
		client, err := NewClient(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for _, diagnosis := range client.Diagnose(c.history) {
			names += diagnosis.Name
		}
		if names != c.want {
			t.Errorf("%s: got %q, want %q", name, names, c.want)
		}
	}
}

func TestConfiguredRulesReplaceRows(t *testing.T) {
	t.Parallel()
	history := History{statusAt(0, func(s *QueueStatus) { s.Workers, s.Depth.Oldest = 0, 2*time.Minute })}
	for name, c := range map[string]struct {
		rule Rule
		want []Rank
	}{
		"longer":       {Rule{Name: "unserved", Within: 3 * time.Minute}, nil},
		"another rank": {Rule{Name: "unserved", Rank: Warning}, []Rank{Warning}},
		"off":          {Rule{Name: "unserved", Rank: Off}, nil},
		"another rule": {Rule{Name: "grows", Rank: Off}, []Rank{Problem}},
	} {
		client, err := NewClient(nil, &Config{Rules: []Rule{c.rule}})
		if err != nil {
			t.Fatal(err)
		}
		found := client.Diagnose(history)
		if len(found) != len(c.want) || len(found) == 1 && found[0].Rank != c.want[0] {
			t.Errorf("%s: %v", name, found)
		}
	}
	for _, rule := range []Rule{{Name: "none"}, {Name: "grows", Rank: "loud"}, {Name: "grows", Within: -1}, {Name: "grows", Within: 2 * time.Hour}, {Name: "failing", Percent: 101}, {Name: "failing", Attempts: -1}} {
		if _, err := NewClient(nil, &Config{Rules: []Rule{rule}}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%+v: %v", rule, err)
		}
	}
}

func TestRulesOfAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Rule{
		"":         nil,
		"failing:": {{Name: "failing", Rank: Problem, Within: 10 * time.Minute, Attempts: 20, Percent: 20}},
		"grows: {rank: off}\nfailing: {attempts: 100, percent: 5, within: 5m}": {
			{Name: "failing", Rank: Problem, Within: 5 * time.Minute, Attempts: 100, Percent: 5},
			{Name: "grows", Rank: Off, Within: 10 * time.Minute, Oldest: 5 * time.Minute},
		},
		"grows:\n  oldest: 2h\n  rank: problem": {{Name: "grows", Rank: Problem, Within: 10 * time.Minute, Oldest: 2 * time.Hour}},
	} {
		rules, err := ParseRules([]byte(text))
		if err != nil || !slices.Equal(rules, want) {
			t.Errorf("%q: %v, %v", text, rules, err)
		}
		if _, err := NewClient(nil, &Config{Rules: rules}); err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		"[]":                      "mapping",
		"a: b: c":                 "[1:4]",
		"fail: {}":                `rule "fail": there is only unserved, stalled, failing, grows`,
		"failing: {percents: 3}":  `percents "3": a rule has rank,`,
		"failing: {percent: 5.5}": `percent "5.5": want a whole number`,
		"failing: {percent: 0}":   "percent 0: want 1 to 100",
		"failing: {attempts: 0}":  "attempts 0: want 1 or more",
		"failing: {within: 3}":    `within "3": want a length of time`,
		"failing: {within: 1s}":   "within 1s: want 1m0s to 1h0m0s",
		"unserved: {percent: 3}":  "it has no attempts and no percent",
		"failing: {oldest: 1h}":   "it has no oldest",
		"grows: {oldest: 1ms}":    "oldest 1ms: want 1s or more",
		"grows: {rank: ok}":       `rank "ok": want problem, warning or off`,
		"grows: {}\ngrows: {}":    "already defined",
	} {
		if _, err := ParseRules([]byte(text)); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestHistoryIsBoundedAndBeginsAgain(t *testing.T) {
	t.Parallel()
	full := every(3*time.Hour, func(_ int, s *QueueStatus) { s.Total.Succeeded = 5 })
	if n := len(full); n != 361 {
		t.Errorf("%d statuses, want those of an hour", n)
	}
	last := full[len(full)-1]
	for name, edit := range map[string]func(*QueueStatus){
		"the counters began anew": func(s *QueueStatus) { s.Total.Succeeded = 0 },
		"the clock was set back":  func(s *QueueStatus) { s.Time, s.Total = began, last.Total },
	} {
		next := statusAt(4*time.Hour, edit)
		if h := full.Add(next); len(h) != 1 {
			t.Errorf("%s: %d statuses, want 1", name, len(h))
		}
	}
	if h := full.Add(QueueStatus{Err: errors.New("unreadable")}); h != nil {
		t.Errorf("a queue that can't be read leaves %d statuses", len(h))
	}
}

func TestSampledDiagnosisKeepsTheTimeOfItsBeginning(t *testing.T) {
	t.Parallel()
	client, err := NewClient(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &SampledQueue{}
	var begins []time.Time
	see := func(after time.Duration, failed int64) {
		t.Helper()
		q.QueueStatus = statusAt(after, func(s *QueueStatus) { s.Depth.Oldest, s.Total.Failed = time.Second, failed })
		q.observed = q.observed.Add(q.QueueStatus)
		client.diagnoseSampled(q)
		if len(q.Diagnoses) != 1 || q.Diagnoses[0].Name != "failing" {
			t.Fatalf("after %s: %+v", after, q.Diagnoses)
		}
		begins = append(begins, q.Diagnoses[0].Since)
	}
	q.observed = History{statusAt(-time.Second, func(*QueueStatus) {})}
	for i := range 60 {
		see(time.Duration(i)*time.Minute, 20*int64(i+1))
	}
	if begins[0] != begins[59] || begins[59].After(began) {
		t.Errorf("it fails since %s, and then since %s", begins[0], begins[59])
	}
	see(2*time.Hour, 4000) // it was not looked at for an hour
	if !begins[60].After(began) {
		t.Errorf("it fails since %s though nothing was seen between", begins[60])
	}
}

func TestOrderOfQueuesIsByTroubleAndNotByWhatChangesWithEachJob(t *testing.T) {
	t.Parallel()
	diagnosed := func(names ...string) func(*SampledQueue) {
		return func(q *SampledQueue) {
			for _, rule := range DefaultRules() {
				if slices.Contains(names, rule.Name) {
					q.Diagnoses = append(q.Diagnoses, Diagnosis{Name: rule.Name, Rank: rule.Rank})
				}
			}
		}
	}
	paused := func(q *SampledQueue) { q.Depth.Paused = true }
	rows := []struct {
		name string
		edit func(*SampledQueue)
	}{
		{"unreadable", func(q *SampledQueue) { q.Err = errors.New("damaged") }},
		{"unserved", diagnosed("unserved", "grows")},
		{"fails-a", diagnosed("failing")},
		{"fails-b", diagnosed("failing")},
		{"fails-c", func(q *SampledQueue) { paused(q); diagnosed("unserved", "failing")(q) }},
		{"grows", diagnosed("grows")},
		{"paused", func(q *SampledQueue) { paused(q); diagnosed("unserved", "grows")(q) }},
		{"used-a", func(q *SampledQueue) { q.Done, q.Failed = []int64{0, 1}, []int64{0, 0} }},
		{"used-b", func(q *SampledQueue) { q.Done, q.Failed = []int64{0, 0}, []int64{3, 0} }},
		{"a", func(q *SampledQueue) { q.Done, q.Failed = []int64{0, 0}, []int64{0, 0} }},
		{"b", func(*SampledQueue) {}},
	}
	for busy := range 1 << 4 {
		o, want := &Overview{}, []string{}
		for i, row := range rows {
			q := &SampledQueue{QueueStatus: QueueStatus{Name: row.name}}
			if busy>>(i%4)&1 > 0 {
				q.Depth.Waiting, q.Depth.Active, q.Depth.Oldest = 100-i, i, time.Duration(i)*time.Minute
			}
			row.edit(q)
			o.Queues, want = append([]*SampledQueue{q}, o.Queues...), append(want, row.name)
		}
		o.judge()
		var got []string
		for _, q := range o.Queues {
			got = append(got, q.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("busy %b: the order is %q, want %q", busy, got, want)
		}
	}
}

// The file is made by: SKIDWAY_WRITE_ALERTS=1 go test ./ops -run Alerts
func TestAlertsFileIsThatOfTheTable(t *testing.T) {
	t.Parallel()
	const file = "../deploy/alerts.yaml"
	text := bytes.NewBufferString("# Alerting rules for Prometheus, made from the table of diagnoses: go doc skidway/ops\n")
	client, err := NewClient(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.AlertRules(text); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("SKIDWAY_WRITE_ALERTS") != "" {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found, text.Bytes()) {
		t.Errorf("%s is not what the table of diagnoses makes: see the comment above this test\n%s", file, text)
	}
}
