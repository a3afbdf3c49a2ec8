package jobs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/queue"
)

func jobsRetry(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "retry", done: "will run again", states: []string{"dead", "delayed"}, state: "dead",
		short: "Runs dead jobs again",
		long: `Runs dead jobs again, with all their attempts, and delayed jobs before their
time. The errors of earlier attempts are kept. A job whose unique key is now
held by another job is not changed.`,
		examples: `  skidway jobs retry mail:0:n1795299599363-0
  skidway jobs retry --queue mail
  skidway jobs retry --queue mail --error "connection refused" --yes
  skidway jobs retry --queue mail --match 'died >= "-12h"' --rate 100
  skidway jobs retry - --yes < ids.txt`,
		one: func(ctx context.Context, client service, id string) (string, error) {
			return "will run again", client.Retry(ctx, id)
		},
	})
}

func jobsRunNow(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "retry", done: "will run now", name: "run-now", states: []string{"delayed"}, state: "delayed",
		short: "Runs delayed jobs now",
		long: `Runs delayed jobs, scheduled ones and those that wait for a retry, before their
time. Jobs in other states are not changed: 'skidway jobs retry' runs dead jobs.`,
		examples: `  skidway jobs run-now mail:0:d000000000000042
  skidway jobs run-now --queue mail --kind email.send`,
		one: func(ctx context.Context, client service, id string) (string, error) {
			return "will run now", client.RunNow(ctx, id)
		},
	})
}

func jobsCancel(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "cancel", done: "cancelled", states: []string{"waiting", "delayed", "active"},
		short: "Cancels jobs",
		long: `Cancels jobs. Waiting and delayed jobs are cancelled when the command returns.
An active job ends when its handler returns, whose context is cancelled at once;
the job does not run again.`,
		examples: `  skidway jobs cancel mail:0:n1795299599363-0
  skidway jobs cancel --queue mail --state waiting --kind newsletter`,
		one: func(ctx context.Context, client service, id string) (string, error) {
			active, err := client.Cancel(ctx, id)
			if active {
				return "runs: its worker was told to end it", err
			}
			return "cancelled", err
		},
	})
}

func jobsDelete(a *cli.App) *cobra.Command {
	return jobsChange(a, &jobChange{
		do: "delete", done: "deleted", states: []string{"waiting", "delayed", "dead", "finished"},
		short: "Deletes jobs",
		long: `Deletes jobs with their errors, results and logs. Active jobs can't be deleted:
'skidway jobs cancel' ends them.`,
		examples: `  skidway jobs delete mail:0:n1795299599363-0
  skidway jobs delete --queue mail --state dead --older-than 720h`,
		one: func(ctx context.Context, client service, id string) (string, error) {
			return "deleted", client.Delete(ctx, id)
		},
	})
}

func jobsPriority(a *cli.App) *cobra.Command {
	j := &jobChange{
		do: "priority", done: "changed", states: []string{"waiting", "delayed", "dead"},
		short: "Changes the priority of jobs",
		long: `Changes the priority of waiting, delayed and dead jobs to --to. A waiting job
goes behind the jobs of that priority that were due; one that has the priority
keeps its place. A job whose worker has died keeps its priority until it ran.`,
		examples: `  skidway jobs priority mail:0:n1795299599363-0 --to high
  skidway jobs priority --queue mail --state waiting --kind news --to low`,
	}
	to := &cli.Choice{Words: []string{"high", "normal", "low"}}
	j.flags = func(c *cobra.Command) {
		c.Flags().Var(to, "to", "the new priority")
		cli.Complete(c, "to", to.Words...)
		_ = c.MarkFlagRequired("to")
	}
	j.one = func(ctx context.Context, client service, id string) (string, error) {
		priority, err := queue.ParsePriority(to.Word)
		if err == nil {
			err = client.SetPriority(ctx, id, priority)
		}
		return "has priority " + to.Word, err
	}
	j.edit = func(change *ops.Change) (err error) {
		change.Priority, err = queue.ParsePriority(to.Word)
		return err
	}
	return jobsChange(a, j)
}

