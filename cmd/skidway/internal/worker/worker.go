// Package worker has the commands worker and config.
package worker

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/serve"
	"skidway/ops"
	"skidway/queue"
)

// workerFlags are the flags of "skidway worker". Those on the command line win over
// the configuration and the environment.
type workerFlags struct {
	file           string
	queues         []string
	concurrency    cli.Number
	strict         bool
	name, listen   string
	logFormat      cli.Choice
	allowRedirects bool
	allowPrivate   bool
	queueMetrics   bool
	servers        serve.Flags
	given          func(flag string) bool
}

const workerHelp = `Runs the jobs of some queues, and fires their schedules, until it is stopped.

It runs jobs of the kind http.request, and of the kinds that its configuration
has settings for: email.send (a mail server), exec.run (the commands that jobs
can start), logs.ship, logs.report and logs.count (the folders that they can
read).

A setting comes from a flag, from the environment, or from the file of --config,
in this order. "skidway config variables" lists the variables:
worker.max_attempts is SKIDWAY_WORKER_MAX_ATTEMPTS.

If SKIDWAY_SERVER is set, give --redis, SKIDWAY_REDIS or redis in the file.

On SIGTERM or Ctrl-C it takes no more jobs, and waits for worker.drain (default
25s) until running jobs end. Then it cancels them and waits for worker.grace
(default 10s). It hands unfinished jobs back without counting an attempt, and
ends with 0. A second signal stops it at once, with exit code 1.

On SIGHUP it reads the configuration again, for new jobs. Running jobs keep the
old one until they end, and do not count for the new concurrency. An invalid
configuration changes nothing. redis, prefix, listen, queue_metrics, log.format
and worker.max_payload need a restart. Schedules that are no longer in the
configuration stay until "skidway cron remove" removes them.

With --listen it serves GET /healthz (200 while the process runs), /readyz (200
while it takes jobs and Redis answers) and /metrics (Prometheus). The metrics
are those of the process. With --queue-metrics there are also those of all
queues in Redis: give it to one worker, or to a few.

With --serve it also answers the HTTP API, as 'skidway serve' does, and with
--dash it shows the dashboard, as 'skidway dash' does. Their flags have the same
meaning here, and are not in the configuration. Operations that requests begin
run in the worker.`

// Command returns the command "worker".
func Command(a *cli.App) *cobra.Command {
	f := workerFlags{logFormat: cli.Choice{Words: []string{"text", "json"}}}
	c := &cobra.Command{
		Use:   "worker",
		Short: "Runs jobs of the built-in kinds",
		Long:  workerHelp,
		Example: `  skidway worker --queue default
  skidway worker --queue mail=3 --queue reports --concurrency 32
  skidway worker --config /etc/skidway.yaml --listen 127.0.0.1:9310
  skidway worker --queue mail --serve 127.0.0.1:8470`,
		Args: cobra.NoArgs,
	}
	flags := c.Flags()
	flags.StringVar(&f.file, "config", "", "`FILE` with the configuration, in YAML")
	flags.StringArrayVar(&f.queues, "queue", nil, "`NAME[=WEIGHT]` of a queue, or a pattern such as \"tenant-*\"; may be repeated (default \"default\")")
	flags.Var(&f.concurrency, "concurrency", "number of jobs at once (default 16)")
	flags.BoolVar(&f.strict, "strict", false, "take jobs of a queue only while the queues before it are empty")
	flags.StringVar(&f.name, "name", "", "`NAME` of the worker in lists (default: host and process id)")
	flags.StringVar(&f.listen, "listen", "", "`ADDR` to serve /healthz, /readyz and /metrics at, as 127.0.0.1:9310")
	flags.BoolVar(&f.queueMetrics, "queue-metrics", false, "have the state of all queues in /metrics")
	flags.Var(&f.logFormat, "log-format", "format of the log (default text)")
	flags.BoolVar(&f.allowRedirects, "http-allow-redirects", false, "allow http.request to follow redirects")
	flags.BoolVar(&f.allowPrivate, "http-allow-private", false, "allow http.request to reach addresses that are not public")
	flags.StringVar(&f.servers.API, "serve", "", "`ADDR` to serve the HTTP API at, as 127.0.0.1:8470")
	flags.StringVar(&f.servers.Dash, "dash", "", "`ADDR` to serve the dashboard at")
	f.servers.Add(flags)
	f.servers.AddHooks(flags)
	cli.Complete(c, "log-format", f.logFormat.Words...)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		f.given = c.Flags().Changed
		return runWorker(c.Context(), a, &f)
	})
	return c
}

