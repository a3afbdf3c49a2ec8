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

// minStarted is the shortest time in which attempts are counted that began: it must hold several
// scrapes.
const minStarted = 5 * time.Minute

// stalledExpression looks for attempts of the workers, which may be in other scrape jobs than the
// metrics of the queues.
func (r Rule) stalledExpression() (string, time.Duration) {
	started := fmt.Sprintf("on (queue) sum by (queue) (increase(skidway_jobs_started_total[%s])) > 0", prometheusTime(max(r.Within, minStarted)))
	return jobsWait + " > 0\nand " + gauge("paused") + " == 0\nand " + gauge("free_slots") + " > 0\nunless " + started, r.Within
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