// A jobChange is a change of single jobs by id, or of many jobs of a queue.
type jobChange struct {
	do, done, name        string
	short, long, examples string
	states                []string
	state                 string // default of --state; empty: the flag is required

	one   func(context.Context, service, string) (done string, err error)
	flags func(*cobra.Command)    // adds more flags; may be nil
	edit  func(*ops.Change) error // completes a change of many jobs by them; may be nil
}

func jobsChange(a *cli.App, j *jobChange) *cobra.Command {
	var name, match string
	var filter filterFlags
	o := operator{App: a, done: j.done}
	if j.name == "" {
		j.name = j.do
	}
	state := &cli.Choice{Word: j.state, Words: j.states}
	c := &cobra.Command{
		Use:   j.name + " ID...|-|--queue QUEUE",
		Short: j.short,
		Long: j.long + `

With --queue it changes all jobs in a state that match --match ('skidway jobs
list --help' describes expressions) and the other filters, as an operation. It
prints their number and asks for confirmation; without a terminal, --yes is
needed. With --dry-run it only prints their number. Jobs that come into the
state after they were counted are not changed.
With several IDs, it goes on after a job that fails; more than 100, or --rate,
are an operation, too. Jobs of several queues are changed one queue after the
other. 'skidway operations' lists, stops and continues operations.
With - it reads the IDs from standard input, one per line; --yes is needed.`,
		Example: j.examples,
	}
	c.Flags().StringVar(&name, "queue", "", "`QUEUE` of which to change all jobs that match")
	_ = c.RegisterFlagCompletionFunc("queue", completeQueues(a))
	stateFlag(c, state, "state of the jobs")
	filter.add(c)
	c.Flags().StringVar(&match, "match", "", "only jobs that an `EXPRESSION` matches")
	o.addFlags(c)
	if j.flags != nil {
		j.flags(c)
	}
	c.RunE = cli.Action(func(c *cobra.Command, ids []string) error {
		if err := j.check(c, ids, name, state.Word); err != nil {
			return err
		}
		if name == "" {
			return j.changeIDs(c, &o, ids)
		}
		joined, err := filter.get().Match(queue.State(state.Word), match)
		if err != nil {
			return cli.InvalidAsUsage(err)
		}
		change, err := j.change(name)
		if err != nil {
			return err
		}
		change.State, change.Match = queue.State(state.Word), joined
		return withService(c.Context(), a, func(client service) error { return o.change(c, client, change) })
	})
	return c
}

// change returns a change of jobs of a queue.
func (j *jobChange) change(name string) (change ops.Change, err error) {
	change = ops.Change{Queue: name, Do: j.do}
	if len(j.states) == 1 {
		change.State = queue.State(j.states[0])
	}
	if j.edit != nil {
		err = j.edit(&change)
	}
	return change, err
}

// changeIDs changes jobs by their ids.
func (j *jobChange) changeIDs(c *cobra.Command, o *operator, args []string) error {
	ids, read, err := givenIDs(c, args)
	if err != nil {
		return err
	}
	if read {
		if len(ids) == 0 {
			return o.PrintLine("0 jobs " + o.done)
		}
		change, err := j.change("")
		if err == nil {
			err = o.confirm(c, change, ops.Plural(len(ids), "job"))
		}
		if err != nil {
			return err
		}
	}
	return withService(c.Context(), o.App, func(client service) error {
		if len(ids) > ops.MaxDirect || o.rate > 0 {
			return j.changeNamed(c.Context(), o, client, ids)
		}
		return eachJob(c.Context(), o.App, ids, func(id string) (string, error) {
			done, err := j.one(c.Context(), client, id)
			return done, gone(id, err)
		})
	})
}

// givenIDs returns the ids of jobs that are the arguments of a command, each once. For - it reads them from
// standard input, so that there is no answer to a question.
func givenIDs(c *cobra.Command, args []string) (ids []string, read bool, err error) {
	switch {
	case len(args) == 1 && args[0] == "-":
		ids, err = readIDs(c)
		return ids, true, err
	case slices.Contains(args, "-"):
		return nil, false, cli.WrongUsage("give either IDs or - for those on standard input")
	}
	for _, id := range args {
		if err := queue.CheckJobID(id); err != nil {
			return nil, false, cli.InvalidAsUsage(err)
		}
	}
	return once(args), false, nil
}

