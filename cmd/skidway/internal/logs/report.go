package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
)

// A reporter is the command "logs report".
type reporter struct {
	*cli.App
	channel, subscriber string
	from, to            cli.Day
	last                string
	by                  cutList
	where               string
	compare             cli.Choice
	visitors            bool
	top                 cli.Number
	page                pageFile
	output              *cli.Choice
}

func report(a *cli.App) *cobra.Command {
	r := &reporter{App: a}
	c := &cobra.Command{
		Use:   "report",
		Short: "Prints the counts of a subscriber",
		Long: `Prints the counts of a subscriber of a channel until now.

Files that were not counted, or only in part, are named on standard error, and
the exit code is 1. Visitors, which 'work --visitors' counts, are in tables by
day, week, month or country without --where: different pairs of address and
agent that are no crawlers, each once in all days of a row. Their numbers are
estimates (≈) with a standard error of 0.81 %.

The last line on standard error is a summary of all counts,
also of those that --from, --to and --top leave out. Its seconds are the working
time of the workers.`,
		Example: `  skidway logs report --channel web --subscriber countries
  skidway logs report --channel web --subscriber countries --top 5
  skidway logs report --channel web --subscriber countries --from 2026-11-01 \
      --to 2026-11-30 -o csv > november.csv
  skidway logs report --channel web --subscriber countries --html web.html
  skidway logs report --channel web --subscriber countries --by week \
      --last 28d --compare previous
  skidway logs report --channel web --subscriber countries --by country \
      --where 'country in ["DE", "FR"]'`,
		Args: cobra.NoArgs,
	}
	r.compare.Words = []string{"previous"}
	channelFlag(c, &r.channel)
	subscriberFlag(c, &r.subscriber)
	flags := c.Flags()
	flags.Var(&r.from, "from", "first day of the report")
	flags.Var(&r.to, "to", "last day of the report")
	flags.StringVar(&r.last, "last", "", "days before the newest counted one, which is included, such as `7d`; days after tomorrow are left out")
	flags.Var(&r.by, "by", "`DIMENSIONS` of a table, some of a cut that was counted; may be repeated (default: the cuts)")
	flags.StringVar(&r.where, "where", "", "`FILTER` by the dimensions of the cut, such as 'status >= 500'")
	flags.BoolVar(&r.visitors, "visitors", false, "refuse tables for which visitors are not known")
	flags.Var(&r.compare, "compare", "compare with as many days directly before")
	flags.Var(&r.top, "top", "number of rows per day, the highest first; 0: all")
	r.page.days = "--from and --to"
	r.page.addFlags(c)
	r.output = cli.OutputFlag(a, c, ndjson, markdown)
	cli.Complete(c, "by", cuts.Names()...)
	c.MarkFlagsMutuallyExclusive("last", "from")
	c.MarkFlagsMutuallyExclusive("last", "to")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		if r.from != "" && r.to != "" && r.from > r.to {
			return cli.WrongUsage("--from %s is after --to %s", r.from, r.to)
		}
		last, err := parseDays("last", r.last)
		if err = errors.Join(err, r.page.check(c)); err != nil {
			return err
		}
		return withChannel(c.Context(), a, distribute.OpenExisting, r.channel, func(channel *distribute.Channel) error {
			return r.run(c.Context(), channel, last)
		})
	})
	return c
}

// parseDays returns the number of days of a flag, 0 if it is not given.
func parseDays(flag, text string) (days int, err error) {
	if text == "" {
		return 0, nil
	}
	number, found := strings.CutSuffix(text, "d")
	days, err = strconv.Atoi(number)
	if err != nil || !found || days < 1 || days > distribute.MaxDays {
		return 0, cli.WrongUsage("--%s %s: want a number of days from 1d to %dd", flag, text, distribute.MaxDays)
	}
	return days, nil
}

func (r *reporter) run(ctx context.Context, channel *distribute.Channel, last int) error {
	settings, err := r.settings(ctx, channel)
	if err != nil {
		return err
	}
	query := cuts.Query{From: string(r.from), To: string(r.to), Last: last, By: r.by, Where: r.where, Compare: r.compare.Word != "", Visitors: r.visitors}
	report, err := channel.Report(ctx, r.subscriber, r.page.query(query, settings))
	if errors.Is(err, distribute.ErrNoSubscriber) {
		return fmt.Errorf("%w: 'skidway logs status --channel %s' lists those there are", err, channel.Name())
	}
	if _, ok := errors.AsType[*cuts.QueryError](err); ok {
		return cli.AsUsage(err)
	}
	if err != nil {
		return err
	}
	report, page := r.page.split(report)
	counts := resultOf(report)
	if report.Uncounted {
		r.Console.Notice("nothing has been counted yet: 'skidway logs status --channel %s' shows which files wait, and which workers are there", channel.Name())
	}
	for _, p := range report.Problems {
		r.Console.Problem(p.File, errors.New(p.Detail))
	}
	for _, file := range report.Abandoned {
		r.Console.Problem(file, errors.New("not counted: its shipper stopped or died: ship it again"))
	}
	var pageErr error // the rows are printed all the same
	if r.page.path != "" {
		pageErr = r.page.write(r.Console, channel.Name(), r.where, page)
	}
	counts.top = int(r.top)
	if err := errors.Join(printResult(r.App, r.output.Word, counts), pageErr); err != nil {
		return err
	}
	return incomplete(report)
}

// settings returns the settings of the subscriber, if a page needs them. Those of one that does
// not exist are empty.
func (r *reporter) settings(ctx context.Context, channel *distribute.Channel) (settings cuts.Settings, err error) {
	if r.page.path == "" {
		return settings, nil
	}
	all, err := channel.Subscribers(ctx)
	for _, s := range all {
		if s.Name == r.subscriber {
			settings, _ = cuts.ParseSettings(s.Settings) // empty for another aggregation
		}
	}
	return settings, err
}

// incomplete returns an error if a report lacks something that was reported before.
func incomplete(report distribute.Report) error {
	if len(report.Abandoned) > 0 || slices.ContainsFunc(report.Problems, distribute.Problem.Missing) {
		return errors.New("some files are not counted, or only in part")
	}
	return nil
}
