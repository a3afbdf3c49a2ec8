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
	started, done, failed int                                  // attempts each minute
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
	"a job is snoozed each 30 s":             {waiting: 1, free: 4, started: 2, came: fresh},
	"a backlog of jobs is taken and snoozed": {waiting: 1000, free: 2, started: 60, came: func(at time.Duration) time.Duration { return at/2 - time.Hour }, want: "grows"},
	"no worker is there":                     {waiting: 3, away: true, want: "unserved grows"},
	"no worker makes delayed jobs ready":     {away: true, overdue: true, came: func(at time.Duration) time.Duration { return at }, want: "unserved"},
	"no worker is there for nothing":         {away: true, came: func(at time.Duration) time.Duration { return at }},
	"one of four attempts fails":             {waiting: 1, free: 1, started: 12, done: 9, failed: 3, came: fresh, want: "failing"},
	"one of six attempts fails":              {waiting: 1, free: 1, started: 12, done: 10, failed: 2, came: fresh},
	"all of few attempts fail":               {waiting: 1, free: 1, started: 1, failed: 1, came: fresh},
	"a queue gets older and younger":         {waiting: 9, started: 6, done: 6, came: func(at time.Duration) time.Duration { return at.Truncate(8*time.Minute) - 10*time.Minute }},
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

// series returns the episode as Prometheus scrapes it each minute: the metrics of queues from one
// scrape job, those of two workers from another one.
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
		`skidway_jobs_started_total{job="workers",instance="1",queue="%s",kind="a"}`:    fmt.Sprintf("7+%dx20", e.started),
		`skidway_jobs_started_total{job="workers",instance="2",queue="%s",kind="a"}`:    "9x20",
	} {
		fmt.Fprintf(&text, "      - series: '%s'\n        values: '%s'\n", fmt.Sprintf(name, queue), value)
	}
	return text.String()
}

func TestAlertsAndJudgesAgree(t *testing.T) {
	t.Parallel()
	path, err := exec.Command("../scripts/promtool.sh").Output()
	if err != nil {
		t.Fatalf("promtool is missing: %v", err)
	}
	promtool := strings.TrimSpace(string(path))
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
