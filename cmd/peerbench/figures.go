package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"
)

// figures has the values of each run, by JSON key.
type figures map[string][]float64

func (f figures) add(key string, value float64) { f[key] = append(f[key], value) }

// addPercentiles adds the median and the 99th percentile in milliseconds, by the
// nearest-rank method.
func (f figures) addPercentiles(key string, values []time.Duration) {
	slices.Sort(values)
	for _, p := range []int{50, 99} {
		rank := int(math.Ceil(float64(len(values)*p) / 100))
		f.add(fmt.Sprintf("%s_p%d", key, p), values[rank-1].Seconds()*1e3)
	}
}

// writeJSON writes the median of each figure and the conditions of the measurement.
func (f figures) writeJSON(out io.Writer, o options, redisVersion string) error {
	values := map[string]any{
		"peer": "asynq " + asynqVersion(), "redis": redisVersion, "processors": runtime.GOMAXPROCS(0),
		"jobs": o.jobs, "payload_bytes": o.payload, "producers": o.producers, "concurrency": o.concurrency,
		"runs": o.runs,
	}
	for key, runs := range f {
		values[key] = median(runs)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(values)
}

// writeTable writes the median of each figure for people.
func (f figures) writeTable(out io.Writer, o options, redisVersion string) error {
	_, err := fmt.Fprintf(out, "asynq %s, Redis %s, %d processors, %d jobs of %d bytes, %d producers, %d handlers, medians of %d runs\n\n",
		asynqVersion(), redisVersion, runtime.GOMAXPROCS(0), o.jobs, o.payload, o.producers, o.concurrency, o.runs)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range []struct {
		key, name string
		decimals  int
	}{
		{"enqueue_per_s", "enqueued/s", 0},
		{"drain_per_s", "drained/s", 0},
		{"steady_per_s", "both at once/s", 0},
		{"pickup_ms_p50", "pickup p50, ms", 1},
		{"pickup_ms_p99", "pickup p99, ms", 1},
		{"late_ms_p50", "late p50, ms", 1},
		{"late_ms_p99", "late p99, ms", 1},
		{"redis_bytes_per_job", "bytes a waiting job", 0},
		{"idle_commands_per_s", "commands/s when idle", 1},
	} {
		if runs, measured := f[row.key]; measured {
			if _, err := fmt.Fprintf(table, "%s\t%.*f\t\n", row.name, row.decimals, median(runs)); err != nil {
				return err
			}
		}
	}
	return table.Flush()
}

// asynqVersion returns the version of the module that is linked.
func asynqVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/hibiken/asynq" {
				return module.Version
			}
		}
	}
	return "of unknown version"
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
