package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
)

// queueFigures holds what each run measured, by JSON key.
type queueFigures map[string][]float64

func (f queueFigures) add(key string, value float64) { f[key] = append(f[key], value) }

// addPercentiles adds the median and the 99th percentile in milliseconds: the
// smallest values that so many in a hundred do not exceed.
func (f queueFigures) addPercentiles(key string, values []time.Duration) {
	slices.Sort(values)
	for _, p := range []int{50, 99} {
		rank := int(math.Ceil(float64(len(values)*p) / 100))
		f.add(fmt.Sprintf("%s_p%d", key, p), values[rank-1].Seconds()*1e3)
	}
}

// A queueFigure is one line of the table: a figure, and that of the bare loop
// where there is one.
type queueFigure struct {
	name, key, bare string
	decimals        int
}

var queueTable = []queueFigure{
	{"added/s, one a call", "enqueue_per_s", "", 0},
	{"added/s, 100 a call", "enqueue_batch_per_s", "bare_enqueue_batch_per_s", 0},
	{"drained/s", "drain_per_s", "bare_drain_per_s", 0},
	{"added, one a call, and drained/s", "steady_per_s", "", 0},
	{"with AOF: added/s, one a call", "enqueue_aof_per_s", "", 0},
	{"with AOF: added/s, 100 a call", "enqueue_batch_aof_per_s", "", 0},
	{"with AOF: drained/s", "drain_aof_per_s", "", 0},
	{"pickup when idle, p50 ms", "pickup_ms_p50", "", 2},
	{"pickup when idle, p99 ms", "pickup_ms_p99", "", 2},
	{"delayed jobs late, p50 ms", "late_ms_p50", "", 2},
	{"delayed jobs late, p99 ms", "late_ms_p99", "", 2},
	{"Redis bytes a waiting job", "redis_bytes_per_job", "", 0},
	{"Redis bytes a job, 1 in 100 unfinished", "pinned_bytes_per_job", "", 0},
	{"Redis commands/s of an idle worker", "idle_commands_per_s", "", 1},
}

// print writes the median of each figure and what it was measured with.
func (b *queueBench) print(server string) error {
	medians := map[string]any{
		"redis": server, "processors": runtime.GOMAXPROCS(0), "runs": b.runs,
		"jobs": b.jobs, "payload_bytes": b.payload, "producers": b.producers, "concurrency": b.concurrency,
	}
	fetchers := b.chooseFetchers()
	medians["bare_fetchers"] = fetchers
	for key, values := range b.figures {
		medians[key] = median(values)
	}
	if b.json {
		encoder := json.NewEncoder(b.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(medians)
	}
	_, err := fmt.Fprintf(b.Out, "%s jobs of %d bytes, %d producers, %d handlers, bare loop with %d fetchers\n%s, %d processors, medians of %d runs\n\n",
		humanize.Comma(int64(b.jobs)), b.payload, b.producers, b.concurrency, fetchers, server, runtime.GOMAXPROCS(0), b.runs)
	if err != nil {
		return err
	}
	return b.queueTable().Write(b.Out)
}

// chooseFetchers makes the bare loop's figure that of the fastest number of
// fetchers, and gives that.
func (b *queueBench) chooseFetchers() int {
	best := 0
	for i := range b.bareDrains {
		if median(b.bareDrains[i]) > median(b.bareDrains[best]) {
			best = i
		}
	}
	b.figures["bare_drain_per_s"] = b.bareDrains[best]
	return best + 1
}

func (b *queueBench) queueTable() *cli.Table {
	t := &cli.Table{Heads: []string{"", "SKIDWAY", "BARE LOOP", "RATIO"}, Right: []bool{false, true, true, true}}
	for _, row := range queueTable {
		values, measured := b.figures[row.key]
		if !measured {
			continue
		}
		cells := []string{row.name, amount(median(values), row.decimals), "", ""}
		if row.bare != "" {
			bare := median(b.figures[row.bare])
			cells[2], cells[3] = amount(bare, row.decimals), amount(median(values)/bare, 2)
		}
		t.Add(cells...)
	}
	return t
}

func amount(value float64, decimals int) string {
	if decimals == 0 {
		return humanize.Comma(int64(math.Round(value)))
	}
	return strconv.FormatFloat(value, 'f', decimals, 64)
}
