package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"skidway/cmd/skidway/internal/bench"
	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/jobs"
	"skidway/cmd/skidway/internal/logs"
	"skidway/cmd/skidway/internal/messages"
	"skidway/cmd/skidway/internal/serve"
	"skidway/cmd/skidway/internal/worker"
	"skidway/distribute/geo"
)

// run runs one command line and returns its exit code.
func run(args []string, stdout, stderr *os.File) int {
	a := &cli.App{Out: stdout, Console: &cli.Console{Out: stderr, Terminal: term.IsTerminal(int(stderr.Fd()))}}
	root := root(a)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(context.Background())
	code := cli.ExitCode(err)
	if errors.Is(err, cli.ErrStoppedAtOnce) {
		err = cli.ErrStoppedAtOnce // wherever it was noticed
	}
	if err != nil {
		a.Console.Problem("", err)
	}
	if code == cli.ExitUsage {
		a.Console.Hint(fmt.Sprintf("run '%s --help' for how to use it", command.CommandPath()))
	}
	return code
}

const rootHelp = `Skidway runs jobs, counts web logs per country and day, and passes messages that
wait for their readers.

Jobs: "skidway enqueue" adds them, "skidway cron" adds them by the clock, and
"skidway worker" runs them. "skidway queues", "jobs" and "workers" show their
state, and "skidway doctor" checks the Redis.

Logs: "skidway logs count" counts in one process. To use many, "skidway logs
ship" copies log files to Redis in pieces, any number of "skidway logs work"
count them, each file once for every subscriber, and "skidway logs report"
prints the counts.

Messages: "skidway chat" is for groups, "skidway mail" for one receiver,
"skidway dm" for two people, and "skidway room" for rooms that expire.

Results go to standard output, everything else to standard error.

Which Redis: --redis, else SKIDWAY_REDIS, else REDIS_URL, else
redis://127.0.0.1:6379/0. ("logs count" has its own, unless --redis is given.)
Forms of the URL:

  redis://[user:password@]host:port/db      one server
  rediss://...                              the same over TLS
  unix:///path/to/socket?db=0               a local socket
  redis+sentinel://h1:p,h2:p/master/db      found through Sentinels
  redis+cluster://h1:p,h2:p                 a Redis Cluster
  embedded:                                 inside the process, gone at its end
  @FILE                                     the URL is the first line of FILE,
                                            which keeps a password out of the
                                            list of processes

"skidway enqueue", "queues" and "jobs" also go through a server of the HTTP API
("skidway serve"): --server, else SKIDWAY_SERVER unless --redis is given.

Exit codes: 0 success; 1 something failed, perhaps one file of many; 2 wrong
usage; 3 Redis or the server cannot be reached.`

func root(a *cli.App) *cobra.Command {
	root := cli.Group(&cobra.Command{
		Use:   "skidway",
		Short: "Runs jobs, counts web logs and passes messages, through Redis",
		Long:  rootHelp,
		Example: `  skidway worker --config skidway.yaml
  skidway enqueue mail email.send '{"to":"ada@example.com","text":"Hello"}'
  skidway logs count /var/log/nginx
  skidway logs ship /var/log/nginx --channel web --subscriber countries
  skidway logs work --channel web --subscriber countries --until-done
  skidway logs report --channel web --subscriber countries`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetVersionTemplate("skidway {{.Version}}\n")
	root.Flags().Bool("version", false, "show the version")
	flags := root.PersistentFlags()
	flags.StringVar(&a.Redis, "redis", "", "`URL` of the Redis to use, or @FILE that holds it")
	flags.StringVar(&a.Prefix, "prefix", "", "prefix of all keys in Redis (default \"skidway\")")
	flags.StringVar(&a.Server, "server", "", "`URL` of a server of the HTTP API, for enqueue, queues and jobs")
	flags.StringVar(&a.Token, "token", "", "token for the server, as @`FILE` (default SKIDWAY_TOKEN)")
	flags.BoolVarP(&a.Console.Quiet, "quiet", "q", false, "print only errors, no notices or progress")
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped 80", "for more information about", "for more about", // within 80 columns
	).Replace(root.UsageTemplate()))
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpCommand(cli.HelpCommand())
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		cli.AuditChanges(c, args)
		return cli.CheckFlagGroups(c)
	}
	root.AddCommand(logs.Command(a), logs.GeoIP(a), worker.Command(a), jobs.Enqueue(a), jobs.Queues(a), jobs.Jobs(a), jobs.Operations(a), jobs.Errors(a), jobs.Workers(a), jobs.Cron(a), messages.Chat(a), messages.Mail(a), messages.DM(a), messages.Room(a), worker.ConfigCommand(a), jobs.Doctor(a), serve.Serve(a), serve.Dash(a), serve.User(a), serve.Token(a), serve.Audit(a), bench.Command(a), versionCommand(a), debugCommand(a))
	return root
}

// versionCommand is the command "version".
func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Shows the version and the embedded country database",
		Long:    "Shows the version, the Go version, and the embedded country database with its\ndate and credit.",
		Example: "  skidway version",
		Args:    cobra.NoArgs,
		RunE: cli.Action(func(*cobra.Command, []string) error {
			countries, err := geo.Default()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "skidway %s\n%s %s/%s\ncountry database %s\n%s\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, countries.Build(), geo.Attribution)
			return err
		}),
	}
}
