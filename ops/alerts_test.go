package ops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

// An episode is what happens in a queue for 20 minutes.
type episode struct {
	waiting, free, paused int
	away                  bool                                 // there is no worker
	overdue               bool                                 // a delayed job has been due since the begin
	done, failed          int                                  // attempts each minute
	came                  func(at time.Duration) time.Duration // when the oldest waiting job came
	want                  string                               // the diagnoses at the end
}

// fresh is the time at which the oldest waiting job of a queue came that keeps up.
func fresh(at time.Duration) time.Duration { return at.Truncate(30 * time.Second) }

var episodes = map[string]episode{
	"nothing is taken":                       {waiting: 3, free: 4, want: "stalled grows"},
	"nothing waits":                          {free: 4, came: func(at time.Duration) time.Duration { return at }},
	"the queue is paused":                    {waiting: 3, free: 4, paused: 1, want: "grows"},
	"the slots run jobs of other queues":     {waiting: 3, want: "grows"},
	"a job is snoozed each 30 s":             {waiting: 1, free: 4, came: fresh},
	"a backlog of jobs is taken and snoozed": {waiting: 1000, free: 2, came: func(at time.Duration) time.Duration { return at/2 - time.Hour }, want: "grows"},
	"no worker is there":                     {waiting: 3, away: true, want: "unserved grows"},
	"no worker makes delayed jobs ready":     {away: true, overdue: true, came: func(at time.Duration) time.Duration { return at }, want: "unserved"},
	"no worker is there for nothing":         {away: true, came: func(at time.Duration) time.Duration { return at }},
	"one of four attempts fails":             {waiting: 1, free: 1, done: 9, failed: 3, came: fresh, want: "failing"},
	"one of six attempts fails":              {waiting: 1, free: 1, done: 10, failed: 2, came: fresh},
	"all of few attempts fail":               {waiting: 1, free: 1, failed: 1, came: fresh},
	"a queue gets older and younger":         {waiting: 9, done: 6, came: func(at time.Duration) time.Duration { return at.Truncate(8*time.Minute) - 10*time.Minute }},
}

// history returns the episode as a process reads it every 10 s.
func (e episode) history() History {
	return every(20*time.Minute, func(i int, s *QueueStatus) {
		at := time.Duration(i) * 10 * time.Second
		s.Depth = queue.Depth{Waiting: e.waiting, Oldest: e.oldest(at), Paused: e.paused == 1}
		s.Total.Succeeded, s.Total.Failed = int64(e.done*i/6), int64(e.failed*i/6)
		s.Free = e.free
		if e.overdue {
			s.Depth.Delayed, s.Depth.NextDue = 1, began
		}
		if e.away {
			s.Workers, s.Slots = 0, 0
		}
	})
}

func (e episode) oldest(at time.Duration) time.Duration {
	if e.came == nil {
		return at
	}
	return at - e.came(at)
}

// series returns the episode as Prometheus scrapes it each minute.
func (e episode) series(queue string) string {
	var text, oldest strings.Builder
	for i := range 21 {
		fmt.Fprintf(&oldest, "%g ", e.oldest(time.Duration(i)*time.Minute).Seconds())
	}
	workers, overdue := 1, 0
	if e.away {
		workers = 0
	}
	if e.overdue {
		overdue = 60
	}
	for name, value := range map[string]string{
		`skidway_queue_jobs{job="queues",queue="%s",state="waiting",priority="normal"}`: fmt.Sprint(e.waiting, "x20"),
		`skidway_queue_paused{job="queues",queue="%s"}`:                                 fmt.Sprint(e.paused, "x20"),
		`skidway_queue_free_slots{job="queues",queue="%s"}`:                             fmt.Sprint(e.free, "x20"),
		`skidway_queue_workers{job="queues",queue="%s"}`:                                fmt.Sprint(workers, "x20"),
		`skidway_queue_oldest_seconds{job="queues",queue="%s"}`:                         oldest.String(),
		`skidway_queue_overdue_seconds{job="queues",queue="%s"}`:                        fmt.Sprintf("0+%dx20", overdue),
		`skidway_queue_events_total{job="queues",queue="%s",event="done"}`:              fmt.Sprintf("5+%dx20", e.done),
		`skidway_queue_events_total{job="queues",queue="%s",event="failed"}`:            fmt.Sprintf("6+%dx20", e.failed),
		`skidway_queue_events_total{job="queues",queue="%s",event="discarded"}`:         "0x20",
	} {
		fmt.Fprintf(&text, "      - series: '%s'\n        values: '%s'\n", fmt.Sprintf(name, queue), value)
	}
	return text.String()
}

// promtool returns the path of the program that tests rules.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.Command("../scripts/promtool.sh").Output()
	if err != nil {
		t.Fatalf("promtool is missing: %v", err)
	}
	return strings.TrimSpace(string(path))
}

