package bench

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/queue"
)

// queueBench is the command "bench queue". It has the measurements.
type queueBench struct {
	queueLoad
	jobs    cli.Number
	idleFor cli.Span
	aof     bool

	figures    figures
	bareDrains [maxFetchers][]float64 // jobs a second, by the number of fetchers less one
}

// minPayload is the size of the number of a job, with which its payload begins.
const minPayload = 8

func queueCommand(a *cli.App) *cobra.Command {
	b := &queueBench{
		queueLoad: queueLoad{rig: rig{App: a, runs: 5}, payload: 100, producers: 16, concurrency: 64},
		jobs:      200_000, idleFor: cli.Span(20 * time.Second), figures: figures{},
	}
	c := &cobra.Command{
		Use:   "queue",
		Short: "Measures adding and running jobs",
		Long: `Measures how many jobs a second are added, one per call and in batches of 100,
and drained by one pool whose handlers do nothing; the same of delayed jobs;
how soon one of 1, 8 or 20 idle pools starts a job, and how late delayed jobs
start; the memory that jobs take in Redis, and the commands that an idle worker
sends. All of it runs in one process.

Jobs with the header of a trace, and clients and pools with metrics or spans of
OpenTelemetry, of which 1 or 100 % are sampled, take turns with plain jobs, and
so do pools that count no statistics. Nothing is exported.

For comparison it sends the bare Redis commands in a loop that checks nothing
and guarantees nothing: pipelines of 100 XADD, then XREADGROUP COUNT 100 and one
script with XACK and XDEL per batch, by 1 to 4 fetchers, of which the fastest
number counts. Calls by one, 16 and 64 callers take turns with XADDs that as
many callers send in the same way. All figures are medians over the runs.

A drain ends when all its jobs are finished in Redis, not only handled. Up to
30,000 delayed jobs are added 100 per call, due at one time or at random times
in one second, and drained when all are due. Lateness is the time from when a
job is due to the start of its handler, for 10,000 jobs due over one second.
Unfinished jobs are one in a hundred that a worker still holds when all others
are done: they keep the memory of others in use.

Nothing else should use the server meanwhile: it counts memory and commands of
all clients. The keys have a temporary prefix below --prefix and are deleted
afterwards. --aof changes settings of the server and restores them.`,
		Example: `  skidway bench queue
  skidway bench queue --redis unix:///run/redis.sock --jobs 1000000 --json`,
		Args: cobra.NoArgs,
	}
	c.Flags().Var(&b.jobs, "jobs", "jobs to add and drain per measurement")
	c.Flags().Var(&b.payload, "payload", "payload of each job in bytes")
	c.Flags().Var(&b.producers, "producers", "goroutines that add jobs")
	c.Flags().Var(&b.concurrency, "concurrency", "handlers at once")
	c.Flags().Var(&b.idleFor, "idle-for", "time to count the commands of an idle worker")
	c.Flags().BoolVar(&b.aof, "aof", false, "measure again with an append-only file, synced each second")
	b.addFlags(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return b.measureAndPrint(c.Context()) })
	return c
}

func (b *queueBench) check() error {
	if b.jobs < 100 {
		return cli.WrongUsage("--jobs must be 100 or more: one in a hundred is left unfinished")
	}
	if b.payload < minPayload {
		return cli.WrongUsage("--payload must be %d or more: the number of the job is in it", minPayload)
	}
	if b.producers == 0 || b.concurrency == 0 || b.runs == 0 {
		return cli.WrongUsage("--producers, --concurrency and --runs must be 1 or more")
	}
	return nil
}

func (b *queueBench) measureAndPrint(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	b.log = slog.New(slog.NewTextHandler(b.Console.Out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	open := func() (err error) {
		b.client, err = queue.NewClient(handle.New(b.db), nil)
		return err
	}
	server, err := b.run(ctx, open, b.measure)
	if err != nil {
		return err
	}
	return b.printMedians(server)
}

// measure measures everything once.
func (b *queueBench) measure(ctx context.Context) error {
	type step struct {
		what string
		do   func(context.Context) error
	}
	steps := []step{
		{"a lone caller", b.lone},
		{"callers that share round trips", b.callers},
		{"single calls", b.singles},
		{"the bare loop", b.bare},
		{"batches", b.batches},
		{"jobs with headers and traces", b.measureVariants},
		{"both at once", b.steady},
		{"delayed jobs", b.delayed},
		{"pickup", b.pickup},
		{"lateness", b.late},
		{"unfinished jobs", b.pinned},
		{"an idle worker", b.idle},
	}
	if b.aof {
		steps = append(steps, step{"with an append-only file", b.withAOF})
	}
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("measure %s: %w", s.what, err)
		}
	}
	return nil
}

