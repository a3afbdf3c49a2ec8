// Package serve has the commands that answer HTTP requests, as the dashboard does, and those of who
// may make them: "user", "token" and "audit".
package serve

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
)

// A dashCommand is the command "dash".
type dashCommand struct {
	*cli.App
	Flags
	open, demo bool
}

// Dash is the command "dash".
func Dash(a *cli.App) *cobra.Command {
	d := &dashCommand{App: a}
	c := &cobra.Command{
		Use:   "dash",
		Short: "Shows the dashboard in a browser",
		Long: `Serves the dashboard: what is wrong, queues, jobs, workers, schedules, log
channels, and what can be done about it. It prints the URL to open.

By default only this machine can connect, and the URL logs in once, within 10
minutes, as administrator. Another address needs TLS and --users.

--demo shows it with made-up queues and jobs, in a Redis inside this process,
which ends with it.`,
		Example: `  skidway dash --open
  skidway dash --demo --open
  skidway dash --listen 0.0.0.0:8470 --users users.yaml --behind-tls`,
		Args: cobra.NoArgs,
		RunE: cli.Action(func(c *cobra.Command, _ []string) error { return cli.InvalidAsUsage(d.run(c)) }),
	}
	c.Flags().StringVar(&d.Dash, "listen", access.DefaultAddress, listenUsage)
	d.Add(c.Flags())
	c.Flags().BoolVar(&d.open, "open", false, "open the dashboard in a browser")
	c.Flags().BoolVar(&d.demo, "demo", false, "made-up queues in a Redis inside this process; needs no login")
	return c
}

func (d *dashCommand) run(c *cobra.Command) error {
	if d.demo {
		if c.Flags().Changed("redis") {
			return cli.WrongUsage("--demo has a Redis of its own: give it no --redis")
		}
		if c.Flags().Changed("users") || !(access.Listener{Address: d.Dash}).Loopback() {
			return cli.WrongUsage("--demo is for this machine: give it no --users and no other address")
		}
		d.gate.NoLogin = true
	}
	logger := slog.New(slog.NewTextHandler(d.Console.Out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := d.Complete(logger); err != nil {
		return err
	}
	work, stopping, end := d.Console.Listen(c.Context())
	defer end()
	if d.demo {
		return d.runDemo(work, stopping, logger)
	}
	return d.WithRedis(work, ", or --demo", func(db *skidway.DB) error { return d.serve(work, stopping, db, logger) })
}

// serve answers requests until stopping ends.
func (d *dashCommand) serve(work, stopping context.Context, db *skidway.DB, logger *slog.Logger) error {
	servers, err := d.Listen(Config{DB: db, Logger: logger})
	if err != nil {
		return err
	}
	if err := d.PrintLine(servers.Dash); err != nil {
		return errors.Join(err, servers.Close())
	}
	if d.open {
		if err := browse(servers.Dash); err != nil {
			d.Console.Notice("no browser can be opened: %v", err)
		}
	}
	return servers.Serve(work, stopping)
}

// browsers are the commands that open an address in the browser of the system.
var browsers = map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}

func browse(address string) error {
	command := browsers[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	opener := exec.Command(command[0], append(command[1:], address)...)
	if err := opener.Start(); err != nil {
		return err
	}
	return opener.Process.Release()
}