// readIDs returns the ids of jobs in the lines of standard input, each once.
func readIDs(c *cobra.Command) (ids []string, err error) {
	in, err := cli.StandardInput(c, "the ids of jobs, one per line", "cat FILE")
	if err != nil {
		return nil, err
	}
	lines, n := bufio.NewScanner(in), 1
	for ; lines.Scan(); n++ {
		id := strings.TrimSpace(lines.Text())
		if id == "" {
			continue
		}
		if err := queue.CheckJobID(id); err != nil {
			return nil, cli.WrongUsage("standard input, line %d: %w", n, err)
		}
		ids = append(ids, id)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, cli.WrongUsage("standard input, line %d: too long for the id of a job", n)
	case err != nil:
		return nil, fmt.Errorf("read IDs from standard input: %w", err)
	}
	return once(ids), nil
}

// once returns ids, each once.
func once(ids []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(ids, func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// byQueue returns ids of jobs grouped by their queues, in the order of the first ones, as many in a group as an
// operation may name.
func byQueue(ids []string) (groups [][]string) {
	last := map[string]int{} // by queue: its last group
	for _, id := range ids {
		name, _, _ := strings.Cut(id, ":")
		i, found := last[name]
		if !found || len(groups[i]) == ops.MaxIDs {
			i, last[name] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], id)
	}
	return groups
}

// changeNamed changes jobs by their ids as operations, one after the other: each is of one queue.
func (j *jobChange) changeNamed(ctx context.Context, o *operator, client service, ids []string) error {
	changes, err := j.askNamed(ctx, o, client, ids)
	total, changed := 0, 0
	for _, change := range changes {
		total += len(change.IDs)
	}
	left := total // in operations that have not begun
	for _, change := range changes {
		if err == nil {
			err = cli.AuditJobs(ctx, change.IDs, func() (int, error) {
				asked, err := client.Ask(ctx, change) // again: the operations before may have taken long
				if err != nil {
					return 0, err
				}
				run, err := client.Begin(ctx, asked)
				if err != nil {
					return 0, err
				}
				left -= len(change.IDs)
				err = o.run(ctx, client.StopOperation, run)
				changed += run.Operation().Changed
				return run.Operation().Changed, err
			})
		}
	}
	if changed > 0 {
		err = cmp.Or(err, o.PrintLine(jobCount(changed)+" "+o.done))
	}
	switch {
	case err != nil && left > 0 && left < total:
		return fmt.Errorf("%w; %s of other operations were left alone: give their IDs again", err, jobCount(left))
	case err == nil && changed == 0:
		return fmt.Errorf("not changed: %s", jobCount(len(ids)))
	case err == nil && changed < len(ids):
		return fmt.Errorf("not changed: %d of %s; the others are done", len(ids)-changed, jobCount(len(ids)))
	}
	return err
}

// askNamed returns the operations that change jobs by their ids. It asks for each before one begins. Jobs of a
// queue that there is not are left out, with a message.
func (j *jobChange) askNamed(ctx context.Context, o *operator, client service, ids []string) (changes []ops.Change, err error) {
	for _, group := range byQueue(ids) {
		name, _, _ := strings.Cut(group[0], ":")
		change, err := j.change(name)
		if err != nil {
			return nil, err
		}
		change.IDs, change.Rate, change.By = group, int(o.rate), cli.Caller()
		var none *ops.NoQueueError
		switch _, err := client.Ask(ctx, change); {
		case errors.As(err, &none):
			o.Console.Problem("", err)
		case err != nil:
			return nil, err
		default:
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// check refuses ids together with a queue, and flags of the other form.
func (j *jobChange) check(c *cobra.Command, ids []string, name, state string) error {
	if (name == "") == (len(ids) == 0) {
		return cli.WrongUsage("give IDs of jobs (- for standard input), or --queue QUEUE to change all that match")
	}
	if name == "" {
		for _, flag := range []string{"dry-run", "state", "kind", "older-than", "newer-than", "error", "match"} {
			if c.Flags().Changed(flag) {
				return cli.WrongUsage("--%s goes with --queue", flag)
			}
		}
	}
	if name != "" && state == "" {
		return cli.WrongUsage("--state is missing: %s which jobs of queue %s?", j.name, name)
	}
	return nil
}
