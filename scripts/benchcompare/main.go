// Command benchcompare builds two commits and measures them in turn on one new Redis
// with `bench queue`, `bench logs` and `bench chat`. It fails if a figure of the second
// is worse: if the median of its losses exceeds -max-loss per cent and the 95 % interval
// of that median excludes zero.
//
//	go run ./scripts/benchcompare -base COMMIT [-head COMMIT] [-max-loss PERCENT] [-pairs N]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var (
	base    = flag.String("base", "", "the `COMMIT` to compare with")
	head    = flag.String("head", "HEAD", "the `COMMIT` to compare")
	maxLoss = flag.Float64("max-loss", 5, "the median loss in `per cent` that is not yet a failure")
	pairs   = flag.Int("pairs", minPairs, "number of measurements of each commit")
	// The sizes bound one run of all three to about a minute on 2 processors.
	benches = map[string]*string{
		"queue": flag.String("queue", "--jobs 50000 --idle-for 10s", "the `flags` of bench queue; - leaves it out"),
		"logs":  flag.String("logs", "--lines 300000", "the `flags` of bench logs; - leaves it out"),
		"chat":  flag.String("chat", "--messages 3000 --members 2,100", "the `flags` of bench chat; - leaves it out"),
	}
)

// minPairs is the smallest number of pairs. With ten, the interval of the median leaves
// out the lowest and the highest value.
const minPairs = 10

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchcompare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if *base == "" {
		return errors.New("which commit to compare with? As in make bench-compare BASE=HEAD~1")
	}
	if *pairs < minPairs {
		return fmt.Errorf("-pairs is %d: must be %d or more", *pairs, minPairs)
	}
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for side, commit := range []string{*base, *head} {
		if err := build(ctx, commit, filepath.Join(folder, fmt.Sprint(side))); err != nil {
			return fmt.Errorf("build %s: %w", commit, err)
		}
	}
	socket := filepath.Join(folder, "redis.sock")
	server := exec.CommandContext(ctx, "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
		"--dir", folder, "--loglevel", "warning")
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	ping := exec.CommandContext(ctx, "sh", "-c", `until redis-cli -s "$0" ping >/dev/null 2>&1; do sleep 0.1; done`, socket)
	if err := ping.Run(); err != nil {
		return err
	}
	results := map[string][2][]float64{}
	for pair := range *pairs {
		for turn := range 2 {
			side := (pair + turn) % 2 // each side goes first equally often
			for _, bench := range slices.Sorted(maps.Keys(benches)) {
				fmt.Fprintf(os.Stderr, "pair %d of %d: bench %s of %s\n", pair+1, *pairs, bench, []string{*base, *head}[side])
				figures, err := measure(ctx, filepath.Join(folder, fmt.Sprint(side), "skidway"), bench, "unix://"+socket)
				if err != nil {
					return fmt.Errorf("bench %s of %s: %w", bench, []string{*base, *head}[side], err)
				}
				for name, value := range figures {
					values := results[name]
					values[side] = append(values[side], value)
					results[name] = values
				}
			}
		}
	}
	return report(os.Stdout, results, *maxLoss)
}

// build builds skidway at a commit.
func build(ctx context.Context, commit, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "sh", "-ec", `git archive --output "$1/source.tar" "$0"
		tar -xf "$1/source.tar" -C "$1"
		go build -C "$1" -trimpath -o skidway ./cmd/skidway`, commit, folder)
	c.Stderr = os.Stderr
	return c.Run()
}

// measure runs a benchmark once and returns its figures by name.
func measure(ctx context.Context, program, bench, url string) (map[string]float64, error) {
	if *benches[bench] == "-" {
		return nil, nil
	}
	args := append([]string{"bench", bench, "--redis", url, "--runs", "1", "--json", "--quiet"}, strings.Fields(*benches[bench])...)
	c := exec.CommandContext(ctx, program, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Stderr = os.Stderr
	output, err := c.Output()
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(output, &object); err != nil {
		return nil, err
	}
	figures := map[string]float64{}
	return figures, collect(figures, bench, object)
}
