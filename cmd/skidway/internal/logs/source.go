package logs

import (
	"errors"
	"fmt"
	"os"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

func export(a *cli.App) *cobra.Command {
	var channel, subscriber string
	c := &cobra.Command{
		Use:   "export",
		Short: "Writes the counts of a subscriber, for 'logs import'",
		Long: `Writes what the workers of a subscriber have counted to standard output: its
counts, the numbers of its lines and its settings, as of one commit. Workers may
go on running. It is JSON, one object a line, with a version; an export that is
cut off lacks its last line, and cannot be imported.

An export has no visitors, no list of files, and nothing of sources that were
imported into the subscriber: import each of them where their sum is wanted.`,
		Example: `  skidway logs export --channel web --subscriber countries > web1.json
  skidway logs export --channel web --subscriber countries |
    ssh collector skidway logs import --channel all --subscriber countries`,
		Args: cobra.NoArgs,
	}
	channelFlag(c, &channel)
	subscriberFlag(c, &subscriber)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withChannel(c.Context(), a, distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
			exported, err := channel.Export(c.Context(), subscriber, a.Out)
			if err != nil {
				return err
			}
			a.Console.Notice("exported %s, %s cells", sourceText(exported.Source), humanize.Comma(exported.Cells))
			return nil
		})
	})
	return c
}

// sourceText describes a source.
func sourceText(s distribute.Source) string {
	return fmt.Sprintf("source %s, epoch %d, commit %d: %s lines", s.ID, s.Epoch, s.Commit, humanize.Comma(s.Tally.Lines))
}

func importSources(a *cli.App) *cobra.Command {
	var channel, subscriber string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Adds exports of other subscribers to the reports of one",
		Long: fmt.Sprintf(`Adds files of 'logs export' to the reports of a subscriber, each as a source.
- is standard input. Reports add up what the subscriber has counted and all of
its sources, at most %d; visitors are those of its own lines. The sources need
the same --by, --where, --measure, --tz and --log-tz. --keep of the subscriber
applies to their days, too. A channel and a subscriber that do not exist are
created, with the settings of the first source.

What is imported replaces what the subscriber had of the same source. The same
export, or an earlier one, changes nothing: imports can be repeated. A report
has all of an import or nothing of it; one that fails leaves no counts, but a
subscriber that it created stays. It needs memory in Redis beside what it
replaces.

'logs reset' and 'logs unsubscribe' delete the sources, too.`, distribute.MaxSources),
		Example: `  skidway logs import --channel all --subscriber countries web1.json web2.json
  ssh web1 skidway logs export --channel web --subscriber countries |
    skidway logs import --channel all --subscriber countries -`,
		Args: cli.OneOrMore("FILE: name what 'skidway logs export' wrote, or - for standard input"),
	}
	channelFlag(c, &channel)
	subscriberFlag(c, &subscriber)
	c.RunE = cli.Action(func(c *cobra.Command, files []string) error {
		return withChannel(c.Context(), a, distribute.Open, channel, func(channel *distribute.Channel) error {
			var errs []error
			for _, file := range files {
				if err := importFile(c, a, channel, subscriber, file); err != nil {
					errs = append(errs, err)
				}
			}
			return errors.Join(errs...)
		})
	})
	return c
}

func importFile(c *cobra.Command, a *cli.App, channel *distribute.Channel, subscriber, path string) error {
	in := c.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it is only read
		in = file
	}
	source, changed, err := channel.Import(c.Context(), subscriber, in)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case changed:
		a.Console.Notice("imported %s", sourceText(source))
	default:
		a.Console.Notice("nothing new in %s", sourceText(source))
	}
	return nil
}
