package jobs

import (
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
)

func jobsReschedule(a *cli.App) *cobra.Command {
	var in cli.Span
	var at timeFlag
	var yes bool
	c := &cobra.Command{
		Use:   "reschedule ID...|- --in TIME|--at TIME",
		Short: "Changes the time of delayed jobs",
		Long: `Changes the time of delayed jobs, scheduled ones and those that wait for a
retry: to a time from now on by the clock of Redis (--in), or to a time of the
calendar (--at). A time in the past means now. Jobs in other states are not
changed. With several IDs, it goes on after a job that fails.
With - it reads the IDs from standard input, one per line; --yes is needed.`,
		Example: `  skidway jobs reschedule mail:0:d000000000000042 --in 2h
  skidway jobs reschedule mail:0:d000000000000042 --at "2026-11-30 08:00"
  skidway jobs reschedule - --in 2h --yes < ids.txt`,
		Args: cli.OneOrMore("ID"),
	}
	addTimes(c, &in, &at)
	cli.YesFlag(c, &yes)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if (in == 0) == time.Time(at).IsZero() {
			return cli.WrongUsage("give --in TIME or --at TIME")
		}
		due := "is due at " + at.String()
		if in > 0 {
			due = "is due in " + in.String()
		}
		ids, read, err := givenIDs(c, args)
		if err != nil {
			return err
		}
		switch {
		case read && len(ids) == 0:
			return a.PrintLine("0 jobs have another time")
		case read && !yes:
			if err := a.Confirm(c, "Change the time of "+ops.Plural(len(ids), "job")+"?"); err != nil {
				return err
			}
		}
		return withService(c.Context(), a, func(client service) error {
			return eachJob(c.Context(), a, ids, func(id string) (string, error) {
				return due, gone(id, client.Reschedule(c.Context(), id, time.Duration(in), time.Time(at)))
			})
		})
	})
	return c
}
