package serve

import (
	"log/slog"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/telemetry"
	"skidway/ops/access"
)

// A serveCommand is the command "serve".
type serveCommand struct {
	*cli.App
	Flags
	queueMetrics bool
}

// listenUsage describes the flag of the address.
const listenUsage = "`ADDRESS` to listen on; any but a loopback one needs TLS"

// Serve returns the command "serve".
func Serve(a *cli.App) *cobra.Command {
	s := &serveCommand{App: a}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serves the HTTP API",
		Long: `Serves the HTTP API below /api/v1: queues, jobs, workers, schedules, operations
and log channels. /api/v1/openapi.json describes it. Each request needs a token
of 'skidway token create', as "Authorization: Bearer TOKEN".

By default only this machine can connect. Another address needs TLS.

/healthz (200 while the process runs) and /readyz (200 while Redis answers) need
no token. With --queue-metrics there is /metrics (Prometheus) with the state of
all queues, for tokens with the scope view:*.

--hooks names a file of hooks: other programs, such as GitHub or Stripe, add
jobs by requests to /hooks/NAME, which they sign.

Operations that requests begin run in this process: when it ends, they are
interrupted, and 'skidway operations continue' continues them.`,
		Example: `  skidway serve
  skidway token create --name shop --scope enqueue:mail:email.send
  skidway serve --listen 0.0.0.0:8470 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.NoArgs,
		RunE: cli.Action(func(c *cobra.Command, _ []string) error { return cli.InvalidAsUsage(s.run(c)) }),
	}
	c.Flags().StringVar(&s.API, "listen", access.DefaultAddress, listenUsage)
	s.Add(c.Flags())
	s.AddHooks(c.Flags())
	c.Flags().BoolVar(&s.queueMetrics, "queue-metrics", false, "serve /metrics with the state of all queues")
	return c
}

func (s *serveCommand) run(c *cobra.Command) error {
	logger := slog.New(slog.NewTextHandler(s.Console.Out, nil))
	if err := s.Complete(logger); err != nil {
		return err
	}
	work, stopping, end := s.Console.Listen(c.Context())
	defer end()
	return s.WithRedis(work, "", func(db *skidway.DB) error {
		t, err := telemetry.Start(work, db, logger, nil)
		if err != nil {
			return err
		}
		defer t.Stop(work)
		if err := t.Queues(db, s.queueMetrics); err != nil {
			return err
		}
		servers, err := s.Listen(Config{DB: db, Telemetry: t, QueueMetrics: s.queueMetrics, Logger: logger})
		if err != nil {
			return err
		}
		logger.Info("the API is served", "address", servers.API)
		return servers.Serve(work, stopping)
	})
}
