package ops

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Conditions of PromQL. Several processes may export the metrics of one queue, so all of them
// are reduced to a value for each queue of a scrape job.
const (
	jobsWait    = `max by (job, queue) (sum without (priority) (skidway_queue_jobs{state="waiting"}))`
	queueGauge  = `max by (job, queue) (skidway_queue_%s)`
	queueEvents = `max by (job, queue) (increase(skidway_queue_events_total{event="%s"}[%s]))`
)

func gauge(name string) string { return fmt.Sprintf(queueGauge, name) }

func events(name string, within time.Duration) string {
	return fmt.Sprintf(queueEvents, name, prometheusTime(within))
}

// prometheusTime returns a duration as PromQL writes it.
func prometheusTime(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

func (r Rule) unservedExpression() (string, time.Duration) {
	return "(" + jobsWait + " > 0\n or " + gauge("overdue_seconds") + " > 0)\nand " + gauge("workers") + " == 0", r.Within
}

// minStalled is the shortest time of which the alert looks for the end of a wait: it must hold two
// scrapes that are a minute apart.
const minStalled = 2 * time.Minute

// stalledExpression looks back by itself, so that the alert fires as soon as the time has passed. The
// age of the job that has waited for the longest grows like the time, unless that job is taken.
func (r Rule) stalledExpression() (string, time.Duration) {
	within, slope := prometheusTime(max(r.Within, minStalled)), 1-readingTime.Seconds()/r.Within.Seconds()
	return jobsWait + " > 0" + strings.NewReplacer("WITHIN", within, "SLOPE", fmt.Sprintf("%.4f", slope)).Replace(`
and max by (job, queue) (max_over_time(skidway_queue_paused[WITHIN])) == 0
and min by (job, queue) (min_over_time(skidway_queue_free_slots[WITHIN])) > 0
and min by (job, queue) (deriv(skidway_queue_oldest_seconds[WITHIN])) >= SLOPE
unless sum by (job, queue) (changes(skidway_queue_events_total{event=~"done|failed|discarded|cancelled"}[WITHIN])) > 0
unless sum by (job, queue) (changes(skidway_queue_jobs{state="active"}[WITHIN])) > 0`), 0
}

func (r Rule) failingExpression() (string, time.Duration) {
	done, failed, discarded := events("done", r.Within), events("failed", r.Within), events("discarded", r.Within)
	attempts := "(" + done + "\n+ " + failed + "\n+ " + discarded + ")"
	return fmt.Sprintf("%s >= %d\nand 100 * %s >= %d * %s", attempts, r.Attempts, failed, r.Percent, attempts), 0
}

func (r Rule) growsExpression() (string, time.Duration) {
	oldest := gauge("oldest_seconds")
	return fmt.Sprintf("%s > %d\nand deriv(%s[%s:%s]) > 0", oldest, int(r.Oldest.Seconds()), oldest, prometheusTime(r.Within), prometheusTime(r.Within/10)), 0
}

// AlertRules writes the client's rules as alerting rules of Prometheus, in YAML. They use the
// metrics of workers/metrics.
func (c *Client) AlertRules(out io.Writer) error { return writeAlerts(out, c.rules) }

func writeAlerts(out io.Writer, rules []Rule) error {
	var text strings.Builder
	text.WriteString("groups:\n  - name: skidway\n    rules:\n")
	for i, row := range diagnoses {
		rule := rules[i]
		if rule.Rank == Off {
			continue
		}
		expression, wait := row.expression(rule)
		fmt.Fprintf(&text, "      - alert: Skidway%s\n        expr: |\n", strings.ToUpper(rule.Name[:1])+rule.Name[1:])
		for line := range strings.Lines(expression) {
			text.WriteString("          " + strings.TrimSuffix(line, "\n") + "\n")
		}
		if wait > 0 {
			fmt.Fprintf(&text, "        for: %s\n", prometheusTime(wait))
		}
		fmt.Fprintf(&text, "        labels: {severity: %s}\n        annotations:\n          summary: \"queue {{ $labels.queue }}: %s\"\n", rule.Rank, row.summary)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
