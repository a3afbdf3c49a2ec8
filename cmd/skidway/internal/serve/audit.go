package serve

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
)

const maxAuditLines = 10_000

// Audit returns the command "audit".
func Audit(a *cli.App) *cobra.Command {
	var follow bool
	var filter access.EntryFilter
	var newerThan cli.Span
	limit := cli.Number(50)
	c := &cobra.Command{
		Use:   "audit",
		Short: "Shows who changed what",
		Long: `Shows the last entries of the audit, the latest at the end: logins, reveals of
hidden values, and changes by dashboard, API and command line. A change has an
entry before it, without an outcome, and one after it. PROVEN is whether a
password or token proves who it was: the user and host of a command do not. Jobs
that are added are not in the audit. Redis keeps about 10,000 entries, and
apart from them 2,000 of logins and deliveries to hooks that were refused.`,
		Example: `  skidway audit --limit 200
  skidway audit --newer-than 24h --action purge
  skidway audit --follow -o json`,
		Args: cli.Args(),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print new entries as they are added, until Ctrl-C")
	c.Flags().Var(&limit, "limit", "number of entries, up to 10000")
	c.Flags().StringVar(&filter.Who, "who", "", "only entries whose WHO contains a `TEXT`")
	c.Flags().StringVar(&filter.Action, "action", "", "only entries whose ACTION contains a `TEXT`")
	c.Flags().StringVar(&filter.Queue, "queue", "", "only entries whose QUEUE contains a `TEXT`")
	c.Flags().Var(&newerThan, "newer-than", "only entries newer than this")
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openAudit, func(ctx context.Context, audit *access.Audit, _ []string) error {
		if limit > maxAuditLines {
			return cli.WrongUsage("--limit %d: at most %d", limit, maxAuditLines)
		}
		entries, err := latest(ctx, audit, filter, time.Duration(newerThan), int(limit))
		if err != nil {
			return err
		}
		if !follow {
			return cli.PrintView(a, output.Word, entryView, entries, nil)
		}
		return followAudit(ctx, a, audit, filter, output.Word, entries)
	})
}

func openAudit(db *skidway.DB) (*access.Audit, error) { return access.NewAudit(db, nil), nil }

var entryView = cli.View[access.Entry]{
	{Key: "id", Value: func(e access.Entry) any { return e.ID }},
	{Key: "change", Value: func(e access.Entry) any { return e.Change }, Omit: true},
	{Key: "time", Head: "TIME", Whole: true, Value: func(e access.Entry) any { return e.Time.UTC() }, Cell: func(e access.Entry) string { return e.Time.Local().Format(time.DateTime) }},
	{Key: "who", Head: "WHO", Value: func(e access.Entry) any { return e.Who }},
	{Key: "proven", Head: "PROVEN", Value: func(e access.Entry) any { return e.Proven }},
	{Key: "from", Head: "FROM", Value: func(e access.Entry) any { return e.From }},
	{Key: "action", Head: "ACTION", Value: func(e access.Entry) any { return e.Action }},
	{Key: "queue", Head: "QUEUE", Value: func(e access.Entry) any { return e.Queue }},
	{Key: "count", Head: "JOBS", Right: true, Value: func(e access.Entry) any { return e.Count }},
	{Key: "outcome", Head: "OUTCOME", Value: func(e access.Entry) any { return e.Outcome }},
	{Key: "filter", Head: "WHAT", Fit: true, Value: func(e access.Entry) any { return e.Filter }},
}

// latest returns the last entries that a filter selects, none older than maxAge (zero: of any age), the latest
// at the end.
func latest(ctx context.Context, audit *access.Audit, filter access.EntryFilter, maxAge time.Duration, limit int) (entries []access.Entry, err error) {
	for cursor := ""; len(entries) < limit; {
		read := 500
		if filter == (access.EntryFilter{}) {
			read = min(limit-len(entries), read)
		}
		page, next, err := audit.ListNewer(ctx, maxAge, cursor, read)
		if err != nil {
			return nil, err
		}
		page = slices.DeleteFunc(page, func(e access.Entry) bool { return !filter.Matches(e) })
		entries = append(entries, page[:min(limit-len(entries), len(page))]...)
		if cursor = next; next == "" {
			break
		}
	}
	slices.Reverse(entries)
	return entries, nil
}

// followAudit prints entries, one a line, and those that are added later until Ctrl-C.
func followAudit(ctx context.Context, a *cli.App, audit *access.Audit, filter access.EntryFilter, format string, entries []access.Entry) error {
	ctx, stopping, end := a.Console.Listen(ctx)
	defer end()
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stopping, cancel)()
	after := "" // with no entries: from now on
	printed := 0
	show := func(e access.Entry) error {
		printed++
		return printEntry(a, format, e, printed == 1)
	}
	for _, e := range entries {
		if err := show(e); err != nil {
			return err
		}
		after = e.ID
	}
	err := audit.Follow(following, after, func(e access.Entry) error {
		if !filter.Matches(e) {
			return nil
		}
		return show(e)
	})
	if stopping.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// printEntry prints an entry in a line; the first one in CSV follows the heading.
func printEntry(a *cli.App, format string, e access.Entry, first bool) error {
	return a.Print(format,
		func(out io.Writer) error {
			proven := ""
			if !e.Proven {
				proven = " (not proven)"
			}
			_, err := fmt.Fprintln(out, cli.Printable(fmt.Sprintf("%s %s%s from %s: %s %s %s jobs=%d %s",
				e.Time.Local().Format(time.DateTime), e.Who, proven, e.From, e.Action, e.Queue, e.Filter, e.Count, e.Outcome)))
			return err
		},
		func(out io.Writer) error {
			rows := entryView.CSV([]access.Entry{e})
			if !first {
				rows = rows[1:]
			}
			return cli.WriteCSV(out, rows)
		},
		func(out io.Writer) error { return cli.WriteJSONLine(out, entryView.Object(e)) })
}
