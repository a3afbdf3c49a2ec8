package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// copyFlags are the flags with the options that a copy has instead of those of its job.
type copyFlags struct {
	jobFlags
	queue       string
	uniqueScope cli.Choice
	deadline    timeFlag
}

func jobsCopy(a *cli.App) *cobra.Command {
	var options copyFlags
	c := &cobra.Command{
		Use:   "copy ID [ARGS|-]",
		Short: "Adds a copy of a job",
		Long: `Adds a copy of a job, in whatever state that job is, and prints the id of the
copy. The job stays as it is. The copy has the kind, args and options of the
job, but for what is given here, and runs at once unless --in or --at is given.
ARGS is JSON, or - to read it from standard input. --header replaces all headers
of the job. A deadline is not copied. --unique '' leaves out the unique key,
which the job may hold still.`,
		Example: `  skidway jobs copy mail:0:n1795299599363-0
  skidway jobs copy mail:0:n1795299599363-0 '{"to":"b@example.com"}'
  skidway jobs copy mail:0:n1795299599363-0 - --queue test --in 10m < args.json`,
		Args: cobra.RangeArgs(0, 2),
	}
	options.add(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.WrongUsage("missing ID")
		}
		changes, err := options.changes(c, args[1:])
		if err != nil {
			return err
		}
		return withService(c.Context(), a, func(client service) error {
			return copyJob(c.Context(), a, client, args[0], options.queue, changes)
		})
	})
	return c
}

// copyJob adds a copy of a job and prints its id.
func copyJob(ctx context.Context, a *cli.App, client service, id, target string, changes map[string]json.RawMessage) error {
	added, err := client.Copy(ctx, id, changes)
	if err != nil {
		return gone(id, err)
	}
	if target == "" {
		target, _, _ = strings.Cut(added, ":")
	}
	warnUnserved(ctx, a, client, target, "the job waits until one does")
	return a.PrintLine(added)
}

func (f *copyFlags) add(a *cli.App, c *cobra.Command) {
	f.addOptions(c)
	f.uniqueScope.Words = []string{"finished", "waiting", "duration"}
	flags := c.Flags()
	flags.StringVar(&f.queue, "queue", "", "`QUEUE` of the copy")
	flags.Var(&f.uniqueScope, "unique-scope", "until when the key is held: the job has ended or is taken, or --unique-for")
	flags.Var(&f.deadline, "deadline", "time after which the job is not run any more")
	_ = c.RegisterFlagCompletionFunc("queue", completeQueues(a))
	cli.Complete(c, "unique-scope", f.uniqueScope.Words...)
	flags.VisitAll(func(flag *pflag.Flag) { // the defaults are those of the job
		flag.DefValue = ""
		flag.Usage, _, _ = strings.Cut(flag.Usage, " (default:")
	})
}

// changes returns what the command line changes, by the names of the fields of a job in JSON.
func (f *copyFlags) changes(c *cobra.Command, args []string) (map[string]json.RawMessage, error) {
	if f.unique == "" && (f.uniqueFor > 0 || f.uniqueScope.Word != "") {
		return nil, cli.WrongUsage("--unique-for and --unique-scope go with --unique KEY")
	}
	values := map[string]any{}
	if len(args) > 0 {
		text, err := readArgs(c, args[0])
		if err != nil {
			return nil, err
		}
		if len(text) > queue.DefaultMaxPayload {
			return nil, cli.WrongUsage("ARGS have more than %s", humanize.IBytes(queue.DefaultMaxPayload))
		}
		values["args"] = json.RawMessage(text)
	}
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "queue", "priority", "in", "unique", "unique-for", "unique-scope", "timeout", "retain":
			values[strings.ReplaceAll(flag.Name, "-", "_")] = flag.Value.String()
		case "at":
			values["at"] = time.Time(f.at)
		case "deadline":
			values["deadline"] = time.Time(f.deadline)
		case "max-attempts":
			values["max_attempts"] = int(f.maxAttempts)
		case "header":
			values["headers"] = f.headers
		}
	})
	changes := map[string]json.RawMessage{}
	for name, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		changes[name] = text
	}
	return changes, nil
}
