package ops

import (
	"bytes"
	"errors"
	"os"
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
