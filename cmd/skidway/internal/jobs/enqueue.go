package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/telemetry"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers/kinds"
)

// An enqueueCmd is the command "enqueue".
type enqueueCmd struct {
	*cli.App
	options jobFlags
	durable bool
	wait    bool
	batch   batchFlags
}

// Enqueue returns the command "enqueue".
func Enqueue(a *cli.App) *cobra.Command {
	e := &enqueueCmd{App: a}
	c := &cobra.Command{
		Use:   "enqueue QUEUE KIND [ARGS|-]",
		Short: "Adds jobs to a queue",
		Long: `Adds a job to a queue and prints its id. ARGS is JSON (default {}), or - to read
it from standard input.

--wait waits until the job has ended and prints its result. Meanwhile it reports
failed attempts on standard error. The exit code is 1 unless the job has
succeeded or was discarded. The result is kept for a minute; --retain keeps it
longer.

--durable waits until Redis confirms that the job survives a crash of its
server: that it is on disk (with appendonly, from Redis 7.2 on), or on a
replica, or both where the server has both. Where it has neither, nothing is
added. The id of a job that was added, but not confirmed within 5 seconds, is
printed; the exit code is 1. Do not add it again. With --batch the flag holds
for all lines.

--batch reads one JSON object per line from a file, or from standard input with
-. It has "kind", "args", and options named like the flags:

  {"kind":"http.request","args":{"url":"https://a.example"},"max_attempts":3}
  {"kind":"http.request","args":{"url":"https://b.example"},"in":"10m"}

"at" is a time such as 2026-11-30T08:00:00Z, "headers" is an object, and "then"
is a list of jobs to add when this one has succeeded. Jobs are added in the
order of the lines. A line that is no job ends the batch: the jobs before it are
added, those after it are not, and the error names the line to go on with.
--skip-bad reports such lines and skips them. A job whose unique key is held is
counted as a duplicate and not added.`,
		Example: `  skidway enqueue mail email.send '{"to":"a@example.com","text":"Hello"}' \
      --max-attempts 5
  skidway enqueue reports logs.report \
      '{"channel":"web","subscriber":"countries"}' --in 10m
  skidway enqueue hooks http.request - --unique order-17 < request.json
  skidway enqueue hooks http.request '{"url":"https://example.com"}' --wait
  skidway enqueue reports logs.report - --then @mail.json < report.json
  skidway enqueue orders order.paid '{"order":17}' --durable
  skidway enqueue mail --batch mails.ndjson
  generate | skidway enqueue mail --batch - --ids > ids`,
		Args: cobra.RangeArgs(0, 3),
	}
	e.options.add(c)
	c.Flags().BoolVar(&e.durable, "durable", false, "wait until Redis confirms that the job survives a crash of its server")
	c.Flags().BoolVar(&e.wait, "wait", false, "wait until the job has ended, and print its result")
	e.batch.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error { return e.run(c, args) })
	return c
}

func (e *enqueueCmd) run(c *cobra.Command, args []string) error {
	options, err := e.options.get()
	if err != nil {
		return err
	}
	if len(args) == 0 || args[0] == "" { // a variable of a script that is not set is not the default queue
		return cli.WrongUsage("missing QUEUE")
	}
	options.Queue, options.Durable = args[0], e.durable
	if e.batch.file != "" {
		if len(args) > 1 || e.wait {
			return cli.WrongUsage("--batch goes with QUEUE only: kind, args and options are in the lines")
		}
		return e.withTraces(c.Context(), func(ctx context.Context, client service) error {
			return e.addBatch(c, client, options)
		})
	}
	if e.batch.ids || e.batch.skipBad {
		return cli.WrongUsage("--ids and --skip-bad go with --batch")
	}
	insert, err := insertOf(c, args[1:], options)
	if err != nil {
		return err
	}
	return e.withTraces(c.Context(), func(ctx context.Context, client service) error {
		if e.wait {
			return e.addAndWait(ctx, client, insert)
		}
		return e.add(ctx, client, insert)
	})
}

// withTraces calls f with the service of the command line, which makes spans if the environment
// wants them.
func (e *enqueueCmd) withTraces(ctx context.Context, f func(context.Context, service) error) error {
	return withService(ctx, e.App, func(client service) error {
		direct, ok := client.(direct)
		if !ok {
			return f(ctx, client)
		}
		t, err := telemetry.Start(ctx, direct.DB(), slog.New(slog.NewTextHandler(e.Console.Out, nil)), nil)
		if err != nil {
			return err
		}
		defer t.Stop(ctx)
		if direct.Client, err = queue.NewClient(direct.DB(), t.Client(queue.Config{})); err != nil {
			return err
		}
		return f(telemetry.FromEnvironment(ctx), direct)
	})
}