var queueTable = []figure{
	{"lone call, µs", "lone_enqueue_us", "bare_lone_xadd_us", 1},
	{"added/s, 16 callers", "callers16_per_s", "bare_callers16_per_s", 0},
	{"added/s, 64 callers", "callers64_per_s", "bare_callers64_per_s", 0},
	{"added/s, one a call", "enqueue_per_s", "", 0},
	{"added/s, 100 a call", "enqueue_batch_per_s", "bare_enqueue_batch_per_s", 0},
	{"drained/s", "drain_per_s", "bare_drain_per_s", 0},
	{"added, one a call, and drained/s", "steady_per_s", "", 0},
	{"with AOF: added/s, one a call", "enqueue_aof_per_s", "", 0},
	{"with AOF: added/s, 100 a call", "enqueue_batch_aof_per_s", "", 0},
	{"with AOF: drained/s", "drain_aof_per_s", "", 0},
	{"delayed: added/s, 100 a call", "delayed_enqueue_per_s", "", 0},
	{"delayed: drained/s", "delayed_drain_per_s", "", 0},
	{"delayed: Redis bytes a job", "delayed_bytes_per_job", "", 0},
	{"at random times: added/s, 100 a call", "delayed_random_enqueue_per_s", "", 0},
	{"at random times: drained/s", "delayed_random_drain_per_s", "", 0},
	{"at random times: Redis bytes a job", "delayed_random_bytes_per_job", "", 0},
	{"pickup when idle, p50 ms", "pickup_ms_p50", "", 2},
	{"pickup when idle, p99 ms", "pickup_ms_p99", "", 2},
	{"pickup by 8 idle pools, p50 ms", "pickup_8_pools_ms_p50", "", 2},
	{"pickup by 8 idle pools, p99 ms", "pickup_8_pools_ms_p99", "", 2},
	{"pickup by 20 idle pools, p50 ms", "pickup_20_pools_ms_p50", "", 2},
	{"pickup by 20 idle pools, p99 ms", "pickup_20_pools_ms_p99", "", 2},
	{"delayed jobs late, p50 ms", "late_ms_p50", "", 2},
	{"delayed jobs late, p99 ms", "late_ms_p99", "", 2},
	{"Redis bytes a waiting job", "redis_bytes_per_job", "", 0},
	{"Redis bytes a job, 1 in 100 unfinished", "pinned_bytes_per_job", "", 0},
	{"Redis commands/s of an idle worker", "idle_commands_per_s", "", 1},
}

// A ratio is one of two figures, all by their JSON keys.
type ratio struct{ key, of, bare string }

var queueRatios = []ratio{
	{"lone_enqueue_vs_xadd", "lone_enqueue_us", "bare_lone_xadd_us"},
	{"callers16_vs_xadd", "callers16_per_s", "bare_callers16_per_s"},
	{"callers64_vs_xadd", "callers64_per_s", "bare_callers64_per_s"},
	{"drain_vs_bare", "drain_per_s", "bare_drain_per_s"},
}

func (b *queueBench) printMedians(server string) error {
	fetchers := b.chooseFetchers()
	object := b.figures.medians()
	object["jobs"], object["payload_bytes"], object["producers"] = b.jobs, b.payload, b.producers
	object["concurrency"], object["bare_fetchers"] = b.concurrency, fetchers
	object["unrecorded_max"] = b.unrecordedMax
	for _, r := range queueRatios {
		object[r.key] = b.figures.median(r.of) / b.figures.median(r.bare)
	}
	var rows []tableRow
	for _, f := range queueTable {
		if _, measured := b.figures[f.key]; measured {
			rows = append(rows, tableRow{f, b.figures})
		}
	}
	load := fmt.Sprintf("%s jobs of %d bytes, %d producers, %d handlers, bare loop with %d fetchers",
		humanize.Comma(int64(b.jobs)), b.payload, b.producers, b.concurrency, fetchers)
	return b.report(server, load, object, "BARE LOOP", rows)
}

// chooseFetchers sets the figure of the bare loop to that of the fastest number of
// fetchers, and returns that number.
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
