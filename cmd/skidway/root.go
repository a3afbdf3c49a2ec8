package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// An app is what all commands of one run share.
type app struct {
	out     io.Writer // results
	console *console  // everything else

	// Global flags.
	redis, prefix string
}

// run runs one command line and gives its exit code.
func run(args []string, stdout, stderr *os.File) int {
	a := &app{out: stdout, console: &console{out: stderr, terminal: term.IsTerminal(int(stderr.Fd()))}}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(context.Background())
	code := exitCode(err)
	if errors.Is(err, errStoppedAtOnce) {
		err = errStoppedAtOnce // wherever it was noticed
	}
	if err != nil {
		a.console.problem("", err)
	}
	if code == exitUsage {
		a.console.hint(fmt.Sprintf("run '%s --help' for how to use it", command.CommandPath()))
	}
	return code
}

func (a *app) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "skidway",
		Short: "Runs jobs, counts web logs and passes messages, through Redis",
		Long: `Skidway runs jobs, counts web logs per country and day, and passes messages that
wait for their readers.

Jobs: "skidway enqueue" adds them, "skidway cron" adds them by the clock, and
"skidway worker" runs them. "skidway queues", "jobs" and "workers" show how they
stand, and "skidway doctor" looks at the Redis.

Logs, in one process: "skidway logs count". Spread over many: "skidway logs
ship" cuts log files into pieces in Redis, any number of "skidway logs work"
count them, each file once for every subscriber, and "skidway logs report"
prints the counts.

Messages: "skidway chat" has many members, "skidway mail" one receiver,
"skidway dm" two people, and "skidway room" is a place that ends by itself.

Results go to standard output, everything else to standard error.

Which Redis: --redis, else SKIDWAY_REDIS, else REDIS_URL, else
redis://127.0.0.1:6379/0. ("logs count" needs none: it brings its own, unless
--redis is given.) Forms of the URL:

  redis://[user:password@]host:port/db      one server
  rediss://...                              the same over TLS
  unix:///path/to/socket?db=0               a local socket
  redis+sentinel://h1:p,h2:p/master/db      found through Sentinels
  redis+cluster://h1:p,h2:p                 a Redis Cluster
  embedded:                                 inside the process; keeps nothing
  @FILE                                     the URL is the first line of FILE,
                                            which keeps a password out of the
                                            list of processes

Exit codes: 0 done; 1 failed, perhaps a single file, while the rest was done;
2 wrong usage; 3 Redis not reachable.`,
		Example: `  skidway worker --config skidway.yaml
  skidway enqueue mail email.send '{"to":"ada@example.com","text":"Hello"}'
  skidway logs count /var/log/nginx
  skidway logs ship /var/log/nginx --channel web --subscriber countries
  skidway logs work --channel web --subscriber countries --until-done
  skidway logs report --channel web --subscriber countries`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.redis, "redis", "", "`URL` of the Redis to use, or @FILE that holds it")
	flags.StringVar(&a.prefix, "prefix", "", "what every key in Redis starts with (default \"skidway\")")
	flags.BoolVarP(&a.console.quiet, "quiet", "q", false, "tell only errors, no notices and no progress")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.logs(), a.worker(), a.enqueue(), a.queues(), a.jobs(), a.workersGroup(), a.cron(), a.chat(), a.mail(), a.dm(), a.room(), a.configuration(), a.doctor(), a.bench(), a.version(), a.debug())
	return root
}

// group makes a command that only holds others: alone it prints its help, and
// what it does not hold is wrong usage. (Cobra by itself takes an unknown
// command below the first level for a wish for help.)
func group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = action(func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	})
	return c
}

func unknownCommand(c *cobra.Command, name string) error {
	c.SuggestionsMinimumDistance = 2
	err := fmt.Errorf("unknown command %q for %q", name, c.CommandPath())
	if near := c.SuggestionsFor(name); len(near) > 0 {
		slices.Sort(near)
		err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return &usageError{err}
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Shows the help of a command",
		Long:    "Help shows what a command does, its flags and examples.",
		Example: "  skidway help logs count",
		RunE: action(func(c *cobra.Command, args []string) error {
			wanted, rest, err := c.Root().Find(args)
			if err != nil {
				return &usageError{err}
			}
			if len(rest) > 0 {
				return unknownCommand(wanted, rest[0])
			}
			wanted.InitDefaultHelpFlag()
			return wanted.Help()
		}),
	}
}

// action marks the errors of a command that was started, see exitCode.
func action(f func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := f(c, args)
		if err == nil {
			return nil
		}
		return &actionError{err}
	}
}

// exactlyOne wants one argument and says of what kind.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return errors.New("missing " + what)
		case 1:
			return nil
		}
		return fmt.Errorf("unexpected %q: one is enough", args[1])
	}
}

// oneOrMore wants arguments and says of what kind.
func oneOrMore(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("missing " + what)
		}
		return nil
	}
}
