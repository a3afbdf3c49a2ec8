// Package bench has the commands below "skidway bench".
package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
)

// Command returns the command "bench".
func Command(a *cli.App) *cobra.Command {
	bench := cli.Group(&cobra.Command{
		Use:   "bench",
		Short: "Measures this machine and this Redis",
		Long: `Measures Skidway on this machine with this Redis. Each run also measures plain
Redis commands, or plain decompression, as an upper bound: ratios differ less
between machines than rates.`,
		Example: `  skidway bench logs
  skidway bench queue --json
  skidway bench chat`,
	})
	bench.AddCommand(logsCommand(a), queueCommand(a), chatCommand(a))
	return bench
}

// A rig measures one Redis server and prints the figures.
type rig struct {
	*cli.App
	db   *rdb.DB
	runs cli.Number
	json bool
}

// addFlags adds the flags that all benchmarks have.
func (r *rig) addFlags(c *cobra.Command) {
	c.Flags().Var(&r.runs, "runs", "number of runs")
	c.Flags().BoolVar(&r.json, "json", false, "print the figures as JSON")
}

var errBenchStopped = errors.New("stopped before the end, so there are no figures")

// run connects, calls open, calls measure for each run, and returns the name of the
// server.
func (r *rig) run(ctx context.Context, open func() error, measure func(context.Context) error) (server string, err error) {
	if err := r.connect(ctx); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.db.Close()) }()
	if err := open(); err != nil {
		return "", err
	}
	if server, err = r.server(ctx); err != nil {
		return "", err
	}
	return server, r.repeat(ctx, measure)
}

// connect opens the server with a new prefix, so that no worker of others takes the
// jobs of the benchmark.
func (r *rig) connect(ctx context.Context) error {
	if err := r.OnlyRedis(); err != nil {
		return err
	}
	r.Prefix = cmp.Or(r.Prefix, rdb.DefaultPrefix) + ":bench-" + strings.ToLower(rand.Text()[:10])
	db, err := r.Open(ctx, r.URL())
	if err != nil {
		return err
	}
	if db.Embedded() {
		err = cli.WrongUsage("the embedded Redis cannot be measured: give --redis the URL of a server")
	} else if _, cluster := db.UniversalClient.(*redis.ClusterClient); cluster {
		err = cli.WrongUsage("every server of a Redis Cluster counts memory and commands for itself: give --redis the URL of a single server")
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.db = db
	return nil
}

// repeat calls measure for each run, or until a signal, and leaves nothing in Redis.
func (r *rig) repeat(ctx context.Context, measure func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, r.clean(context.WithoutCancel(ctx))) }()
	ctx, end := r.Console.CancelOnSignal(ctx, errBenchStopped)
	defer end()
	for run := range r.runs {
		r.Console.Notice("run %d of %d", run+1, r.runs)
		err := measure(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// info returns one value of the server's INFO.
func (r *rig) info(ctx context.Context, section, key string) (string, error) {
	text, err := r.db.Info(ctx, section).Result()
	if err != nil {
		return "", fmt.Errorf("ask Redis about itself: %w", err)
	}
	if value, ok := rdb.ParseInfo(text)[key]; ok {
		return value, nil
	}
	return "", fmt.Errorf("this Redis does not report %s, which is needed to measure", key)
}

func (r *rig) count(ctx context.Context, section, key string) (float64, error) {
	text, err := r.info(ctx, section, key)
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s from Redis: %w", key, err)
	}
	return value, nil
}

func (r *rig) memory(ctx context.Context, key string) (float64, error) {
	return r.count(ctx, "memory", key)
}

// commands returns how many commands Redis has run, including those of scripts.
func (r *rig) commands(ctx context.Context) (float64, error) {
	return r.count(ctx, "stats", "total_commands_processed")
}

// server returns the name and version of the server.
func (r *rig) server(ctx context.Context) (string, error) {
	server, err := r.db.Check(ctx)
	if err != nil {
		return "", err
	}
	aof, err := r.info(ctx, "persistence", "aof_enabled")
	if err != nil {
		return "", err
	}
	text := server.Name + " " + server.Version
	if aof == "1" {
		text += " with an append-only file"
	}
	return text, nil
}

// appendOnly calls f while the server writes an append-only file that it syncs each
// second. It restores the settings afterwards.
func (r *rig) appendOnly(ctx context.Context, f func() error) (err error) {
	for _, setting := range []struct{ name, value string }{{"appendfsync", "everysec"}, {"appendonly", "yes"}} {
		was, err := r.db.ConfigGet(ctx, setting.name).Result()
		if err != nil {
			return fmt.Errorf("read the setting %s: %w: leave --aof out", setting.name, err)
		}
		if err := r.set(ctx, setting.name, setting.value); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.set(context.WithoutCancel(ctx), setting.name, was[setting.name])) }()
	}
	if err := r.awaitRewrite(ctx); err != nil {
		return err
	}
	return f()
}

