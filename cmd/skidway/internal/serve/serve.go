package serve

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/telemetry"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

// A serveCommand is the command "serve".
type serveCommand struct {
	*cli.App
	accessFlags
	queueMetrics bool
}

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

Operations that requests begin run in this process: when it ends, they are
interrupted, and 'skidway operations continue' continues them.`,
		Example: `  skidway serve
  skidway token create --name shop --scope enqueue:mail:email.send
  skidway serve --listen 0.0.0.0:8470 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.NoArgs,
		RunE: cli.Action(func(c *cobra.Command, _ []string) error { return cli.InvalidAsUsage(s.run(c)) }),
	}
	s.add(c.Flags())
	c.Flags().BoolVar(&s.queueMetrics, "queue-metrics", false, "serve /metrics with the state of all queues")
	return c
}

func (s *serveCommand) run(c *cobra.Command) error {
	logger := slog.New(slog.NewTextHandler(s.Console.Out, nil))
	if err := s.complete(logger); err != nil {
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
		client, err := s.client(db)
		if err != nil {
			return err
		}
		gate, err := access.NewGate(db, s.gate)
		if err != nil {
			return err
		}
		handler, err := api.New(db, api.Config{Authorize: gate.Authorize, BasePath: s.gate.BasePath, Ops: client, Logger: logger, Middleware: t.Client(queue.Config{}).Middleware})
		if err != nil {
			return err
		}
		defer handler.Close()
		routes, err := withHealth(db, s.queueMetrics, t.Handler(handler))
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", s.listener.Address)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		scheme := "http://"
		if s.listener.TLSCert != "" {
			scheme = "https://"
		}
		logger.Info("the API is served", "address", scheme+listener.Addr().String()+s.gate.BasePath+"/api/v1")
		return s.answer(work, stopping, listener, gate.Handler(routes), handler.Close)
	})
}