// config returns the configuration with the flags applied.
func (f *workerFlags) config(a *cli.App) (*config, error) {
	c, err := readConfig(f.file, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for flag, set := range map[string]func(){
		"concurrency":          func() { c.Worker.Concurrency = wholeNumber(f.concurrency) },
		"strict":               func() { c.Worker.Strict = f.strict },
		"name":                 func() { c.Worker.Name = f.name },
		"listen":               func() { c.Listen = f.listen },
		"queue-metrics":        func() { c.AllQueues = f.queueMetrics },
		"log-format":           func() { c.Log.Format = f.logFormat.Word },
		"http-allow-redirects": func() { c.Kinds.HTTP.AllowRedirects = f.allowRedirects },
		"http-allow-private":   func() { c.Kinds.HTTP.AllowPrivate = f.allowPrivate },
	} {
		if f.given(flag) {
			set()
		}
	}
	if f.given("listen") {
		if _, _, err := net.SplitHostPort(f.listen); err != nil && f.listen != "" {
			return nil, cli.WrongUsage("--listen %q: want host and port, as in 127.0.0.1:9310", f.listen)
		}
	}
	if f.given("queue-metrics") && c.AllQueues && c.Listen == "" && f.servers.API == "" {
		return nil, cli.WrongUsage("--queue-metrics needs an address to serve them at: give --listen or --serve too")
	}
	if len(f.queues) > 0 {
		if c.Queues, err = parseQueues(f.queues); err != nil {
			return nil, err
		}
	}
	if len(c.Queues) == 0 {
		c.Queues = []queueConfig{{Name: queue.DefaultQueue}}
	}
	// --redis wins. c.Redis has SKIDWAY_REDIS already.
	if a.Redis != "" {
		c.Redis = a.Redis
	}
	if c.Redis == "" {
		c.Redis = a.URL()
	}
	if a.Prefix != "" {
		c.Prefix = a.Prefix
	}
	return c, nil
}

// parseQueues reads NAME or NAME=WEIGHT.
func parseQueues(texts []string) ([]queueConfig, error) {
	var queues []queueConfig
	for _, text := range texts {
		name, weight, weighted := strings.Cut(text, "=")
		q := queueConfig{Name: name}
		if weighted {
			n, err := strconv.Atoi(weight)
			if err != nil || n < 1 {
				return nil, cli.WrongUsage("--queue %q: the weight %q is no whole number above zero", text, weight)
			}
			q.Weight = wholeNumber(n)
		}
		if slices.ContainsFunc(queues, func(other queueConfig) bool { return other.Name == name }) {
			return nil, cli.WrongUsage("--queue %q: that queue is there twice", text)
		}
		queues = append(queues, q)
	}
	return queues, nil
}

func runWorker(ctx context.Context, a *cli.App, f *workerFlags) error {
	c, err := f.config(a)
	if err == nil {
		_, err = c.checkKinds()
	}
	if err != nil {
		return configurationError(err)
	}
	switch err := a.OnlyRedis(); {
	case err == nil:
	case a.Server != "":
		return err
	case c.origin.line("redis") == 0: // a file that names a Redis is stronger than the environment
		return fmt.Errorf("%w, or set redis in the file of --config", err)
	}
	tuneGC()
	s := &service{read: func() (*config, error) { return f.config(a) }, flags: &f.servers, printLine: a.PrintLine}
	return s.run(ctx, c)
}

// gcPercent lets the heap grow to five times the memory in use before garbage is collected.
// The heap of most workers is small: at Go's default of 100, collecting it took a quarter of
// the worker's time with quick jobs.
const gcPercent = 400

// tuneGC makes the garbage collector run less often, and sets a memory limit, near which it runs
// more often: GOMEMLIMIT, else nine tenths of the memory of the container or of the machine. It
// changes the former only if GOGC is not set.
func tuneGC() {
	_, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	if _, set := os.LookupEnv("GOGC"); !set && err == nil {
		debug.SetGCPercent(gcPercent)
	}
}

// ConfigCommand returns the command "config".
func ConfigCommand(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Checks the configuration of a worker",
		Long: `Checks the configuration of "skidway worker", a YAML file and the environment,
and prints alerting rules for Prometheus.`,
		Example: "  skidway config check /etc/skidway.yaml",
	})
	c.AddCommand(configCheck(a), configVariables(a), configAlerts(a))
	return c
}