func TestStalledAlertFiresAfterTwoMinutes(t *testing.T) {
	t.Parallel()
	rules, err := filepath.Abs("../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// For each: values every 15 s, after 10 minutes in which a job came and was taken each 15 s.
	for name, c := range map[string]struct {
		waiting, oldest, active, paused, free, done string
		fires                                       string // when it fires first, "" for never
	}{
		"nothing is taken":             {"1x60", "0+15x60", "1x60", "0x60", "3x60", "50x60", "2m"},
		"a slot became free":           {"1x60", "0+15x60", "1x60", "0x60", "0x3 3x56", "50x60", "3m"},
		"the queue was resumed":        {"1x60", "0+15x60", "1x60", "1x3 0x56", "3x60", "50x60", "3m"},
		"the oldest job is taken":      {"1x60", "0+14x60", "1x60", "0x60", "3x60", "50x60", ""},
		"jobs of one second are taken": {"1x60", "0+15x60", "1x60", "0x60", "3x60", "50+1x60", ""},
		"one is taken and runs":        {"1x60", "0+15x60", "1x3 2x56", "0x60", "3x60", "50x60", "3m"},
	} {
		text := &strings.Builder{}
		fmt.Fprintf(text, "rule_files: [%q]\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n", rules)
		for series, values := range map[string][2]string{
			`skidway_queue_jobs{job="queues",queue="q",state="waiting",priority="normal"}`: {"1x39", c.waiting},
			`skidway_queue_jobs{job="queues",queue="q",state="active",priority="normal"}`:  {"1x39", c.active},
			`skidway_queue_paused{job="queues",queue="q"}`:                                 {"0x39", c.paused},
			`skidway_queue_free_slots{job="queues",queue="q"}`:                             {"3x39", c.free},
			`skidway_queue_workers{job="queues",queue="q"}`:                                {"1x39", "1x60"},
			`skidway_queue_oldest_seconds{job="queues",queue="q"}`:                         {"0x39", c.oldest},
			`skidway_queue_events_total{job="queues",queue="q",event="done"}`:              {"11+1x39", c.done},
		} {
			fmt.Fprintf(text, "      - series: '%s'\n        values: '%s %s'\n", series, values[0], values[1])
		}
		text.WriteString("    alert_rule_test:\n")
		began, fires := 10*time.Minute, 24*time.Hour
		if c.fires != "" {
			if fires, err = time.ParseDuration(c.fires); err != nil {
				t.Fatal(err)
			}
		}
		for after := time.Duration(0); after <= 5*time.Minute; after += 15 * time.Second {
			if after == fires-15*time.Second {
				continue // releases differ in whether the time of a range has its first moment
			}
			fmt.Fprintf(text, "      - eval_time: %s\n        alertname: SkidwayStalled\n        exp_alerts:", began+after)
			if after >= fires {
				text.WriteString("\n          - exp_labels: {severity: problem, job: queues, queue: q}\n            exp_annotations: {summary: \"queue q: jobs wait, workers have free slots, and nothing is taken\"}\n")
			} else {
				text.WriteString(" []\n")
			}
		}
		file := filepath.Join(t.TempDir(), "test.yaml")
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(promtool(t), "test", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestAlertsAndJudgesAgree(t *testing.T) {
	t.Parallel()
	promtool := promtool(t)
	rules, err := filepath.Abs("../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(t.TempDir(), "others.yaml")
	text := &strings.Builder{}
	own, err := NewClient(nil, &Config{Rules: []Rule{{Name: "failing", Rank: Off}, {Name: "grows", Rank: Problem, Within: time.Minute, Oldest: time.Hour}}})
	if err == nil {
		err = own.AlertRules(text)
	}
	if err == nil {
		err = os.WriteFile(others, []byte(text.String()), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "SkidwayFailing") || !strings.Contains(text.String(), "> 3600\n          and deriv(max by (job, queue) (skidway_queue_oldest_seconds)[60s:6s]) > 0\n        labels: {severity: problem}") {
		t.Errorf("other rules: %s", text)
	}
	if out, err := exec.Command(promtool, "check", "rules", rules, others).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	client, err := NewClient(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range episodes {
		var judged []string
		for _, diagnosis := range client.Diagnose(e.history()) {
			judged = append(judged, diagnosis.Name)
		}
		if got := strings.Join(judged, " "); got != e.want {
			t.Errorf("%s: judged %q, want %q", name, got, e.want)
		}
		text := &strings.Builder{}
		fmt.Fprintf(text, "rule_files: [%q]\ntests:\n  - interval: 1m\n    input_series:\n%s    alert_rule_test:\n", rules, e.series("q"))
		for _, row := range diagnoses {
			fmt.Fprintf(text, "      - eval_time: 20m\n        alertname: Skidway%s\n        exp_alerts:", strings.ToUpper(row.Name[:1])+row.Name[1:])
			if slices.Contains(judged, row.Name) {
				fmt.Fprintf(text, "\n          - exp_labels: {severity: %s, job: queues, queue: q}\n            exp_annotations: {summary: \"queue q: %s\"}\n", row.Rank, row.summary)
			} else {
				text.WriteString(" []\n")
			}
		}
		file := filepath.Join(t.TempDir(), "test.yaml")
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%s: the alerts: %v\n%s", name, err, out)
		}
	}
}
