package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/ops"
	"skidway/ops/access"
)

// Doctor returns the command "doctor".
func Doctor(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Checks the Redis and prints what to change",
		Long: `Checks the Redis: version, eviction, memory, persistence, replication, cluster,
timeouts, clock, latency, permissions of the user, and the queues and log
channels in it. Each check prints ok, warning or problem, the consequence, and
the exact lines to change. Checks that the server does not allow are "unknown".
It changes nothing. --users also checks a file of users, which a server that
runs goes on without when it can't read a change of it.

The exit code is 1 when there is a problem, 0 with warnings only.`,
		Example: `  skidway doctor
  skidway doctor --redis redis://queue.example.com:6379 -o json
  skidway doctor --users users.yaml`,
		Args: cobra.NoArgs,
	}
	users := c.Flags().String("users", "", "`FILE` of users that is checked too")
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return examine(c.Context(), a, *users, output.Word) })
	return c
}

func examine(ctx context.Context, a *cli.App, users, format string) (err error) {
	if err := a.OnlyRedis(); err != nil {
		return err
	}
	// Not a.Open: that refuses an unfit server, and this command reports why it is
	// unfit. Without patience: a server that does not answer now is a finding.
	db, err := rdb.Open(ctx, a.URL(), rdb.Options{Prefix: a.Prefix, Patience: -1})
	if err != nil {
		return cli.OpenError(a.URL(), err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	findings, err := ops.Examine(ctx, handle.New(db))
	if err != nil {
		return err
	}
	if users != "" {
		findings = append(findings, examineUsers(users))
	}
	view := findingsView{db.String(), findings}
	if err := a.Print(cmp.Or(format, "table"), view.table, view.csv, view.json); err != nil {
		return err
	}
	if n := view.count(ops.Problem); n > 0 {
		return fmt.Errorf("%d of %d checks found a problem", n, len(findings))
	}
	return nil
}

// examineUsers checks a file of users.
func examineUsers(path string) ops.Finding {
	users, err := access.ReadUsers(path)
	if err != nil {
		return ops.Finding{Topic: "users", Rank: ops.Problem, Found: err.Error(), Why: "servers that run keep the users that the file had before, and others do not start"}
	}
	return ops.Finding{Topic: "users", Rank: ops.Fine, Found: ops.Plural(len(users), "user") + " in " + path}
}

// A findingsView prints findings.
type findingsView struct {
	server   string
	findings []ops.Finding
}

func (v *findingsView) count(level ops.Rank) (n int) {
	for _, finding := range v.findings {
		if finding.Rank == level {
			n++
		}
	}
	return n
}

func (v *findingsView) table(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", cli.Printable(v.server))
	indent := strings.Repeat(" ", 22)
	for _, f := range v.findings {
		found := f.Found
		if f.Server != "" {
			found = f.Server + ": " + found
		}
		fmt.Fprintf(&text, "%-8s %-12s %s\n", f.Rank, f.Topic, wrap(found, indent))
		if f.Why != "" {
			fmt.Fprintf(&text, "%s%s\n", indent, wrap("Why: "+f.Why, indent))
		}
		for _, line := range f.Change {
			fmt.Fprintf(&text, "%s> %s\n", indent, cli.Printable(line)) // not wrapped, so that it can be copied
		}
	}
	fmt.Fprintf(&text, "\nproblems: %d, warnings: %d, not looked at: %d\n", v.count(ops.Problem), v.count(ops.Warning), v.count(ops.Unknown))
	_, err := io.WriteString(out, text.String())
	return err
}

// wrap breaks a text into lines that fit in the table behind an indent.
func wrap(text, indent string) string {
	var folded strings.Builder
	width := 0
	for i, word := range strings.Fields(cli.Printable(text)) {
		length := len([]rune(word))
		switch {
		case i == 0:
		case width+1+length > cli.TableWidth-len(indent):
			folded.WriteString("\n" + indent)
			width = 0
		default:
			folded.WriteByte(' ')
			width++
		}
		folded.WriteString(word)
		width += length
	}
	return folded.String()
}

var findingView = cli.View[ops.Finding]{
	{Key: "level", Value: func(f ops.Finding) any { return f.Rank }},
	{Key: "topic", Value: func(f ops.Finding) any { return f.Topic }},
	{Key: "server", Value: func(f ops.Finding) any { return f.Server }, Omit: true},
	{Key: "found", Value: func(f ops.Finding) any { return f.Found }},
	{Key: "why", Value: func(f ops.Finding) any { return f.Why }, Omit: true},
	{Key: "change", Value: func(f ops.Finding) any { return strings.Join(f.Change, "\n") }, Only: "csv"},
	{Key: "change", Value: func(f ops.Finding) any { return f.Change }, Only: "json", Omit: true},
}

func (v *findingsView) csv(out io.Writer) error {
	return cli.WriteCSV(out, findingView.CSV(v.findings))
}

func (v *findingsView) json(out io.Writer) error {
	return cli.WriteJSON(out, cli.Object{
		{Key: "redis", Value: v.server}, {Key: "problems", Value: v.count(ops.Problem)}, {Key: "warnings", Value: v.count(ops.Warning)},
		{Key: "unknown", Value: v.count(ops.Unknown)}, {Key: "findings", Value: findingView.Objects(v.findings)},
	})
}