func (r *rig) set(ctx context.Context, name, value string) error {
	if err := r.db.ConfigSet(ctx, name, value).Err(); err != nil {
		return fmt.Errorf("set %s to %s: %w", name, value, err)
	}
	return nil
}

// awaitRewrite waits until the server has written its data to the new append-only
// file.
func (r *rig) awaitRewrite(ctx context.Context) error {
	for _, key := range []string{"aof_rewrite_scheduled", "aof_rewrite_in_progress"} {
		for {
			state, err := r.info(ctx, "persistence", key)
			if err != nil {
				return err
			}
			if state == "0" {
				break
			}
			if err := rdb.Sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// clean deletes all keys with the prefix of the benchmark. It frees their memory at once,
// because the memory of the next jobs may be measured.
func (r *rig) clean(ctx context.Context) error {
	keys := r.db.Scan(ctx, 0, r.db.Prefix()+":*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := r.db.Del(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("delete %s, which was made to measure: %w", keys.Val(), err)
		}
	}
	if err := keys.Err(); err != nil {
		return fmt.Errorf("delete the keys under %s, which were made to measure: %w", r.db.Prefix(), err)
	}
	return nil
}

// figures has what each run measured, by JSON key.
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

// median returns the median of a figure, 0 if it was not measured.
func (f figures) median(key string) float64 {
	if len(f[key]) == 0 {
		return 0
	}
	return median(f[key])
}

func (f figures) medians() map[string]any {
	medians := map[string]any{}
	for key, values := range f {
		medians[key] = median(values)
	}
	return medians
}

// A figure is one line of a table: a figure of Skidway, and that of the bare commands
// it is compared with, by their keys. Either may be missing.
type figure struct {
	name, key, bare string
	decimals        int
}

// A tableRow is a figure with its medians.
type tableRow struct {
	figure
	medians figures
}

func (r tableRow) cell(key string) string {
	if key == "" {
		return ""
	}
	return amount(r.medians.median(key), r.decimals)
}

func (r tableRow) ratio() string {
	if r.key == "" || r.bare == "" {
		return ""
	}
	return amount(r.medians.median(r.key)/r.medians.median(r.bare), 2)
}

// tableView returns the table of figures. bare is the heading of what Skidway is
// compared with.
func tableView(bare string) cli.View[tableRow] {
	return cli.View[tableRow]{
		{Head: " ", Cell: func(r tableRow) string { return r.name }},
		{Head: "SKIDWAY", Right: true, Cell: func(r tableRow) string {
			if r.key == "" && r.bare != "" {
				return "0" // Skidway has no such cost
			}
			return r.cell(r.key)
		}},
		{Head: bare, Right: true, Cell: func(r tableRow) string { return r.cell(r.bare) }},
		{Head: "RATIO", Right: true, Cell: tableRow.ratio},
	}
}

// report prints the figures and the conditions of the measurement: in JSON object, and
// otherwise the load and a table of rows.
func (r *rig) report(server, load string, object map[string]any, bare string, rows []tableRow) error {
	if r.json {
		object["redis"], object["processors"], object["runs"] = server, runtime.GOMAXPROCS(0), r.runs
		return cli.WriteJSON(r.Out, object)
	}
	if _, err := fmt.Fprintf(r.Out, "%s\n%s, %d processors, medians of %d runs\n\n", load, server, runtime.GOMAXPROCS(0), r.runs); err != nil {
		return err
	}
	return tableView(bare).Table(rows).Write(r.Out)
}

func amount(value float64, decimals int) string {
	if decimals == 0 {
		return humanize.Comma(int64(math.Round(value)))
	}
	return strconv.FormatFloat(value, 'f', decimals, 64)
}

func timed(f func() error) (time.Duration, error) {
	started := time.Now()
	err := f()
	return time.Since(started), err
}

func median(values []float64) float64 {
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

func perSecond[N int | cli.Number](n N, took time.Duration) float64 {
	return float64(n) / took.Seconds()
}

// inParallel lets goroutines call f for the numbers below n, batch numbers at a time.
// f is not interrupted when ctx ends: otherwise Redis could run its last command after the
// cleanup.
func inParallel(ctx context.Context, goroutines, n, batch int, f func(ctx context.Context, first, count int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var work sync.WaitGroup
	for range goroutines {
		work.Go(func() {
			for ctx.Err() == nil {
				first := int(next.Add(int64(batch))) - batch
				if first >= n {
					return
				}
				if err := f(context.WithoutCancel(ctx), first, min(batch, n-first)); err != nil {
					cancel(err)
				}
			}
		})
	}
	work.Wait()
	return context.Cause(ctx)
}