func configCheck(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Checks a configuration without using it",
		Long: `Checks a configuration and the environment as a worker does: names, types,
secrets, folders, expressions of schedules. It reports errors with their line,
and does not connect to Redis.

The exit code is 1 when the configuration has an error. ("skidway worker" ends
with 2 then.)`,
		Example: "  skidway config check /etc/skidway.yaml",
		Args:    cli.Args("FILE"),
	}
	c.RunE = cli.Action(func(_ *cobra.Command, args []string) error {
		f := workerFlags{file: args[0], given: func(string) bool { return false }}
		config, err := f.config(a)
		if err != nil {
			return err
		}
		kinds, err := config.checkKinds()
		if err != nil {
			return err
		}
		a.Console.Notice("%s is valid: queues %v, kinds %v, schedules %d", args[0], queueNames(config), kinds, len(config.Schedules))
		return nil
	})
	return c
}

func configAlerts(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "alerts",
		Short: "Prints alerting rules for Prometheus",
		Long: `Prints alerting rules for Prometheus, in YAML: an alert for each diagnosis, as
"skidway queues show" and the dashboard make it from the same rules. They need
the metrics of a worker or a server with --queue-metrics.

--rules names a file with the rules that are not the default ones. Each has a
rank (problem, warning, or off), and the time within which it must hold (1m to
1h). These are the defaults:

  unserved: {rank: problem, within: 1m}
  stalled: {rank: problem, within: 1m}
  failing: {rank: problem, within: 10m, attempts: 20, percent: 20}
  grows: {rank: warning, within: 10m, oldest: 5m}`,
		Example: `  skidway config alerts > alerts.yaml
  skidway config alerts --rules rules.yaml > alerts.yaml`,
		Args: cobra.NoArgs,
	}
	rules := cli.RulesFlag(c.Flags())
	c.RunE = cli.Action(func(*cobra.Command, []string) error {
		own, err := rules()
		if err != nil {
			return err
		}
		client, err := ops.NewClient(nil, &ops.Config{Rules: own})
		if err != nil {
			return err
		}
		return a.Write(client.AlertRules)
	})
	return c
}

func configVariables(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "variables",
		Short: "Lists the settings with their environment variables",
		Long: `Lists all settings of the configuration that are not lists or maps, each with
the environment variable that overrides it.`,
		Example: "  skidway config variables",
		Args:    cobra.NoArgs,
	}
	c.RunE = cli.Action(func(*cobra.Command, []string) error {
		return a.Write(func(out io.Writer) error {
			for _, s := range settings() {
				if _, err := fmt.Fprintf(out, "%-40s %s\n", s.path, s.variable); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return c
}
