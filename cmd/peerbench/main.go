// Peerbench measures the job queue github.com/hibiken/asynq on a given Redis,
// as `skidway bench queue` measures Skidway: same figures, same JSON keys, same
// load. Run in turn on one machine, the two can be compared.
//
// It is a Go module of its own, so that who builds or imports Skidway does not
// get asynq and what it depends on. Nothing of Skidway is used here; run it
// from this folder:
//
//	go run . --redis unix:///run/redis.sock?db=9
//	go run . --redis redis://127.0.0.1/9 --figures enqueue,drain --json
//
// The database must be empty and is empty again afterwards. Nothing else may use
// the server meanwhile: memory and idle commands are counted by the server as a
// whole.
//
// Asynq runs with its default settings but for the concurrency. What is measured:
//
//	enqueue  calls a second of Client.Enqueue, one job a call, by all producers
//	memory   growth of used_memory with all jobs waiting, for each job
//	drain    jobs a second of one server when all of them wait at its start,
//	         from Start to the end of the last handler, which does nothing
//	steady   jobs a second when produced and drained at the same time, from
//	         the first call to the end of the last handler
//	pickup   from before Enqueue to the start of the handler on an idle server,
//	         one job at a time, at any moment of asynq's polling
//	late     how long after its time a delayed job starts, when --delayed of
//	         them are due over one second, at any moment of asynq's polling
//	idle     commands a second of a server that has nothing to do, those
//	         inside scripts included
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
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

// run measures what args ask for, writes the figures to out and what it is
// doing to progress.
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
