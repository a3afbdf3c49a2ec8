package ops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

// An episode is what happens in a queue for 20 minutes.
type episode struct {
	waiting, free, paused int
	started               int                                  // attempts each minute
	came                  func(at time.Duration) time.Duration // when the oldest waiting job came
	stalled               bool
}

var episodes = map[string]episode{
	"nothing is taken":                       {waiting: 3, free: 4, stalled: true},
	"nothing waits":                          {free: 4},
	"the queue is paused":                    {waiting: 3, free: 4, paused: 1},
	"the slots run jobs of other queues":     {waiting: 3},
	"a job is snoozed each 30 s":             {waiting: 1, free: 4, started: 2, came: func(at time.Duration) time.Duration { return at.Truncate(30 * time.Second) }},
	"a backlog of jobs is taken and snoozed": {waiting: 1000, free: 2, started: 60, came: func(at time.Duration) time.Duration { return at/2 - time.Hour }},
}

// history returns the episode as a process reads it every 10 s.
func (e episode) history() History {
	return every(20*time.Minute, func(i int, s *QueueStatus) {
		at := time.Duration(i) * 10 * time.Second
		came := time.Duration(0)
		if e.came != nil {
			came = e.came(at)
		}
		s.Depth = queue.Depth{Waiting: e.waiting, Oldest: at - came, Paused: e.paused == 1}
		s.Free = e.free
	})
}

// series returns the episode as Prometheus scrapes it each minute: the metrics of queues from one
// scrape job, those of two workers from another one.
func (e episode) series(queue string) string {
	var text strings.Builder
	for name, value := range map[string]string{
		`skidway_queue_jobs{job="queues",queue="%s",state="waiting",priority="normal"}`: fmt.Sprint(e.waiting, "x20"),
		`skidway_queue_paused{job="queues",queue="%s"}`:                                 fmt.Sprint(e.paused, "x20"),
		`skidway_queue_free_slots{job="queues",queue="%s"}`:                             fmt.Sprint(e.free, "x20"),
		`skidway_jobs_started_total{job="workers",instance="1",queue="%s",kind="a"}`:    fmt.Sprintf("7+%dx20", e.started),
		`skidway_jobs_started_total{job="workers",instance="2",queue="%s",kind="a"}`:    "9x20",
	} {
		fmt.Fprintf(&text, "      - series: '%s'\n        values: '%s'\n", fmt.Sprintf(name, queue), value)
	}
	return text.String()
}

func TestAlertAndJudgeOfStalledAgree(t *testing.T) {
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
		judged := false
		for _, diagnosis := range client.Diagnose(e.history()) {
			judged = judged || diagnosis.Name == "stalled"
		}
		if judged != e.stalled {
			t.Errorf("%s: judged stalled: %t, want %t", name, judged, e.stalled)
		}
		alerts := " []"
		if e.stalled {
			alerts = `
          - exp_labels: {severity: problem, job: queues, queue: q}
            exp_annotations: {summary: "queue q: jobs wait, workers have free slots, and nothing is taken"}`
		}
		file := filepath.Join(t.TempDir(), "test.yaml")
		text := fmt.Sprintf("rule_files: [%q]\ntests:\n  - interval: 1m\n    input_series:\n%s    alert_rule_test:\n      - eval_time: 20m\n        alertname: SkidwayStalled\n        exp_alerts:%s\n",
			rules, e.series("q"), alerts)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%s: the alert: %v\n%s", name, err, out)
		}
	}
}
