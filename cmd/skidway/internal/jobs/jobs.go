// Package jobs has the commands enqueue, queues, jobs, workers, cron and doctor.
package jobs

import (
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// Jobs returns the command "jobs".
func Jobs(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "jobs",
		Short: "Lists and shows jobs, lets them run again, ends them",
		Long: `Looks at single jobs and changes them: by their ids, or many at once, chosen by
queue, state and more. What changes many says first how many they are, and asks.`,
		Example: `  skidway jobs list mail --state dead
  skidway jobs show mail:0:n1795299599363-0
  skidway jobs retry --queue mail --error "connection refused"`,
	})
	c.AddCommand(jobsList(a), jobsShow(a), jobsLogs(a), jobsRetry(a), jobsRunNow(a), jobsCancel(a), jobsDelete(a))
	return c
}

// filterFlags choose jobs.
type filterFlags struct {
	kind, text           string
	olderThan, newerThan cli.Span
}

func (f *filterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "kind", "", "only jobs of this `KIND`")
	c.Flags().Var(&f.olderThan, "older-than", "only those that are older (of dead ones: died longer ago)")
	c.Flags().Var(&f.newerThan, "newer-than", "only those that are newer")
	c.Flags().StringVar(&f.text, "error", "", "only those with this `TEXT` in an error, letters large or small")
}

func (f *filterFlags) get() queue.Filter {
	return queue.Filter{Kind: f.kind, Error: f.text, OlderThan: time.Duration(f.olderThan), NewerThan: time.Duration(f.newerThan)}
}

// stateFlag adds the flag that says in which state jobs are.
func stateFlag(c *cobra.Command, state *cli.Choice, usage string) {
	c.Flags().Var(state, "state", usage)
	cli.Complete(c, "state", state.Words...)
}
