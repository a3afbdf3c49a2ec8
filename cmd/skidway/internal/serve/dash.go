// Package serve has the commands that answer HTTP requests, as the dashboard does, and those of who
// may make them: "user", "token" and "audit".
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/ops/dash"
)

// A dashCommand is the command "dash".
type dashCommand struct {
	*cli.App
	accessFlags
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
	d.add(c.Flags())
	c.Flags().BoolVar(&d.open, "open", false, "open the dashboard in a browser")
	c.Flags().BoolVar(&d.demo, "demo", false, "made-up queues in a Redis inside this process; needs no login")
	return c
}

func (d *dashCommand) run(c *cobra.Command) error {
	if d.demo {
		if c.Flags().Changed("users") || !d.listener.Loopback() {
			return cli.WrongUsage("--demo is for this machine: give it no --users and no other address")
		}
		d.gate.NoLogin = true
	}
	d.listener.Pages = true
	logger := slog.New(slog.NewTextHandler(d.Console.Out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := d.complete(logger); err != nil {
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
func (d *dashCommand) serve(work, stopping context.Context, db *skidway.DB, logger *slog.Logger) (err error) {
	client, err := d.client(db)
	if err != nil {
		return err
	}
	config := dash.Config{Ops: client, Logger: logger}
	var gate *access.Gate
	config.Authorize = func(r *http.Request) *access.Principal {
		p, _ := gate.Authorize(r) // without one the request is refused
		return p
	}
	pages, err := dash.New(db, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pages.Close()) }()
	requests, err := api.New(db, api.Config{Authorize: func(r *http.Request) (*access.Principal, error) { return gate.Authorize(r) }, BasePath: d.gate.BasePath, Ops: client, Logger: logger})
	if err != nil {
		return err
	}
	defer requests.Close()
	d.gate.LoginPage = pages.LoginPage
	if gate, err = access.NewGate(db, d.gate); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", d.listener.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	address := d.address(listener.Addr(), gate)
	if err := d.PrintLine(address); err != nil {
		return errors.Join(err, listener.Close())
	}
	if d.open {
		if err := browse(address); err != nil {
			d.Console.Notice("no browser can be opened: %v", err)
		}
	}
	routes, err := withHealth(db, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			requests.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	}))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return d.answer(work, stopping, listener, gate.Handler(routes), func() { pages.EndStreams(); requests.Close() })
}

// address returns the URL to open, on loopback with a code that logs in.
func (d *dashCommand) address(at net.Addr, gate *access.Gate) string {
	scheme := "http://"
	if d.listener.TLSCert != "" {
		scheme = "https://"
	}
	path := d.gate.BasePath + "/"
	if d.listener.UsersFile == "" && !d.gate.NoLogin {
		path = gate.NewCode()
	}
	return scheme + at.String() + path
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
