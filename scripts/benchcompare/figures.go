package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// The directions in which figures improve.
const (
	larger  = 1
	smaller = -1
	unused  = 0 // not a figure of Skidway, or a setting
)

// directions has the direction of figures by the end of their names. The first match
// counts.
var directions = []struct {
	suffix    string
	direction int
}{
	{"idle_commands_per_s", smaller},
	{"inflate_lines_per_s", unused},
	{"_per_s", larger},
	{"_vs_inflate", larger},
	{"lone_enqueue_vs_xadd", smaller},
	{"_vs_xadd", larger},
	{"_vs_bare", larger},
	{"_vs_plain", larger},
	{"_us", smaller},
	{"_ms_p50", smaller},
	{"_ms_p99", smaller},
	{"_per_job", smaller},
	{"_per_message", smaller},
	{"_per_member", smaller},
	{"_rss_mb", smaller},
	{"runs", unused}, {"processors", unused}, {"jobs", unused}, {"payload_bytes", unused}, {"producers", unused},
	{"unrecorded_max", unused}, // it has a bound
	{"concurrency", unused}, {"lines_per_file", unused}, {"messages", unused}, {"senders", unused}, {"members", unused},
}

// direction returns the direction in which the figure with that name improves.
func direction(name string) (int, error) {
	if strings.HasPrefix(name, "bare_") || strings.HasPrefix(name, "stream_") {
		return unused, nil
	}
	for _, d := range directions {
		if strings.HasSuffix(name, d.suffix) || name == strings.TrimPrefix(d.suffix, "_") {
			return d.direction, nil
		}
	}
	return 0, fmt.Errorf("is %q better when it is larger or smaller? scripts/benchcompare does not know", name)
}

// collect adds the figures of a benchmark's JSON object under names that begin
// with prefix.
func collect(figures map[string]float64, prefix string, object map[string]any) error {
	for name, value := range object {
		switch value := value.(type) {
		case float64:
			d, err := direction(name)
			if err != nil {
				return err
			}
			if d != unused {
				figures[prefix+" "+name] = value
			}
		case []any: // groups, by their number of members
			for _, group := range value {
				group := group.(map[string]any)
				if err := collect(figures, fmt.Sprintf("%s of %v", prefix, group["members"]), group); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// losses returns by how many per cent each value of head is worse than the value of
// base in the same pair.
func losses(base, head []float64, direction int) []float64 {
	losses := make([]float64, len(base))
	for i := range base {
		if base[i] != head[i] { // both may be 0
			losses[i] = 100 * float64(direction) * (1 - head[i]/base[i])
		}
	}
	return losses
}

// interval returns the median of values, and a confidence interval of at least 95 % for
// the median of their distribution. Its ends are values with the same rank from both
// ends.
func interval(values []float64) (low, median, high float64) {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	median = (values[(n-1)/2] + values[n/2]) / 2
	// One end is beyond the median if at most k of n values are on that side.
	k, term, sum := 0, math.Pow(0.5, float64(n)), 0.0
	for ; sum+term <= 0.025; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1)
	}
	if k == 0 { // too few values
		return math.Inf(-1), median, math.Inf(1)
	}
	return values[k-1], median, values[n-k]
}

// report prints a row for each figure and returns an error if one exceeds the maximum
// loss.
func report(w io.Writer, results map[string][2][]float64, maxLoss float64) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "FIGURE\tBASE\tHEAD\tLOSS %\t95 % INTERVAL\t\t")
	var worse []string
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(results)) {
		base, head := results[name][0], results[name][1]
		if len(base) != len(head) { // only one of the commits has this figure
			continue
		}
		compared++
		d, err := direction(name[strings.LastIndex(name, " ")+1:])
		if err != nil {
			return err
		}
		low, loss, high := interval(losses(base, head, d))
		_, before, _ := interval(base)
		_, after, _ := interval(head)
		verdict := ""
		if loss > maxLoss && low > 0 {
			verdict = "WORSE"
			worse = append(worse, name)
		}
		fmt.Fprintf(table, "%s\t%.5g\t%.5g\t%.1f\t%.1f to %.1f\t%s\t\n", name, before, after, loss, low, high, verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "figures=%d worse=%d max_loss=%g\n", compared, len(worse), maxLoss)
	if len(worse) > 0 {
		return fmt.Errorf("worse by more than %g %%: %s", maxLoss, strings.Join(worse, ", "))
	}
	return nil
}
