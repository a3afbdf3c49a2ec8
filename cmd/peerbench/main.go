// Command peerbench measures the job queue github.com/hibiken/asynq on a given Redis,
// as `skidway bench queue` measures Skidway: same figures, same JSON keys, same
// load. Run in turn on one machine, the two can be compared.
//
// It is a Go module of its own, so that Skidway does not depend on asynq and its
// dependencies. It uses no code of Skidway. Run it from this folder:
//
//	go run . --redis unix:///run/redis.sock?db=9
//	go run . --redis redis://127.0.0.1/9 --figures enqueue,drain --json
//
// The database must be empty, and is emptied afterwards. Nothing else should use the
// server meanwhile: it counts memory and commands of all its clients.
//
// Asynq runs with its default settings but for the concurrency. The measurements:
//
//	enqueue  calls of Client.Enqueue per second, one job per call, by all producers
//	memory   growth of used_memory per waiting job
//	drain    jobs per second of one server when all jobs wait at its start, from
//	         Start to the end of the last handler, which does nothing
//	steady   jobs per second when they are added and drained at the same time,
//	         from the first call to the end of the last handler
//	pickup   time from Enqueue to the start of the handler on an idle server, for
//	         single jobs at random times of asynq's polling interval
//	late     time from when a delayed job is due to its start, when --delayed of
//	         them are due over one second, at random times of the polling interval
//	idle     commands per second of an idle server, including those of scripts
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "peerbench:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "peerbench:", err)
		os.Exit(1)
	}
}

// run parses args, measures, writes the figures to out and reports its steps to
// progress.
func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	db, err := openEmpty(ctx, o.redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	b := newBench(o, db)
	defer func() { err = errors.Join(err, b.close()) }()
	f := figures{}
	for i := range o.runs {
		if _, err := fmt.Fprintf(progress, "run %d of %d\n", i+1, o.runs); err != nil {
			return err
		}
		if err := b.run(ctx, f, progress); err != nil {
			return err
		}
	}
	if o.json {
		return f.writeJSON(out, o, db.version)
	}
	return f.writeTable(out, o, db.version)
}

// options are the values of the flags.
type options struct {
	redis       string
	jobs        int
	payload     int // bytes
	producers   int
	concurrency int
	samples     int
	delayed     int
	rounds      int
	idleFor     time.Duration
	runs        int
	figures     []string // names of measurements
	json        bool
}

// A usageError is an error in the command line.
type usageError struct{ error }

// minPayload is the size of the number that distinguishes delayed jobs.
const minPayload = 8

func parseOptions(args []string, help io.Writer) (options, error) {
	var o options
	var chosen string
	set := flag.NewFlagSet("peerbench", flag.ContinueOnError)
	set.SetOutput(help)
	set.StringVar(&o.redis, "redis", "", "`URL` of an empty database: redis://HOST:PORT/DB or unix:///PATH?db=DB")
	set.IntVar(&o.jobs, "jobs", 200_000, "number of jobs to enqueue and drain")
	set.IntVar(&o.payload, "payload", 100, "bytes of payload in each job")
	set.IntVar(&o.producers, "producers", 16, "goroutines that enqueue")
	set.IntVar(&o.concurrency, "concurrency", 64, "handlers at once")
	set.IntVar(&o.samples, "samples", 30, "number of measurements of pickup; each takes about 1.5 s")
	set.IntVar(&o.delayed, "delayed", 10_000, "delayed jobs due over one second")
	set.IntVar(&o.rounds, "rounds", 5, "number of measurements of late, at times spread over asynq's 5 s of polling; each takes about 10 s")
	set.DurationVar(&o.idleFor, "idle-for", 20*time.Second, "time to count the commands of an idle server")
	set.IntVar(&o.runs, "runs", 1, "number of runs, of which the medians are printed")
	set.StringVar(&chosen, "figures", strings.Join(measurementNames(), ","), "what to measure, separated by commas")
	set.BoolVar(&o.json, "json", false, "print the figures as JSON")
	if err := set.Parse(args); err != nil {
		return o, usageError{err}
	}
	o.figures = strings.Split(chosen, ",")
	if err := o.check(set.Args()); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

func (o *options) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q is not understood: there are only flags", rest[0])
	}
	if o.redis == "" {
		return errors.New("--redis is missing: give the URL of an empty database, such as redis://127.0.0.1:6379/9")
	}
	for _, n := range []struct {
		flag       string
		value, min int
	}{
		{"jobs", o.jobs, 1}, {"payload", o.payload, minPayload}, {"producers", o.producers, 1},
		{"concurrency", o.concurrency, 1}, {"samples", o.samples, 1}, {"delayed", o.delayed, 1},
		{"rounds", o.rounds, 1}, {"runs", o.runs, 1},
	} {
		if n.value < n.min {
			return fmt.Errorf("--%s is %d: must be %d or more", n.flag, n.value, n.min)
		}
	}
	if o.idleFor <= 0 {
		return fmt.Errorf("--idle-for is %s: must be longer than 0", o.idleFor)
	}
	for _, name := range o.figures {
		if !slices.Contains(measurementNames(), name) {
			return fmt.Errorf("--figures: %q is none of %s", name, strings.Join(measurementNames(), ", "))
		}
	}
	return nil
}