// insertOf returns the job of a command line.
func insertOf(c *cobra.Command, args []string, options queue.Options) (queue.NewJob, error) {
	if len(args) == 0 {
		return queue.NewJob{}, cli.WrongUsage("missing KIND (or --batch FILE)")
	}
	text := []byte("{}")
	if len(args) > 1 {
		var err error
		if text, err = readArgs(c, args[1]); err != nil {
			return queue.NewJob{}, err
		}
	}
	if len(text) <= queue.DefaultMaxPayload { // otherwise the client refuses it
		if err := kinds.Check(args[0], text); err != nil {
			return queue.NewJob{}, cli.WrongUsage("%w", err)
		}
	}
	return queue.NewJob{Args: queue.Raw(args[0], text), Options: options}, nil
}

// readArgs returns the args of a job, which are read from standard input for -. They are JSON, or larger
// than a job may have.
func readArgs(c *cobra.Command, arg string) ([]byte, error) {
	text := []byte(arg)
	if arg == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(c.InOrStdin(), queue.DefaultMaxPayload+1)); err != nil {
			return nil, fmt.Errorf("read ARGS from standard input: %w", err)
		}
	}
	if len(text) <= queue.DefaultMaxPayload {
		if err := checkJSON(text); err != nil {
			return nil, cli.WrongUsage("ARGS %w", err)
		}
	}
	return text, nil
}

// checkJSON returns an error with the position at which text stops being JSON.
func checkJSON(text []byte) error {
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	var wrong *json.SyntaxError
	if err == nil || !errors.As(err, &wrong) {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("are empty: leave them out or give JSON, at least {}")
	}
	// Offset is that of the byte after the wrong one.
	at := max(0, min(int(wrong.Offset)-1, len(text)))
	before := text[max(0, at-20):at]
	return fmt.Errorf("are not JSON: %w, at byte %d, after %q", err, at+1, before)
}

// add enqueues one job and prints its id.
func (e *enqueueCmd) add(ctx context.Context, client service, insert queue.NewJob) error {
	id, err := client.Enqueue(ctx, insert.Args, &insert.Options)
	if err != nil {
		if id != "" { // it was added, and is not confirmed
			err = errors.Join(e.PrintLine(id), err)
		}
		return withAdvice(err)
	}
	warnUnserved(ctx, e.App, client, insert.Options.Queue, "the job waits until one does", insert.Args.Kind())
	return e.PrintLine(id)
}

// withAdvice adds to the error of a durable job whether to add it again.
func withAdvice(err error) error {
	var unfit *rdb.UnfitServerError
	var unconfirmed *rdb.UnconfirmedError
	switch {
	case errors.As(err, &unfit):
		return fmt.Errorf("%w: no job was added; without --durable it would be", err)
	case errors.As(err, &unconfirmed):
		return fmt.Errorf("%w: do not add it again", err)
	}
	return err
}

// warnUnserved prints a notice if no worker serves a queue, or none of those that do knows
// one of the kinds: a name may be mistyped. consequence is what the first means for what
// was added; without it the first is not reported.
func warnUnserved(ctx context.Context, a *cli.App, client interface {
	LivingPools(context.Context, string) ([]queue.PoolInfo, error)
}, name, consequence string, kinds ...string) {
	if a.Console.Quiet {
		return
	}
	pools, err := client.LivingPools(ctx, cmp.Or(name, queue.DefaultQueue))
	if err != nil {
		return // the job was added, which is what counts
	}
	// These fetch no more jobs.
	pools = slices.DeleteFunc(pools, func(pool queue.PoolInfo) bool { return pool.State == "quiet" || pool.State == "stopping" })
	if len(pools) == 0 && consequence != "" {
		a.Console.Notice("no worker serves queue %s now: %s", name, consequence)
		return
	}
	for _, kind := range kinds {
		if len(pools) > 0 && !slices.ContainsFunc(pools, func(pool queue.PoolInfo) bool { return pool.Kinds == nil || slices.Contains(pool.Kinds, kind) }) {
			a.Console.Notice("no worker of queue %s has a handler for the kind %s: its jobs fail until one has", name, kind)
		}
	}
}
