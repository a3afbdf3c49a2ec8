package metrics_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers/metrics"
)

// hour has an hour of a queue and a worker, scraped each minute, also by a second process.
const hour = `
      - {series: 'skidway_queue_jobs{instance="1",queue="mail",state="waiting",priority="normal"}', values: '3x60'}
      - {series: 'skidway_queue_jobs{instance="1",queue="mail",state="waiting",priority="high"}', values: '2x60'}
      - {series: 'skidway_queue_jobs{instance="2",queue="mail",state="waiting",priority="normal"}', values: '3x60'}
      - {series: 'skidway_queue_jobs{instance="1",queue="mail",state="dead",priority=""}', values: '7x60'}
      - {series: 'skidway_queue_oldest_seconds{instance="1",queue="mail"}', values: '90x60'}
      - {series: 'skidway_queue_workers{instance="1",queue="mail"}', values: '2x60'}
      - {series: 'skidway_queue_slots{instance="1",queue="mail"}', values: '16x60'}
      - {series: 'skidway_queue_free_slots{instance="1",queue="mail"}', values: '4x60'}
      - {series: 'skidway_queue_paused{instance="1",queue="mail"}', values: '1x60'}
      - {series: 'skidway_queue_events_total{instance="1",queue="mail",event="dead"}', values: '0+1x60'}
      - {series: 'skidway_jobs_done_total{instance="1",queue="mail",kind="a"}', values: '0+60x60'}
      - {series: 'skidway_jobs_done_total{instance="2",queue="mail",kind="b"}', values: '0+120x60'}
      - {series: 'skidway_jobs_started_total{instance="1",queue="mail",kind="a"}', values: '0+60x60'}
      - {series: 'skidway_jobs_failed_total{instance="1",queue="mail",kind="a"}', values: '0+15x60'}
      - {series: 'skidway_job_wait_seconds_bucket{instance="1",queue="mail",kind="a",le="0.064"}', values: '0+57x60'}
      - {series: 'skidway_job_wait_seconds_bucket{instance="1",queue="mail",kind="a",le="+Inf"}', values: '0+60x60'}
      - {series: 'skidway_job_duration_seconds_bucket{instance="1",queue="mail",kind="a",le="0.256"}', values: '0+57x60'}
      - {series: 'skidway_job_duration_seconds_bucket{instance="1",queue="mail",kind="a",le="+Inf"}', values: '0+60x60'}
      - {series: 'skidway_leases_lost_total{instance="1",queue="mail"}', values: '0+2x60'}
      - {series: 'skidway_jobs_unrecorded{instance="1"}', values: '5x60'}
      - {series: 'skidway_jobs_unrecorded_max{instance="1"}', values: '20x60'}
      - {series: 'skidway_redis_up{instance="1"}', values: '1x60'}
      - {series: 'skidway_redis_up{instance="2"}', values: '0x60'}
`

// What each panel shows at the end of the hour: labels and value.
var shown = map[string]string{
	"Waiting jobs":                          `{queue="mail"} 5`,
	"Age of the oldest waiting job":         `{queue="mail"} 90`,
	"Jobs by state":                         `{state="dead"} 7; {state="waiting"} 5`,
	"Jobs done a second":                    `{queue="mail"} 3`,
	"Failed attempts a second":              `{queue="mail"} 0.25`,
	"Share of attempts that failed":         `{queue="mail"} 0.25`,
	"Time in line, 95 %":                    `{queue="mail"} 0.064`,
	"Time of handlers by kind, 95 %":        `{kind="a"} 0.256`,
	"Jobs that died in an hour":             `{queue="mail"} 60`,
	"Workers":                               `{queue="mail"} 2`,
	"Share of slots in use":                 `{queue="mail"} 0.75`,
	"Paused queues":                         `{queue="mail"} 1`,
	"Workers that lost a lease in an hour":  `{} 120`,
	"Outcomes that Redis has not confirmed": `{} 0.25`,
	"Redis answers all workers":             `{} 0`,
}

func TestEachPanelOfTheDashboardShowsItsFigure(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("../../deploy/grafana.json")
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	left, names, variables := maps.Clone(shown), collected(t), strings.NewReplacer("$queue", ".*", "$__rate_interval", "4m")
	var file strings.Builder
	fmt.Fprintf(&file, "tests:\n  - interval: 1m\n    input_series:%s    promql_expr_test:\n", hour)
	for _, panel := range dashboard.Panels {
		want, found := shown[panel.Title]
		if !found || len(panel.Targets) != 1 {
			t.Errorf("the panel %q has no expected figure", panel.Title)
			continue
		}
		delete(left, panel.Title)
		expression := variables.Replace(panel.Targets[0].Expr)
		for _, name := range regexp.MustCompile(`skidway_\w+`).FindAllString(expression, -1) {
			if !names[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("the panel %q uses %s, which is not collected", panel.Title, name)
			}
		}
		fmt.Fprintf(&file, "      - expr: '%s'\n        eval_time: 60m\n        exp_samples:\n", expression)
		for sample := range strings.SplitSeq(want, "; ") {
			labels, value, _ := strings.Cut(sample, " ")
			fmt.Fprintf(&file, "          - {labels: '%s', value: %s}\n", labels, value)
		}
	}
	if len(left) > 0 {
		t.Errorf("the dashboard lacks %v", left)
	}
	path, err := exec.Command("../../scripts/promtool.sh").Output()
	if err != nil {
		t.Fatalf("promtool is missing: %v", err)
	}
	tests := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(tests, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(strings.TrimSpace(string(path)), "test", "rules", tests).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// collected returns the names of all metrics.
func collected(t *testing.T) map[string]bool {
	client, err := queue.NewClient(handle.New(redistest.DB(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	descriptions := make(chan *prometheus.Desc, 100)
	metrics.New(client).Describe(descriptions)
	metrics.NewQueues(client).Describe(descriptions)
	close(descriptions)
	names := map[string]bool{}
	for d := range descriptions {
		names[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return names
}
